"""Our samples in the peers' shapes. Unknown is None, with its reason; never 0.

`paper_history` is what ``perfdata_to_variable`` gives: a list for each cell, of one node's lists
and then of what theirs are over all nodes, which is the same here:

    [[cpu, memory, read_ops, write_ops, read, written, gpu, gpu_memory], mean cpu, memory, …, …]

`cpu`, `gpu` and `gpu_memory` have a list for each core or card and then those of mean, highest and
lowest. Per cent; GB (2**30 bytes) of the kernel's processes; what was read and written since the
cell's begin, in operations and MB (2**20 bytes).

`of_level` is jumper-extension's table: a row for each sample in a cell, rates per second.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from . import _native
from .peer_cells import PeerCell, Recorded

Values = list[float | None]
GB: Final = 2**30
MB: Final = 2**20
CORE: Final = re.compile(r"core(\d+)\.cpu_percent")
CARD: Final = re.compile(r"((?:gpu|drm)\d+)\.")  # not slices of one, as gpu0_mig1
ONE_NODE_ONLY: Final = "not supported: cores are told apart for the node only (--level system)"


class Samples(NamedTuple):
    columns: dict[str, list[Any]]  # by their names
    missing: dict[str, str]  # why a column has a None, or isn't there

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), []))


class Source:
    """One table of ours by the names of its columns."""

    def __init__(self, table: _native.Table) -> None:
        self._table = table
        self._places = {name: place for place, (name, _) in enumerate(table.columns)}
        head = json.loads(table.head)
        self._reasons = {one["column"]: str(one["reason"]) for one in head["missing"]}
        self.cells: list[dict[str, Any]] = head["cells"]

    @property
    def names(self) -> Iterable[str]:
        return self._places

    def values(self, name: str, unit: float = 1) -> Values:
        place = self._places.get(name)
        if place is None:
            return [None] * self._table.rows
        found: Values = self._table.values(place)
        return found if unit == 1 else [None if one is None else one / unit for one in found]

    def reason(self, name: str) -> str | None:
        """Why there is nothing of it, in some row at least."""
        for stem in (name, re.sub(r"_per_s$", "", name), name.split("_", 1)[0]):
            if stem in self._reasons:
                return self._reasons[stem]
        return None if name in self._places else "not supported: it is not recorded here"


def _over(columns: Sequence[Values], of: Callable[[list[float]], float], rows: int) -> Values:
    """Over cores or cards, row by row."""
    found: Values = []
    for row in range(rows):
        known = [column[row] for column in columns]
        numbers = [one for one in known if one is not None]
        found.append(of(numbers) if numbers else None)
    return found


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _cards(names: Iterable[str], prefix: str = "") -> list[str]:
    found = (CARD.match(one.removeprefix(prefix)) for one in names if one.startswith(prefix))
    return list(dict.fromkeys(one[1] for one in found if one))


# ---- the paper's lists ----


def paper_history(
    recorded: Recorded, cells: Sequence[PeerCell]
) -> tuple[list[list[Any]], dict[str, str]]:
    """An entry for each cell, and why something in them is None."""
    missing: dict[str, str] = {}
    return [_paper_cell(recorded.table([one.entry], "all"), missing) for one in cells], missing


def _paper_cell(table: _native.Table, missing: dict[str, str]) -> list[Any]:
    source = Source(table)
    cores = _cores(source.names)
    cpu = [source.values(f"node.core{core}.cpu_percent") for core in cores]
    rows = _rows_that_count(source.values("since_cell_begin_ns"), cpu)

    def take(name: str, unit: float = 1, *, since_begin: bool = False) -> Values:
        values = source.values(name, unit)
        begin = _at_begin(source, name, values, unit) if since_begin else 0
        found = [values[row] for row in rows]
        if None in found:
            missing.setdefault(name, source.reason(name) or "not yet: no sample in a cell has it")
        return [None if one is None else max(0, one - begin) for one in found]

    cards = _cards(source.names, "node.")
    used = [take(f"node.{card}.utilization_percent") for card in cards]
    memory = [_share(take, card) for card in cards]
    node: list[Any] = [
        _with_figures([take(f"node.core{core}.cpu_percent") for core in cores], len(rows)),
        take("process.memory_bytes", GB),
        take("process.io_read_ops", since_begin=True),
        take("process.io_write_ops", since_begin=True),
        take("process.storage_read_bytes", MB, since_begin=True),
        take("process.storage_write_bytes", MB, since_begin=True),
        _with_figures(used, len(rows) if used else 0),
        _with_figures(memory, len(rows) if memory else 0),
    ]
    return [node, node[0][-3], *node[1:6], node[6][-3], node[7][-3]]


def _at_begin(source: Source, name: str, values: Values, unit: float) -> float:
    """What a counter was at the cell's begin: the kernel has counted what the whole cell did."""
    known = [one for one in values if one is not None]
    level, _, metric = name.partition(".")
    figures = source.cells[0]["summary"]["levels"].get(level) or {}
    whole = figures.get(metric)
    if not known:
        return 0
    return known[0] if whole is None else min(known[0], known[-1] - whole / unit)


