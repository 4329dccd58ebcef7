"""`jumper report --follow` as a process, and the stacks that it shows taken apart."""

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

from jumper.session import program

PATIENCE_S = 30


class Follower:
    """Reads what it prints as it comes; `before`: words before the command."""

    def __init__(self, *arguments, before=(), **options):
        words = [*before, program(), "report", "--follow", *map(str, arguments)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(
            words, **(streams | {"stderr": subprocess.PIPE} | options), start_new_session=True
        )
        self.output = self.process.stdout.fileno() if self.process.stdout else -1
        self.text = ""

    def read_some(self, timeout_s: float) -> bool:
        """False when there is no more."""
        if not select.select([self.output], [], [], timeout_s)[0]:
            return True
        try:
            found = os.read(self.output, 1 << 16)
        except OSError:  # a terminal whose other end is closed
            found = b""
        self.text += found.decode()
        return bool(found)

    def until(self, pattern: str, timeout_s: float = PATIENCE_S) -> re.Match:
        """Waits until it has printed that."""
        deadline = time.monotonic() + timeout_s
        while not (found := re.search(pattern, self.text)):
            more = self.read_some(0.1)
            assert more or re.search(pattern, self.text), f"it ended: {self.text}"
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text}"
        return found

    def stacks(self) -> dict[str, list[str]]:
        self.until(r"stacks at [^\n]*\n(?s:.*?)\n\n")
        return stacks_in(self.text)

    def end(self, timeout_s: float = PATIENCE_S) -> tuple[int, str]:
        """Its status and what it said on stderr, once it ends by itself."""
        deadline = time.monotonic() + timeout_s
        while self.read_some(0.1):
            assert time.monotonic() < deadline, self.text
        status = self.process.wait(timeout_s)
        return status, self.process.stderr.read().decode() if self.process.stderr else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


def stacks_in(text: str) -> dict[str, list[str]]:
    """Of the last block: the line of each thread, in order, and its frames."""
    block = text.replace("\r", "").rpartition("stacks at ")[2].partition("\n")[2]
    found: dict[str, list[str]] = {}
    for line in block.partition("\n\n")[0].splitlines():
        if line.startswith("thread "):
            frames = found[line] = []
        else:
            frames.append(line.strip())
    return found


HANG = """\
import os
import re
import threading
import time

lock = threading.Lock()
pattern = re.compile("(a+)+$")


def ready(name):
    os.close(os.open(name, os.O_CREAT))


class Model:
    def sleeps(self, name):
        ready(name)
        time.sleep(
            1000
        )


def waits(name):
    ready(name)
    with lock:
        pass


def computes(name):
    ready(name)
    return pattern.match("a" * 60 + "b")  # for ever, in C, with the GIL


def in_thread(target, name):
    threading.Thread(target=target, args=(name,), daemon=True).start()
"""


class Hang:
    """A module whose functions hang, each in a known line."""

    def __init__(self, folder: Path):
        self.file = folder / "hang.py"
        self.file.write_text(HANG)
        self.folder = folder

    def frame(self, function: str, text: str) -> str:
        (line,) = (i for i, one in enumerate(HANG.splitlines(), 1) if text in one)
        return f"{self.file}:{line} in {function}"

    @property
    def sleeping(self) -> str:
        return self.frame("Model.sleeps", "time.sleep(")

    @property
    def waiting(self) -> str:
        return self.frame("waits", "with lock")

    @property
    def computing(self) -> str:
        return self.frame("computes", "pattern.match(")


def stop_and_go_on(pid: int) -> contextlib.AbstractContextManager:
    @contextlib.contextmanager
    def stopped():
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    return stopped()
