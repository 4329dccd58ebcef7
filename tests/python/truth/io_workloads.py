"""I/O with a known truth; files lie in the working directory. The form: see cpu_workloads."""

import mmap
import os
import subprocess
import time
from pathlib import Path

from children import Child, await_that, in_thread

MIB = 1 << 20
SETTLE_S = 0.1  # the sample of the cell's begin is taken by then: it tells what is of the cell
BLOCK = b"\xa5" * MIB


def counters() -> dict[str, int]:
    """What the kernel counts for this process and those that it has waited for."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return {name: int(number) for name, number in (line.split(": ") for line in lines)}


def write(name: str, mib: int, flags: int = 0, block=BLOCK) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    for _ in range(mib):
        assert os.write(fd, block) == MIB
    os.fsync(fd)
    os.close(fd)


def read(name: str, mib: int) -> None:
    fd = os.open(name, os.O_RDONLY)
    for _ in range(mib):
        assert len(os.read(fd, MIB)) == MIB
    os.close(fd)


def forget(name: str) -> None:
    """Its pages leave the cache."""
    fd = os.open(name, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def written_through_the_cache():
    yield
    write("a", 24)
    yield {"io_write_bytes": 24 * MIB, "storage_write_bytes": 24 * MIB, "storage_read_bytes": 0}


def written_directly():
    block = mmap.mmap(-1, MIB)  # is aligned
    yield
    write("a", 24, os.O_DIRECT, block)
    yield {"io_write_bytes": 24 * MIB, "storage_write_bytes": 24 * MIB, "io_write_ops": 24}


def written_through_a_mapping():
    """No call writes: only what reaches the disk shows it."""
    fd = os.open("a", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 16 * MIB)
    with mmap.mmap(fd, 16 * MIB) as mapping:
        yield
        for i in range(16):
            mapping[i * MIB : (i + 1) * MIB] = BLOCK
        mapping.flush()
        yield {"io_write_bytes": 0, "storage_write_bytes": 16 * MIB}


def read_from_the_cache():
    write("a", 24)
    read("a", 24)
    yield
    read("a", 24)
    yield {"io_read_bytes": 24 * MIB, "storage_read_bytes": 0, "io_write_bytes": 0}


def read_from_the_disk():
    write("a", 24)
    forget("a")
    yield
    read("a", 24)
    yield {"io_read_bytes": 24 * MIB, "storage_read_bytes": 24 * MIB}


def many_small_writes():
    yield
    fd = os.open("a", os.O_WRONLY | os.O_CREAT)
    for _ in range(20_000):
        os.write(fd, b"abc")
    os.close(fd)
    yield {"io_write_ops": 20_000, "io_write_bytes": 60_000}


def through_a_pipe():
    ends = os.pipe()
    yield

    def take() -> None:
        left = 16 * MIB
        while left:
            left -= len(os.read(ends[0], MIB))

    thread = in_thread(take)
    for _ in range(16):
        os.write(ends[1], BLOCK)
    thread.join()
    yield {
        "io_read_bytes": 16 * MIB,
        "io_write_bytes": 16 * MIB,
        "storage_read_bytes": 0,
        "storage_write_bytes": 0,
    }


def threads_that_write():
    yield
    for thread in [in_thread(lambda i=i: write(str(i), 6)) for i in range(4)]:
        thread.join()
    yield {"io_write_bytes": 24 * MIB, "storage_write_bytes": 24 * MIB}


def children_that_write():
    """One has ended, two live."""
    yield
    time.sleep(SETTLE_S)
    children = [Child(lambda i=i: write(str(i), 8)) for i in range(3)]
    for child in children:
        child.hear()
    children[0].end()
    yield {"io_write_bytes": 24 * MIB, "storage_write_bytes": 24 * MIB}
    for child in children[1:]:
        child.end()


def children_between_ticks_io():
    """None lives for two ticks. What they read at their start, only the kernel's account knows."""
    yield
    before = counters()
    time.sleep(SETTLE_S)
    for i in range(8):
        command = ["dd", "if=/dev/zero", f"of={i}", "bs=1M", "count=3", "status=none"]
        subprocess.run(command, check=True)
    after = counters()
    yield {
        "io_write_bytes": 24 * MIB,
        "storage_write_bytes": 24 * MIB,
        "io_read_bytes": after["rchar"] - before["rchar"],
        "io_read_ops": after["syscr"] - before["syscr"],
        "io_write_ops": after["syscw"] - before["syscw"],
    }


def grandchildren_that_write():
    def work() -> None:
        for i in range(3):
            grandchild = Child(lambda i=i: write(str(i), 8))
            grandchild.hear()
            grandchild.end()

    yield
    time.sleep(SETTLE_S)
    child = Child(work)
    child.hear()
    yield {"io_write_bytes": 24 * MIB, "storage_write_bytes": 24 * MIB}
    child.end()


def orphans_that_write():
    yield
    time.sleep(SETTLE_S)
    orphan = Child(lambda: write("a", 24), orphan_after_s=0.3)
    orphan.hear()
    yield {"io_write_bytes": 24 * MIB, "storage_write_bytes": 24 * MIB}
    orphan.end()


def orphans_that_wrote():
    """The account of who isn't waited for by the tree is gone with it."""
    yield
    orphan = Child(lambda: write("a", 24), orphan_after_s=0.3)
    orphan.hear()
    orphan.let_go()
    await_that(orphan.gone)
    yield {"io_write_bytes": 24 * MIB}


def nothing_written():
    yield
    yield dict.fromkeys(("io_write_bytes", "storage_write_bytes", "storage_read_bytes"), 0)
