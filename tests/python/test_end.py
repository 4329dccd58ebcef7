"""How kernels and shells end: quickly, and with nothing of ours left (see conftest)."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from leftovers import MARK, marked, wait_until
from notebook import in_ipython

from jumper.session import program


@pytest.mark.fault("P14")
@pytest.mark.parametrize("last", ["x = 1", "exit", "quit()", "import os; os._exit(3)"])
def test_a_kernel_s_end_is_not_held_up(open_notebook, last):
    notebook = open_notebook()
    notebook.run("x = 1")
    notebook.send(last)
    begin = time.monotonic()
    notebook.manager.shutdown_kernel()
    assert time.monotonic() - begin < 2 + 2  # ours, and what ipykernel itself takes


@pytest.mark.fault("P6")
def test_a_kernel_that_is_killed_takes_the_sampler_along(open_notebook, monkeypatch):
    import os

    notebook = open_notebook()
    notebook.run("x = 1")
    mark = os.environ[MARK]
    assert len(marked(mark)) == 2
    os.kill(notebook.pid, 9)
    assert wait_until(lambda: not marked(mark))


@pytest.mark.fault("P14")
def test_a_kernel_that_restarts_begins_a_recording_of_its_own(open_notebook, state_home):
    notebook = open_notebook()
    notebook.run("x = 1")
    notebook.manager.restart_kernel(now=True)
    notebook.client.wait_for_ready(timeout=60)
    notebook.run("x = 2")
    assert [one["index"] for one in notebook.history()] == [1]
    assert len(list((state_home / "jumper").iterdir())) == 2


def report(recording: Path) -> str:
    return subprocess.run(
        [program(), "report", str(recording)], capture_output=True, text=True, check=True
    ).stdout


def end_of(recording: Path) -> str:
    """The report's last line, which must soon be there."""
    found = []

    def has_ended() -> bool:
        found[:] = report(recording).splitlines()[-1:]
        return found[0].startswith(("closed", "killed"))

    assert wait_until(has_ended), found
    return found[0]


def recordings(state_home: Path) -> set[Path]:
    return set((state_home / "jumper").iterdir())


@pytest.mark.fault("P14")
def test_a_restart_and_a_shutdown_say_so(open_notebook, state_home):
    notebook = open_notebook()
    notebook.run("x = 1")
    (first,) = recordings(state_home)
    notebook.manager.restart_kernel()
    assert end_of(first) == "closed: the kernel was restarted"
    notebook.client.wait_for_ready(timeout=60)
    notebook.run("x = 2")
    (second,) = recordings(state_home) - {first}
    notebook.manager.shutdown_kernel()
    assert end_of(second) == "closed: the kernel was shut down"


@pytest.mark.fault("P14")
def test_a_shutdown_while_a_cell_runs_says_so(open_notebook, state_home):
    notebook = open_notebook()
    request = notebook.send("import time; print('here', flush=True); time.sleep(60)")
    notebook.drain(lambda: "here" in notebook.stdout_of(request))
    begin = time.monotonic()
    notebook.manager.shutdown_kernel()
    assert time.monotonic() - begin < 2 + 2
    (recording,) = recordings(state_home)
    assert end_of(recording) == "closed: the kernel was shut down"
    assert "interrupted" in report(recording)


@pytest.mark.parametrize(
    ("last", "end"),
    [
        ("%unload_ext jumper", "closed: the extension was unloaded"),
        ("x = 2", "closed: the interpreter ended"),
    ],
)
def test_unloading_and_the_interpreter_s_end_say_so(state_home, last, end):
    in_ipython(f"run('%load_ext jumper'); run('x = 1'); run({last!r})")
    (recording,) = recordings(state_home)
    assert end_of(recording) == end


@pytest.mark.fault("P6")
def test_a_terminal_shows_the_summary_as_text_and_a_pipe_ends():
    code = "import time; time.sleep(1.1); print('end of cell')"
    shell = f'"{sys.executable}" -m IPython --no-banner --ext=jumper -c "{code}" | cat'
    done = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, timeout=30, check=True
    )
    first, *summary = done.stdout.splitlines()
    assert first == "end of cell"
    assert any("CPU" in line for line in summary)
    assert "\x1b" not in done.stdout
    assert "<" not in done.stdout
    assert done.stderr == ""
