"""Memory with a known truth, in MiB of pages that are touched. The form: see cpu_workloads."""

import json
import mmap
import threading
import time
from pathlib import Path

from children import Child

MIB = 1 << 20
SETTLE_S = 0.1  # the sample of the cell's begin is taken by then
session = None  # the one that measures; set by run.py


def hold() -> None:
    """Until proportional sizes have been measured: the slower, the less often it is done.

    A measurement that took 10 ms, on a busy machine, is followed by one second's pause.
    """
    begin = time.monotonic()
    measured = 0
    # The first may have begun before.
    while (measured < 3 and time.monotonic() < begin + 15) or time.monotonic() < begin + 2:
        if session is None:
            return time.sleep(0.5)
        with session.cell("hold") as cell:
            time.sleep(0.25)
        session.native.wait(cell.index, 5)
        summary = json.loads(cell.summary().json)
        measured += not summary["levels"]["process"]["memory_bytes"]["upper_bound"]
    return None


def touched(mib: int, *, shared: bool = False) -> mmap.mmap:
    kind = mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE
    mapping = mmap.mmap(-1, mib * MIB, flags=kind | mmap.MAP_ANONYMOUS)
    touch(mapping)
    return mapping


def touch(mapping: mmap.mmap) -> None:
    for offset in range(0, len(mapping), mmap.PAGESIZE):
        mapping[offset] = 1


def sizes(pid: int | str = "self") -> dict[str, int]:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    lines = [line.split() for line in text.splitlines()[1:]]
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines}


def high_water_mark() -> int:
    (line,) = (
        text for text in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in text
    )
    return int(line.split()[1]) * 1024


def proportional(*children: Child) -> int:
    return sum(sizes(pid)["Pss"] for pid in ("self", *(child.pid for child in children)))


def shared_with_strangers() -> int:
    """By how much this process's resident size exceeds its proportional one: its libraries."""
    now = sizes()
    return now["Rss"] - now["Pss"]


def touched_and_freed_between_ticks():
    yield
    touched(300).close()
    time.sleep(SETTLE_S)
    yield {"peak": high_water_mark() - shared_with_strangers()}


def a_child_s_peak_between_ticks():
    """What the tree as a whole had at most nobody has seen: a bound, the child's at least."""
    yield
    child = Child(lambda: touched(200).close())
    child.hear()
    child.end()
    yield {"peak_at_least": 200 * MIB}


def held_and_released():
    yield
    begin = proportional()
    time.sleep(SETTLE_S)
    mapping = touched(200)
    hold()
    most = proportional()
    mapping.close()
    hold()
    yield {"begin": begin, "max": most, "peak": most, "end": proportional()}


def held_from_before():
    mapping = touched(100)
    yield
    hold()
    now = proportional()
    yield {"begin": now, "end": now, "min": now, "max": now, "mean": now}
    mapping.close()


def shared_by_forks():
    """Counted once, not once for each who maps it."""
    mapping = touched(200, shared=True)
    yield
    children = [Child(lambda: touch(mapping)) for _ in range(4)]
    for child in children:
        child.hear()
    hold()
    yield {"end": proportional(*children), "below": 300 * MIB}
    for child in children:
        child.end()


def private_in_forks():
    """Pages of its own in each."""
    held = []
    yield
    children = [Child(lambda: held.append(touched(60))) for _ in range(3)]
    for child in children:
        child.hear()
    hold()
    yield {"end": proportional(*children)}
    for child in children:
        child.end()


def copied_on_write():
    """The parent's pages are shared until a child writes to them."""
    mapping = touched(120)
    yield
    children = [Child(lambda: touch(mapping)), Child()]
    for child in children:
        child.hear()
    hold()
    yield {"end": proportional(*children)}
    for child in children:
        child.end()


def reserved_and_not_touched():
    yield
    mapping = mmap.mmap(-1, 4096 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    hold()
    now = proportional()
    yield {"end": now, "max": now}
    mapping.close()


def processes_and_threads():
    """The thread of ours in the kernel is one of the kernel's."""
    gate = threading.Event()
    yield
    threads = [threading.Thread(target=gate.wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    children = [Child() for _ in range(3)]
    for child in children:
        child.hear()
    time.sleep(0.3)
    own = len(list(Path("/proc/self/task").iterdir()))
    yield {"processes": 1 + len(children), "threads": own + len(children)}
    gate.set()
    for child in children:
        child.end()
