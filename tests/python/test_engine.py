"""`%%jumper run`: what the plain kernel gives, message by message; variables go and come back."""

import pytest
from leftovers import watch_leftovers
from notebook import Notebook, write_kernelspecs
from test_engine_shell import CELLS, Pair, messages, same

pytestmark = pytest.mark.slow
RUN = "%%jumper run\n"
APART = {
    "history": "each cell of In begins with the magic",
    "recall": "each cell of In begins with the magic",
    "exit text": "IPython warns once in a process",
    "figures": "hooks stay in the engine",
    "figures after an error": "hooks stay in the engine",
    "figures after a result": "hooks stay in the engine",
    "hook that fails": "hooks stay in the engine",
    "no more hooks": "hooks stay in the engine",
}


class Engines(Pair):
    def run(self, code: str, **options):
        one = self.plain.send(code, **options)
        other = self.elsewhere.send(RUN + code if code.strip() else code, **options)
        return self.plain.take(one), self.elsewhere.take(other)


@pytest.fixture(scope="module")
def shared_notebook(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        leftovers = watch_leftovers(patch)
        next(leftovers)
        specs = write_kernelspecs(folder / "kernels")
        with pytest.MonkeyPatch.context() as outside:
            outside.delenv("PYTEST_CURRENT_TEST")  # ipykernel would leave descriptors alone
            plain = Notebook(specs, "plain", cwd=tmp_path_factory.mktemp("plain"))
            elsewhere = Notebook(specs, "jumper", cwd=tmp_path_factory.mktemp("elsewhere"))
        with plain, elsewhere:
            elsewhere.run("%jumper set summary=never")
            plain.run("pass")
            yield Engines(plain, elsewhere)
        next(leftovers, None)


@pytest.mark.parametrize("name", [one for one in CELLS if one not in APART])
def test_cell(shared_notebook, name):
    plain, elsewhere = shared_notebook.run(CELLS[name], allow_stdin=False)
    assert messages(elsewhere) == messages(plain)
    assert same(elsewhere.reply["content"]) == same(plain.reply["content"])
