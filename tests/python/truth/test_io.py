"""I/O against the bytes that the workload knows of, and /proc/PID/io."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # the same core, whichever CPython

# What the measuring itself reads in the cell (/proc/self/io and so on), and a child's own messages.
NOISE = {"bytes": 16_384, "ops": 60}
EXACT = (
    "written_through_the_cache",
    "written_directly",
    "written_through_a_mapping",
    "read_from_the_cache",
    "read_from_the_disk",
    "many_small_writes",
    "through_a_pipe",
    "threads_that_write",
    "children_that_write",
    "grandchildren_that_write",
    "orphans_that_write",
    "nothing_written",
)


def on_a_disk(folder: Path) -> bool:
    device = folder.stat().st_dev
    minor = (device & 0xFF) | ((device >> 12) & ~0xFF)
    return Path(f"/sys/dev/block/{device >> 8 & 0xFFF}:{minor}").exists()


def check(done, folder, *, bound=False):
    for metric, truth in done.truth.items():
        if metric.startswith("storage") and not on_a_disk(folder):
            continue
        noise = NOISE[metric.rpartition("_")[2]]
        done.check(metric, done.process[metric], truth, noise, bound=bound)


@pytest.mark.parametrize("name", EXACT)
def test_exact(measure, name, tmp_path):
    check(measure(name), tmp_path)


def test_of_children_between_ticks(measure, tmp_path):
    check(measure("children_between_ticks_io", rate=1), tmp_path)


def test_of_orphans_that_ended(measure, tmp_path):
    check(measure("orphans_that_wrote"), tmp_path, bound=True)
