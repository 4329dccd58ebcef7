"""P1: the kernel ends, in every way and at every moment."""

import random
import signal
import time
from contextlib import ExitStack

import pytest
from faults.harness import Kernel, Recording, await_that

CAUSES = {
    "os.kill(os.getpid(), signal.SIGKILL)": "killed by signal 9 (SIGKILL)",
    "os.kill(os.getpid(), signal.SIGSEGV)": "killed by signal 11 (SIGSEGV)",
    "import ctypes; ctypes.string_at(0)": "killed by signal 11 (SIGSEGV)",
    "os.abort()": "killed by signal 6 (SIGABRT)",
    "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)": "killed by signal 15 (SIGTERM)",
    "os._exit(3)": "exited with status 3",
    "os._exit(0)": "exited with status 0",
}


@pytest.mark.fault("P1")
@pytest.mark.parametrize("code", CAUSES)
def test_the_cause_of_death_is_recorded(kernel, code):
    kernel.do("answer = cell('pass', 'a finished one')")
    kernel.send(f"cell({code!r})")
    kernel.end()
    kernel.await_no_sampler()
    recording = Recording(kernel.path)
    assert recording.end == CAUSES[code]
    assert CAUSES[code] in recording.text
    *finished, last = recording.cells
    assert {one["outcome"] for one in finished} == {"ok"}
    assert (last["outcome"], last["outcome_text"]) == ("died", CAUSES[code])


@pytest.mark.fault("P1")
def test_its_last_words_are_heard(kernel):
    """A sampler that was held up finds many marks of a kernel that has read no answer."""
    kernel.signal_sampler(signal.SIGSTOP)
    kernel.do("for i in range(70): cell(str(i))")
    kernel.kill()
    kernel.signal_sampler(signal.SIGCONT)
    kernel.await_no_sampler()
    recording = Recording(kernel.path)
    assert recording.end == CAUSES["os.kill(os.getpid(), signal.SIGKILL)"]
    assert [one["outcome"] for one in recording.cells[-70:]] == ["ok"] * 70


@pytest.mark.fault("P1")
def test_a_kernel_nobody_waits_for(kernel):
    """While it is a zombie its exit code stands in its stat."""
    kernel.send("cell('os._exit(77)')")
    kernel.await_no_sampler()
    assert Recording(kernel.path).end == "exited with status 77"


def test_a_session_that_was_closed(kernel):
    kernel.do("answer = cell('1 + 1')")
    assert kernel.end() == ""
    kernel.await_no_sampler()
    recording = Recording(kernel.path)
    assert recording.end == "closed"
    assert {one["outcome"] for one in recording.cells} == {"ok"}


def test_a_session_that_nobody_closed(start_kernel):
    """Then the interpreter's end closes it."""
    kernel = start_kernel(close=False)
    kernel.await_sampler()
    assert kernel.end() == ""
    kernel.await_no_sampler()
    assert Recording(kernel.path).end in ("closed", "exited with status 0")


LIFE = """
import random
for i in range(10_000):
    cell(f"time.sleep({random.random() * 0.02})")
    print(i, flush=True)
"""


def kill_kernels(count: int, seed: int) -> None:
    """All at once; each at a moment of its own."""
    moments = random.Random(seed)
    with ExitStack() as stack:
        kernels = [stack.enter_context(Kernel(rate=100)) for _ in range(count)]
        for one in kernels:
            one.send(LIFE)
        begin = time.monotonic()
        left = sorted(((moments.random(), one) for one in kernels), key=lambda pair: pair[0])
        died = {}
        for moment, one in left:
            time.sleep(max(0, begin + moment - time.monotonic()))
            died[one] = time.monotonic_ns()
            one.process.send_signal(signal.SIGKILL)
        for one in kernels:
            one.await_no_sampler()
            printed = one.process.stdout.read().split(b"\n")[:-1]
            recording = Recording(one.path)
            recording.check_order()
            assert recording.end == "killed by signal 9 (SIGKILL)"
            finished = [cell for cell in recording.cells if cell["outcome"] == "ok"]
            assert len(finished) >= len(printed)
            assert [cell["index"] for cell in recording.cells] == [
                i + 1 for i in range(len(recording.cells))
            ]
            for cell in recording.cells[len(finished) :]:
                assert cell["outcome"] == "died"
            assert len(recording.cells) - len(finished) <= 1
            last_ns = recording.rows[-1]["time_ns"]
            assert last_ns > died[one] - 1e9 or recording.gap_reasons


@pytest.mark.fault("P1")
def test_killed_at_any_moment():
    for seed in range(2):
        kill_kernels(10, seed)


@pytest.mark.fault("P1")
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_killed_at_many_moments():
    for seed in range(100, 120):
        kill_kernels(10, seed)


@pytest.mark.fault("P1")
def test_both_are_killed(kernel):
    """Then the reader concludes what it can."""
    kernel.do("answer = cell('1')")
    time.sleep(0.1)
    kernel.send("cell('time.sleep(60)')")
    await_that(lambda: len(Recording(kernel.path, whole=False).cells) == 3)
    kernel.signal_sampler(signal.SIGKILL)
    kernel.kill()
    kernel.await_no_sampler()
    recording = Recording(kernel.path, whole=False)
    assert recording.end is None
    assert [one["outcome"] for one in recording.cells][:2] == ["ok", "ok"]

    def is_dead() -> bool:  # samples are fresh for some seconds: somebody may go on
        return Recording(kernel.path, whole=False).cells[-1]["outcome"] == "died"

    await_that(is_dead, 10)
    last = Recording(kernel.path, whole=False).cells[-1]
    assert last["outcome_text"] == "probably killed together with its sampler"
    assert Recording(kernel.path, whole=False).text.count(last["outcome_text"]) == 2
