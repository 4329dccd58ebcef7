"""Of which session the extension's names speak: of this one, or of one that was imported."""

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from . import _native, peer_cells, peers
from .peer_cells import PeerCell, Recorded

if TYPE_CHECKING:
    from .perfdata import Samples

HISTORY: Final = (
    "cell_index",
    "raw_cell",
    "start_time",
    "end_time",
    "duration",
    "wallclock_start_time",
    "wallclock_end_time",
    "cell_magics",
)

SLURM_JOB: Final = "SLURM_JOB_ID"


class Origin(Protocol):
    recorded: Recorded | None  # None: an imported session without a recording

    def cells(self) -> list[PeerCell]: ...
    def samples(self, level: str, cells: Sequence[PeerCell]) -> "Samples":
        """`level`: as they call it."""

    def monitor(self) -> dict[str, Any]:
        """What their manifest says of the machine and of the time."""

    def offset_s(self) -> float:
        """What their clock is behind the time since 1970."""


class Recording:
    """Of this kernel, or of a copy that came with an imported session."""

    def __init__(
        self,
        recorded: Recorded,
        first: int = 1,
        monitor: dict[str, Any] | None = None,
        last: int | None = None,
    ) -> None:
        self.recorded: Recorded | None = recorded
        self._recorded = recorded
        self.first = first  # our entry of their cell 0
        self._monitor = monitor
        self._last = last  # of a copy: the cell that made it is in it, unfinished

    def cells(self) -> list[PeerCell]:
        cells = peer_cells.of_extension(self._recorded, self.first)
        return [one for one in cells if self._last is None or one.entry <= self._last]

    def samples(self, level: str, cells: Sequence[PeerCell]) -> "Samples":
        from . import perfdata  # when it is asked for: loading jumper stays quick

        return perfdata.of_level(self._recorded, cells, peers.LEVELS[level], self.offset_s())

    def offset_s(self) -> float:
        monitor = self._monitor or {}
        start, wall = monitor.get("start_time"), monitor.get("wallclock_start_time")
        if isinstance(start, int | float) and isinstance(wall, int | float):
            return wall - start
        return peer_cells.monotonic_offset_s()

    def monitor(self) -> dict[str, Any]:
        if self._monitor is None:
            return _of_this_kernel(self._recorded, self.offset_s())
        return self._monitor


class Sessions:
    """Which one is asked: this kernel's, until one was imported."""

    def __init__(self, session: _native.Session) -> None:
        self._session = session
        self._recording = Recording(session)
        self.imported: Origin | None = None

    def current(self) -> Origin:
        """Of this kernel, the last cell's samples are there, as far as they come soon."""
        if self.imported is not None:
            return self.imported
        finished = [one.index for one in self._session.cells() if not one.running]
        self._session.wait(finished[-1] if finished else 0)
        return self._recording

    def begin(self) -> None:
        """``%load_ext jumper_extension``: the next cell is number 0."""
        cells = self._session.cells()
        self._recording.first = cells[-1].index + 1 if cells else 1
        self.imported = None


def _of_this_kernel(recorded: Recorded, offset_s: float) -> dict[str, Any]:
    whole = json.loads(recorded.totals() or '{"levels": {}, "cell": {}}')
    rate_hz = recorded.status().rate_hz if isinstance(recorded, _native.Session) else None
    cells = peer_cells.of_extension(recorded)
    start_s = cells[0].begin_s if cells else None
    end_s = max((one.end_s for one in cells), default=None)
    cards = [one for one in whole.get("devices", {}).values() if one.get("driver") != "file system"]
    memory_bytes = next((one["memory_bytes"] for one in cards if one.get("memory_bytes")), None)
    capacities = {
        theirs: ((whole["levels"].get(ours) or {}).get("capacity") or {}).get("memory_bytes")
        for theirs, ours in list(peers.LEVELS.items())[:4]
    }
    allowed = sorted(os.sched_getaffinity(0))
    return {
        "interval": 1 / rate_hz if rate_hz else None,
        "start_time": None if start_s is None else start_s - offset_s,
        "stop_time": None if end_s is None else end_s - offset_s,
        "wallclock_start_time": start_s,
        "wallclock_stop_time": end_s,
        "num_cpus": len(allowed),
        "num_system_cpus": os.cpu_count(),
        "num_gpus": len(cards),
        "gpu_memory": _gb(memory_bytes) or 0.0,
        "gpu_name": ", ".join(dict.fromkeys(str(one.get("model") or "") for one in cards)),
        "memory_limits": {name: _gb(one) for name, one in capacities.items() if one},
        "cpu_handles": allowed,
        "pid": os.getpid(),
        "uid": os.getuid(),
        "slurm_job": _native.environment((SLURM_JOB,)).get(SLURM_JOB, "0"),
        "os": os.name,
        "python": sys.version.split(" ", 1)[0],
    }


def _gb(size_bytes: float | None) -> float | None:
    return None if size_bytes is None else round(size_bytes / 2**30, 2)


def history(origin: Origin, cells: Sequence[PeerCell], magics: Sequence[str]) -> dict[str, Any]:
    """Their table of cells. `magics`: the names of all line magics of this shell."""
    offset_s = origin.offset_s()
    rows = [
        (
            one.number,
            one.code,
            one.begin_s - offset_s,
            one.end_s - offset_s,
            one.duration_s,
            one.begin_s,
            one.end_s,
            _called(one.code, magics),
        )
        for one in cells
    ]
    columns = zip(*rows, strict=True) if rows else [() for _ in HISTORY]
    return {name: list(column) for name, column in zip(HISTORY, columns, strict=True)}


def _called(code: str, magics: Sequence[str]) -> list[str]:
    """The lines with a magic, without their per cent sign."""
    lines = (line.strip() for line in code.splitlines())
    return [
        line[1:]
        for line in lines
        if line.startswith("%") and (line[1:].split(None, 1) or [""])[0] in magics
    ]


def resources(monitor: dict[str, Any]) -> list[tuple[str, str]]:
    """To be shown; a manifest may hold whatever it likes."""

    def number(name: str) -> float | None:
        value = monitor.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e15:
            return None
        return float(value)

    def count(name: str) -> str:
        value = number(name)
        return "unknown" if value is None else f"{value:.0f}"

    limits = monitor.get("memory_limits")
    limits = limits if isinstance(limits, dict) else {}
    shown = [
        f"{limits[name]:.2f} GB ({name})"
        for name in peers.LEVELS
        if isinstance(limits.get(name), int | float)
    ]
    handles = monitor.get("cpu_handles")
    cores = (
        [str(one) for one in handles if isinstance(one, int)] if isinstance(handles, list) else []
    )
    rows = [
        ("CPUs", f"{count('num_cpus')} of {count('num_system_cpus')}"),
        ("affinity", ", ".join(cores[:1000]) or "unknown"),
        ("memory", "\n".join(shown) or "unknown"),
        ("GPUs", count("num_gpus")),
    ]
    memory = number("gpu_memory")
    if number("num_gpus") and memory is not None:
        rows.append(("", f"{str(monitor.get('gpu_name'))[:200]}, {memory:.2f} GB"))
    return rows
