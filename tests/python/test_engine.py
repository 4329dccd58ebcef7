"""`%%jumper run`: what the plain kernel gives, message by message; variables go and come back."""

import pytest
from leftovers import watch_leftovers
from notebook import Notebook, Run, in_ipython, write_kernelspecs
from test_engine_shell import CELLS, Pair, answer, interrupted, messages, same

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
NOTES = ("jumper: made by the cell, and can't be", "jumper: not carried to the engine")


def cells() -> list[str]:
    return [name for name in CELLS if name not in APART]


class Engines(Pair):
    def run(self, code: str, **options):
        one = self.plain.send(code, **options)
        other = self.elsewhere.send(RUN + code if code.strip() else code, **options)
        return self.plain.take(one), self.elsewhere.take(other)

    def step(self) -> None:
        """Brings both to the same In [n]."""
        counts = {one: one.run("0;").count for one in (self.plain, self.elsewhere)}
        for one, count in counts.items():
            for _ in range(max(counts.values()) - count):
                one.run("0;")


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


@pytest.mark.parametrize("name", cells())
def test_cell(shared_notebook, name):
    plain, elsewhere = shared_notebook.run(CELLS[name], allow_stdin=False)
    assert messages(without_notes(elsewhere)) == messages(plain)
    assert same(elsewhere.reply["content"]) == same(plain.reply["content"])


def without_notes(run: Run) -> Run:
    """Without what is said of values that can't go from process to process."""
    kept = []
    for message in run.messages:
        content = message["content"]
        if message["header"]["msg_type"] == "stream" and content["name"] == "stderr":
            lines = content["text"].splitlines(keepends=True)
            text = "".join(one for one in lines if not one.startswith(NOTES))
            if not text:
                continue
            message = {**message, "content": {**content, "text": text}}  # noqa: PLW2901
        kept.append(message)
    return Run(run.reply, kept)


def test_history_is_the_kernels(shared_notebook):
    elsewhere = shared_notebook.elsewhere
    elsewhere.run("del _")  # else it may be the user's
    elsewhere.run("'a result'")
    there = elsewhere.run("%%jumper run\nkept = In[-2], _i, _, len(In), len(Out)\n7")
    assert there.status == "ok", there.traceback
    assert elsewhere.run("kept[:3]").result == ("(\"'a result'\", \"'a result'\", 'a result')")
    # The cell itself, the last one and this one; the result of the cell and of the last one.
    assert elsewhere.run("len(In) - kept[3], len(Out) - kept[4]").result == "(2, 2)"
    assert elsewhere.run("Out[max(Out) - 2]").result == "7"


def test_an_underscore_of_the_users_is_theirs(shared_notebook):
    elsewhere = shared_notebook.elsewhere
    elsewhere.run("1 + 1")
    assert elsewhere.run("%%jumper run\nfor _ in range(3): pass").status == "ok"
    assert elsewhere.run("_").result == "2"
    elsewhere.run("del _")


def test_figures_and_tables_come(shared_notebook):
    code = "import pandas as pd\nprint('hi')\npd.DataFrame({'a': [1, 2]})"
    shown = shared_notebook.elsewhere.run(f"%%jumper run\n{code}")
    assert shown.stdout == "hi\n"
    assert "text/html" in shown.contents("execute_result")[0]["data"]
    assert shared_notebook.elsewhere.run("type(_).__name__").result == "'DataFrame'"


def test_capture_takes_everything(shared_notebook):
    code = "%%capture kept\nget_ipython().run_cell_magic('jumper', 'run', 'print(1)\\n2')"
    run = shared_notebook.elsewhere.run(code)
    assert (run.stdout, run.result) == ("", None)
    assert shared_notebook.elsewhere.run("kept.stdout").result == "'1\\n'"


def test_many_lines_come_in_few_messages(shared_notebook):
    plain, elsewhere = shared_notebook.run("for i in range(100_000): print(i)")
    assert elsewhere.stdout == plain.stdout
    assert len(elsewhere.contents("stream")) <= 2 * len(plain.contents("stream")) + 1


