"""An engine may die whenever it likes: the cell says why, and the kernel is as it was."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from leftovers import wait_until
from notebook import Notebook, Run

FAILING = Path(__file__).with_name("failing_engine.py")
CELL = "v = 2; kept.append(2); print('said', flush=True)"


def run(notebook: Notebook, fault: str, code: str = CELL) -> Run:
    launcher = f"{{python}} {FAILING} '{fault}' {{engine}}"
    return notebook.run(f'%%jumper run --with "{launcher}"\n{code}')


@pytest.fixture
def ready(shared_notebook) -> Notebook:
    made = shared_notebook.run("v = 1; kept = [1]; same = kept; kept is same")
    assert made.result == "True", made.traceback
    yield shared_notebook
    # Whatever has happened, the next cell runs.
    after = shared_notebook.run("%%jumper run\nv = v + 10; kept.append(10)")
    assert after.status == "ok", after.traceback
    assert children(shared_notebook) <= 1  # the spare
    assert not descriptors(shared_notebook)


def children(notebook: Notebook) -> int:
    return len(psutil.Process(notebook.pid).children(recursive=True))


def descriptors(notebook: Notebook) -> list[str]:
    """The kernel's of ours, beside those of a spare: pidfd, channel and two pipes."""
    links = [str(one.readlink()) for one in Path(f"/proc/{notebook.pid}/fd").iterdir()]
    return [one for one in links if "jumper-segment" in one]


def state(notebook: Notebook) -> str | None:
    return notebook.run("v, kept, kept is same").result


BEFORE_DONE = [
    "after HELLO",
    "got SETUP",
    "got STATE",
    "before LOADED",
    "after LOADED",
    "got RUN",
    "before MESSAGE",
    "after MESSAGE",
    "before AROUND",
    "after AROUND",
    "before DONE",
]


@pytest.mark.fault("I2")
@pytest.mark.parametrize("step", BEFORE_DONE)
def test_an_engine_killed_before_its_answer_changes_nothing(ready, step):
    died = run(ready, f"kill@{step}")
    assert (died.status, died.ename) == ("error", "EngineDied"), died.traceback
    assert "killed by signal 9" in died.traceback
    assert "variables are as they were" in died.traceback
    assert state(ready) == "(1, [1], True)"


@pytest.mark.fault("I2")
@pytest.mark.parametrize("step", ["begin", "before HELLO"])
def test_an_engine_killed_before_it_came_is_a_launcher_that_failed(ready, step):
    died = run(ready, f"kill@{step}")
    assert (died.status, died.ename) == ("error", "UsageError")
    assert "has not come up, was killed by signal 9" in died.stderr
    assert "failing_engine.py" in died.stderr
    assert state(ready) == "(1, [1], True)"


@pytest.mark.fault("I2")
@pytest.mark.parametrize("step", ["after DONE", "got END"])
def test_what_an_engine_has_answered_counts(ready, step):
    died = run(ready, f"kill@{step}")
    assert (died.status, died.stdout) == ("ok", "said\n"), died.traceback
    assert "killed by signal 9 (Killed) after the cell" in died.stderr
    assert state(ready) == "(2, [1, 2], True)"


@pytest.mark.fault("X4")
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("garbage@got RUN", "can't be read"),
        ("close@got RUN", "exited with status 1"),
        ("exit@after MESSAGE", "exited with status 7"),
    ],
)
def test_an_engine_that_talks_nonsense_is_ended(ready, fault, said):
    died = run(ready, fault)
    assert (died.status, died.ename) == ("error", "EngineDied"), died.traceback
    assert said in died.traceback
    assert state(ready) == "(1, [1], True)"