def _cores(names: Iterable[str]) -> list[int]:
    """Those that this process may use, as theirs."""
    found = (CORE.fullmatch(name.removeprefix("node.")) for name in names)
    numbers = sorted(int(one[1]) for one in found if one)
    allowed = os.sched_getaffinity(0)
    return [one for one in numbers if one in allowed] or numbers


def _rows_that_count(since_begin_ns: Values, cpu: Sequence[Values]) -> list[int]:
    """A use of the cores is known from one sample to the next: the first has none."""
    inside = [row for row, since in enumerate(since_begin_ns) if since is not None and since >= 0]
    known = [row for row in inside if any(core[row] is not None for core in cpu)]
    return known or inside


def _share(take: Callable[[str], Values], card: str) -> Values:
    """Of the card's memory, in per cent."""
    used = take(f"node.{card}.memory_bytes")
    whole = take(f"node.{card}.capacity_memory_bytes")
    return [
        None if one is None or not all_of_it else 100 * one / all_of_it
        for one, all_of_it in zip(used, whole, strict=True)
    ]


def _with_figures(columns: list[Values], rows: int) -> list[Values]:
    figures: tuple[Callable[[list[float]], float], ...] = (_mean, max, min)
    return [*columns, *(_over(columns, of, rows) for of in figures)]


# ---- jumper-extension's table ----


def of_level(recorded: Recorded, cells: Sequence[PeerCell], level: str, offset_s: float) -> Samples:
    """`level`: of ours but all. `offset_s`: of `peer_cells.monotonic_offset_s`."""
    source = Source(recorded.table([one.entry for one in cells], level))
    theirs = {one.entry: one.number for one in cells}
    whens = source.values("time_unix_ns", 1e9)
    columns: dict[str, list[Any]] = {"time": [None if t is None else t - offset_s for t in whens]}
    missing: dict[str, str] = {}

    def put(name: str, ours: str, unit: float = 1) -> None:
        columns[name] = source.values(ours, unit)
        if None in columns[name]:
            missing[name] = source.reason(ours) or "not yet: no sample before tells a rate"

    _put_cores(source, columns, missing)
    put("memory", "memory_bytes", GB)
    _put_cards(source, put, columns)
    operations = "storage" if level in ("node", "job") else "io"
    put("io_read_count", f"{operations}_read_ops_per_s")
    put("io_write_count", f"{operations}_write_ops_per_s")
    put("io_read", "storage_read_bytes_per_s")
    put("io_write", "storage_write_bytes_per_s")
    entries = source.values("cell_index")
    columns["cell_index"] = [None if one is None else theirs[int(one)] for one in entries]
    return Samples(columns, missing)


def _put_cores(source: Source, columns: dict[str, list[Any]], missing: dict[str, str]) -> None:
    whole = source.values("cpu_percent")
    cores = sorted(int(one[1]) for one in map(CORE.fullmatch, source.names) if one)
    if not cores:
        millicores = max((one or 0 for one in source.values("capacity_millicores")), default=0)
        cores = list(range(-int(-millicores // 1000)))
    found = [source.values(f"core{core}.cpu_percent") for core in cores]
    of_node = any(one is not None for column in found for one in column)
    for index, column in enumerate(found):
        columns[f"cpu_util_{index}"] = column
    columns["cpu_util_avg"] = whole
    columns["cpu_util_min"] = _over(found, min, len(whole))
    columns["cpu_util_max"] = _over(found, max, len(whole))
    reason = source.reason("cpu_percent") or source.reason("cpu_time_ns")
    for name, column in columns.items():
        if name.startswith("cpu_util") and None in column:
            is_whole = name == "cpu_util_avg" or of_node
            first_row = "not yet: no sample before tells a rate"
            missing[name] = (reason or first_row) if is_whole else ONE_NODE_ONLY


def _put_cards(
    source: Source, put: Callable[[str, str, float], None], columns: dict[str, list[Any]]
) -> None:
    metrics: tuple[tuple[str, str, float], ...] = (
        ("util", "utilization_percent", 1),
        ("band", "memory_utilization_percent", 1),
        ("mem", "memory_bytes", GB),
    )
    cards = _cards(source.names)
    for theirs, ours, unit in metrics if cards else ():
        for index, card in enumerate(cards):
            put(f"gpu_{theirs}_{index}", f"{card}.{ours}", unit)
        found = [columns[f"gpu_{theirs}_{index}"] for index in range(len(cards))]
        figures: tuple[tuple[str, Callable[[list[float]], float]], ...]
        figures = (("avg", _mean), ("min", min), ("max", max))
        for word, of in figures:
            columns[f"gpu_{theirs}_{word}"] = _over(found, of, len(found[0]))