def test_output_arrives_while_the_cell_runs(shared_notebook):
    notebook = shared_notebook.elsewhere
    request = notebook.send("%%jumper run\nprint('first')\nv = input('? ')", allow_stdin=True)
    notebook.drain(lambda: notebook.stdout_of(request) == "first\n")
    notebook.client.get_stdin_msg(timeout=60)
    notebook.client.input("typed")
    assert notebook.take(request).status == "ok"
    assert notebook.run("v").result == "'typed'"


@pytest.mark.parametrize("value", ["typed", "\x04"])
@pytest.mark.parametrize("code", ["print(1)\ninput('? ')", "import getpass\ngetpass.getpass('p ')"])
def test_whoever_reads_is_asked(shared_notebook, code, value):
    shared_notebook.step()
    asked, plain = answer(shared_notebook.plain, code, value)
    asked_elsewhere, elsewhere = answer(shared_notebook.elsewhere, RUN + code, value)
    assert asked_elsewhere == asked
    assert elsewhere.ename == plain.ename
    if plain.status == "ok":
        assert messages(elsewhere) == messages(plain)


@pytest.mark.parametrize(
    "code",
    [
        "import threading, time\nthreading.Timer(0.3, print, '1').start()\ntime.sleep(60)",
        "import asyncio\nprint(1, flush=True)\nawait asyncio.sleep(60)",
    ],
)
def test_an_interrupt_stops_the_cell_as_in_the_kernel(shared_notebook, code):
    shared_notebook.step()
    plain = interrupted(shared_notebook.plain, code)
    elsewhere = interrupted(shared_notebook.elsewhere, RUN + code)
    assert messages(elsewhere) == messages(plain)
    assert same(elsewhere.reply["content"]) == same(plain.reply["content"])


def test_what_cant_go_is_named_once_and_stays(shared_notebook):
    notebook = shared_notebook.elsewhere
    notebook.run(
        "import sqlite3; db = sqlite3.connect(':memory:'); g = (i for i in range(9)); next(g)"
    )
    first = notebook.run("%%jumper run\nk = 1")
    assert first.status == "ok", first.traceback
    told = [line for line in first.stderr.splitlines() if "db (" in line]
    assert len(told) == 1, first.stderr
    assert told[0].startswith("jumper: not carried to the engine, and unchanged here: ")
    assert "g (" in told[0]
    assert notebook.run("%%jumper run\nk = 2").stderr == ""
    assert notebook.run("k, next(g), db.execute('select 1').fetchone()").result == "(2, 1, (1,))"
    used = notebook.run("%%jumper run\ndb.execute('select 1')")
    assert used.status == "error"
    assert "db could not be" in used.traceback
    notebook.run("del db, g")


def test_a_terminal_runs_cells_elsewhere(state_home):
    answer = in_ipython(
        "shell.run_line_magic('load_ext', 'jumper')\n"
        "import os\n"
        "shell.user_ns.update(kept=[1], here=os.getpid())\n"
        "code = 'import os\\nkept.append(2); print(1)\\nhere != os.getpid()'\n"
        "_, out, err = run('%%jumper run\\n' + code)\n"
        "answer['out'], answer['err'], answer['kept'] = out, err, shell.user_ns['kept']\n"
        "result, out, err = run('%%jumper run\\n1/0')\n"
        "answer['error'] = [type(result.error_in_exec).__name__, out.count('division by zero')]",
        env={"JUMPER_MIN_REPORTS": "1000"},
    )
    assert answer["out"] == "1\nOut[1]: True\n"
    assert (answer["err"], answer["kept"]) == ("", [1, 2])
    assert answer["error"] == ["ZeroDivisionError", 1]


def test_what_is_registered_with_ipython_there_is_named(notebook):
    notebook.run("import numpy as np")
    cell = notebook.run(
        "%%jumper run\ndef report(*_): pass\n"
        "get_ipython().events.register('post_run_cell', report)\n"
        "def twice(line): return 2 * line\nget_ipython().register_magic_function(twice)"
    )
    (said,) = [line for line in cell.stderr.splitlines() if "registered with IPython" in line]
    assert "isn't here: " in said
    assert "%twice" in said
    assert "hook report of post_run_cell" in said
    loaded = notebook.run("%%jumper run\n%load_ext autoreload").stderr
    assert "isn't here: %autoreload, %aimport, hook" in loaded
    assert notebook.run("%%jumper run\n%matplotlib inline\n1").stderr == ""
