"""The table of `make bench`: rows from budgets.toml, figures from the measurements."""

import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from figures import Figure, Figures, round_to

NOT_RUN = "not run"
UNDECIDED = "undecided"
HEADINGS = ("what", "promise", "ours", "psutil", "jumper-extension", "")
FIGURE_COLUMNS = range(1, 5)


@dataclass(frozen=True)
class Row:
    """A line of budgets.toml."""

    id: str
    what: str
    unit: str
    most: float | None = None
    state: str = ""

    def verdict(self, figure: Figure) -> str:
        if self.state:
            return self.state
        if figure.ours is None:
            return NOT_RUN
        if self.most is None:
            return ""
        if figure.noise > self.most:
            return UNDECIDED
        return "kept" if figure.ours <= self.most else "BROKEN"


def read_rows(path: Path) -> list[Row]:
    return [Row(**row) for row in tomllib.loads(path.read_text())["row"]]


def with_unit(value: float | None, unit: str) -> str:
    return NOT_RUN if value is None else f"{round_to(value)} {unit}".rstrip()


def cells_of(row: Row, figure: Figure) -> list[str]:
    verdict = row.verdict(figure)
    promise = "" if row.most is None else f"≤ {with_unit(row.most, row.unit)}"
    ours = row.state or with_unit(figure.ours, row.unit)
    # The peer changes the priority of every process of the user: it is never started here.
    peers = ["", ""] if row.state else [with_unit(figure.peer, row.unit), NOT_RUN]
    shown = verdict if verdict in ("kept", "BROKEN", UNDECIDED) else ""
    return [row.what, promise, ours, *peers, ": ".join(p for p in (shown, figure.note) if p)]


def width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def aligned(lines: list[list[str]]) -> Iterable[str]:
    widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        parts = [
            " " * (widths[i] - width(text)) + text
            if i in FIGURE_COLUMNS
            else text + " " * (widths[i] - width(text))
            for i, text in enumerate(line)
        ]
        yield "  ".join(parts).rstrip()


def text(rows: list[Row], figures: Figures) -> str:
    lines = [list(HEADINGS), *(cells_of(row, figures.get(row.id, Figure())) for row in rows)]
    head, *rest = aligned(lines)
    return "\n".join([head, "-" * max(map(width, (head, *rest))), *rest])


def as_json(rows: list[Row], figures: Figures) -> list[dict[str, Any]]:
    found = []
    for row in rows:
        figure = figures.get(row.id, Figure())
        found.append(asdict(row) | asdict(figure) | {"verdict": row.verdict(figure)})
    return found
