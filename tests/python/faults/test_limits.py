"""S3, S4: no descriptor and no memory left, step by step, for the kernel and for the sampler."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from faults.harness import Kernel, Recording, jumper

pytestmark = pytest.mark.slow  # the same core, whichever CPython

FEWEST_FOR_PYTHON = 6  # to start at all
FEWEST_FOR_A_SAMPLER = 14  # above what is inherited, its descriptors are sorted
IDLE_S = 0.5
MOST_BUSY = 0.2  # of a core, while nothing is to be done but a sample now and then
MIB = 1 << 20


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_no_busy_loop(*pids: int) -> None:
    """Slept, since a loop would show in nothing else than time."""
    before = [cpu_s(pid) for pid in pids]
    begin = time.monotonic()
    time.sleep(IDLE_S)
    most = MOST_BUSY * (time.monotonic() - begin)
    assert all(cpu_s(pid) - used <= most for pid, used in zip(pids, before, strict=True))


def check_kernel_with(descriptors: int) -> str:
    """Import and cells work; gives why nothing is sampled, or an empty text."""
    before = ["prlimit", f"--nofile={descriptors}:{descriptors}", "--"]
    with Kernel(before=before, rate=10) as kernel:
        kernel.do("for i in range(3): cell('x = 1 + 1')")
        cells = kernel.do("answer = [[c.index, c.outcome] for c in s.native.cells()]")
        assert cells == [[i + 1, "ok"] for i in range(3)]
        at_work = kernel.do("answer = s.native.wait(3, 20)")  # False at once where none starts
        sampler, lost = (kernel.status()[name] for name in ("sampler_pid", "lost"))
        assert bool(sampler) == at_work != bool(lost), (sampler, lost)
        check_no_busy_loop(kernel.pid, *([sampler] if sampler else []))
        kernel.do("s.close()")
        err = kernel.end()
    assert err.count("\n") <= 2, err
    assert (lost or "").rpartition(": ")[2] in err
    if at_work:
        recording = Recording(kernel.path)
        recording.check_order()
        assert [cell["outcome"] for cell in recording.cells] == ["ok"] * 3
    return lost


@pytest.mark.fault("S3")
@pytest.mark.parametrize("descriptors", [6, 8, 10, 13, 14, 18])
def test_a_kernel_with_few_descriptors(descriptors):
    lost = check_kernel_with(descriptors)
    assert bool(lost) == (descriptors < FEWEST_FOR_A_SAMPLER)
    assert not lost or "Too many open files" in lost


@pytest.mark.fault("S3")
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_kernel_with_any_number_of_descriptors():
    for descriptors in range(FEWEST_FOR_PYTHON, 65):
        check_kernel_with(descriptors)


def check_sampler_with(kernel: Kernel, descriptors: int) -> None:
    resource.prlimit(kernel.sampler, resource.RLIMIT_NOFILE, (descriptors, descriptors))
    kernel.do("import subprocess\nnew = [subprocess.Popen(['sleep', '60']) for _ in range(4)]")
    kernel.do("cell('time.sleep(0.1)')")
    index = kernel.do("answer = cell('big = ' + repr('x' * 100_000))")  # comes beside the message
    assert kernel.do(f"answer = s.native.wait({index}, 20)")
    check_no_busy_loop(kernel.sampler, kernel.pid)
    kernel.do("for one in new: one.kill(); one.wait()")
    assert kernel.status()["sampler_pid"] == kernel.sampler


@pytest.mark.fault("S3")
@pytest.mark.parametrize("descriptors", [3, 24])
def test_a_sampler_that_may_open_nothing_more(kernel, descriptors):
    """It keeps what it has; new processes are counted, or said to be unreadable."""
    check_sampler_with(kernel, descriptors)
    kernel.do("s.close()")
    assert kernel.end() == ""
    recording = Recording(kernel.path)
    recording.check_order()
    assert {cell["outcome"] for cell in recording.cells} == {"ok"}
    assert recording.gap_reasons == set()
    seen = max(row["values"]["process.processes"] or 0 for row in recording.rows)
    missing = " ".join(one["reason"] for one in recording.of("missing"))
    assert seen >= 5 or "a process of the tree can't be read" in missing, (seen, missing)


@pytest.mark.fault("S3")
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_sampler_with_any_number_of_descriptors(start_kernel):
    for descriptors in range(3, 65, 3):
        kernel = start_kernel()
        kernel.await_sampler()
        check_sampler_with(kernel, descriptors)
        kernel.do("s.close()")
        kernel.end()
        Recording(kernel.path).check_order()


def with_memory(size: int, *command: object, env: dict | None = None):
    return subprocess.run(
        ["prlimit", f"--as={size}:{size}", "--", *map(str, command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **(env or {})},
    )


@pytest.fixture(scope="module")
def least_bytes(dev_program) -> int:
    """What the program itself needs before its first line runs: below, the system kills it."""
    low, high = 0, 512 * MIB
    while high - low > MIB // 16:
        middle = (low + high) // 2 // 4096 * 4096
        done = with_memory(middle, dev_program, "--version")
        low, high = (low, middle) if done.returncode == 0 else (middle, high)
    return high


def check_sample_within(size: int, dev_program: str) -> bool:
    """True when there was enough."""
    done = with_memory(size, dev_program, "sample", "--count", "3", "--rate", "100", "--json")
    assert done.returncode in (0, 1), (size, done)
    if done.returncode == 1:
        assert done.stderr.startswith("jumper: "), done
        assert done.stderr.count("\n") == 1
    return done.returncode == 0


def check_record_within(size: int, dev_program: str, path: Path) -> bool:
    """The command isn't ours to fail: it runs, or can't be started in so little."""
    done = with_memory(size, dev_program, "record", "-o", path, "--", "/bin/sleep", "0.3")
    assert done.returncode in (0, 1, 126, 127), (size, done)
    if done.returncode != 0:
        assert done.stderr, size
    whole = path.exists() and jumper("report", path, path=dev_program).returncode == 0
    enough = whole and not done.stderr
    path.unlink(missing_ok=True)
    return enough


@pytest.mark.fault("S4")
def test_sampling_in_little_memory(dev_program, least_bytes):
    enough = [
        check_sample_within(least_bytes + step * MIB, dev_program)
        for step in (0, 1, 2, 4, 8, 16, 32, 64, 256)
    ]
    assert enough[-1]


@pytest.mark.fault("S4")
def test_recording_in_little_memory(dev_program, least_bytes, tmp_path):
    enough = [
        check_record_within(least_bytes + step * MIB, dev_program, tmp_path / "x.jumper")
        for step in (0, 4, 9, 10, 20, 64, 256)
    ]
    assert enough[-1]


@pytest.mark.fault("S4")
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_sampling_and_recording_in_any_memory(dev_program, least_bytes, tmp_path):
    for step in range(600):
        check_sample_within(least_bytes + step * MIB // 16, dev_program)
    for step in range(240):
        check_record_within(least_bytes + step * MIB // 4, dev_program, tmp_path / "x.jumper")


FILL = """
import resource
held = []
used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {left}, resource.RLIM_INFINITY))
"""
HUNGRY = """
def eat():
    held = []
    try:
        while True: held.append(bytearray(1 << 16))
    except MemoryError:
        return len(held)
