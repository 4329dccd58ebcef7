"""A session of jumper-extension's own, without a recording of ours: its tables answer."""

from bisect import bisect
from collections.abc import Sequence
from typing import Any, Final

from ._native import Error
from .peer_cells import PeerCell, Recorded
from .perfdata import Samples

PERFDATA: Final = (
    "time",
    "memory",
    "io_read_count",
    "io_write_count",
    "io_read",
    "io_write",
    "cpu_util_avg",
    "cpu_util_min",
    "cpu_util_max",
)


class Imported:
    recorded: Recorded | None = None

    def __init__(
        self,
        source: str,
        monitor: dict[str, Any],
        tables: dict[str, dict[str, list[Any]]],
        history: dict[str, list[Any]],
    ) -> None:
        """Raises Error when the cells make no sense."""
        self._source = source
        self._monitor = monitor
        self._tables = tables
        self._cells = self._from(history) if history else []
        self._offset_s = 0.0
        starts = history.get("start_time", [])
        if self._cells and starts:
            self._offset_s = self._cells[0].begin_s - starts[0]

    def _from(self, history: dict[str, list[Any]]) -> list[PeerCell]:
        columns = ("cell_index", "raw_cell", "wallclock_start_time", "duration", "start_time")
        rows = list(zip(*(history[name] for name in columns), strict=True))
        for number, _, begin_s, duration_s, start_s in rows:
            if None in (number, begin_s, duration_s, start_s) or duration_s < 0:
                raise Error(f"cannot import {self._source!r}: a cell has no number or no time")
        if [row[0] for row in rows] != list(range(len(rows))):
            raise Error(f"cannot import {self._source!r}: its cells aren't numbered 0, 1, 2, …")
        return [
            PeerCell(number, 0, code, begin_s, duration_s)
            for number, code, begin_s, duration_s, _ in rows
        ]

    def cells(self) -> list[PeerCell]:
        return self._cells

    def offset_s(self) -> float:
        return self._offset_s

    def monitor(self) -> dict[str, Any]:
        return self._monitor

    def samples(self, level: str, cells: Sequence[PeerCell]) -> Samples:
        """Those in these cells, with the number of each."""
        theirs = {"node": "system", "job": "slurm"}.get(level, level)
        table = self._tables.get(theirs)
        if table is None:
            return Samples({}, {"": f"the session has no samples of level {theirs}"})
        ordered = sorted(cells, key=lambda one: one.begin_s)
        begins = [one.begin_s - self._offset_s for one in ordered]
        rows, numbers = [], []
        for row, time_s in enumerate(table["time"]):
            place = -1 if time_s is None else bisect(begins, time_s) - 1
            if place >= 0 and time_s <= ordered[place].end_s - self._offset_s:
                rows.append(row)
                numbers.append(ordered[place].number)
        columns = {
            name: [values[row] for row in rows]
            for name, values in table.items()
            if name != "cell_index"
        }
        missing = {
            name: "not recorded by the session that was imported"
            for name, values in columns.items()
            if None in values
        }
        return Samples({**columns, "cell_index": numbers}, missing)
