"""A group whose cells run in one engine: as in the kernel, and everything comes back at its end."""

import os
import re
import signal

import pytest
import scorep_standin
from leftovers import wait_until, watch_leftovers
from notebook import JSON_TYPE, Notebook, in_ipython, write_kernelspecs
from test_engine import without_notes
from test_engine_shell import CELLS, Pair, answer, interrupted, messages, same

from jumper.diverted import is_ours

pytestmark = pytest.mark.slow
BEGIN = "%jumper group begin --timeout 60"
APART = {
    "recall": "it asks for the cell before, which began the group",
    "exit text": "IPython warns once in a process",
}


@pytest.fixture(scope="module")
def shared_notebook(tmp_path_factory):
    """A plain kernel, and one in which a group with an engine is open."""
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
            begun = elsewhere.run(BEGIN)
            assert begun.status == "ok", begun.traceback
            for _ in range(2):
                plain.run("pass")
            yield Pair(plain, elsewhere)
            ended = elsewhere.run("%jumper group end")
            assert ended.status == "ok", ended.traceback
        next(leftovers, None)


@pytest.mark.parametrize("name", [name for name in CELLS if name not in APART])
def test_cell(shared_notebook, name):
    plain = shared_notebook.plain.run(CELLS[name], allow_stdin=False)
    elsewhere = shared_notebook.elsewhere.run(CELLS[name], allow_stdin=False)
    assert messages(without_notes(elsewhere)) == messages(plain)
    assert same(elsewhere.reply["content"]) == same(plain.reply["content"])


@pytest.mark.parametrize("code", ["print(1)\ninput('? ')", "import getpass\ngetpass.getpass('p ')"])
def test_whoever_reads_is_asked(shared_notebook, code):
    asked, plain = answer(shared_notebook.plain, code, "typed")
    asked_elsewhere, elsewhere = answer(shared_notebook.elsewhere, code, "typed")
    assert asked_elsewhere == asked
    assert messages(elsewhere) == messages(plain)


@pytest.mark.parametrize(
    "code",
    [
        "import threading, time\nthreading.Timer(0.3, print, '1').start()\ntime.sleep(60)",
        "import asyncio\nprint(1, flush=True)\nawait asyncio.sleep(60)",
    ],
)
def test_an_interrupt_stops_the_cell_alone(shared_notebook, code):
    plain = interrupted(shared_notebook.plain, code)
    elsewhere = interrupted(shared_notebook.elsewhere, code)
    assert messages(elsewhere) == messages(plain)
    assert same(elsewhere.reply["content"]) == same(plain.reply["content"])
    assert shared_notebook.elsewhere.run("1 + 1").result == "2"
    shared_notebook.plain.run("1 + 1")


def text(run) -> str:
    return "\n".join(data["text/plain"] for data in run.displays)


def pid_of(notebook: Notebook) -> int:
    return int(notebook.run("import os; os.getpid()").result)


def test_all_cells_run_in_one_process_and_all_comes_back(notebook):
    notebook.run("%jumper set summary=never")
    notebook.run("kept = [1]; same = kept; gone = 1")
    begun = notebook.run("%jumper group begin train --with 'env A=b'")
    assert "runs in its engine" in text(begun), begun.traceback
    assert "run in an engine" in text(notebook.run("%jumper status"))
    first = pid_of(notebook)
    assert first != notebook.pid
    value = notebook.run("kept.append(2); del gone; import os; os.environ['A'], 7")
    assert value.result == "('b', 7)"
    assert notebook.run("class C: x = 5\nc = C(); _").result == "('b', 7)"
    failed = notebook.run("def f(): return 1 / 0\nf()")
    assert failed.ename == "ZeroDivisionError"
    assert f"Cell In[{failed.count}], line 2" in failed.traceback
    assert pid_of(notebook) == first
    ended = notebook.run("%jumper group end")
    assert ended.status == "ok", ended.traceback
    (bundle,) = ended.bundles
    lines = bundle["text/plain"]
    assert lines.startswith("g1 train · ")
    assert f"error (in In [{failed.count}])" in lines
    assert "started in" in lines
    assert "and back in" in lines
    assert bundle[JSON_TYPE]["engine"]["return_s"] > 0
    assert pid_of(notebook) == notebook.pid
    assert notebook.run("kept, kept is same, 'gone' in dir(), c.x").result == (
        "([1, 2], True, False, 5)"
    )
    assert notebook.run(f"Out[{value.count}], _{value.count}").result == "(('b', 7), ('b', 7))"
    again = notebook.run("f()")
    assert f"Cell In[{failed.count}], line 1" in again.traceback
    assert notebook.run("In[-6]").status == "ok"


