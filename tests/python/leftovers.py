"""What a test may leave behind: nothing. Used by conftest's fixtures."""

import os
import threading
import time
import uuid
from pathlib import Path

import psutil
import pytest

MARK = "JUMPER_TEST_MARK"  # in the environment of all that a test starts
LEAVE_S = 5


def marked(value: str) -> list[psutil.Process]:
    """The processes that carry the mark, ours and the sampler that is nobody's child."""
    found = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(MARK) == value:
                found.append(process)
        except psutil.Error:
            continue
    return found


def children() -> set[psutil.Process]:
    """Ours, those included that ended and that nobody has waited for."""
    return set(psutil.Process().children())


def descriptors() -> dict[int, str]:
    found = {}
    for path in Path("/proc/self/fd").iterdir():
        try:
            found[int(path.name)] = str(path.readlink())
        except OSError:
            continue  # the listing's own
    return found


def wait_until(condition, timeout_s: float = LEAVE_S) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def watch_leftovers(patch: pytest.MonkeyPatch):
    value = uuid.uuid4().hex
    patch.setenv(MARK, value)
    shared = set(Path("/dev/shm").iterdir())
    before, threads, had = descriptors(), set(threading.enumerate()), children()
    yield
    leavers = lambda: marked(value)  # noqa: E731
    assert wait_until(lambda: not leavers()), [one.cmdline() for one in leavers()]
    assert wait_until(lambda: not children() - had), children() - had
    patch.undo()
    ours = [path for path in set(Path("/dev/shm").iterdir()) - shared if "jumper" in path.name]
    assert not ours
    left = {fd: to for fd, to in descriptors().items() if before.get(fd) != to}
    ours = [to for to in left.values() if "jumper" in to or "memfd" in to or "pidfd" in to]
    assert not ours, ours
    others = lambda: [  # noqa: E731
        thread
        for thread in set(threading.enumerate()) - threads
        if type(thread).__name__ != "GarbageCollectorThread"  # pyzmq's, for large messages
    ]
    assert wait_until(lambda: not others()), others()
