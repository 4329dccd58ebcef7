"""P2: the kernel is killed for want of memory, in a control group that has little (cases.md, 5)."""

import re
import signal

import pytest
from cgroups import Group
from faults.harness import Recording, await_that

LIMIT_MIB = 128
RATE_HZ = 10
FILL = "keep = []\nwhile True: keep.append(bytearray(4 << 20))"
BY_THE_LIMIT = re.compile(rf"killed by the memory limit \(peak (\d+) MiB of {LIMIT_MIB} MiB\)")

NEAR_THE_LIMIT = re.compile(
    rf"probably killed by the memory limit \(last seen 1\d\d MiB of {LIMIT_MIB} MiB\)"
)


@pytest.fixture
def group():
    try:
        group = Group(cores=2, memory_bytes=LIMIT_MIB << 20)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield group
    group.remove()


@pytest.fixture
def limited_kernel(group, start_kernel):
    """Kernel and sampler share the limit."""
    enter = " && ".join(f"echo $$ > {folder}/cgroup.procs" for folder in group.folders)
    kernel = start_kernel(before=["sh", "-c", f'{enter} && exec "$@"', "sh"], rate=RATE_HZ)
    kernel.await_sampler()
    return kernel


@pytest.mark.fault("P2")
def test_05_the_limit_the_peak_and_the_cell_are_named(limited_kernel):
    limited_kernel.do("answer = cell('pass', 'a finished one')")
    limited_kernel.send(f"cell({FILL!r})")
    limited_kernel.end()
    assert limited_kernel.process.returncode == -signal.SIGKILL
    limited_kernel.await_no_sampler()
    recording = Recording(limited_kernel.path)
    found = BY_THE_LIMIT.fullmatch(recording.end)
    assert found, recording.end
    assert LIMIT_MIB * 0.9 <= int(found[1]) <= LIMIT_MIB
    *finished, last = recording.cells
    assert {one["outcome"] for one in finished} == {"ok"}
    assert (last["outcome"], last["outcome_text"]) == ("died", recording.end)
    assert recording.text.count(recording.end) == 2  # with the cell, and at the end
    (end,) = recording.of("end")
    before_s = (end["time_ns"] - recording.rows[-1]["time_ns"]) / 1e9
    assert before_s < 1.5 / RATE_HZ or recording.gap_reasons


@pytest.mark.fault("P2")
def test_a_worker_that_was_killed_earlier_is_another_death(limited_kernel):
    worker = f"import os\nif not os.fork():\n    {FILL.replace(chr(10), chr(10) + '    ')}\n"
    waits = "_, status = os.wait(); assert os.WTERMSIG(status) == 9, status"
    limited_kernel.do(f"answer = cell({worker + waits!r})")
    for _ in range(2):  # each edge is a look; between them it is seen that the kernel is well
        limited_kernel.do("i = cell('time.sleep(0.2)'); answer = s.native.wait(i, 20)")
    limited_kernel.send("cell('time.sleep(60)')")
    await_that(lambda: Recording(limited_kernel.path).cells[-1]["outcome"] is None)
    limited_kernel.kill()
    limited_kernel.await_no_sampler()
    recording = Recording(limited_kernel.path)
    kills = [row["values"]["job.oom_kills"] for row in recording.rows]
    assert kills[-1] - kills[0] == 1
    assert recording.end == "killed by signal 9 (SIGKILL)"


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("import ctypes; ctypes.string_at(0)", "killed by signal 11 (SIGSEGV)"),
        ("os._exit(137)", "exited with status 137"),
    ],
)
@pytest.mark.fault("P2")
def test_a_crash_near_the_limit_is_a_crash(limited_kernel, code, end):
    limited_kernel.send(f"cell({f'keep = bytearray({LIMIT_MIB - 40} << 20); {code}'!r})")
    limited_kernel.end()
    limited_kernel.await_no_sampler()
    assert Recording(limited_kernel.path).end == end


GROW = """
from pathlib import Path
keep, usage = [], Path({usage!r})
while int(usage.read_text()) < {enough}: keep.append(bytearray(1 << 20))
time.sleep(60)
"""


@pytest.mark.fault("P2")
def test_where_both_are_killed_the_last_sample_tells(limited_kernel, group):
    enough = int(0.95 * (LIMIT_MIB << 20))
    names = ("memory.usage_in_bytes", "memory.current")
    (usage,) = [path for name in names if (path := group.folders[-1] / name).exists()]
    limited_kernel.send(f"cell({GROW.format(usage=str(usage), enough=enough)!r})")

    def anonymous() -> int:
        values = Recording(limited_kernel.path, whole=False).rows[-1]["values"]
        return values["job.memory_anonymous_bytes"] or 0

    await_that(lambda: anonymous() > 0.92 * (LIMIT_MIB << 20))
    limited_kernel.signal_sampler(signal.SIGKILL)
    limited_kernel.kill()
    limited_kernel.await_no_sampler()

    def last() -> dict:
        return Recording(limited_kernel.path, whole=False).cells[-1]

    # Samples are fresh for some seconds: somebody may go on.
    await_that(lambda: last()["outcome"] == "died", 10)
    assert NEAR_THE_LIMIT.fullmatch(last()["outcome_text"]), last()["outcome_text"]