s.native.begin(b'eats')
"""


def check_kernel_within(kernel: Kernel, left: int) -> None:
    """Cells go on; what can't be told for want of memory is an error of the one who asks."""
    kernel.do(FILL.format(left=left))
    kernel.do(
        "eaten = None\ntry: cell('held = []\\nwhile True: held.append(bytearray(65536))')\n"
        "except MemoryError: held.clear(); eaten = True"
    )
    kernel.do("for i in range(3): cell('1 + 1')")
    kernel.do("resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)")
    assert kernel.do("answer = eaten")
    cells = kernel.do("answer = [[c.index, c.outcome] for c in s.native.cells()]")
    assert cells == [[1, "ok"], [2, "error"], *([i, "ok"] for i in (3, 4, 5))]
    assert kernel.do("answer = s.native.wait(5, 20)")


@pytest.mark.fault("S4")
@pytest.mark.parametrize("left", [0, 100_000, 3_000_000])
def test_a_kernel_without_memory(kernel, left):
    check_kernel_within(kernel, left)
    kernel.do("s.close()")
    assert kernel.end() == ""
    assert Recording(kernel.path).end == "closed"


def check_start_within(size: int) -> bool | None:
    """None: not even Python starts. Else whether there are samples; the reason is told if not."""
    done = with_memory(size, sys.executable, "-c", "import json, select, subprocess, importlib")
    if done.returncode != 0:
        return None
    script = (
        "import sys\ntry:\n    import jumper\n    s = jumper.session()\n"
        "except (ImportError, MemoryError, OSError) as e:\n    sys.exit('refused: %r' % e)\n"
        "with s.cell('x'): y = 1\ns.native.wait(1, 20)\ns.close()"
    )
    done = with_memory(size, sys.executable, "-c", script)
    assert done.returncode in (0, 1), (size, done)
    if done.returncode == 1:
        assert "refused: " in done.stderr, done
    return done.returncode == 0 and not done.stderr


@pytest.mark.fault("S4")
def test_a_session_that_starts_in_little_memory():
    sizes = [step * MIB for step in (24, 28, 32, 36, 40, 48, 64, 512)]
    assert check_start_within(sizes[-1])
    assert [check_start_within(size) for size in sizes]


@pytest.mark.fault("S4")
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_session_that_starts_in_any_memory():
    for size in range(16 * MIB, 96 * MIB, MIB // 4):
        check_start_within(size)
