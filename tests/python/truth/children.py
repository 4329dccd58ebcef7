"""Processes that use a known amount and say so. Runs in what is measured, so it imports little."""

import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

BURN = str(Path(__file__).with_name("burn.py"))


def burn(seconds: float) -> None:
    """Until this thread has used so much CPU time more."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))


def used_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def own_cpu_s() -> float:
    """Of this process, and of the children that it has waited for."""
    return used_s(resource.RUSAGE_SELF) + used_s(resource.RUSAGE_CHILDREN)


def clock_s(pid: int) -> float:
    """What a living process has used by now: clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


def run_python(seconds: float, **options) -> None:
    """A child of another program, waited for."""
    subprocess.run([sys.executable, "-S", BURN, str(seconds)], check=True, **options)


class Child:
    """A fork of this process: works, says what CPU time it has used, stays until it is let go."""

    MESSAGE = struct.Struct("qdd")

    def __init__(
        self, work: Callable[[], object] = lambda: None, *, orphan_after_s: float | None = None
    ) -> None:
        """`orphan_after_s`: by a double fork, the parent of the two ends after so long."""
        said, say = os.pipe()
        wait, self._gate = os.pipe()
        self.cpu_s = 0.0
        self._children_s = 0.0
        self._said = said
        self.orphan = orphan_after_s is not None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                if orphan_after_s is not None and os.fork():
                    time.sleep(orphan_after_s)
                    os._exit(0)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                work()
                children_s = used_s(resource.RUSAGE_CHILDREN)
                os.write(say, self.MESSAGE.pack(os.getpid(), own_cpu_s(), children_s))
                os.read(wait, 1)
            finally:
                os._exit(0)
        os.close(say)
        os.close(wait)
        if self.orphan:
            os.waitpid(self.pid, 0)

    def hear(self) -> float:
        """Waits for it to have worked; its CPU time."""
        answer = os.read(self._said, self.MESSAGE.size)
        self.pid, self.cpu_s, self._children_s = self.MESSAGE.unpack(answer)
        return self.cpu_s

    def cpu_now_s(self) -> float:
        return self.cpu_s if self.gone() else clock_s(self.pid) + self._children_s

    def let_go(self) -> None:
        os.write(self._gate, b"x")

    def end(self) -> None:
        self.let_go()
        if not self.orphan:
            os.waitpid(self.pid, 0)

    def gone(self) -> bool:
        """Whether it has ended, for an orphan (whose end nobody here may wait for)."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return True
        return stat.rpartition(")")[2].split()[0] in "ZX"


def await_that(condition: Callable[[], object], timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(condition)
        time.sleep(0.002)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread
