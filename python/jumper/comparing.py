"""Two runs side by side: their figures and their code."""

import difflib
import html
import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from . import _native, views

Summary = dict[str, Any]
UNKNOWN: Final = "\u2013"  # an en dash
COMPARED_MOST: Final = 100_000  # characters of code; difflib is slow on much more
LINES_MOST: Final = 2000
LINE_STYLES: Final = {
    "+": "background:rgba(46,160,67,0.2)",
    "-": "background:rgba(248,81,73,0.2)",
    "@": "opacity:0.7",
}
RIGHT: Final = "text-align:right;padding:0 0.5em;white-space:nowrap"
LEFT: Final = "text-align:left;padding:0 0.5em;white-space:nowrap"


class Figure(NamedTuple):
    name: str
    unit: str  # s, %, B, J or empty
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        if self.first is None or self.second is None:
            return None
        return self.second - self.first

    @property
    def relative(self) -> float | None:
        """The difference as a share of the first; None of 0."""
        return None if self.difference is None or not self.first else self.difference / self.first


def amount(value: float | None, unit: str) -> str:
    if value is None:
        return UNKNOWN
    if unit == "B":
        return views.size(round(value))
    if unit == "s":
        return seconds(value)
    if unit == "%":
        return f"{value:.1f} %"
    return f"{value:.3g} {unit}" if unit else f"{value:.0f}"


def seconds(value: float) -> str:
    if 0 < value < 1:
        return f"{value * 1000:.3g} ms"
    if value < 100:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"


def signed(value: float | None, unit: str) -> str:
    if value is None:
        return UNKNOWN
    sign = "+" if value > 0 else "-" if value < 0 else "±"
    return sign + amount(abs(value), unit)


def ratio(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if value >= 9:
        return f"x {value + 1:.3g}"
    sign = "+" if value > 0 else "-" if value < 0 else "±"
    percent = abs(value) * 100
    return f"{sign}{percent:.0f} %" if percent >= 10 or not percent else f"{sign}{percent:.1f} %"


def _at(summary: Summary, level: str, *keys: str) -> float | None:
    value: Any = summary["levels"].get(level)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int | float) else None


FIGURES: Final = (
    ("CPU, mean", "%", ("cpu_percent", "mean")),
    ("CPU, max", "%", ("cpu_percent", "max")),
    ("CPU time", "s", ("cpu_time_s",)),
    ("memory, peak", "B", ("memory_bytes", "peak")),
    ("memory, mean", "B", ("memory_bytes", "mean")),
    ("I/O, read", "B", ("io_read_bytes",)),
    ("I/O, written", "B", ("io_write_bytes",)),
    ("storage, read", "B", ("storage_read_bytes",)),
    ("storage, written", "B", ("storage_write_bytes",)),
    ("processes, most", "", ("processes", "max")),
    ("threads, most", "", ("threads", "max")),
)
OF_DEVICES: Final = (
    ("use, mean", "%", ("utilization_percent", "mean")),
    ("memory, max", "B", ("memory_bytes", "max")),
)


def figures(first: Summary, second: Summary, level: str) -> list[Figure]:
    both = (first, second)
    durations = [one["cell"]["duration_s"] for one in both]
    found = [Figure("duration", "s", *durations)]
    found += [
        Figure(name, unit, *(_at(one, level, *keys) for one in both))
        for name, unit, keys in FIGURES
    ]
    devices = [((one["levels"].get("node") or {}).get("devices") or {}) for one in both]
    for card in sorted(set(devices[0]) | set(devices[1])):
        if card.startswith("file_system"):
            continue
        for name, unit, keys in OF_DEVICES:
            values = [_at(one, "node", "devices", card, *keys) for one in both]
            found.append(Figure(f"{card} {name}", unit, *values))
    return found


def name_of(summary: Summary) -> str:
    cell = summary["cell"]
    count = cell["execution_count"]
    return f"#{cell['index']}" if count is None else f"In [{count}] (#{cell['index']})"


def diff(first: bytes, second: bytes, names: tuple[str, str]) -> list[str]:
    """A unified diff, or one sentence."""
    one, other = views.readable(first), views.readable(second)
    if one == other:
        return ["the code is the same"]
    lines = one.splitlines(), other.splitlines()
    if len(one) + len(other) > COMPARED_MOST or max(map(len, lines)) > LINES_MOST:
        return ["the code differs; it is too long to be compared line by line"]
    found = list(difflib.unified_diff(*lines, *names, lineterm="", n=2))
    return found or ["the code differs in the ends of its lines only"]


def compare(
    first: _native.Rendered,
    second: _native.Rendered,
    code: tuple[bytes, bytes],
    level: str,
) -> views.Bundle:
    both = json.loads(first.json), json.loads(second.json)
    names = name_of(both[0]), name_of(both[1])
    found = figures(*both, level)
    head = ["", *names, "difference", ""]
    rows = [
        [
            one.name,
            amount(one.first, one.unit),
            amount(one.second, one.unit),
            signed(one.difference, one.unit),
            ratio(one.relative),
        ]
        for one in found
    ]
    outcomes = [one["cell"]["outcome"] or "running" for one in both]
    rows.append(["outcome", *outcomes, "", ""])
    reasons = list(_reasons(both, names, level))
    lines = diff(*code, names)
    return {
        "text/plain": "\n".join([*_aligned([head, *rows]), *reasons, "", *lines]),
        "text/html": _table_html(head, rows) + _reasons_html(reasons) + _diff_html(lines),
        views.JSON_TYPE: {
            "version": 1,
            "compare": [one["cell"] for one in both],
            "level": level,
            "figures": [
                {**one._asdict(), "difference": one.difference, "relative": one.relative}
                for one in found
            ],
            "same_code": code[0] == code[1],
        },
    }


def _reasons(both: tuple[Summary, Summary], names: tuple[str, str], level: str) -> Iterator[str]:
    """Why a figure of theirs is unknown; once where it is the same of both."""
    found: dict[str, list[str]] = {}
    for summary, name in zip(both, names, strict=True):
        if summary["levels"].get(level) is None:
            reason = summary["unknown"].get(level, "not yet: no sample of it is in this cell")
            found.setdefault(f"level {level}: {reason}", []).append(name)
            continue
        for _, _, keys in FIGURES:
            reason = summary["unknown"].get(f"{level}.{keys[0]}")
            if reason and _at(summary, level, *keys) is None:
                found.setdefault(f"{'.'.join(keys)}: {reason}", []).append(name)
    for sentence, of in found.items():
        yield sentence if len(of) == 2 else f"{of[0]}: {sentence}"


def _aligned(table: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [one.rjust(width) for one, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


def _table_html(head: list[str], rows: list[list[str]]) -> str:
    def line(tag: str, cells: list[str]) -> str:
        styles = [LEFT, *[RIGHT] * (len(cells) - 1)]
        return "".join(
            f'<{tag} style="{style}">{html.escape(cell)}</{tag}>'
            for cell, style in zip(cells, styles, strict=True)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return (
        f'<table style="border-collapse:collapse;margin:0"><tr>{line("th", head)}</tr>{body}'
        "</table>"
    )


def _reasons_html(reasons: list[str]) -> str:
    return "".join(f"<div>{html.escape(one)}</div>" for one in reasons)


def _diff_html(lines: list[str]) -> str:
    shown = (
        f'<span style="display:block;{LINE_STYLES.get(line[:1], "") if place > 1 else ""}">'
        f"{html.escape(line) or ' '}</span>"
        for place, line in enumerate(lines)  # the first two name the cells
    )
    return f'<pre style="margin-top:0.5em">{"".join(shown)}</pre>'
