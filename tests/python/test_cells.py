"""Which cells are recorded, how each ended, and that the user sees nothing else (faults C3)."""

import pytest
from notebook import in_ipython

# name: cells, and of the recorded ones (the cell's place here, outcome), or only how many there are
TABLE = {
    "plain": (["x = 1"], [(0, "ok")]),
    "comment only": (["# nothing"], [(0, "ok")]),
    "empty": (["", "  \n\t"], []),
    "syntax error": (["def (:", "x = 1"], [(0, "error"), (1, "ok")]),
    "indentation error": (["if 1:\nx"], [(0, "error")]),
    "transformer error": (["%%nothing_of_this_name\nx"], [(0, "error")]),
    "exception": (["1/0"], [(0, "error")]),
    "interrupt": (["raise KeyboardInterrupt"], [(0, "interrupted")]),
    "exit status": (["import sys; sys.exit(3)"], [(0, "error")]),
    "usage error": (["%env a b = c\n%nothing"], [(0, "error")]),
    "nested": (["get_ipython().run_cell('y = 1'); y", "y"], [(0, "ok"), (1, "ok")]),
    "nested twice": (["get_ipython().run_cell('get_ipython().run_cell(\"1/0\")')"], [(0, "ok")]),
    "nested, in history": (["get_ipython().run_cell('y = 1', store_history=True)", "y"], 2),
    "nested, empty": (["get_ipython().run_cell('')"], [(0, "ok")]),
    "nested, the same text": (
        ["i = globals().get('i', 0) + 1\nif i < 3: get_ipython().run_cell(In[-1])", "i"],
        [(0, "ok"), (1, "ok")],
    ),
    "nested, interrupted": (
        ["get_ipython().run_cell('raise KeyboardInterrupt'); 5"],
        [(0, "ok")],
    ),
    "capture": (["%%capture out\nprint(1); get_ipython().run_cell('2')"], [(0, "ok")]),
    "capture of an error": (["%%capture\n1/0"], 1),
    "time": (
        ["%%time\nx = 2", "%time x = 3", "%timeit -n1 -r1 x"],
        [(0, "ok"), (1, "ok"), (2, "ok")],
    ),
    "another profiler": (["%%prun -q\nsum(range(9))"], [(0, "ok")]),
    "shell lines": (["!true", "a = !echo 1", "%%bash\ntrue"], [(0, "ok"), (1, "ok"), (2, "ok")]),
    "help": (["len?"], [(0, "ok")]),
    "await": (["import asyncio\nawait asyncio.sleep(0)"], [(0, "ok")]),
    "await of an error": (["import asyncio\nawait asyncio.sleep(0)\n1/0"], [(0, "error")]),
    "async cancelled by itself": (
        ["import asyncio\nt = asyncio.create_task(asyncio.sleep(9)); t.cancel()\nawait t"],
        [(0, "error")],
    ),
    "await with a nested cell": (
        ["import asyncio\nawait asyncio.sleep(0); get_ipython().run_cell('z = 1')\nz"],
        [(0, "ok")],
    ),
    "repr that fails": (["class R:\n  def __repr__(self): 1/0\nR()"], 1),
    "thread that runs a cell": (
        [
            "import threading as th\nt = th.Thread(target=get_ipython().run_cell, args=('q = 1',))",
            "t.start(); t.join()",
        ],
        3,
    ),
    "reset": (["x = 1", "%reset -f", "x = 2"], [(0, "ok"), (1, "ok"), (2, "ok")]),
    "user hooks": (
        [
            "ip = get_ipython(); seen = []\nip.events.register('post_run_cell', seen.append)",
            "1",
            "ip.events.unregister('post_run_cell', seen.append)",
        ],
        [(0, "ok"), (1, "ok"), (2, "ok")],
    ),
}


@pytest.mark.fault("C3")
@pytest.mark.parametrize("case", TABLE)
def test_the_right_cells_are_recorded(shared_notebook, case):
    cells, expected = TABLE[case]
    before = len(shared_notebook.history())
    before += 1  # the cell that asks for the history is one, too
    runs = [shared_notebook.run(cell) for cell in cells]
    recorded = shared_notebook.history()[before:]
    if isinstance(expected, int):
        assert len(recorded) == expected
    else:
        numbers = [(runs[place].count, outcome) for place, outcome in expected]
        assert [(one["execution_count"], one["outcome"]) for one in recorded] == numbers
    outcomes = {one["execution_count"]: one["outcome"] for one in recorded}
    for run in runs:
        if run.count in outcomes:
            assert (run.status == "ok") == (outcomes[run.count] == "ok")
        assert run.bundles == []
        assert "jumper" not in run.stdout + run.stderr + run.traceback
        assert "Error in callback" not in run.stdout + run.stderr + run.traceback
    assert shared_notebook.run("40 + 2").result == "42"
    assert shared_notebook.history()[-1]["outcome"] == "ok"