def test_abort_leaves_everything_as_it_was(notebook):
    notebook.run("kept = [1]")
    notebook.run("%jumper group begin --with env")
    engine = pid_of(notebook)
    notebook.run("kept.append(2); new = 1")
    assert "as they were before it began" in text(notebook.run("%jumper group abort"))
    assert notebook.run("kept, 'new' in dir()").result == "([1], False)"
    assert wait_until(lambda: not os.path.exists(f"/proc/{engine}"))  # noqa: PTH110
    assert "none is open" in text(notebook.run("%jumper group"))


def test_an_engine_that_dies_ends_the_group_and_changes_nothing(notebook):
    notebook.run("%jumper set summary=never")
    notebook.run("kept = [1]")
    notebook.run("%jumper group begin --with env")
    notebook.run("kept.append(2)")
    died = notebook.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert died.ename == "EngineDied"
    assert "all variables are as they were before the group" in died.traceback
    assert "group g1 has ended with its engine" in died.stderr
    assert notebook.run("kept").result == "[1]"
    assert "none is open" in text(notebook.run("%jumper group"))
    shown = notebook.run("%jumper summary g1").bundles[0]
    assert shown[JSON_TYPE]["cell"]["outcome"] == "error"
    assert notebook.run("%jumper group begin --with env").status == "ok"
    notebook.run("kept.append(3)")
    assert notebook.run("%jumper group end").status == "ok"
    assert notebook.run("kept").result == "[1, 3]"


def test_an_engine_that_dies_between_cells_is_said_in_the_next(notebook):
    notebook.run("kept = 1")
    notebook.run("%jumper group begin --with env")
    os.kill(pid_of(notebook), signal.SIGKILL)
    died = notebook.run("kept = 2")
    assert died.ename == "EngineDied"
    assert notebook.run("kept").result == "1"


@pytest.mark.parametrize("step", ["end", "abort"])
def test_a_dead_engine_does_not_keep_a_group_open(notebook, step):
    notebook.run("kept = 1")
    notebook.run("%jumper group begin --with env")
    os.kill(pid_of(notebook), signal.SIGKILL)
    done = notebook.run(f"%jumper group {step}")
    assert done.ename == ("EngineDied" if step == "end" else None)
    assert "none is open" in text(notebook.run("%jumper group"))
    assert notebook.run("kept").result == "1"


def test_a_launcher_that_is_not_there_opens_no_group(notebook):
    refused = notebook.run("%jumper group begin train --with no-such-launcher")
    assert refused.status == "error"
    assert "no-such-launcher" in refused.stderr + refused.traceback
    assert "none is open" in text(notebook.run("%jumper group"))
    assert notebook.run("1").result == "1"


def test_a_time_limit_is_each_cells(notebook):
    notebook.run("%jumper group begin --timeout 1")
    notebook.run("x = 1")
    late = notebook.run("x = 2\nimport time; time.sleep(60)")
    assert late.ename == "TimeoutError"
    assert notebook.run("x").result == "2"
    assert notebook.run("%jumper group end").status == "ok"
    assert notebook.run("x").result == "2"


def test_lines_of_ours_stay_in_the_kernel(notebook):
    notebook.run("%jumper group begin --with env")
    notebook.run("x = 1")
    assert notebook.run("# a question\n%jumper summary -1").status == "ok"
    assert notebook.run("x").result == "1"
    assert "wait for its end" in notebook.run("%%jumper run\n1").stderr
    assert notebook.run("%scorep_python_binding_arguments").status == "ok"
    notebook.run("%jumper group end\nagain = x + 1")
    assert notebook.run("again").result == "2"


