"""Curves of a session that has tables only, in the form that every plot here is drawn from."""

import html
import itertools
import json
import math
from array import array
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from . import _native
from .comparing import amount
from .origins import Origin
from .peer_cells import NothingThereError, PeerCell
from .perfdata import GB, Samples, Values

# Our metric: title, unit, its tracks: name, their column, factor.
PANELS: Final = {
    "cpu": ("CPU", "%", (("CPU", "cpu_util_avg", 1.0),)),
    "cpu_cores": ("CPU per core", "%", ()),
    "memory": ("Memory", "B", (("memory", "memory", float(GB)),)),
    "storage": ("Storage", "B/s", (("read", "io_read", 1.0), ("written", "io_write", 1.0))),
    "io_operations": (
        "I/O operations",
        "1/s",
        (("read", "io_read_count", 1.0), ("written", "io_write_count", 1.0)),
    ),
    "gpu": ("GPU", "%", (("GPU", "gpu_util_avg", 1.0),)),
    "gpu_memory": ("GPU memory", "B", (("GPU memory", "gpu_mem_avg", float(GB)),)),
}
USUAL: Final = ("cpu", "memory", "storage", "gpu", "gpu_memory")
LEVELS: Final = {"node": "system", "job": "slurm"}
LONGEST_GAP_S: Final = 30.0  # theirs may sample every 10 s; then there was nothing
WIDTH: Final = 720
PANEL_PX: Final = 110
COLOURS: Final = ("#4c78a8", "#e08214")


class Drawn(NamedTuple):
    """As `_native.Plot`."""

    text: str
    svg: str
    json: str


def draw(
    origin: Origin,
    cells: Sequence[PeerCell],
    metrics: Sequence[str],
    level: str,
    most_buckets: int = 600,
) -> Drawn:
    """Raises NothingThereError."""
    samples = origin.samples(level, cells)
    begin_s, end_s = cells[0].begin_s, max(one.end_s for one in cells)
    if not samples.rows or end_s <= begin_s:
        why = samples.missing.get("", "the session has no sample in these cells")
        raise NothingThereError(f"there is nothing to draw: {why}")
    offset_s = origin.offset_s()
    span = (begin_s - offset_s, end_s - offset_s)
    step_s = (end_s - begin_s) / most_buckets
    panels = [
        panel
        for metric in PANELS
        if (panel := _panel(samples, metric, level, span, most_buckets)) is not None
    ]
    there = [one["id"] for one in panels]
    shown = [one for one in metrics or USUAL if one in there] or there[:1]
    plot: dict[str, Any] = {
        "version": 1,
        "label": "imported session",
        "host": "",
        "begin_wall_s": begin_s,
        "level": level,
        "levels": [level],
        "shown": shown,
        "cut": False,
        "edges_s": [round(step_s * one, 6) for one in range(most_buckets + 1)],
        "cells": [_cell(one, begin_s) for one in cells],
        "gaps": [],
        "metrics": panels,
    }
    chosen = [one for one in panels if one["id"] in shown]
    title = f"imported session · {len(cells)} cells · level {LEVELS.get(level, level)}"
    lines = [title, *(_line(one, level) for one in chosen)]
    return Drawn("\n".join(lines), _svg(title, chosen, level), json.dumps(plot))


def _cell(cell: PeerCell, begin_s: float) -> dict[str, Any]:
    return {
        "index": cell.number,
        "execution_count": None,
        "label": f"cell {cell.number}",
        "begin_s": cell.begin_s - begin_s,
        "end_s": cell.end_s - begin_s,
        "outcome": cell.outcome,
        "code": cell.code[:10_000],
    }


def _panel(
    samples: Samples, metric: str, level: str, span: tuple[float, float], most_buckets: int
) -> dict[str, Any] | None:
    title, unit, tracks = PANELS[metric]
    if metric == "cpu_cores":
        names = (f"cpu_util_{core}" for core in itertools.count())
        cores = itertools.takewhile(lambda name: name in samples.columns, names)
        tracks = tuple((f"core {core}", name, 1.0) for core, name in enumerate(cores))
    times = samples.columns["time"]
    made = [
        {"name": name, **reduced}
        for name, column, factor in tracks
        if (reduced := _reduced(times, samples.columns.get(column, []), factor, span, most_buckets))
    ]
    if not made:
        return None
    panel: dict[str, Any] = {"tracks": made}
    if unit == "%":
        panel["max"] = 100
    found: dict[str, Any] = {"id": metric, "title": title, "unit": unit, "colour": 0}
    if metric == "cpu_cores":
        found["heat"] = True
    return {**found, "panels": {level: panel}}