@pytest.mark.fault("I1")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("v = 2; import os; os._exit(3)", "exited with status 3"),
        ("v = 2; import os; os.kill(os.getpid(), 9)", "was killed by signal 9"),
        ("v = 2; import ctypes; ctypes.string_at(0)", "was killed by signal 11"),
        ("v = 2; import os; os.abort()", "was killed by signal 6"),
        ("v = 2; import os; os.close(3)", "has lost the kernel"),
    ],
)
def test_a_cell_that_ends_its_process_is_an_error_that_says_how(ready, code, said):
    died = ready.run(f"%%jumper run\n{code}")
    assert (died.status, died.ename) == ("error", "EngineDied"), died.traceback
    assert said in died.traceback + died.stderr
    assert state(ready) == "(1, [1], True)"


@pytest.mark.fault("I1")
@pytest.mark.parametrize("end", ["1 / 0", "import os; os._exit(1)"])
def test_its_traceback_keeps_no_variable_alive(ready, end):
    ready.run(
        "import gc, weakref\nclass Thing: pass\nthing = Thing(); seen = weakref.ref(thing)\n"
        "import numpy as np\nx = np.zeros(100_000)"
    )
    assert ready.run(f"%%jumper run\n{end}").status == "error"
    assert ready.run("del thing; gc.collect(); seen() is None").result == "True"
    resized = ready.run("x.resize(5); x.size")  # nobody holds its memory
    assert resized.result == "5", resized.traceback


def test_sys_exit_ends_the_cell_and_brings_back_what_it_did(ready):
    ended = ready.run("%%jumper run\nimport sys\nv = 2\nsys.exit(3)")
    assert (ended.status, ended.ename) == ("error", "SystemExit")
    assert ready.run("v").result == "2"


def test_an_error_stops_the_cells_that_wait(ready):
    first = ready.send("%%jumper run\nkept.append(2)\nraise ValueError('bad row')")
    second = ready.send("v = 'never'")
    assert ready.take(first).status == "error"
    assert ready.take(second).status == "aborted"
    assert state(ready) == "(1, [1, 2], True)"


def test_the_kernels_death_is_the_engines(open_notebook):
    notebook = open_notebook()
    notebook.run("%%jumper run\n1")  # makes a spare
    request = notebook.send(
        "%%jumper run\nimport subprocess, time\nchild = subprocess.Popen(['sleep', '600'])\n"
        "print(child.pid, flush=True)\ntime.sleep(600)"
    )
    notebook.drain(lambda: notebook.stdout_of(request))
    family = psutil.Process(notebook.pid).children(recursive=True)
    assert len(family) >= 2
    os.kill(notebook.pid, signal.SIGKILL)
    assert wait_until(lambda: not any(is_alive(one) for one in family))


def test_a_shutdown_ends_engine_and_spare(open_notebook):
    notebook = open_notebook()
    notebook.run("%%jumper run\n1")
    assert wait_until(lambda: children(notebook) == 1)
    family = psutil.Process(notebook.pid).children(recursive=True)
    notebook.close()
    assert wait_until(lambda: not any(is_alive(one) for one in family))


def is_alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_an_engine_that_the_user_has_waited_for_is_no_error(ready):
    code = (
        "import os, threading, time\n"
        "def reap():\n    while True:\n        try: os.wait()\n"
        "        except ChildProcessError: time.sleep(0.01)\n"
        "        if stop: return\n"
        "stop = []\nreaper = threading.Thread(target=reap, daemon=True); reaper.start()"
    )
    ready.run(code)
    for _ in range(3):
        cell = ready.run("%%jumper run --with env\nv = 7")
        assert (cell.status, cell.stderr.count("status")) == ("ok", 0), cell.traceback
    died = ready.run("%%jumper run --with env\nimport os; os._exit(3)")
    assert died.ename == "EngineDied"
    ready.run("stop.append(1)")
    assert ready.run("v").result == "7"


def test_threads_of_the_cell_end_with_it_and_are_named(ready):
    begin = time.monotonic()
    cell = ready.run(
        "%%jumper run\nimport threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), name='lasting').start()\n5"
    )
    assert (cell.status, cell.result) == ("ok", "5")
    assert "lasting" in cell.stderr
    assert time.monotonic() - begin < 30


