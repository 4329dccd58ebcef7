"""Recordings of earlier kernels of the same notebook, and what became of those kernels."""

import time
from pathlib import Path
from typing import Final, NamedTuple

from . import _native, views

WITHIN_S: Final = 7 * 24 * 3600
MOST_CODE: Final = 60  # characters of the dead cell's first line


class Last(NamedTuple):
    """The newest recording whose kernel is gone, however it ended."""

    path: str | None
    # One that is newer may still run: a kernel that has died a moment ago looks like that, too.
    unsettled: bool
    report: _native.Report | None = None  # absent where its end needs no notice


def last(own_path: str, label: str) -> Last:
    """Looks through the recordings of the same notebook beside this kernel's own."""
    since_ns = time.time_ns() - WITHIN_S * 1_000_000_000
    unsettled = False
    for path in _native.earlier(str(Path(own_path).parent), label, own_path, since_ns):
        # The rule, and a long recording takes a while to open: this stands under the first cell.
        if _native.ended_quietly(path):
            return Last(path, unsettled)
        try:
            report = _native.Report.open(path)
            kind = report.ending().kind
        except _native.Error:  # gone meanwhile (retention of another kernel), or not to be read
            continue
        if kind != "running":
            return Last(path, unsettled, report)
        unsettled = True
    return Last(None, unsettled)


def notice(found: Last) -> str | None:
    """One sentence about the kernel of that recording, if it died and nobody was told yet."""
    report = found.report
    if found.path is None or report is None:
        return None
    ending = report.ending()
    if ending.kind == "closed" or report.told():
        return None
    _native.mark_told(found.path)
    sentence = f"the last kernel of {report.label()!r} ended{_when(ending)}"
    sentence += f"{_where(report, ending)}: {ending.text}; `%jumper open last` shows what it did"
    if ending.kind == "out of memory":
        sentence += ", `%jumper guard memory=95%` stops a cell before that"
    return sentence


def _when(ending: _native.Ending) -> str:
    if not ending.wall_ns:
        return ""
    passed_s = max(0.0, time.time() - ending.wall_ns / 1e9)
    for unit, seconds in (("days", 86400), ("h", 3600), ("min", 60)):
        if passed_s >= 2 * seconds:
            return f" {passed_s / seconds:.0f} {unit} ago"
    return f" {passed_s:.0f} s ago"


def _where(report: _native.Report, ending: _native.Ending) -> str:
    """In which cell, with the beginning of its code."""
    if ending.cell is None:
        return ""
    number = next(one.execution_count for one in report.cells() if one.index == ending.cell)
    name = f"#{ending.cell}" if number is None else f"In [{number}]"
    line = next(iter(views.readable(report.code(ending.cell)).strip().splitlines()), "")
    shown = "".join(one if one.isprintable() else " " for one in line)
    shown = shown if len(shown) <= MOST_CODE else shown[: MOST_CODE - 1] + "…"
    return f" in {name}" + f" ({shown})" * bool(shown)
