"""What some processes hold in memory together, and the most of it while something goes on."""

import re
import selectors
import subprocess
from collections.abc import Sequence
from pathlib import Path

MAPPED = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) +/memfd:", re.MULTILINE)
PAUSE_S = 0.002


def held_bytes(pids: Sequence[int]) -> int:
    """Proportional sizes (`smaps_rollup`), but of a memfd the whole: all of it is in memory.

    Its pages are in no process's size before they are looked at there.
    """
    total = 0
    files: dict[int, int] = {}
    for pid in pids:
        folder = Path("/proc", str(pid))
        try:
            text = (folder / "smaps_rollup").read_text()
            maps = (folder / "maps").read_text()
            descriptors = list((folder / "fd").iterdir())
        except OSError:  # it has ended
            continue
        sizes = dict(re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE))
        total += (int(sizes.get("Pss", 0)) - int(sizes.get("Pss_Shmem", 0))) * 1024
        spans: dict[int, int] = {}
        for begin, end, inode in MAPPED.findall(maps):
            spans[int(inode)] = spans.get(int(inode), 0) + int(end, 16) - int(begin, 16)
        for one in descriptors:
            try:
                if str(one.readlink()).startswith("/memfd:"):
                    found = one.stat()
                    spans[found.st_ino] = max(spans.get(found.st_ino, 0), found.st_blocks * 512)
            except OSError:
                continue
        for inode, size in spans.items():
            files[inode] = max(files.get(inode, 0), size)
    return total + sum(files.values())


def most_until_output(process: subprocess.Popen[str], pids: Sequence[int]) -> int:
    """Looks again and again until the process has written something."""
    assert process.stdout is not None
    most = 0
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while True:
            most = max(most, held_bytes(pids))
            if waiting.select(PAUSE_S):
                return most
