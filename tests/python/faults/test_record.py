"""`jumper record`: the command's end is its own end, and signals reach the command."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from faults.harness import Recording, alive, await_that, jumper, recordings

from jumper.session import program

pytestmark = pytest.mark.slow  # the same core, whichever CPython


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "run.jumper"


def wait_status(path: Path, *command: str) -> int:
    pid = os.posix_spawn(
        program(),
        [program(), "record", "-o", str(path), "--", *command],
        os.environ,
        setsigdef=[signal.SIGPIPE],  # Python ignores it
    )
    return os.waitpid(pid, 0)[1]


@pytest.mark.parametrize("status", [0, 1, 3, 126, 127, 255])
def test_the_exit_status_is_passed_on(path, status):
    assert wait_status(path, "sh", "-c", f"exit {status}") == status << 8
    (cell,) = Recording(path).cells
    assert cell["outcome"] == ("error" if status else "ok")


@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGKILL", "SIGSEGV", "SIGABRT", "SIGINT", "SIGHUP", "SIGPIPE"]
)
def test_a_death_by_signal_is_repeated(path, name):
    """The whole wait status is the same, but for who writes the core file."""
    number = getattr(signal, name)
    status = wait_status(path, "sh", "-c", f"ulimit -c 0; kill -{number} $$")
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == number
    (cell,) = Recording(path).cells
    assert cell["outcome"] == ("interrupted" if name == "SIGINT" else "died")


WAITS = """
import os, signal, sys, time
def caught(number, frame):
    print("got", number, flush=True)
    raise SystemExit(40 + number)
for name in {names!r}: signal.signal(getattr(signal, name), caught)
print(os.getpid(), flush=True)
while True: time.sleep(60)
"""
PASSED_ON = ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"]


@pytest.fixture
def recorded(path):
    """A recorded command that says which signal it got."""
    command = [sys.executable, "-S", "-c", WAITS.format(names=PASSED_ON)]
    with subprocess.Popen(
        [program(), "record", "-o", str(path), "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        process.command_pid = int(process.stdout.readline())
        yield process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("name", PASSED_ON)
def test_signals_sent_to_it_reach_the_command(recorded, path, name):
    number = getattr(signal, name)
    recorded.send_signal(number)
    out, err = recorded.communicate(timeout=20)
    assert (recorded.returncode, out, err) == (40 + number, f"got {int(number)}\n", "")
    (cell,) = Recording(path).cells
    assert cell["outcome"] == "error"


def test_a_key_of_the_terminal_is_not_doubled(path, tmp_path):
    """Ctrl-C goes to the whole foreground group by itself: the command gets one."""
    import pty

    counts = (
        "import signal, time\ngot = []\nsignal.signal(signal.SIGINT, lambda *_: got.append(1))\n"
        "print('ready', flush=True)\nend = time.time() + 1\n"
        "while time.time() < end: time.sleep(0.01)\nprint('got', len(got), flush=True)"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(
            program(),
            [program(), "record", "-o", str(path), "--", sys.executable, "-S", "-c", counts],
        )
    text = b""
    while b"ready" not in text:
        text += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    while b"got" not in text or not text.endswith(b"\n"):  # the line may come in parts
        text += os.read(terminal, 1000)
    assert b"got 1" in text
    assert os.waitpid(pid, 0)[1] == 0
    os.close(terminal)


def test_killed_itself(recorded, path):
    """The command lives on, as under any parent; the recording ends with the cause."""
    recorded.kill()
    recorded.wait()
    await_that(lambda: Recording(path, whole=False).end, 5)
    recording = Recording(path)
    assert recording.end == "killed by signal 9 (SIGKILL)"
    assert alive(recorded.command_pid)
    os.kill(recorded.command_pid, signal.SIGKILL)


def test_signals_ignored_before_stay_ignored(path):
    """As by nohup."""
    script = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    done = subprocess.run(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh",
         program(), "record", "-o", str(path), "--", sys.executable, "-S", "-c", script],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_the_command_starts_as_it_would_alone(path):
    """Signals, descriptors, environment, standard files."""
    script = (
        "import os, signal, sys\n"
        "print([signal.getsignal(n) == signal.SIG_DFL for n in (2, 3, 15, 1, 10, 12, 13)][:6],"
        " signal.pthread_sigmask(signal.SIG_BLOCK, []), sorted(os.listdir('/proc/self/fd')),"
        " sorted(os.environ), sys.stdin.read(), os.getcwd())"
    )
    alone, recorded = (
        subprocess.run(
            [*before, sys.executable, "-S", "-c", script],
            input="typed", capture_output=True, text=True, timeout=60, check=False,
        )
        for before in ([], [program(), "record", "-o", str(path), "--"])
    )  # fmt: skip
    assert recorded.stdout == alone.stdout
    assert recorded.stderr == ""


def test_options_behind_the_command_are_the_command_s(path):
    done = jumper("record", "-o", path, "echo", "-o", "x", "--rate", "--", "y")
    assert (done.stdout, done.stderr) == ("-o x --rate -- y\n", "")


def test_without_a_name_it_says_where(state_home):
    done = jumper("record", "--", "true")
    (path,) = recordings()
    assert done.returncode == 0
    assert done.stderr == f"jumper: recorded in {path}\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_background_child_is_not_waited_for(path):
    """As without us: the shell ends, its child goes on."""
    begin = time.monotonic()
    done = jumper("record", "-o", path, "--", "sh", "-c", "sleep 30 >/dev/null 2>&1 & echo $!")
    assert time.monotonic() - begin < 15
    assert done.returncode == 0
    os.kill(int(done.stdout), signal.SIGKILL)
