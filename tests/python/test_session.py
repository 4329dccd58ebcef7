"""Plain scripts, and which cell a number means."""

import json
import sys
from types import SimpleNamespace

import pytest
from notebook import run_python

from jumper.session import find, program


def cell(index, count, running=False):
    return SimpleNamespace(
        index=index, execution_count=count, running=running, group=None, group_name=""
    )


CELLS = [cell(1, 1), cell(2, 2), cell(3, 2), cell(4, None), cell(5, 7), cell(6, None, running=True)]


@pytest.mark.parametrize(
    ("name", "index"),
    [("1", 1), ("2", 3), ("7", 5), ("#2", 2), ("#6", 6), ("-1", 5), ("-5", 1), ("007", 5)],
)
def test_a_name_means_one_cell(name, index):
    assert find(CELLS, name).index == index


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((bad, "names no cell: give n") for bad in ("", "x", "#", "-", "#x", "--1", "1.5", "²")),
        ("3", "no measured cell In [3]: the history has #1 to #6"),
        ("#7", "no entry #7: the history has #1 to #6"),
        ("-6", "there is no cell -6: 5 have been measured"),
        ("-0", "there is no cell -0"),
    ],
)
def test_any_other_is_refused_with_what_there_is(name, words):
    with pytest.raises(ValueError) as refusal:
        find(CELLS, name)
    assert words in str(refusal.value)


def test_without_cells_the_refusal_says_so():
    with pytest.raises(ValueError) as refusal:
        find([], "-1")
    assert "no cell has been measured yet" in str(refusal.value)


def test_importing_needs_neither_ipython_nor_much():
    script = (
        "import sys; import jumper; print([n for n in sys.modules if n.split('.')[0] in "
        "('IPython', 'ipykernel', 'traitlets', 'pygments', 'asyncio', 'jupyter_client')])"
    )
    assert run_python(script).stdout == "[]\n"


def test_the_program_is_the_one_of_the_wheel():
    assert program().endswith("/bin/jumper")


SCRIPT = """
import json, time, jumper
with jumper.session(label="a test", rate=50) as s:
    with s.cell("good") as c:
        time.sleep(0.2)
    for error in (ValueError("bad"), KeyboardInterrupt(), SystemExit(3)):
        try:
            with s.cell(f"r\\ud800ises {error!r}"):
                raise error
        except BaseException as caught:
            assert caught is error
    print(json.dumps([
        [(one.index, one.execution_count, one.outcome) for one in s.native.cells()],
        [s.native.code(one.index).decode("utf-8", "surrogatepass") for one in s.native.cells()],
        [c.index, c.summary().text == s.summary(1).text, bool(s.summary().text)],
        s.path, bool(s.history().text), s.native.status().rate_hz,
        c.summary("all").text == c.summary("process").text,
    ]))
assert jumper.session().path  # without `with`: ended at exit
"""


def test_a_script_measures_its_parts(state_home):
    done = run_python(SCRIPT)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    cells, codes, summaries, path, history, rate, same = json.loads(done.stdout)
    assert cells == [
        [1, None, "ok"],
        [2, None, "error"],
        [3, None, "interrupted"],
        [4, None, "error"],
    ]
    assert codes[0] == "good"
    assert codes[1] == "r\ud800ises ValueError('bad')"
    assert summaries == [1, True, True]
    assert path.startswith(str(state_home))
    assert history
    assert rate == 50
    assert not same


def test_a_script_without_the_environment_s_good_values_still_runs():
    done = run_python(
        "import jumper\nwith jumper.session(): pass", env={"JUMPER_SAMPLING_RATE": "x"}
    )
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("jumper: JUMPER_SAMPLING_RATE=x is ignored")


@pytest.mark.parametrize("rate", [0, -1, 1001, float("nan")])
def test_a_bad_rate_is_an_error_of_the_script(rate):
    done = run_python(f"import jumper; jumper.session(rate=float('{rate}'))")
    assert done.returncode == 1
    assert "ValueError: rate=" in done.stderr


def test_an_unknown_name_is_an_attribute_error():
    done = run_python("import jumper; jumper.nothing")
    assert "AttributeError" in done.stderr


def test_a_core_that_cannot_be_loaded_says_why_when_it_is_used(tmp_path):
    script = "import sys; sys.modules['jumper._native'] = None\nimport jumper\njumper.session()"
    done = run_python(script, cwd=tmp_path)
    assert "ImportError: jumper.session is not usable" in done.stderr, (done, sys.path)