def _reduced(
    times: Sequence[float], values: Values, factor: float, span: tuple[float, float], most: int
) -> dict[str, list[float | None]] | None:
    pairs = sorted((t, v) for t, v in zip(times, values, strict=False) if v is not None)
    if not pairs:
        return None
    times_ns = array("q", (int(t * 1e9) for t, _ in pairs))
    numbers = array("d", (v * factor for _, v in pairs))
    reduction = _native.Reduction(times_ns, numbers, int(LONGEST_GAP_S * 1e9))
    buckets = reduction.reduce(int(span[0] * 1e9), int(span[1] * 1e9), most)

    def column(place: int) -> list[float | None]:
        return [None if math.isnan(one[place]) else one[place] for one in buckets]

    return {"min": column(0), "max": column(1), "mean": column(4)}


def _known(track: dict[str, Any], form: str) -> list[float]:
    return [one for one in track[form] if one is not None]


def _line(metric: dict[str, Any], level: str) -> str:
    """In text: lowest, highest and mean of each track."""
    parts = []
    for track in metric["panels"][level]["tracks"]:
        low, high, mean = (_known(track, form) for form in ("min", "max", "mean"))
        if mean:
            unit = metric["unit"].removesuffix("/s")
            rate = "/s" if metric["unit"] != unit else ""
            figures = (min(low), max(high), sum(mean) / len(mean))
            shown = [amount(one, unit if unit != "1" else "") + rate for one in figures]
            parts.append(f"{track['name']} {shown[0]} to {shown[1]}, mean {shown[2]}")
    return f"{metric['title']}: {'; '.join(parts) or 'nothing in these cells'}"


def _svg(title: str, metrics: Sequence[dict[str, Any]], level: str) -> str:
    height = 24 + PANEL_PX * len(metrics)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"',
        f' width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="4" y="15">{html.escape(title)}</text>',
    ]
    for place, metric in enumerate(metrics):
        top = 24 + place * PANEL_PX
        panel = metric["panels"][level]
        highest = max([*(max(_known(one, "max"), default=0) for one in panel["tracks"])], default=0)
        highest = panel.get("max") or highest or 1
        parts.append(f'<text x="4" y="{top + 12}">{html.escape(_line(metric, level))}</text>')
        for number, track in enumerate(panel["tracks"]):
            colour = COLOURS[number % len(COLOURS)]
            path = _path(track["mean"], highest, top + 18, PANEL_PX - 26)
            parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    return "".join([*parts, "</svg>"])


def _path(values: Values, highest: float, top: float, height: float) -> str:
    """Broken where nothing is known."""
    steps, is_down = [], False
    for place, value in enumerate(values):
        if value is None:
            is_down = False
            continue
        x = place * WIDTH / max(1, len(values))
        y = top + height * (1 - min(1.0, value / highest))
        steps.append(f"{'L' if is_down else 'M'}{x:.1f} {y:.1f}")
        is_down = True
    return "".join(steps)


def plotly(data: str) -> dict[str, Any]:
    """The curves that are shown as plotly's figures are made of."""
    plot = json.loads(data)
    edges = plot["edges_s"]
    shown = [one for one in plot["metrics"] if one["id"] in plot["shown"]]
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"title": {"text": str(plot["label"])}}
    for place, metric in enumerate(shown):
        panel = metric["panels"].get(plot["level"])
        suffix = "" if place == 0 else str(place + 1)
        whole = len(shown)
        layout[f"yaxis{suffix}"] = {
            "title": {"text": f"{metric['title']} ({metric['unit']})"},
            "domain": [1 - (place + 0.85) / whole, 1 - place / whole],
        }
        traces += [
            {
                "type": "scatter",
                "mode": "lines",
                "name": track["name"],
                "x": edges[:-1],
                "y": track["mean"],
                "yaxis": f"y{suffix}",
            }
            for track in (panel or {"tracks": []})["tracks"]
        ]
    layout["xaxis"] = {"title": {"text": "seconds"}}
    return {"data": traces, "layout": layout}
