import os
import signal
import subprocess
from contextlib import ExitStack

import pytest
from faults.harness import DEV_PROGRAM, Kernel


@pytest.fixture(autouse=True, scope="session")
def keys_of_the_terminal():
    """A shell that starts us in the background has them ignored, and so would all that we start."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGQUIT)}
    if before[signal.SIGINT] == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def start_kernel():
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Kernel(**options))


@pytest.fixture
def kernel(start_kernel) -> Kernel:
    one = start_kernel()
    one.await_sampler()
    return one


@pytest.fixture(scope="session")
def dev_program() -> str:
    """The program of the development build, which has failpoints."""
    if not DEV_PROGRAM.exists():
        pytest.skip("needs build/dev/jumper: `make test-native` builds it")
    return str(DEV_PROGRAM)


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("needs root: another user is tried")


@pytest.fixture
def mounts(as_root):
    """Whether a mount namespace of one's own may be had."""
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no mount namespace: {done.stderr!r}")
