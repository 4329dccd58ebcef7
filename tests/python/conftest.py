"""Every test has a state folder and an IPython folder of its own, and must leave nothing behind."""

import os
import threading
import time
import uuid
from pathlib import Path

import psutil
import pytest
from notebook import Notebook, write_kernelspecs

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


@pytest.fixture(scope="session", autouse=True)
def clean_environment():
    """The tests' own settings only."""
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.upper().startswith(("JUMPER_", "SCOREP_", "JPY_")) or name == "XDG_STATE_HOME":
            patch.delenv(name)
    yield
    patch.undo()


def watch_leftovers(patch: pytest.MonkeyPatch):
    value = uuid.uuid4().hex
    patch.setenv(MARK, value)
    shared = set(Path("/dev/shm").iterdir())
    before, threads = descriptors(), set(threading.enumerate())
    yield
    leavers = lambda: marked(value)  # noqa: E731
    assert wait_until(lambda: not leavers()), [one.cmdline() for one in leavers()]
    patch.undo()
    ours = [path for path in set(Path("/dev/shm").iterdir()) - shared if "jumper" in path.name]
    assert not ours
    left = {fd: to for fd, to in descriptors().items() if before.get(fd) != to}
    assert not [to for to in left.values() if "jumper" in to or "memfd" in to or "pidfd" in to]
    others = lambda: [  # noqa: E731
        thread
        for thread in set(threading.enumerate()) - threads
        if type(thread).__name__ != "GarbageCollectorThread"  # pyzmq's, for large messages
    ]
    assert wait_until(lambda: not others()), others()


@pytest.fixture(autouse=True)
def leaves_nothing(monkeypatch, request):
    if "shared_notebook" in request.fixturenames:  # its kernel lives on: see there
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        yield from watch_leftovers(patch)


@pytest.fixture(autouse=True)
def state_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return tmp_path / "state"


@pytest.fixture
def open_notebook(tmp_path_factory):
    """Starts kernels: `jumper` or `plain`, with env=…, cwd=…."""
    folder = write_kernelspecs(tmp_path_factory.mktemp("kernels"))
    opened = []

    def open_one(name="jumper", **options) -> Notebook:
        opened.append(Notebook(folder, name, **options))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def notebook(open_notebook) -> Notebook:
    return open_notebook()


@pytest.fixture(scope="module")
def shared_notebook(tmp_path_factory):
    """One kernel for the tests of a module that don't mind each other's cells."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        leftovers = watch_leftovers(patch)
        next(leftovers)
        with Notebook(write_kernelspecs(folder / "kernels")) as one:
            yield one
        next(leftovers, None)
