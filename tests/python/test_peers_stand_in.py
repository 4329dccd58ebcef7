"""`%load_ext jumper_extension`: ours stands in where it isn't installed, else theirs wins."""

import re
from pathlib import Path

import pytest
from notebook import in_ipython
from test_peers_names import WORK, shown, value

from jumper import peers
from jumper.session import wheel_file

# A package of that name with one of its magics, installed as theirs is.
PACKAGE = """
from IPython.core.magic import Magics, line_magic, magics_class

@magics_class
class PerfmonitorMagics(Magics):
    @line_magic
    def perfmonitor_start(self, line):
        print("theirs starts")

def load_ipython_extension(shell):
    shell.register_magics(PerfmonitorMagics(shell))
"""


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "site" / "jumper_extension"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    return folder.parent


def test_it_loads_in_our_kernel_and_numbers_cells_from_there(open_notebook, tmp_path):
    notebook = open_notebook(cwd=tmp_path)
    notebook.run("before = 1")
    assert notebook.run("%load_ext jumper_extension").status == "ok"
    notebook.run(f"# mine\n{WORK}")
    shown(notebook, "%perfmonitor_export_cell_history")
    assert value(notebook, "cell_history_df.raw_cell.tolist()") == [f"# mine\n{WORK}"]
    assert "# mine" in shown(notebook, "%perfmonitor_export_perfdata x.csv") + shown(
        notebook, "%show_cell_history"
    )


def test_it_loads_ours_after_jumper_and_can_be_loaded_again_and_unloaded():
    answer = in_ipython("""
run("%load_ext jumper")
texts = [run("%load_ext jumper_extension"), run("x = 1"), run("%reload_ext jumper_extension")]
texts += [run("y = 1"), run("%perfmonitor_export_cell_history --name cells")]
again = run("%load_ext jumper_extension")[1]
cells = shell.user_ns["cells"].raw_cell.tolist()
texts += [run("%perfmonitor_start 0.5"), run("%unload_ext jumper_extension")]
failed = [str(one) for one in texts if not one[0].success or one[2]]
answer = [failed, again, cells, extension().settings.rate_hz, run("%perfmonitor_resources")[1]]
""")
    failed, again, cells, rate_hz, text = answer
    assert failed == []
    assert "already loaded" in again
    assert cells == ["y = 1"]
    assert rate_hz == 10
    assert "CPUs" in text


def test_it_goes_when_jumper_goes():
    answer = in_ipython("""
import importlib.util
def there():
    return importlib.util.find_spec("jumper_extension") is not None
before, finders = there(), len(sys.meta_path)
run("%load_ext jumper"); run("%load_ext jumper_extension")
loaded = there()
run("%unload_ext jumper")
answer = [before, loaded, there(), "jumper_extension" in sys.modules]
answer += [len(sys.meta_path) - finders, run("%load_ext jumper_extension")[1:]]
run("%load_ext jumper")
answer.append(run("%load_ext jumper_extension")[2])
run("z = 1"); run("%show_cell_history")
""")
    assert answer[:5] == [False, True, False, False, 0]
    assert "No module named 'jumper_extension'" in "".join(answer[5])
    assert answer[6] == ""


def test_the_finder_knows_this_name_only_and_is_the_last():
    answer = in_ipython("""
run("%load_ext jumper")
last = sys.meta_path[-1]
names = ("jumper_extension", "jumper_extension.core", "jumper", "nothing", "")
answer = [last.find_spec(one, None) is not None for one in names]
try:
    import jumper_extension.core
except ImportError as error:
    answer.append(str(error))
""")
    assert answer[:5] == [True, False, False, False, False]
    assert "jumper_extension" in answer[5]


@pytest.mark.parametrize("order", ["jumper jumper_extension", "jumper_extension jumper"])
def test_an_installed_package_wins_and_that_is_said_once(installed, order):
    first, second = order.split()
    answer = in_ipython(
        f"""
texts = [run("%load_ext {first}"), run("%load_ext {second}"), run("x = 1"), run("y = 1")]
answer["said"] = "".join(err for _, _, err in texts)
answer["start"] = run("%perfmonitor_start")[1]
answer["other"] = run("%perfmonitor_resources")[1]
answer["ours"] = run("%display_code_history")[0].success
answer["cells"] = len(cells())
run("%unload_ext jumper")
answer["after"] = run("%perfmonitor_start")[1]
answer["gone"] = run("%display_code_history")[2]
""",
        before=f"import sys; sys.path.append({str(installed)!r})",
    )
    assert answer["said"].count("jumper_extension is installed and loaded here") == 1
    assert answer["start"] == answer["after"] == "theirs starts\n"
    assert "CPUs" in answer["other"]
    assert answer["ours"]
    assert answer["cells"] >= 2
    assert "not found" in answer["gone"]


def test_no_file_of_ours_has_that_name():
    """The wheel has no package that could shadow an installed one."""
    assert wheel_file("jumper_extension", "__init__.py") is None
    package = Path(peers.__file__).parent
    assert not list(package.parent.glob("jumper_extension*"))


def test_every_name_is_described_for_those_who_come_from_there():
    page = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
    described = set(re.findall(r"`%{0,2}([a-z]\w+)[ `]", page))
    known = {name for name, one in peers.NAMES.items() if one.of != "scorep-jupyter"}
    assert known <= described
    options = {option for one in peers.NAMES.values() for option in one.choices if "-" in option}
    assert all(option in page for option in options)
