"""`%jumper group`: cells that are one measurement, each run at once and in its place."""

import json
import os
import signal
import subprocess

import pytest
from notebook import JSON_TYPE, Notebook, in_ipython

from jumper.session import find, find_all, find_group, program

WORK = "sum(range(200_000))"


def summary(notebook: Notebook, which: str) -> dict:
    shown = notebook.run(f"%jumper summary {which}", store_history=False)
    assert shown.status == "ok", shown.stderr
    return shown.bundles[0][JSON_TYPE]


def text(run) -> str:
    return "\n".join(data["text/plain"] for data in run.displays)


def refused(run) -> str:
    assert run.status == "error"
    return run.stderr + run.traceback


def test_cells_run_in_place_and_are_one_measurement(notebook):
    notebook.run("%jumper set summary=never")
    before = notebook.run("%jumper group begin train")
    assert "g1 train begins" in text(before)
    one = notebook.run(f"print('one')\nx = {WORK}\nx")
    two = notebook.run("import time; time.sleep(0.3)\nprint('two')")
    assert (one.stdout, one.result, two.stdout) == ("one\n", "19999900000", "two\n")
    ended = notebook.run("%jumper group end")
    (bundle,) = ended.bundles
    assert bundle["text/plain"].startswith("g1 train · ")
    assert "2 cells" in bundle["text/plain"].splitlines()[0]
    shown = bundle[JSON_TYPE]
    assert shown["group"]["name"] == "train"
    assert [cell["execution_count"] for cell in shown["group"]["cells"]] == [one.count, two.count]
    notebook.run("after = 1")
    for which in ("g1", "train", "g-1"):
        assert summary(notebook, which)["group"]["cells"] == shown["group"]["cells"]


def test_its_figures_are_those_of_its_cells(notebook):
    notebook.run("%jumper set summary=never")
    notebook.run("%jumper group begin")
    counts = [notebook.run(f"{WORK}; b = bytearray({n} << 20)").count for n in (1, 50)]
    notebook.run("%jumper group end")
    parts = [summary(notebook, str(count)) for count in counts]
    whole = summary(notebook, "g1")
    assert whole["cell"]["duration_s"] == pytest.approx(
        sum(one["cell"]["duration_s"] for one in parts)
    )
    levels = [one["levels"]["process"] for one in (whole, *parts)]
    for name in ("cpu_time_s", "io_read_bytes", "io_write_ops"):
        assert levels[0][name] == pytest.approx(sum(one[name] for one in levels[1:]))
    peaks = [one["memory_bytes"]["peak"] for one in levels]
    assert peaks[0] == max(peaks[1:])


def test_every_question_knows_it(notebook, tmp_path):
    notebook.run("%jumper set summary=never")
    notebook.run("0")
    notebook.run("%jumper group begin train")
    counts = [notebook.run("import time; time.sleep(0.3)").count for _ in range(2)]
    notebook.run("%jumper group end")
    plot = notebook.run("%jumper plot train")
    (bundle,) = plot.bundles
    assert "g1 train" in bundle["text/plain"].splitlines()[0]
    assert "g1 train" in bundle["text/html"]
    assert [cell["execution_count"] for cell in bundle[JSON_TYPE]["plot"]["cells"]] == counts
    history = notebook.run("%jumper history").bundles[0]
    lines = history["text/plain"].splitlines()
    row = next(n for n, line in enumerate(lines) if line.startswith("g1 "))
    assert lines[row].endswith("train")
    assert [line.startswith("· #") for line in lines[row + 1 : row + 4]] == [True, True, False]
    path = tmp_path / "run.json"
    assert notebook.run(f"%jumper export g1 -o {path}").status == "ok"
    table = json.loads(path.read_text())
    assert table["groups"] == [{"index": 1, "name": "train"}]
    assert set(table["data"]["group_index"]) == {1}
    assert len(table["cells"]) == 2
    saved = tmp_path / "run.jumper"
    assert notebook.run(f"%jumper save {saved}").status == "ok"
    for question in ("summary train", "plot g1", "export g-1 --to rows"):
        shown = notebook.run(f"%jumper open {saved} {question}")
        assert shown.status == "ok", shown.stderr
    assert notebook.run("set(rows['group_index'])").result == "{1}"
    total = notebook.run("%jumper total").bundles[0][JSON_TYPE]["total"]
    # Without the row of the group, and with what was asked since.
    assert total["cells"] == len(history[JSON_TYPE]) - 1 + 6


def test_status_says_that_it_is_open_and_only_one_can_be(notebook):
    notebook.run("%jumper group begin a")
    assert "g1 a is open" in text(notebook.run("%jumper status"))
    assert "g1 a is open" in text(notebook.run("%jumper group"))
    assert "has no groups in it" in refused(notebook.run("%jumper group begin b"))
    assert "g1 a · open" in text(notebook.run("1\n%jumper summary g1"))
    notebook.run("%jumper group end")
    assert "is open" not in text(notebook.run("%jumper status"))
    assert "no group is open" in refused(notebook.run("%jumper group end"))
    assert "no group is open" in refused(notebook.run("%jumper group abort"))