def test_unloading_ends_the_engine(notebook):
    notebook.run("x = 1")
    notebook.run("%jumper group begin --with env")
    engine = pid_of(notebook)
    notebook.run("x = 2")
    assert notebook.run("%unload_ext jumper").status == "ok"
    assert notebook.run("x").result == "1"
    assert wait_until(lambda: not os.path.exists(f"/proc/{engine}"))  # noqa: PTH110


@pytest.fixture
def under_scorep(open_notebook, tmp_path):
    stand_in = scorep_standin.make(tmp_path)
    return open_notebook(env=stand_in.environment(), cwd=stand_in.folder), stand_in


def test_score_p_traces_the_cells_in_one_experiment(under_scorep):
    notebook, stand_in = under_scorep
    notebook.run("%jumper set summary=never")
    begun = notebook.run("%jumper group begin train scorep")
    assert begun.status == "ok", begun.traceback
    first = notebook.run("def f(): return 1\nf()")
    notebook.run("import time; time.sleep(0)")
    second = notebook.run("f() + 1")
    assert second.result == "2"
    assert notebook.run("%jumper group").status == "ok"
    ended = notebook.run("%jumper group end")
    assert ended.status == "ok", ended.traceback
    (experiment,) = stand_in.experiments()
    assert experiment.name in ended.stderr
    regions = [one["name"] for one in stand_in.lines("region") if one["begins"]]
    assert regions == [f"In [{n}]" for n in range(first.count, second.count + 1)]
    assert stand_in.names().count("f") >= 2
    assert not {"run_code", "serve", "receive"} & set(stand_in.names())
    assert notebook.run("f()").result == "1"


def test_an_aborted_score_p_group_says_what_is_left(under_scorep):
    notebook, _ = under_scorep
    notebook.run("%jumper group begin scorep")
    notebook.run("x = 1")
    aborted = notebook.run("%jumper group abort")
    assert aborted.status == "ok", aborted.traceback
    assert re.search("experiment|Score-P", aborted.stderr), aborted.stderr
    assert notebook.run("'x' in dir()").result == "False"


def test_collected_cells_run_in_one_engine_within_one_cell(notebook):
    """As whoever defers cells uses it: each keeps its number."""
    notebook.run("%jumper set summary=never")
    ran = notebook.run(
        "from jumper.extension import _loaded\n"
        "from jumper.running import Wish\n"
        "shell = get_ipython()\n"
        "there = _loaded[shell].magics.elsewhere.open(shell, Wish(('env',)))\n"
        "there.cell('def f(): return 1 / 0\\nx = 5\\nx', 101)\n"
        "try:\n    there.cell('f()', 102)\nexcept ZeroDivisionError:\n    failed = True\n"
        "there.cell('print(x)', 103)\n"
        "there.close()"
    )
    assert ran.status == "ok", ran.traceback
    assert (ran.result, ran.stdout) == ("5", "5\n")
    assert notebook.run("x, failed, Out[101]").result == "(5, True, 5)"
    assert "Cell In[101], line 1, in f()" in notebook.run("f()").traceback
    assert notebook.run("there.is_open").result == "False"


def test_a_terminal_has_groups_in_an_engine(state_home):
    answer = in_ipython(
        "run('%load_ext jumper')\n"
        "import os\n"
        "shell.user_ns.update(kept=[1], here=os.getpid())\n"
        "run('%jumper group begin train --with env')\n"
        "_, out, err = run('import os\\nkept.append(2); print(1)\\nhere != os.getpid()')\n"
        "answer['out'], answer['kept'] = out, list(shell.user_ns['kept'])\n"
        "failed, _, _ = run('1/0')\n"
        "answer['error'] = type(failed.error_in_exec).__name__\n"
        "_, out, _ = run('%jumper group end')\n"
        "answer['title'], answer['after'] = out.splitlines()[0], shell.user_ns['kept']",
        env={"JUMPER_MIN_REPORTS": "1000"},
    )
    assert answer["out"].startswith("1\nOut[")
    assert answer["out"].endswith(": True\n")
    assert (answer["kept"], answer["error"]) == ([1], "ZeroDivisionError")
    assert answer["title"].startswith("g1 train · ")
    assert answer["after"] == [1, 2]