@pytest.mark.fault("C3")
def test_silent_requests_are_not_recorded(shared_notebook):
    before = len(shared_notebook.history())
    run = shared_notebook.run("import time; time.sleep(1.1)", silent=True)
    assert run.displays == []
    assert len(shared_notebook.history()) == before + 1


def test_a_cell_outside_the_history_has_no_number(shared_notebook):
    shared_notebook.run("x = 1")
    shared_notebook.run("x = 2", store_history=False)
    assert shared_notebook.history()[-1]["execution_count"] is None


@pytest.mark.fault("C3")
def test_queued_cells_of_a_failed_one_are_aborted_and_not_recorded(notebook):
    requests = [notebook.send(code) for code in ("import time; time.sleep(.3); 1/0", "1", "2")]
    statuses = [notebook.reply(one)["content"]["status"] for one in requests]
    assert statuses == ["error", "aborted", "aborted"]
    assert [one["outcome"] for one in notebook.history()] == ["error"]


def test_running_a_cell_again_adds_an_entry(notebook):
    for _ in range(3):
        notebook.run("x = 1")
    assert [(one["index"], one["execution_count"]) for one in notebook.history()] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]


def test_two_threads_of_cells_are_two_records(notebook):
    """As subshells do: each thread has its own cell."""
    notebook.run(
        "import threading, time\n"
        "def other():\n"
        "    get_ipython().run_cell('time.sleep(.2)'); get_ipython().run_cell('1')\n"
        "t = threading.Thread(target=other); t.start(); time.sleep(.05)"
    )
    notebook.run("t.join()")
    outcomes = [one["outcome"] for one in notebook.history()]
    assert outcomes == ["ok"] * 4


def test_nothing_of_the_user_s_is_touched(open_notebook):
    """Names, Out, _, counts and output are Plain's."""
    cells = [
        "1",
        "import time; time.sleep(1.1); 'long'",
        "_, __, sorted(Out), len(In)",
        "print('a'); 7",
        "sorted(n for n in globals() if not n.startswith('_i'))",
        "get_ipython().execution_count",
        "import os; sorted(k for k in os.environ if 'JUMPER' in k.upper() and 'TEST' not in k)",
        "1/0",
        "import sys; sys.exit(3)",
        "%%capture taken\nprint(5)",
        "taken.stdout, In[-2]",
        "raise KeyboardInterrupt",
        "_undefined",
        "!echo shell",
    ]
    results = []
    for name in ("plain", "jumper"):
        notebook = open_notebook(name)
        runs = [notebook.run(cell) for cell in cells]
        results.append([(run.status, run.count, run.without_ours()) for run in runs])
        assert len(runs[1].bundles) == (name == "jumper")
    assert results[0] == results[1]


def test_an_end_event_that_never_came_costs_no_later_cell():
    """An interrupt inside IPython's own event machinery can swallow it."""
    answer = in_ipython("""
run("%load_ext jumper")
hooks = shell.events.callbacks["post_run_cell"]
hook = extension().post_run_cell
hooks.remove(hook)
run("lost = 1")
hooks.append(hook)
run("x = 1")
run("get_ipython().run_cell('y = 1')")
answer = cells()
""")
    assert answer == [
        [1, None, "interrupted", False],
        [2, 3, "ok", False],
        [3, 4, "ok", False],
    ]


@pytest.mark.fault("C3")
def test_a_nested_cell_without_a_result_does_not_end_the_outer_one():
    """IPython calls the end event with None where it fails itself."""
    answer = in_ipython("""
run("%load_ext jumper")
run("get_ipython().events.trigger('post_run_cell', None); 1/0")
answer = cells()
""")
    assert answer == [[1, 2, "error", False]]


def test_cells_in_a_plain_shell_are_numbered():
    answer = in_ipython("""
run("%load_ext jumper"); run(""); run("a = 1"); run("def (:"); run("b = 1", store_history=False)
run("raise KeyboardInterrupt")
answer = cells()
""")
    assert answer == [
        [1, 2, "ok", False],
        [2, 3, "error", False],
        [3, None, "ok", False],
        [4, 4, "interrupted", False],
    ]
