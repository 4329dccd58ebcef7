"""Which cells the peers' numbers mean. Theirs count from 0, ours from 1.

The paper counts the cells with at least one sample; the cells that only ask, as
``%%display_graph_for_all``, are never measured there. jumper-extension counts all cells that have
finished since it was loaded.
"""

import json
import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from . import _native, peers, views
from .collecting import MODES

Recorded = _native.Session | _native.Report
RANGE: Final = re.compile(r"\s*(-?\d{1,9})?\s*(:)?\s*(-?\d{1,9})?\s*")
# Their cells with these first lines run code of the user's.
WITH_CODE: Final = ("execute_with_scorep", "finalize_multicellmode")
NAME: Final = re.compile(r"(%%?)(\w+)")


class NothingThereError(Exception):
    """There is no such cell, or it has no sample: said under the cell, which goes on.

    A notebook written for a peer may have other samples here, and shall still run to its end.
    """


class PeerCell(NamedTuple):
    number: int  # theirs
    entry: int  # our history's #k; 0: of an imported session without a recording
    code: str
    begin_s: float  # since 1970
    duration_s: float
    outcome: str = "unknown"

    @property
    def end_s(self) -> float:
        return self.begin_s + self.duration_s


def of_extension(recorded: Recorded, first: int = 1) -> list[PeerCell]:
    """All that have finished, from our entry `first` on."""
    found = (one for one in recorded.cells() if not one.running and one.index >= first)
    return [_peer_cell(recorded, number, one) for number, one in enumerate(found)]


def of_paper(recorded: Recorded) -> list[PeerCell]:
    """Those with at least one sample that don't only ask."""
    summaries = json.loads(recorded.history().json)
    sampled = {one["cell"]["index"] for one in summaries if one["ticks"]}
    found: list[PeerCell] = []
    for one in recorded.cells():
        if one.running or one.index not in sampled:
            continue
        cell = _peer_cell(recorded, len(found), one)
        if not only_asks(cell.code):
            found.append(cell)
    return found


def _peer_cell(recorded: Recorded, number: int, one: _native.CellInfo) -> PeerCell:
    code = views.readable(recorded.code(one.index))
    return PeerCell(number, one.index, code, one.begin_wall_ns / 1e9, one.duration_s, one.outcome)


def only_asks(code: str) -> bool:
    """Whether nothing but the peers' names or ours stands there; they don't measure such a cell."""
    lines = [line.strip() for line in code.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines and lines[0].startswith("%%"):
        lines = lines[:1]
    names = [NAME.match(line) for line in lines]
    return bool(names) and all(name is not None and _asks(*name.groups()) for name in names)


def _asks(sign: str, name: str) -> bool:
    is_theirs = name in peers.NAMES or name in MODES
    return (is_theirs and name not in WITH_CODE) or (sign, name) == ("%", "jumper")


def numbered(cells: Sequence[PeerCell], text: str, name: str) -> PeerCell:
    """The cell with that number of the paper's."""
    if not text.isascii() or not text.isdigit():
        shown = f"{text!r} is no index" if text else "an index is missing"
        raise ValueError(f"{shown}: write {name} 0 for the first cell that has a sample")
    if int(text) >= len(cells):
        raise NothingThereError(f"there is no cell {text}: {_have(cells)}")
    return cells[int(text)]


def _have(cells: Sequence[PeerCell]) -> str:
    if not cells:
        return "no cell has a sample yet (a longer one will, or a higher rate: %jumper set rate=…)"
    return f"the cells with a sample are 0 to {len(cells) - 1}"


def last(cells: Sequence[PeerCell]) -> PeerCell:
    if not cells:
        raise NothingThereError(_have(cells))
    return cells[-1]


def in_range(cells: Sequence[PeerCell], text: str) -> list[PeerCell]:
    """`5`, `2:8`, `:5`, `3:`, both ends included; below 0 it counts from the end: `-3:-1`."""
    match = RANGE.fullmatch(text)
    if match is None or not text.strip() or (match[3] and not match[2]):
        raise ValueError(f"--cell {text} names no cells: write 5, 2:8, :5, 3: or -3:-1")
    first, colon, end = match.groups()
    count = len(cells)
    bounds = [int(first or 0), int(end or -1) if colon else int(first or 0)]
    begin, last_one = (one + count if one < 0 else one for one in bounds)
    if not 0 <= begin <= last_one < count:
        known = f"there are 0 to {count - 1}" if count else "no cell has finished yet"
        raise NothingThereError(f"there is no range {text} of cells: {known}")
    return list(cells[begin : last_one + 1])


def monotonic_offset_s() -> float:
    """What `time.perf_counter` is behind the time since 1970, now: theirs tell time by it."""
    return time.time() - time.perf_counter()


def stamp(cell: PeerCell) -> datetime:
    """When it began, as theirs say it: local time without a zone."""
    return datetime.fromtimestamp(cell.begin_s).astimezone().replace(tzinfo=None)