def test_an_interrupt_while_it_begins_opens_no_group(notebook):
    notebook.run("kept = 1")
    request = notebook.send("print('on', flush=True)\n%jumper group begin --with 'sleep 60'")
    notebook.drain(lambda: notebook.stdout_of(request) == "on\n")
    notebook.interrupt()
    begun = notebook.take(request)
    assert begun.status == "error"
    assert "none is open" in text(notebook.run("%jumper group"))
    assert notebook.run("%jumper group begin --with env").status == "ok"
    notebook.run("kept = 2")
    assert notebook.run("%jumper group end").status == "ok"
    assert notebook.run("kept").result == "2"


def test_what_nobody_is_told_of_runs_in_the_kernel(notebook):
    notebook.run("%jumper group begin --with env")
    assert notebook.run("x = (").ename == "SyntaxError"
    notebook.reply(notebook.client.execute("silently = 1", silent=True))
    assert notebook.run("'silently' in dir()").result == "False"
    assert notebook.run("%jumper group end").status == "ok"
    assert notebook.run("silently").result == "1"


def test_what_the_compiler_warns_of_is_said_once(notebook):
    code = "'\\d' is 5"
    plain = notebook.run(code).stderr
    notebook.run("%jumper group begin --with env")
    there = notebook.run(code).stderr
    pid = re.compile(r"ipykernel_\d+/\d+")
    assert pid.sub("", there) == pid.sub("", plain)
    notebook.run("%jumper group abort")
    assert pid.sub("", notebook.run(code).stderr) == pid.sub("", plain)


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        ("%jumper summary -1", True),
        ("# a remark\n\n  %jumper\n%jumper plot", True),
        ("%jumper summary\nx = 1", False),
        ("%jumper group end\nx = 1", True),
        ("%%jumper run\nx = 1", True),
        ("%%peers\nx = 1", True),
        ("%jumpers", False),
        ("%%time\n%jumper", False),
        ("%unload_ext jumper", True),
        ("%load_ext autoreload", False),
        ("x = 1", False),
        ("", False),
        ("# only a remark", False),
    ],
)
def test_which_cells_stay_in_the_kernel(code, ours):
    assert is_ours(code, {"jumper", "peers"}) is ours


def test_a_cell_is_not_of_a_mode_and_of_an_engine(under_scorep):
    notebook, _ = under_scorep
    notebook.run("%jumper group begin --with env")
    refused = notebook.run("%%enable_multicellmode\n")
    assert "a group with an engine is open" in refused.stderr + refused.traceback + text(refused)
    assert notebook.run("1 + 1").result == "2"
    assert notebook.run("%jumper group end").status == "ok"
    assert notebook.run("%%enable_multicellmode\n").status == "ok"
    assert "collects cells" in notebook.run("%jumper group begin scorep").stderr
    assert notebook.run("%%abort_multicellmode\n").status == "ok"
    assert notebook.run("%jumper group begin --with env").status == "ok"
    assert notebook.run("2").result == "2"
    assert notebook.run("%jumper group end").status == "ok"


@pytest.mark.parametrize("step", ["begin_group", "end_group"])
def test_an_interrupt_at_any_point_leaves_the_mode_clean(notebook, step):
    """Just before the recording is told: the engine is there, or has given all back."""
    notebook.run(
        "from jumper.extension import _loaded\n"
        "groups = _loaded[get_ipython()].magics.groups\n"
        "class Interrupted:\n"
        "    def __init__(self, session): self.session, self.left = session, 1\n"
        "    def __getattr__(self, name):\n"
        f"        if name == {step!r} and self.left:\n"
        "            self.left = 0\n"
        "            raise KeyboardInterrupt\n"
        "        return getattr(self.session, name)\n"
        "groups._session = Interrupted(groups._session)\n"
        "kept = 1"
    )
    first = notebook.run("%jumper group begin --with env")
    notebook.run("kept = 2")
    second = notebook.run("%jumper group end")
    assert [first.ename, second.status] == (
        ["KeyboardInterrupt", "error"] if step == "begin_group" else [None, "error"]
    )
    assert "none is open" in text(notebook.run("%jumper group"))
    assert notebook.run("kept").result == "2"
    assert notebook.run("%%jumper run\nkept").result == "2"
    assert notebook.run("%jumper group begin again --with env").status == "ok"
    notebook.run("kept = 3")
    assert notebook.run("%jumper group end").status == "ok"
    assert notebook.run("kept").result == "3"
