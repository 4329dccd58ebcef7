"""All cells of a notebook together: time, core-hours, memory, I/O, GPU-hours, energy."""

import json
from datetime import datetime
from typing import Any, Final

from . import views
from .comparing import amount, seconds

Summary = dict[str, Any]
HOUR_S: Final = 3600
JOULES_PER_WH: Final = 3600


def total(whole_json: str, history_json: str, level: str) -> views.Bundle:
    """Of the whole recording, from its first sample to its last, and of its cells."""
    if not whole_json:
        raise ValueError("there is no total here: this process is a copy of the kernel (a fork)")
    whole: Summary = json.loads(whole_json)
    cells: list[Summary] = [one for one in json.loads(history_json) if "group" not in one]
    numbers = _numbers(whole, cells, level)
    bundle = views.table(_rows(whole, cells, numbers, level))
    bundle[views.JSON_TYPE] = {"version": 1, "total": numbers, "level": level}
    return bundle


def busy_s(cells: list[Summary]) -> float:
    """The time in cells; cells within each other count once."""
    spans = sorted(_span(one["cell"]) for one in cells)
    busy, reached = 0.0, float("-inf")
    for begin, end in spans:
        busy += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return busy


def _span(cell: dict[str, Any]) -> tuple[float, float]:
    begin = datetime.fromisoformat(cell["begin"]).timestamp()
    return begin, begin + cell["duration_s"]


def _numbers(whole: Summary, cells: list[Summary], level: str) -> dict[str, Any]:
    figures = whole["levels"].get(level) or {}
    finished = [one for one in cells if one["cell"]["outcome"] is not None]
    outcomes = [one["cell"]["outcome"] for one in finished]
    ends = [_span(one["cell"]) for one in cells]
    duration_s = whole["cell"]["duration_s"]
    if ends:  # the sampler may have come later, or be gone
        ends.append(_span(whole["cell"]))
        known = [one for one in ends if one[1] > one[0]] or ends
        duration_s = max(end for _, end in known) - min(begin for begin, _ in known)
    cpu_s = figures.get("cpu_time_s")
    memory = figures.get("memory_bytes") or {}
    peaks = [memory.get("peak")]
    peaks += [
        ((one["levels"].get(level) or {}).get("memory_bytes") or {}).get("peak") for one in cells
    ]
    cards = _cards(whole)
    return {
        "begin": min([whole, *cells], key=lambda one: _span(one["cell"])[0])["cell"]["begin"]
        if cells
        else whole["cell"]["begin"],
        "duration_s": duration_s,
        "cells": len(finished),
        "failed": {
            word: outcomes.count(word)
            for word in ("error", "interrupted", "died")
            if word in outcomes
        },
        "busy_s": busy_s(cells),
        "idle_s": max(0.0, duration_s - busy_s(cells)),
        "core_hours": None if cpu_s is None else cpu_s / HOUR_S,
        "cpu_percent": (figures.get("cpu_percent") or {}).get("mean"),
        "memory_peak_bytes": max((one for one in peaks if one is not None), default=None),
        **{
            name: figures.get(name)
            for name in (
                "io_read_bytes",
                "io_write_bytes",
                "storage_read_bytes",
                "storage_write_bytes",
            )
        },
        "gpus": len(cards),
        "gpu_hours": _sum(
            _scaled(_mean(one, "utilization_percent"), duration_s / HOUR_S / 100)
            for one in cards.values()
        ),
        "gpu_energy_joules": _sum(
            _scaled(one.get("energy_millijoules"), 1e-3) for one in cards.values()
        ),
    }


def _cards(whole: Summary) -> dict[str, dict[str, Any]]:
    devices = (whole["levels"].get("node") or {}).get("devices") or {}
    known = whole.get("devices", {})
    return {
        name: figures
        for name, figures in devices.items()
        if known.get(name, {}).get("driver") != "file system" and "_mig" not in name
    }


def _mean(figures: dict[str, Any], metric: str) -> float | None:
    value = (figures.get(metric) or {}).get("mean")
    return value if isinstance(value, int | float) else None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _sum(values: Any) -> float | None:
    """None when there is nothing, or one is unknown."""
    found = list(values)
    return sum(found) if found and None not in found else None


def _rows(
    whole: Summary, cells: list[Summary], numbers: dict[str, Any], level: str
) -> list[tuple[str, str]]:
    def why(*metrics: str) -> str:
        """Beginning with the state; of the level itself when that is what is missing."""
        unknown = whole["unknown"]
        names = [f"{level}.{one}" for one in metrics] + [level]
        reason = next((unknown[name] for name in names if name in unknown), None)
        return f"unknown ({reason or 'not yet: there is no sample'})"

    def of(name: str, unit: str, *metrics: str) -> str:
        value = numbers[name]
        return why(*(metrics or (name,))) if value is None else amount(value, unit)

    failed = ", ".join(f"{count} {word}" for word, count in numbers["failed"].items())
    duration_s, busy = numbers["duration_s"], numbers["busy_s"]
    share = f" ({busy / duration_s * 100:.0f} %)" if duration_s > 0 else ""
    core_hours = numbers["core_hours"]
    processors = why("cpu_time_s") if core_hours is None else f"{core_hours:.3g} core-hours"
    if core_hours is not None:
        processors += f" ({seconds(core_hours * HOUR_S)} of CPU time"
        mean = numbers["cpu_percent"]
        processors += ")" if mean is None else f", {mean:.1f} % of the capacity)"
    begin = datetime.fromisoformat(numbers["begin"]).astimezone()
    return [
        ("notebook", f"{seconds(duration_s)} since {begin:%Y-%m-%d %H:%M:%S}"),
        ("cells", f"{numbers['cells']}" + (f", of them {failed}" if failed else ", none failed")),
        ("in cells", seconds(busy) + share),
        ("idle", f"{seconds(numbers['idle_s'])} between the cells"),
        ("CPU", processors),
        ("memory", f"at most {of('memory_peak_bytes', 'B', 'memory_bytes')}"),
        ("I/O", f"read {of('io_read_bytes', 'B')}, written {of('io_write_bytes', 'B')}"),
        (
            "storage",
            f"read {of('storage_read_bytes', 'B')}, written {of('storage_write_bytes', 'B')}",
        ),
        *_gpu_rows(whole, numbers),
        ("level", f"{level}; {len(cells)} entries in the history"),
    ]


def _gpu_rows(whole: Summary, numbers: dict[str, Any]) -> list[tuple[str, str]]:
    unknown: dict[str, str] = whole["unknown"]
    if not numbers["gpus"]:
        reasons = dict.fromkeys(
            reason for name, reason in unknown.items() if name in ("node.gpu", "node.drm")
        )
        return [("GPU", f"unknown ({'; '.join(reasons) or 'not supported: none was seen'})")]
    cards = _cards(whole)

    def why(metric: str) -> str:
        found = (unknown.get(f"node.{card}.{metric}") for card in cards)
        return f"unknown ({next(filter(None, found), 'not supported: no card tells it')})"

    hours, joules = numbers["gpu_hours"], numbers["gpu_energy_joules"]
    used = why("utilization_percent") if hours is None else f"{hours:.3g} GPU-hours used"
    energy = why("energy_millijoules")
    if joules is not None:
        energy = f"{joules / JOULES_PER_WH:.3g} Wh"
    return [
        ("GPU", f"{used}, of {numbers['gpus']} card{'s' * (numbers['gpus'] != 1)} by whomever"),
        ("energy", f"{energy} of the cards"),
    ]