def test_what_a_library_says_before_it_aborts_is_shown(ready):
    """Nothing in the engine could read it any more: no other thread runs meanwhile."""
    code = (
        "import ctypes\nlibrary = ctypes.PyDLL(None)\n"
        "library.dprintf(2, b'its last words\\n'); library.abort()"
    )
    died = ready.run(f"%%jumper run\n{code}")
    assert died.ename == "EngineDied"
    assert "its last words\n" in died.stderr


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)", "os.abort()"])
def test_what_was_written_just_before_it_ends_is_shown(ready, end):
    """Also where its own thread has seen it, and waits for more to send with it."""
    died = ready.run(
        "%%jumper run\nimport os, subprocess, time\n"
        "subprocess.run(['sh', '-c', 'echo the last words; echo the last errors >&2'])\n"
        f"time.sleep(0.05)\n{end}"
    )
    assert died.ename == "EngineDied"
    assert died.stdout == "the last words\n"
    assert "the last errors\n" in died.stderr


def test_a_cell_that_closes_what_its_descriptors_are_read_from_prints_on(ready):
    done = ready.run(
        "%%jumper run\nimport os, sys\nos.close(sys.stdout._fid); os.close(sys.stderr._fid)\n"
        "print('still here'); print('and here', file=sys.stderr)\nv = 2"
    )
    assert done.status == "ok", done.traceback
    assert done.stdout == "still here\n"
    assert "and here\n" in done.stderr
    assert ready.run("v").result == "2"


def test_a_signals_handler_prints_in_the_middle_of_everything(ready):
    done = ready.run(
        "%%jumper run\nimport os, signal, time\n"
        "struck = []\n"
        "def handler(*_): struck.append(1); print('struck')\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "until = time.monotonic() + 2\n"
        "while time.monotonic() < until:\n"
        "    os.write(1, b'written\\n'); time.sleep(0.0004); print('printed')\n"
        "signal.setitimer(signal.ITIMER_REAL, 0); signal.signal(signal.SIGALRM, signal.SIG_DFL)\n"
        "len(struck)"
    )
    assert done.status == "ok", done.traceback
    assert done.stdout.count("struck") == int(done.result)
    assert done.stdout.count("written") == done.stdout.count("printed")


def test_what_children_write_stands_in_its_place(ready):
    done = ready.run(
        "%%jumper run\nimport subprocess\nfor i in range(50):\n"
        "    print(2 * i)\n    subprocess.run(['echo', str(2 * i + 1)])"
    )
    assert done.stdout.split() == [str(i) for i in range(100)]


def test_an_engine_that_ends_while_its_cell_asks_ends_the_question(ready):
    request = ready.send(
        "%%jumper run\nimport os, signal, threading\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()\n"
        "v = input('? ')",
        allow_stdin=True,
    )
    assert ready.client.get_stdin_msg(timeout=60)["content"]["prompt"] == "? "
    done = ready.take(request)  # nobody answers
    assert "EngineDied" in done.traceback
    assert "killed by signal 9" in done.traceback
    assert ready.run("v").result == "1"


def test_an_extension_that_fails_there_is_named_and_the_cell_runs(open_notebook, tmp_path):
    (tmp_path / "only_once.py").write_text(
        "import os\nfrom pathlib import Path\nseen = Path(__file__).with_name('seen')\n"
        "def load_ipython_extension(shell):\n"
        "    if seen.exists(): raise SystemExit('not again')\n"
        "    seen.touch()\n"
    )
    notebook = open_notebook(env={"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"})
    assert notebook.run("%load_ext only_once").status == "ok"
    done = notebook.run("%%jumper run\nx = 5; x")
    assert done.result == "5", done.traceback
    assert "the engine is without extension only_once: SystemExit('not again')" in done.stderr
    assert notebook.run("x").result == "5"
