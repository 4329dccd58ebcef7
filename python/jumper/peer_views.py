"""What the peers' names show: the history with their numbers, one report of several cells."""

import html
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

from . import _native, peer_cells, views
from .comparing import amount, seconds
from .peer_cells import PeerCell, Recorded
from .perfdata import GB, Samples

CODE_MOST: Final = 300  # characters of a cell's code below the page
NOT_THERE: Final = "not there"


class Shown(NamedTuple):
    """What `views.history` is given."""

    text: str
    html: str
    json: str
    page: str


def history(cells: Sequence[PeerCell], recorded: Recorded | None) -> views.Bundle:
    """To be searched and sorted, with all code."""
    summaries = {one["cell"]["index"]: one for one in _json(recorded, "json")}
    whole = _json(recorded, "page")
    entries = {one["index"]: one for one in (whole["cells"] if recorded else [])}
    rows = [entries.get(one.entry) or _entry(one) for one in cells]
    page = {"version": 1, "kind": "history", "cells": []}
    page["cells"] = [row | {"index": one.number} for row, one in zip(rows, cells, strict=True)]
    known = [
        {"number": one.number, **summaries.get(one.entry, {"cell": {"duration_s": one.duration_s}})}
        for one in cells
    ]
    shown = Shown(_text(cells), _html(cells), json.dumps(known), json.dumps(page))
    return views.history(cast("_native.History", shown))


def _json(recorded: Recorded | None, form: str) -> Any:
    return [] if recorded is None else json.loads(getattr(recorded.history(), form))


def _entry(cell: PeerCell) -> dict[str, Any]:
    """As the page wants it, of a session that was imported."""
    begin = datetime.fromtimestamp(cell.begin_s, UTC).isoformat().replace("+00:00", "Z")
    unknown = dict.fromkeys(
        ("execution_count", "cpu_percent", "memory_bytes", "io_bytes", "gpu_percent")
    )
    known = {"begin": begin, "duration_s": cell.duration_s, "outcome": cell.outcome}
    return unknown | known | {"code": cell.code, "is_cut": False}


def _text(cells: Sequence[PeerCell]) -> str:
    rows = [
        (str(one.number), f"{peer_cells.stamp(one):%Y-%m-%d %H:%M:%S}", seconds(one.duration_s))
        for one in cells
    ]
    width = max((len(duration) for _, _, duration in rows), default=0)
    lines = [
        f"{number:>3}  {when}  {duration:>{width}}  {' '.join(one.code.split())[:100]}"
        for (number, when, duration), one in zip(rows, cells, strict=True)
    ]
    return "\n".join(lines) or "no cell yet"


def _html(cells: Sequence[PeerCell]) -> str:
    lines = "".join(
        f'<tr><th style="{views.NAME_STYLE}">{one.number}</th>'
        f'<td style="{views.NAME_STYLE}">{peer_cells.stamp(one):%Y-%m-%d %H:%M:%S}</td>'
        f'<td style="{views.NAME_STYLE}">{seconds(one.duration_s)}</td>'
        f'<td style="{views.CELL_STYLE}">{html.escape(one.code[:CODE_MOST])}</td></tr>'
        for one in cells
    )
    return f"<table>{lines}</table>"


# ---- one report ----


def report(
    cells: Sequence[PeerCell], samples: Samples, recorded: Recorded | None, level: str
) -> views.Bundle:
    """Of several cells together, or of a session that has no recording. `level`: of ours."""
    duration_s = sum(one.duration_s for one in cells)
    figures = {
        "CPU": (_figures(samples, "cpu_util_avg"), "%", 1),
        "memory": (_figures(samples, "memory"), "B", GB),
        "GPU": (_figures(samples, "gpu_util_avg"), "%", 1),
        "GPU memory": (_figures(samples, "gpu_mem_avg"), "B", GB),
    }
    many = f"{len(cells)} cells" if len(cells) > 1 else "1 cell"
    shown = f"{cells[0].number}" + (f" to {cells[-1].number}" if len(cells) > 1 else "")
    rows = [("cells", f"{shown}: {many}, {seconds(duration_s)}, level {level}")]
    for name, (found, unit, factor) in figures.items():
        if found:
            low, mean, high = (one * factor for one in found)
            text = f"mean {amount(mean, unit)}, {amount(low, unit)} to {amount(high, unit)}"
        else:
            column = {"CPU": "cpu_util_avg", "memory": "memory"}.get(name, "")
            text = f"unknown ({_why(samples, column)})"
        if found or not name.startswith("GPU"):
            rows.append((name, text))
    if recorded is not None:
        rows += _io_rows(cells, recorded, level)
    rows.append(("samples", str(samples.rows)))
    bundle = views.table(rows)
    bundle[views.JSON_TYPE] = {
        "version": 1,
        "report": {
            "cells": [one.number for one in cells],
            "level": level,
            "duration_s": duration_s,
            "figures": {
                name: dict(zip(("min", "mean", "max"), found, strict=True)) if found else None
                for name, (found, _, _) in figures.items()
            },
        },
    }
    return bundle


def _why(samples: Samples, column: str) -> str:
    return samples.missing.get(column) or samples.missing.get("") or NOT_THERE


def _figures(samples: Samples, name: str) -> tuple[float, float, float] | None:
    """Lowest, mean weighted by time, highest."""
    values = samples.columns.get(name, [])
    known: list[tuple[float, float]] = []
    before: tuple[Any, float] = (None, 0.0)
    columns = samples.columns
    for value, time_s, cell in zip(
        values, columns.get("time", []), columns.get("cell_index", []), strict=False
    ):
        weight = time_s - before[1] if before[0] == cell else 0.0
        before = (cell, time_s)
        if value is not None:
            known.append((value, max(weight, 1e-9)))
    if not known:
        return None
    numbers = [value for value, _ in known]
    mean = sum(value * weight for value, weight in known) / sum(weight for _, weight in known)
    return min(numbers), mean, max(numbers)


def _io_rows(cells: Sequence[PeerCell], recorded: Recorded, level: str) -> list[tuple[str, str]]:
    """What these cells read and wrote, by counters; not what the process has since it began."""
    summaries = {one["cell"]["index"]: one for one in json.loads(recorded.history().json)}
    found = [summaries[one.entry] for one in cells]
    rows = []
    for name, kind in (("I/O", "io"), ("storage", "storage")):
        texts = []
        for way, word in (("read", "read"), ("write", "written")):
            metric = f"{kind}_{way}_bytes"
            values = [(one["levels"].get(level) or {}).get(metric) for one in found]
            known = [one for one in values if one is not None]
            reasons = (one["unknown"].get(f"{level}.{metric}") for one in found)
            why = next(filter(None, reasons), "not yet: there is no sample")
            whole = len(known) == len(values)
            texts.append(
                f"{word} {amount(sum(known), 'B')}" if whole else f"{word} unknown ({why})"
            )
        rows.append((name, ", ".join(texts)))
    return rows
