"""Stop, and stop at last: what interrupts and time limits do to a cell in an engine."""

import shutil
import time
from pathlib import Path

import pytest
from notebook import Notebook, Run

FAILING = Path(__file__).with_name("failing_engine.py")
SOON = "import threading; threading.Timer(0.3, print, '1').start()"  # it waits by then
STUBBORN = (
    "while True:\n    try:\n        print('on', flush=True)\n        time.sleep(60)\n"
    "    except KeyboardInterrupt: pass"
)


@pytest.fixture
def ready(shared_notebook) -> Notebook:
    made = shared_notebook.run("import time; v = 1; kept = [1]")
    assert made.status == "ok", made.traceback
    yield shared_notebook
    after = shared_notebook.run("%%jumper run\nv = 'after'")
    assert after.status == "ok", after.traceback


def begin(notebook: Notebook, code: str, options: str = "") -> str:
    """Sends the cell, and waits until it has printed something."""
    request = notebook.send(f"%%jumper run {options}\n{code}")
    notebook.drain(lambda: notebook.stdout_of(request))
    return request


def interrupt(notebook: Notebook, code: str, options: str = "") -> Run:
    request = begin(notebook, code, options)
    notebook.interrupt()
    return notebook.take(request)


def test_an_interrupted_cell_brings_back_what_it_did(ready):
    stopped = interrupt(ready, f"v = 2; kept.append(2)\n{SOON}\ntime.sleep(60)")
    assert (stopped.status, stopped.ename) == ("error", "KeyboardInterrupt")
    assert "time.sleep(60)" in stopped.traceback
    assert "jumper" not in stopped.traceback
    assert ready.run("v, kept").result == "(2, [1, 2])"


def test_an_interrupt_can_be_caught(ready):
    code = f"{SOON}\ntry: time.sleep(60)\nexcept KeyboardInterrupt: v = 'caught'\nv"
    assert interrupt(ready, code).result == "'caught'"


def test_an_interrupt_reaches_what_the_cell_has_started(ready):
    code = f"import subprocess\n{SOON}\nsubprocess.run(['sleep', '600'])"
    begun = time.monotonic()
    stopped = interrupt(ready, code)
    assert stopped.ename == "KeyboardInterrupt"
    assert time.monotonic() - begun < 30


def test_the_third_interrupt_in_a_row_ends_the_engine(ready):
    request = begin(ready, f"v = 2\n{STUBBORN}")
    for count in (2, 3):
        ready.manager.interrupt_kernel()
        ready.drain(lambda: ready.stdout_of(request).count("on") >= count)  # noqa: B023
    ready.manager.interrupt_kernel()
    stopped = ready.take(request)
    assert (stopped.status, stopped.ename) == ("error", "KeyboardInterrupt"), stopped.traceback
    assert "3 interrupts within 5 s" in stopped.stderr
    assert "variables are as they were" in stopped.traceback
    assert ready.run("v, kept").result == "(1, [1])"


def test_an_engine_that_hangs_is_killed_after_the_third(ready):
    request = ready.send(
        f"%%jumper run --with \"{{python}} {FAILING} 'stop@after MESSAGE' {{engine}}\"\n"
        "print(1, flush=True)"
    )
    ready.drain(lambda: ready.stdout_of(request))
    for _ in range(3):
        ready.manager.interrupt_kernel()
        time.sleep(0.1)  # else two of them become one
    stopped = ready.take(request)
    assert (stopped.status, stopped.ename) == ("error", "KeyboardInterrupt"), stopped.traceback


def test_an_interrupt_before_the_engine_has_come_ends_the_wait(ready):
    request = ready.send("%%jumper run --with \"sh -c 'echo here; sleep 600'\"\n1")
    ready.drain(lambda: ready.stdout_of(request))
    ready.manager.interrupt_kernel()
    stopped = ready.take(request)
    assert (stopped.status, stopped.ename) == ("error", "KeyboardInterrupt")
    assert stopped.traceback == "KeyboardInterrupt: the cell was interrupted before it ran"
    assert ready.run("v").result == "1"


