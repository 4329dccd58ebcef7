"""P5, P8: no CPU time for the sampler, and no process number for anybody."""

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from cgroups import ROOT
from faults.harness import Kernel, Recording, await_that

pytestmark = pytest.mark.slow  # the same core, whichever CPython

RATE_HZ = 50
BURN = "import time\nwhile time.process_time() < 0.5: pass"
# The truth is what getrusage(2) says, of the children once they were waited for.
CELL = f"""
import subprocess
def used(): return sum(os.times()[:4])
before = used()
children = [subprocess.Popen([sys.executable, '-S', '-c', {BURN!r}]) for _ in range(4)]
for one in children: one.wait()
answer = used() - before
"""


@contextlib.contextmanager
def hogs(core: int, count: int) -> Iterator[None]:
    """They take all of one core."""
    command = ["taskset", "-c", str(core), sys.executable, "-S", "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def check_lateness(recording: Recording) -> None:
    """Whatever lies further apart than the schedule is marked late or stands in a gap."""
    period_ns = 1e9 / RATE_HZ
    ticks = [row for row in recording.rows if "edge" not in row["flags"]]
    changes = [one["time_ns"] for one in recording.of("settings")]
    assert {one["rate_hz"] for one in recording.of("settings")} == {RATE_HZ}
    for before, after in pairwise(ticks):
        begin = max([before["time_ns"], *(t for t in changes if t < after["time_ns"])])
        if after["time_ns"] - begin > 1.5 * period_ns:
            assert "late" in after["flags"], (before, after)
    gaps = [(one["begin_ns"], one["end_ns"]) for one in recording.of("gap")]
    for before, after in pairwise(recording.rows):
        apart_ns = after["time_ns"] - before["time_ns"]
        if apart_ns >= 0.5e9:
            assert (before["time_ns"], after["time_ns"]) in gaps


@pytest.mark.fault("P5")
def test_a_sampler_without_cpu_time_is_late_and_says_so(start_kernel):
    core = min(os.sched_getaffinity(0))
    kernel = start_kernel(before=["taskset", "-c", str(core)], rate=RATE_HZ)
    kernel.await_sampler()
    os.setpriority(os.PRIO_PROCESS, kernel.sampler, 19)
    with contextlib.suppress(OSError):  # where sessions share the time, not processes
        Path(f"/proc/{kernel.sampler}/autogroup").write_text("19")
    with hogs(core, 4):
        truth_s = kernel.do(f"cell({CELL!r})")
    kernel.do("s.close()")
    recording = Recording(kernel.path)
    measured_s = recording.summaries[-1]["levels"]["process"]["cpu_time_s"]
    assert measured_s == pytest.approx(truth_s, abs=0.05)
    recording.check_order()
    check_lateness(recording)
    assert any("late" in row["flags"] for row in recording.rows), "it was not starved"
    times = [row["time_ns"] for row in recording.rows]
    assert len(times) <= (times[-1] - times[0]) / 1e9 * RATE_HZ + 2 * len(recording.cells) + 2


@pytest.fixture
def few_processes(as_root):
    """A group whose processes and threads are at most 200; the rest of the line joins it."""
    parent = ROOT / "pids"
    if not (parent / "cgroup.procs").exists():
        pytest.skip("pids isn't controlled by cgroups of version 1 here")
    folder = parent / f"jumper-test-{uuid.uuid4().hex}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    (folder / "pids.max").write_text("200")
    yield folder
    await_that(lambda: not (folder / "cgroup.procs").read_text(), what="left in the group")
    folder.rmdir()


def start_in(start_kernel, folder: Path) -> Kernel:
    script = f'echo $$ > "{folder}/cgroup.procs" && exec "$@"'
    kernel = start_kernel(before=["sh", "-c", script, "sh"])
    kernel.await_sampler()
    return kernel


BOMB = """
import errno, threading
if 'bomb' not in globals(): gate, bomb = os.pipe(), []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            os.close(gate[1]); os.read(gate[0], 1); os._exit(0)
        bomb.append(pid)
except OSError as error:
    reason = error.errno
"""
DEFUSE = """
os.close(gate[1]); os.close(gate[0])
for pid in bomb: assert os.waitpid(pid, 0)[1] == 0
"""


def threads(pid: int) -> list[str]:
    return sorted(one.name for one in Path(f"/proc/{pid}/task").iterdir())


def children(pid: int) -> str:
    return "".join(Path(f"/proc/{pid}/task/{one}/children").read_text() for one in threads(pid))


@pytest.mark.fault("P8")
def test_a_fork_bomb_is_refused_and_measured(start_kernel, few_processes):
    kernel = start_in(start_kernel, few_processes)
    kernel.do(f"cell({BOMB!r})")
    at_work = threads(kernel.sampler)  # what it had to do once, at its start, is done
    ours = len(at_work) + len(threads(kernel.pid))
    kernel.do(f"cell({BOMB!r})")  # takes the places of the threads that have ended
    assert kernel.do("answer = reason == errno.EAGAIN and len(bomb)") == 200 - ours
    for _ in range(5):
        kernel.do("cell('time.sleep(0.1)')")
    assert kernel.do("answer = s.native.wait(s.native.cells()[-1].index, 20)")
    assert threads(kernel.sampler) == at_work
    assert children(kernel.sampler) == ""
    assert int((few_processes / "pids.current").read_text()) == 200
    kernel.do(f"cell({DEFUSE!r})")
    assert kernel.status()["sampler_restarts"] == 0
    assert kernel.warnings() == []
    kernel.do("s.close()")
    assert kernel.end() == ""
    recording = Recording(kernel.path)
    recording.check_order()
    assert {cell["outcome"] for cell in recording.cells} == {"ok"}
    assert recording.gap_reasons == set()
    assert max(row["values"]["process.processes"] for row in recording.rows) == 200 - ours + 1
    assert recording.rows[-1]["values"]["process.processes"] == 1


@pytest.mark.fault("P8")
def test_a_sampler_lost_in_a_fork_bomb_comes_back_after_it(start_kernel, few_processes):
    """None can be started meanwhile: cells go on without, and the reason is told once."""
    kernel = start_in(start_kernel, few_processes)
    kernel.do(f"cell({BOMB!r})")
    kernel.do(  # before the next one is started, after a second, its room is taken
        f"os.kill({kernel.sampler}, 9)\nuntil = time.monotonic() + 0.5\n"
        "while time.monotonic() < until:\n"
        "    try: bomb.append(os.fork())\n"
        "    except OSError: time.sleep(0.01); continue\n"
        "    if bomb[-1] == 0: os.close(gate[1]); os.read(gate[0], 1); os._exit(0)"
    )
    await_that(lambda: "cannot start" in (kernel.status()["lost"] or ""))
    assert "Resource temporarily unavailable" in kernel.status()["lost"]
    assert kernel.do("answer = cell('1 + 1')") > 0
    kernel.do(f"cell({DEFUSE!r})")
    kernel.await_sampler(kernel.sampler)
    kernel.do("s.close()")
    warned = [line for line in kernel.end().splitlines() if "cannot start" in line]
    assert len(warned) <= 1
    recording = Recording(kernel.path)
    recording.check_order()
    assert {cell["outcome"] for cell in recording.cells} == {"ok"}
    assert "the sampler was lost" in recording.gap_reasons


@pytest.mark.fault("P8")
def test_a_session_that_begins_where_no_thread_can_be_started(start_kernel, few_processes):
    """It measures nothing, and says why; with the first cell after that, it does."""
    kernel = start_in(start_kernel, few_processes)
    kernel.do(BOMB)
    lost = kernel.do(
        "import jumper\nother = jumper.session()\n"
        "with other.cell('x') as c: pass\n"
        "answer = [other.native.status().sampler_pid, other.native.status().lost]"
    )
    assert lost == [None, "cannot start a thread: Resource temporarily unavailable"]
    kernel.do(DEFUSE)
    begin = "i = other.native.begin(b'y', None); other.native.end(i, 'ok')"
    await_that(lambda: kernel.do(f"{begin}\nanswer = other.native.status().sampler_pid"))
    assert kernel.do("answer = other.native.wait(i, 20)")
    path = kernel.do("answer = other.path; other.close()")
    cells = Recording(path).cells
    assert [cell["index"] for cell in cells] == list(range(1, len(cells) + 1))
    kernel.do("s.close()")
    assert kernel.end().count("cannot start") == 1
