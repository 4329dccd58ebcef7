"""`%jumper guard`: a cell is stopped before memory is full, and the user hears what holds it."""

import collections
import os
import re
import types

import numpy as np
import pandas as pd
import pytest
from cgroups import Group
from notebook import in_ipython

from jumper import guard

MIB = 1 << 20
LIMIT = 400 * MIB
SCRIPT = """
import os
run("%load_ext jumper")
run("%jumper guard memory=70%")
def cell(code):
    result, out, err = run(code)
    error = result.error_in_exec
    return [type(error).__name__ if error else None, out, err]
"""


@pytest.fixture
def group():
    try:
        one = Group(2, LIMIT)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield one
    one.remove()


@pytest.fixture
def limited(group):
    """A shell in a control group of 400 MiB, with the guard at 70 %."""
    before = f"import os\nfor one in {[str(f) for f in group.folders]}:\n"
    before += "    open(one + '/cgroup.procs', 'w').write(str(os.getpid()))"
    return lambda script, **options: in_ipython(SCRIPT + script, before=before, **options)


FILL = "keep = []\\nwhile True: keep.append(bytearray(2 << 20))"


def test_a_cell_is_stopped_before_the_limit_and_the_shell_lives_on(limited):
    first, second = limited(f"""
answer = [cell("{FILL}"), cell("print(len(keep) > 50)")]
""")
    assert first[0] == "KeyboardInterrupt"
    assert re.search(
        r"jumper: guard: memory came to \d+ MiB of 400 MiB "
        r"\(\d+ % of the limit of control group \S+\); this cell was stopped; "
        r"largest variables: keep \(list\) 2\d\d MiB; ",
        first[2],
    ), first
    assert "`%jumper guard off` ends this" in first[2]
    assert second[:2] == [None, "True\n"]
    assert "guard" not in second[2]


def test_the_next_cell_can_free_memory(limited):
    answer = limited(f"""
cell("{FILL}")
answer = [cell("del keep"), cell("x = bytearray(100 << 20)"), cell("{FILL}")]
""")
    assert [one[0] for one in answer] == [None, None, "KeyboardInterrupt"]


def test_page_cache_is_no_alarm(limited, tmp_path):
    path = tmp_path / "large"
    answer = limited(f"""
answer = cell('''
with open({str(path)!r}, "wb") as file:
    for _ in range(600): file.write(bytes(1 << 20))
with open({str(path)!r}, "rb") as file:
    while file.read(1 << 20): pass
''')
""")
    path.unlink()
    assert answer[0] is None, answer
    assert "guard" not in answer[2]


def test_children_are_seen_and_named(limited):
    answer = limited("""
answer = cell('''
import subprocess, sys
code = "import time; keep = bytes(bytearray(330 << 20)); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", code])
try:
    child.wait()
finally:
    child.kill()
    child.wait()
''')
""")
    assert answer[0] == "KeyboardInterrupt"
    assert "largest processes: " in answer[2], answer


def test_variables_of_functions_are_named(limited):
    answer = limited("""
answer = cell('''
def load():
    rows = []
    while True:
        rows.append(bytearray(2 << 20))
load()
''')
""")
    assert "rows in load() (list)" in answer[2]


def test_nothing_happens_without_it(limited):
    answer = limited("""
run("%jumper guard off")
answer = [cell("x = bytearray(330 << 20)"), run("%jumper guard")[1]]
""")
    assert answer[0][0] is None
    assert "off" in answer[1]


def test_it_outlives_a_sampler(limited):
    answer = limited(f"""
import signal, time
pid = extension().session.status().sampler_pid
os.kill(pid, signal.SIGKILL)
while extension().session.status().sampler_pid in (pid, None): time.sleep(0.01)
answer = cell("{FILL}")
""")
    assert answer[0] == "KeyboardInterrupt"


def test_a_cell_that_ends_in_time_is_left_alone(limited):
    answer = limited("""
answer = [cell("x = bytearray(20 << 20)") for _ in range(20)]
""")
    assert [one[0] for one in answer] == [None] * 20


def test_a_kernel_is_stopped_as_by_the_button(open_notebook, group):
    notebook = open_notebook()
    groups = [str(folder / "cgroup.procs") for folder in group.folders]
    notebook.run(f"import os\nfor one in {groups}: open(one, 'w').write(str(os.getpid()))")
    notebook.run("%jumper guard memory=70%")
    run = notebook.run(FILL.replace("\\n", "\n"))
    assert (run.status, run.ename) == ("error", "KeyboardInterrupt")
    assert "largest variables: keep (list)" in run.stderr
    assert [one["outcome"] for one in notebook.history()].count("interrupted") == 1
    assert notebook.run("len(keep) > 50").result == "True"
    notebook.close()


@pytest.mark.parametrize(
    ("words", "percent"),
    [(["memory=95%"], 95), (["memory=80"], 80), (["memory=99.5%"], 99.5), (["off"], 0)],
)
def test_words(words, percent):
    assert guard.parse(words) == percent


@pytest.mark.parametrize(
    "words", [["memory=0"], ["memory=100%"], ["memory=nan"], ["cpu=5%"], ["on"], ["memory=9", "5"]]
)
def test_bad_words(words):
    with pytest.raises(ValueError, match="is refused: write memory=95%"):
        guard.parse(words)


class Own:
    def __init__(self):
        self.data = bytearray(5 * MIB)

    def __getattr__(self, name):
        raise AssertionError(name)

    def __sizeof__(self):
        raise AssertionError


class OwnList(list):
    def __iter__(self):
        raise AssertionError

    def __len__(self):
        raise AssertionError


def named(**variables):
    return [(one.name, round(one.size_bytes / MIB)) for one in guard.largest(variables, None)]


def test_sizes():
    array = np.zeros(3 * MIB, dtype=np.uint8)
    rows = collections.deque([bytes(MIB), bytes(MIB)])
    assert named(array=array, view=array[10:], small=3) == [("array", 3)]
    assert named(view=array[10:], array=array) == [("view", 3)]
    assert named(own=Own()) == [("own", 5)]
    assert named(rows=rows, again=rows) == [("rows", 2)]
    assert named(many=[bytearray(2000) for _ in range(10_000)]) == [("many", 20)]
    assert named(own=OwnList([bytearray(7 * MIB)])) == [("own", 7)]
    assert named(nested={"a": [{"b": bytes(4 * MIB)}]}) == [("nested", 4)]
    assert named(Out={3: bytes(6 * MIB)}, _3=bytes(6 * MIB)) == [("Out[3]", 6)]
    loop = [bytes(2 * MIB)]
    loop.append(loop)
    assert named(loop=loop) == [("loop", 2)]
    assert named(module=types, function=named, kind=Own) == []


def test_only_the_largest_are_named():
    found = named(**{f"x{i}": bytes(i * MIB) for i in range(1, 20)})
    assert found == [("x19", 19), ("x18", 18), ("x17", 17), ("x16", 16), ("x15", 15)]


def test_a_pandas_frame():
    frame = pd.DataFrame({"a": np.zeros(MIB), "b": np.zeros(MIB)})
    assert named(frame=frame) == [("frame", 16)]


def test_sizes_stop_after_a_while():
    deep = [[bytes(10) for _ in range(900)] for _ in range(900)]
    begin = os.times().elapsed
    named(deep=[deep] * 900)
    assert os.times().elapsed - begin < 30
