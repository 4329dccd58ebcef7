"""Control groups for a test, with a CPU quota and a memory limit: v1 or v2 (cgroups(7))."""

import contextlib
import os
import uuid
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000


class Group:
    """One group in each hierarchy that it needs. Raises OSError where none can be made."""

    def __init__(self, cores: float, memory_bytes: int) -> None:
        self.folders: list[Path] = []
        name = f"jumper-test-{uuid.uuid4().hex}"
        try:
            if "memory" in _words(ROOT / "cgroup.controllers"):
                folder = self._make(ROOT / name)
                (folder / "cpu.max").write_text(f"{int(cores * PERIOD_US)} {PERIOD_US}")
                (folder / "memory.max").write_text(str(memory_bytes))
                return
            cpu = self._make(ROOT / "cpu" / name)
            (cpu / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (cpu / "cpu.cfs_quota_us").write_text(str(int(cores * PERIOD_US)))
            if (ROOT / "cpuacct").resolve() != (ROOT / "cpu").resolve():
                self._make(ROOT / "cpuacct" / name)
            memory = self._make(ROOT / "memory" / name)
            (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
        except OSError:
            self.remove()
            raise

    def _make(self, folder: Path) -> Path:
        folder.mkdir()
        self.folders.append(folder)
        return folder

    def enter(self) -> None:
        """The calling process; in a child before it execs."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        for folder in self.folders:
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().split()
    return []