def test_an_engine_that_never_comes_is_an_error(ready):
    ready.run("import jumper.engine as e; limit, e.HELLO_S = e.HELLO_S, 0.5")
    failed = ready.run("%%jumper run --with \"sh -c 'sleep 600'\"\n1")
    ready.run("e.HELLO_S = limit")
    assert failed.ename == "UsageError"
    assert "has not come within 0.5 s" in failed.stderr
    assert "sh -c 'sleep 600'" in failed.stderr


def test_a_question_can_be_interrupted(ready):
    request = ready.send("%%jumper run\nv = input('? ')", allow_stdin=True)
    ready.client.get_stdin_msg(timeout=60)
    ready.manager.interrupt_kernel()
    stopped = ready.take(request)
    assert stopped.ename == "KeyboardInterrupt", stopped.traceback
    assert ready.run("v").result == "1"


def test_a_cell_that_asks_again_after_an_interrupt_gets_the_second_answer(ready):
    request = ready.send(
        "%%jumper run\ntry: input('first ')\nexcept KeyboardInterrupt: v = input('second ')",
        allow_stdin=True,
    )
    ready.client.get_stdin_msg(timeout=60)
    ready.manager.interrupt_kernel()
    assert ready.client.get_stdin_msg(timeout=60)["content"]["prompt"] == "second "
    ready.client.input("two")
    done = ready.take(request)
    assert done.status == "ok", done.traceback
    assert ready.run("v").result == "'two'"


def test_a_time_limit_interrupts_the_cell(ready):
    late = ready.run("%%jumper run --timeout 0.5\nv = 2; kept.append(2)\ntime.sleep(600)")
    assert (late.status, late.ename) == ("error", "TimeoutError")
    assert "after 0.5 s" in late.traceback
    assert "time.sleep(600)" in late.traceback
    assert ready.run("v, kept").result == "(2, [1, 2])"


def test_a_cell_that_ends_in_time_has_no_limit_any_more(ready):
    assert ready.run("%%jumper run --timeout 60\nv = 2\nv").result == "2"


def test_a_stubborn_cell_is_ended_after_its_time(ready):
    ready.run("import jumper.running as r; limit, r.STOP_S = r.STOP_S, 0.2")
    late = ready.run(f"%%jumper run --timeout 0.3\nv = 2\n{STUBBORN}")
    ready.run("r.STOP_S = limit")
    assert (late.status, late.ename) == ("error", "TimeoutError"), late.traceback
    assert "variables are as they were" in late.traceback
    assert ready.run("v").result == "1"


@pytest.mark.parametrize("limit", ["0", "-1", "soon", "inf", "nan"])
def test_a_limit_must_be_a_number_of_seconds(ready, limit):
    refused = ready.run(f"%%jumper run --timeout={limit}\n1")
    assert refused.ename == "UsageError"
    assert f"--timeout {limit}: it must be a number of seconds above 0" in refused.stderr


def test_a_launcher_that_lingers_can_be_interrupted_and_the_state_counts(ready):
    request = ready.send(
        '%%jumper run --with "sh -c \'eval \\"$@\\"; echo lingers; exec sleep 600\' sh"\nv = 2'
    )
    ready.drain(lambda: "lingers" in ready.stdout_of(request))
    ready.manager.interrupt_kernel()
    done = ready.take(request)
    assert done.status == "ok", done.traceback
    assert ready.run("v").result == "2"


@pytest.mark.parametrize("launcher", ["perf stat -e task-clock", "strace -c -f", "timeout 600"])
def test_an_interrupt_leaves_the_launcher_to_tell_its_result(ready, launcher):
    if shutil.which(launcher.split()[0]) is None:
        pytest.skip(f"{launcher.split()[0]} is not installed")
    code = f"{SOON}\ntry: time.sleep(60)\nexcept KeyboardInterrupt: v = 'caught'\nv"
    done = interrupt(ready, code, f'--with "{launcher}"')
    assert done.result == "'caught'", done.traceback
    if launcher != "timeout 600":
        assert "task-clock" in done.stderr or "syscall" in done.stderr