@pytest.mark.parametrize("name", ["3", "g1", "#2", "all", "scorep", "a b", "-x"])
def test_names_that_mean_something_else_are_refused(shared_notebook, name):
    refused(shared_notebook.run(f"%jumper group begin {name}"))
    assert "none is open" in text(shared_notebook.run("%jumper group"))


def test_abort_leaves_the_cells(shared_notebook):
    shared_notebook.run("%jumper group begin gone")
    count = shared_notebook.run("kept = 1").count
    aborted = shared_notebook.run("%jumper group abort")
    assert "its cells have run" in text(aborted)
    assert shared_notebook.run("kept").result == "1"
    assert summary(shared_notebook, str(count))["cell"]["execution_count"] == count
    assert "names no cell" in refused(shared_notebook.run("%jumper summary gone"))


def test_a_cell_that_fails_is_named_and_the_group_goes_on(shared_notebook):
    shared_notebook.run("%jumper group begin failing")
    failed = shared_notebook.run("1/0")
    assert failed.ename == "ZeroDivisionError"
    assert shared_notebook.run("2").result == "2"
    (bundle,) = shared_notebook.run("%jumper group end").bundles
    assert f"error (in In [{failed.count}])" in bundle["text/plain"].splitlines()[0]
    assert len(bundle[JSON_TYPE]["group"]["cells"]) == 2


def test_one_without_cells_says_so(shared_notebook):
    shared_notebook.run("%jumper group begin empty")
    assert "has ended without a cell" in text(shared_notebook.run("%jumper group end"))


def test_one_cell_questions_say_that_a_group_is_none(shared_notebook):
    shared_notebook.run("%jumper group begin few")
    shared_notebook.run("1")
    shared_notebook.run("%jumper group end")
    assert "is a group of cells" in refused(shared_notebook.run("%jumper code few"))
    assert "there is no group g99" in refused(shared_notebook.run("%jumper summary g99"))


def test_a_kernel_that_dies_leaves_a_readable_group(notebook, state_home):
    notebook.run("%jumper group begin train")
    notebook.run("1")
    request = notebook.send("import time; print('on', flush=True); time.sleep(60)")
    notebook.drain(lambda: notebook.stdout_of(request) == "on\n")
    os.kill(notebook.pid, signal.SIGKILL)
    notebook.manager.provisioner.process.wait()
    (path,) = state_home.rglob("*.jumper")
    done = subprocess.run(
        [program(), "report", path, "--json"], capture_output=True, text=True, check=True
    )
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    (group,) = [one for one in objects if "group" in one]
    assert [cell["outcome"] for cell in group["group"]["cells"]] == ["ok", "died"]
    assert group["cell"]["outcome"] == "died"


def test_unloading_ends_it(state_home):
    answer = in_ipython(
        "shell.run_line_magic('load_ext', 'jumper')\n"
        "path = extension().session.status().path\n"
        "run('%jumper group begin train')\n"
        "run('1')\n"
        "run('%unload_ext jumper')\n"
        "from jumper._native import Report\n"
        "answer['said'] = Report.open(path).group_summary(1).text.splitlines()[0]\n"
        "run('%load_ext jumper')\n"
        "run('%jumper group begin again')\n"
        "answer['open'] = extension().magics.groups.title"
    )
    assert "the kernel ended in this group" in answer["said"]
    assert answer["open"] == "g1 again"


class Cell:
    def __init__(self, index, group=None, name="", *, running=False):
        self.index, self.execution_count, self.running = index, index, running
        self.group, self.group_name = group, name


CELLS = [
    Cell(1),
    Cell(2, 1, "train"),
    Cell(3, 1, "train"),
    Cell(4),
    Cell(5, 3, "train"),
    Cell(6, 3, "train", running=True),
]


@pytest.mark.parametrize(
    ("text", "indices"),
    [("g1", [2, 3]), ("train", [5]), ("g-1", [5]), ("g-2 1", [1, 2, 3]), ("g1,g3", [2, 3, 5])],
)
def test_cells_are_chosen_by_their_group(text, indices):
    assert [cell.index for cell in find_all(CELLS, text)] == indices


@pytest.mark.parametrize("text", ["g2", "g-3", "g-0", "g99999", "other"])
def test_a_group_that_is_not_there_is_said(text):
    with pytest.raises(ValueError, match=r"no group|names no cell"):
        find_all(CELLS, text)


def test_a_group_is_no_cell():
    with pytest.raises(ValueError, match="is a group of cells"):
        find(CELLS, "train")
    assert find_group(CELLS, "train") == 3
    assert find_group(CELLS, "5") is None
