"""`%%jumper scorep`: the cell runs under Score-P's bindings, which a stand-in plays here."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import scorep_standin
from leftovers import wait_until, watch_leftovers
from notebook import Notebook, Run, write_kernelspecs
from scorep_standin import StandIn

pytestmark = pytest.mark.slow  # the stand-in is the same under each CPython

TRACING = "%env SCOREP_ENABLE_TRACING=true"


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory) -> StandIn:
    return scorep_standin.make(tmp_path_factory.mktemp("scorep"))


@pytest.fixture(scope="module")
def shared_notebook(tmp_path_factory, stand_in):
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        leftovers = watch_leftovers(patch)
        next(leftovers)
        specs = write_kernelspecs(folder / "kernels")
        environment = stand_in.environment()
        with Notebook(specs, env=environment, cwd=stand_in.folder) as one:
            one.run("%jumper set summary=never")
            yield one
        next(leftovers, None)


@pytest.fixture
def ready(shared_notebook, stand_in) -> Notebook:
    made = shared_notebook.run("v = 1; kept = [1]; same = kept\n%env STANDIN_DOES=")
    assert made.status == "ok", made.traceback
    for path in stand_in.experiments():
        shutil.rmtree(path)
    stand_in.forget()
    return shared_notebook


def run(notebook: Notebook, code: str, arguments: str = "") -> Run:
    return notebook.run(f"%%jumper scorep {arguments}\n{code}")


def told(done: Run) -> list[str]:
    return [line[8:] for line in done.stderr.splitlines() if line.startswith("jumper: ")]


def test_the_cell_runs_and_its_state_comes_back(ready, stand_in):
    done = run(ready, "v = v + 1; kept.append(v)\nprint('out')\nv")
    assert (done.status, done.stdout, done.result) == ("ok", "out\n", "2"), done.stderr
    assert ready.run("v, kept, kept is same").result == "(2, [1, 2], True)"
    (start,) = stand_in.lines("start")
    assert start["argv"][0] == "--nopython"
    assert start["argv"][1].endswith("engine_main.py")
    assert len(start["argv"]) == 2


def test_only_the_cells_calls_are_traced(ready, stand_in):
    code = "def f(n): return n\ndef g(): return [f(i) for i in range(3)]\nx = g()\ng()"
    done = run(ready, code)
    assert done.result == "[0, 1, 2]"
    modules = ["<module>"] * 2
    once = ["<module>", "g", *(["<listcomp>"] if "<listcomp>" in stand_in.names() else [])]
    assert stand_in.names() == [*modules, *[*once, *["f"] * 3] * 2]
    begins, ends = stand_in.lines("region")
    assert (begins["name"], begins["begins"]) == (f"In [{done.count}]", True)
    assert (ends["name"], ends["begins"]) == (f"In [{done.count}]", False)
    assert "ipykernel" in begins["file"]


def test_the_region_holds_all_of_the_cells_events(ready, stand_in):
    run(ready, "def f(): pass\nf()\nf()")
    kinds = [line["what"] for line in stand_in.lines() if line["what"] != "start"]
    assert kinds[:3] == ["recording", "recording", "region"]
    assert kinds[-2:] == ["region", "recording"]
    assert set(kinds[3:-2]) == {"enter", "exit"}
    assert [line["on"] for line in stand_in.lines("recording")] == [False, True, False]


def test_threads_of_the_cell_are_traced(ready, stand_in):
    code = "import threading\ndef f(): pass\nt = threading.Thread(target=f)\nt.start(); t.join()"
    assert run(ready, code).status == "ok"
    assert "f" in stand_in.names()


def test_a_cell_that_awaits_is_traced_with_its_tasks(ready, stand_in):
    code = (
        "import asyncio\n"
        "async def f(n):\n    await asyncio.sleep(0)\n    return n\n"
        "def g(n): return n\n"
        "tasks = [asyncio.create_task(f(i)) for i in range(2)]\n"
        "a = await f(5)\n"
        "b = await asyncio.gather(*tasks)\n"
        "del tasks\n"
        "g(a), b"
    )
    done = run(ready, code)
    assert done.result == "(5, [0, 1])", done.stderr
    names = stand_in.names()
    assert names.count("f") >= 6  # three of them, each goes on at least once
    assert "g" in names
    assert not {"_run_once", "run_code", "do_execute", "_steps"} & set(names)


@pytest.mark.fault("I1")
def test_an_error_is_the_cells_and_its_trace_is_balanced(ready, stand_in):
    code = "rows = []\ndef f(i):\n    if i == 3: raise ValueError('bad row')\nfor i in range(5):\n"
    failed = run(ready, f"{code}    rows.append(i); f(i)")
    assert (failed.status, failed.ename) == ("error", "ValueError")
    assert "rows.append(i); f(i)" in failed.traceback
    assert "jumper" not in failed.traceback.replace("%%jumper", "")
    assert ready.run("len(rows)").result == "4"
    assert stand_in.names()[-4:] == ["f"] * 4
    assert len(stand_in.lines("region")) == 2
    assert len(stand_in.experiments()) == 1


def test_an_awaited_error_has_no_frame_of_ours(ready, stand_in):
    code = "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1 / 0\nawait f()"
    failed = run(ready, code)
    assert failed.ename == "ZeroDivisionError"
    assert "traced.py" not in failed.traceback
    assert len(stand_in.lines("region")) == 2


@pytest.mark.parametrize(
    "code",
    ["import sys; sys.exit(3)", "1 +", "1 / 0", "raise KeyboardInterrupt", "%no_such_magic"],
)
def test_errors_are_as_without_score_p(ready, code):
    plain = ready.run(code)
    failed = run(ready, code)
    assert failed.reply["content"]["ename"] == plain.reply["content"]["ename"]
    assert failed.reply["content"]["evalue"] == plain.reply["content"]["evalue"]
    assert len(failed.traceback.splitlines()) == len(plain.traceback.splitlines())


@pytest.mark.parametrize(
    "code",
    [
        "1\n2",
        "print(1)\n2\n",
        "x = 3;",
        "None",
        "%time v",
        "get_ipython().run_cell('7\\n8')\nprint(9)",
        "%config InteractiveShell.ast_node_interactivity = 'all'",
        "1\nprint(2)\n3\nfor i in (4, 5): i",
        "%config InteractiveShell.ast_node_interactivity = 'last_expr'",
        "%%capture kept_output\nprint(5)\n6",
    ],
)
def test_values_are_shown_as_without_score_p(ready, code):
    plain = ready.run(code)
    there = run(ready, code)
    assert there.status == plain.status == "ok", there.traceback
    assert _shown(there) == _shown(plain)


def _shown(done: Run) -> list[tuple]:
    """Without times and addresses."""
    found = []
    for kind, *rest in done.without_ours():
        parts = [rest[0]["text/plain"]] if kind == "execute_result" else rest
        if parts[0] != "stderr":
            texts = (re.sub(r"[\d.e+]+ [nµμm]?s\b|0x\w+", "T", str(part)) for part in parts)
            found.append((kind, *texts))
    return found


def test_showing_the_last_value_is_no_call_of_the_cell(ready, stand_in):
    assert run(ready, "class A:\n    def __repr__(self): return 'shown'\nA()").result == "shown"
    assert "__repr__" not in stand_in.names()


def test_a_print_is_no_call_of_the_cell(ready, stand_in):
    code = (
        "import sys, threading\n"
        "def f(): print(1, flush=True); print(2, file=sys.stderr)\n"
        "f()\n"
        "t = threading.Thread(target=f); t.start(); t.join(); del t\n"
        "sys.stdout.write('3\\n')"
    )
    done = run(ready, code)
    assert (done.stdout, done.result) == ("1\n1\n3\n", "2")
    assert done.stderr.startswith("2\n2\n")
    names = stand_in.names()
    assert names.count("f") == 2
    assert not {"write", "flush", "call", "parent_header"} & set(names)
    assert ready.run("print(4)").stdout == "4\n"


def test_another_profiler_of_the_cell_sees_its_prints(ready, stand_in):
    code = (
        "import cProfile\nprofiler = cProfile.Profile()\n"
        "def f(): profiler.enable(); print(1); profiler.disable()\n"
        "f()\n"
        "n = len(profiler.getstats()); del profiler"
    )
    done = run(ready, code)
    assert (done.status, done.stdout) == ("ok", "1\n"), done.traceback
    assert int(ready.run("n").result) > 3


# ---- the environment ----


def test_the_cell_and_its_children_see_nothing_of_it(ready, stand_in):
    code = (
        "import subprocess, sys, os\n"
        "out = subprocess.run(['sh', '-c', 'echo ok'], capture_output=True, text=True)\n"
        "child = [sys.executable, '-c', 'print(1)']\n"
        "w = subprocess.run(child, capture_output=True, text=True)\n"
        "files = !ls\n"
        "left = [k for k in os.environ if 'SCOREP' in k or k in ('LD_PRELOAD', 'PYTHONSAFEPATH')]\n"
        "(out.stdout, out.stderr, w.stdout, w.stderr), left"
    )
    for does in ("", "keeps-preload"):
        stand_in.forget()
        ready.run(f"%env STANDIN_DOES={does}")
        done = run(ready, code)
        assert done.result == "(('ok\\n', '', '1\\n', ''), [])", done.stderr
        # Beside itself and where it asks scorep-config only what it starts without the cell.
        assert all("engine_main.py" in line for line in stand_in.loaded()), stand_in.loaded()
    assert ready.run("[k for k in os.environ if 'SCOREP' in k]").result == "[]"


def test_what_the_user_has_set_reaches_score_p_and_stays_visible(ready, stand_in):
    ready.run("%env SCOREP_TOTAL_MEMORY=32M\n%env LD_LIBRARY_PATH=/mine\nimport os")
    names = "os.environ.get('SCOREP_TOTAL_MEMORY'), os.environ['LD_LIBRARY_PATH']"
    done = run(ready, f"path = os.environ['PATH']\n{names}")
    assert done.result == "('32M', '/mine')"
    (start,) = stand_in.lines("start")
    assert start["environment"]["SCOREP_TOTAL_MEMORY"] == "32M"
    assert start["environment"]["LD_LIBRARY_PATH"].endswith(":/mine")
    assert ready.run("path == os.environ['PATH']").result == "True"
    ready.run("del os.environ['SCOREP_TOTAL_MEMORY'], os.environ['LD_LIBRARY_PATH']")


@pytest.mark.fault("X8")
def test_nothing_is_taken_from_the_working_directory(ready, stand_in):
    (stand_in.folder / "scorep.py").write_text("raise SystemExit('planted')")
    planted = stand_in.folder / "scorep-config"
    planted.write_text("#!/bin/sh\necho planted >&2; exit 1")
    planted.chmod(0o755)
    ready.run("import os; path = os.environ['PATH']; os.environ['PATH'] = '.:' + path")
    done = run(ready, "os.environ['PATH'][:2]")
    ready.run("os.environ['PATH'] = path")
    planted.unlink()
    (stand_in.folder / "scorep.py").unlink()
    assert (done.status, done.result) == ("ok", "'.:'"), done.stderr


# ---- the experiment ----


def test_each_run_has_its_own_experiment_and_says_how_to_open_it(ready, stand_in):
    ready.run(TRACING)
    lines = [told(run(ready, "v = 2")) for _ in range(2)]
    ready.run("import os; del os.environ['SCOREP_ENABLE_TRACING']")
    paths = stand_in.experiments()
    assert len(paths) == 2
    for path, said in zip(paths, sorted(lines, key=lambda it: it[0].split("In [")[1]), strict=True):
        line = next(one for one in said if " under Score-P: " in one)
        assert re.search(
            r"In \[\d+\] under Score-P: (\S+) \(\d+ B\): trace `vampir \1/traces", line
        )
        assert f"profile `cube {path}/profile.cubex`" in line


def test_what_else_is_in_the_trace_is_said_once(open_notebook, stand_in):
    notebook = open_notebook(env=stand_in.environment(), cwd=stand_in.folder)
    said = [[one for one in told(run(notebook, "1")) if "beside" in one] for _ in range(2)]
    assert list(map(len, said)) == [1, 0]


def test_the_users_directory_is_honoured(ready, stand_in, tmp_path):
    ready.run(f"%env SCOREP_EXPERIMENT_DIRECTORY={tmp_path}/mine")
    for _ in range(2):
        done = run(ready, "import os\nos.environ['SCOREP_EXPERIMENT_DIRECTORY']")
        assert done.result == f"'{tmp_path}/mine'"
        assert f"under Score-P: {tmp_path}/mine (" in done.stderr
    assert not stand_in.experiments()
    ready.run("%env SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY=false")
    refused = run(ready, "v = 3")
    ready.run("for k in [k for k in os.environ if 'SCOREP' in k]: del os.environ[k]")
    assert refused.ename == "UsageError"
    assert "is there already" in refused.stderr
    assert ready.run("v").result == "1"


def test_a_folder_that_cant_be_written_is_said_before(ready):
    if os.geteuid() == 0:
        ready.run("%env SCOREP_EXPERIMENT_DIRECTORY=/proc/mine\nimport os")
    else:
        ready.run("%env SCOREP_EXPERIMENT_DIRECTORY=/mine\nimport os")
    refused = run(ready, "v = 3")
    ready.run("del os.environ['SCOREP_EXPERIMENT_DIRECTORY']")
    assert refused.status == "error"
    assert ready.run("v").result == "1"


@pytest.mark.fault("I4")
def test_the_reply_waits_for_the_anchor(ready, stand_in):
    ready.run("%env STANDIN_DOES=late")
    request = ready.send("%%jumper scorep\nprint('out')")
    ready.drain(lambda: ready.stdout_of(request))
    assert wait_until(lambda: len(stand_in.experiments()) == 1)
    assert not list(stand_in.folder.rglob("*.cubex"))
    stand_in.gate.touch()
    done = ready.take(request)
    assert "profile.cubex`" in done.stderr, done.stderr


def test_waiting_for_the_anchor_can_be_interrupted(ready, stand_in):
    ready.run("%env STANDIN_DOES=late")
    request = ready.send("%%jumper scorep\nv = 5\nprint('out')")
    ready.drain(lambda: ready.stdout_of(request))
    assert wait_until(lambda: not _engines(ready))
    ready.manager.interrupt_kernel()
    done = ready.take(request)
    stand_in.gate.touch()
    assert (done.status, done.ename) == ("error", "KeyboardInterrupt")
    assert "not complete: it has no profile.cubex" in done.stderr
    assert ready.run("v").result == "5"


def _engines(notebook: Notebook) -> list[str]:
    import psutil

    found = []
    for one in psutil.Process(notebook.pid).children(recursive=True):
        try:
            line = " ".join(one.cmdline())
        except psutil.Error:
            continue
        if "engine_main.py" in line and one.status() != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


@pytest.mark.fault("I4")
@pytest.mark.parametrize(
    ("does", "said"),
    [("torso", "not complete: it has no profile.cubex"), ("nothing", "has written nothing")],
)
def test_an_experiment_that_doesnt_come_is_said(ready, does, said):
    ready.run("import jumper.experiment as e; e.ANCHOR_S = e.ABSENT_S = 0.2")
    ready.run(f"%env STANDIN_DOES={does}")
    done = run(ready, "v = 5")
    ready.run("e.ANCHOR_S, e.ABSENT_S = 60.0, 2.0\ndel e")
    assert (done.status, ready.run("v").result) == ("ok", "5")
    assert said in done.stderr


@pytest.mark.fault("I1")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("v = 2; import os; os._exit(3)", "exited with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("import ctypes; ctypes.string_at(0)", "signal 11"),
    ],
)
def test_a_death_is_an_error_and_leaves_no_torso(ready, stand_in, code, said):
    died = run(ready, code)
    assert (died.status, died.ename) == ("error", "EngineDied")
    assert said in died.traceback
    assert ready.run("v").result == "1"
    (path,) = stand_in.experiments()
    assert "-incomplete-" in path.name
    assert str(path) in died.traceback


# ---- memory, and what is missing ----


@pytest.mark.fault("I4")
def test_score_p_out_of_memory_is_said_with_the_remedy(ready):
    ready.run("%env STANDIN_DOES=memory")
    died = run(ready, "def f(): pass\nfor i in range(100): f()\nv = 2")
    assert died.ename == "EngineDied"
    assert "signal 6" in died.traceback
    assert "%env SCOREP_TOTAL_MEMORY=65536000" in died.traceback
    assert "Out of memory" in died.stderr
    assert ready.run("v").result == "1"


@pytest.mark.fault("I4")
def test_out_of_memory_at_the_end_costs_the_trace_only(ready):
    ready.run("%env STANDIN_DOES=memory-at-end")
    done = run(ready, "v = 2")
    assert done.status == "ok", done.traceback
    assert "%env SCOREP_TOTAL_MEMORY=65536000" in done.stderr
    assert "-incomplete-" in done.stderr
    assert ready.run("v").result == "2"


def test_a_cell_that_prints_the_name_isnt_out_of_memory(ready):
    done = run(ready, "import sys\nprint('SCOREP_TOTAL_MEMORY=1', file=sys.stderr)")
    assert "not enough memory" not in done.stderr


@pytest.mark.fault("I4")
def test_bindings_that_fail_are_shown(ready):
    ready.run("%env STANDIN_DOES=fails")
    failed = run(ready, "v = 2")
    assert failed.ename == "UsageError"
    assert "scorep: it fails, as it was told to" in failed.stderr
    assert "has not come up" in failed.stderr


@pytest.mark.fault("I4")
def test_options_that_score_p_doesnt_have_are_shown(ready, stand_in):
    failed = run(ready, "v = 2", "--no-such-option")
    assert failed.ename == "UsageError"
    assert "unrecognized option '--no-such-option'" in failed.stderr
    assert run(ready, "v = 2", "--thread=pthread --mpp=mpi").status == "ok"
    assert stand_in.lines("start")[0]["argv"][1:3] == ["--thread=pthread", "--mpp=mpi"]


@pytest.mark.fault("I4")
@pytest.mark.parametrize(
    ("bindings", "config", "said"),
    [
        (True, False, "not complete: its Python bindings are there"),
        (False, True, "this Python has no bindings (module scorep)"),
        (False, False, "Score-P is not here"),
    ],
)
def test_what_is_missing_is_named_before_anything_runs(
    open_notebook, stand_in, bindings, config, said
):
    if not config and shutil.which("scorep-config"):
        pytest.skip("the real scorep-config is on PATH")
    environment = stand_in.environment(bindings=bindings, config=config)
    notebook = open_notebook(env=environment, cwd=stand_in.folder)
    notebook.run("v = 1")
    for name in ("%%execute_with_scorep", "%%jumper scorep"):
        refused = notebook.run(f"{name}\nv = 2")
        assert (refused.status, refused.ename) == ("error", "UsageError")
        assert said in refused.stderr
    assert notebook.run("v").result == "1"
    assert not _engines(notebook)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--", "needs no `--`"),
        ("pthread", "it takes options of Score-P's bindings"),
        ("--timeout", "--timeout needs a value"),
        ("--timeout 0", "a number of seconds above 0"),
    ],
)
def test_a_wrong_line_is_said(ready, arguments, said):
    refused = run(ready, "v = 2", arguments)
    assert refused.ename == "UsageError"
    assert said in refused.stderr
    assert ready.run("v").result == "1"


def test_a_time_limit_interrupts_and_the_trace_is_whole(ready):
    done = run(ready, "v = 2\nimport time\ntime.sleep(60)", "--timeout 0.5")
    assert done.ename == "TimeoutError"
    assert "profile.cubex`" in done.stderr
    assert ready.run("v").result == "2"


def test_an_engine_that_is_ended_leaves_no_torso(ready, stand_in):
    """By the third interrupt."""
    code = (
        "import time\n"
        "for i in range(5):\n"
        "    try:\n"
        "        print(i, flush=True); time.sleep(60)\n"
        "    except KeyboardInterrupt: pass"
    )
    request = ready.send(f"%%jumper scorep\n{code}")
    for i in range(3):
        ready.drain(lambda i=i: f"{i}\n" in ready.stdout_of(request))
        ready.manager.interrupt_kernel()
    done = ready.take(request)
    assert done.ename == "KeyboardInterrupt"
    (path,) = stand_in.experiments()
    assert f"what Score-P had written by then is in {path}: it has no profile.cubex" in done.stderr


def test_score_p_by_hand_is_traced_the_same_way(ready, stand_in, tmp_path):
    launcher = "{python} -m scorep --nopython {engine}"
    ready.run(f"%env SCOREP_EXPERIMENT_DIRECTORY={tmp_path}/own")
    done = ready.run(f'%%jumper run --with "{launcher}"\ndef f(): return 1\nf()')
    ready.run("import os; del os.environ['SCOREP_EXPERIMENT_DIRECTORY']")
    assert done.result == "1", done.stderr
    assert stand_in.names() == ["<module>", "<module>", "f"]
    assert (tmp_path / "own" / "profile.cubex").exists()


def test_a_notebook_that_imports_the_bindings_is_not_under_them(ready, stand_in):
    ready.run("import scorep.instrumenter, scorep.user")
    for _ in range(2):  # the second in a spare that has imported them, too
        done = ready.run("%%jumper run\ndef f(): return 1\nf()")
        assert (done.status, done.result) == ("ok", "1"), done.stderr
    assert not stand_in.lines("region")
    assert run(ready, "def f(): return 1\nf()").result == "1"
    assert "f" in stand_in.names()
    ready.run("del scorep")


# ---- the real one ----


def test_the_real_score_p_traces_the_cell(open_notebook, tmp_path):
    import importlib.util

    if shutil.which("scorep-config") is None or importlib.util.find_spec("scorep") is None:
        pytest.skip("NOT TESTED with the real Score-P: scorep-config or module scorep is not here")
    notebook = open_notebook(cwd=tmp_path)
    notebook.run(TRACING)
    code = "def mine(): return sum(range(10))\nx = [mine() for _ in range(10)]\nx[0]"
    done = notebook.run(f"%%execute_with_scorep\n{code}", timeout_s=120)
    assert (done.status, done.result) == ("ok", "45"), done.stderr
    (path,) = [one for one in tmp_path.iterdir() if one.name.startswith("scorep-")]
    assert (path / "traces.otf2").exists()
    if dump := shutil.which("otf2-print"):
        text = subprocess.check_output([dump, path / "traces.otf2"], text=True)
        entered = [line for line in text.splitlines() if line.startswith("ENTER")]
        assert sum("mine" in line for line in entered) == 10
        assert len(entered) < 100
        assert len(entered) == sum(line.startswith("LEAVE") for line in text.splitlines())


def test_the_stand_in_refuses_two_hyphens_as_the_real_one(ready):
    launcher = "{python} -m scorep --nopython -- {engine}"
    failed = ready.run(f'%%jumper run --with "{launcher}"\n1')
    assert failed.ename == "UsageError"
    assert "is not supported" in failed.stderr


def test_the_experiments_of_the_tests_lie_where_they_should(stand_in):
    assert not [one for one in Path.cwd().iterdir() if one.name.startswith("scorep-")]
