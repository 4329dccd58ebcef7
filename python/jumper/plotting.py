"""``%jumper plot``: which cells, which curves, and where they go. No IPython here."""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from . import _native, views
from .session import find

LEVELS: Final = ("process", "user", "job", "node")
OPTIONS: Final = ("--metrics", "--level", "--between", "-o")
BETWEEN: Final = {"show": False, "cut": True}
KINDS: Final = (".svg", ".html", ".json")
RANGE: Final = re.compile(r"(#?)([0-9]+)-(#?)([0-9]+)")
Recorded = _native.Session | _native.Report


@dataclass
class Wanted:
    """What stands behind ``%jumper plot``."""

    cells: list[str]
    metrics: list[str]
    level: str | None = None
    cut: bool | None = None
    file: Path | None = None


def parse(arguments: Sequence[str]) -> Wanted:
    """Raises ValueError with the whole sentence."""
    wanted = Wanted([], [])
    words = iter(arguments)
    for word in words:
        if not word.startswith("-") or word[1:2].isdigit():
            wanted.cells.append(word)
            continue
        option, equals, value = word.partition("=")
        if option not in (*OPTIONS, "--output"):
            raise ValueError(f"{word} is no option of plot: it knows {', '.join(OPTIONS)}")
        value = value if equals else next(words, "")
        if option == "--metrics":
            wanted.metrics += _metrics(value)
        elif option == "--level":
            wanted.level = _one_of("level", value, LEVELS)
        elif option == "--between":
            wanted.cut = BETWEEN[_one_of("way to treat the time between cells", value, BETWEEN)]
        else:
            wanted.file = _file(value)
    return wanted


def _metrics(text: str) -> list[str]:
    ids = [one.strip() for one in text.split(",") if one.strip()]
    if not ids:
        raise ValueError("--metrics needs names, as --metrics cpu,memory")
    return [_one_of("metric", one, _native.plot_metrics()) for one in ids]


def _one_of(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    if name not in known:
        near = get_close_matches(name, known, 1)
        guess = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"there is no {what} {name!r}.{guess} There are {', '.join(known)}.")
    return name


def _file(name: str) -> Path:
    if not name:
        raise ValueError("-o needs the name of a file, as -o plot.svg")
    path = Path(name).expanduser()
    if path.suffix not in KINDS:
        raise ValueError(f"{name!r} is no kind of file that plot writes: {', '.join(KINDS)}")
    return path


def chosen(cells: Sequence[_native.CellInfo], names: Sequence[str]) -> list[int]:
    """History indices; `n`, `#k`, `-1` as everywhere, `3-5`, `#2-#4` with both ends, `all`."""
    indices: list[int] = []
    for name in names or ["-1"]:
        if name == "all":
            found = [cell.index for cell in cells]
            if not found:
                find(cells, "-1")  # says that nothing has been measured
        elif match := RANGE.fullmatch(name):
            found = _in_range(cells, name, match)
        else:
            found = [find(cells, name).index]
        indices += [index for index in found if index not in indices]
    return indices


def _in_range(cells: Sequence[_native.CellInfo], name: str, match: "re.Match[str]") -> list[int]:
    kind, first, other_kind, last = match.groups()
    if kind != other_kind:
        raise ValueError(f"{name!r} mixes In [n] and #k: write 3-5 or #2-#4")
    begin, end = int(first), int(last)
    if begin > end:
        raise ValueError(f"{name!r} ends before it begins: write {kind}{end}-{kind}{begin}")
    # The latest run of each In [n].
    latest = {cell.index if kind else cell.execution_count: cell.index for cell in cells}
    found = [
        index for number, index in latest.items() if number is not None and begin <= number <= end
    ]
    if not found:
        find(cells, f"{kind}{first}")  # says what there is
    return sorted(found)


def draw(of: Recorded, wanted: Wanted, level: str) -> _native.Plot:
    """`level`: of the settings, where none was asked for."""
    indices = chosen(of.cells(), wanted.cells)
    if isinstance(of, _native.Session):
        of.wait(indices[-1])
    shown = wanted.level or (level if level in LEVELS else LEVELS[0])
    return of.plot(indices, level=shown, metrics=wanted.metrics, cut=wanted.cut)


def page_of(data: str) -> str | None:
    """The interactive page; None where there is none: then the image stands alone."""
    try:
        make: Callable[[str], str] = import_module(".page", __package__).page
    except ImportError:
        return None
    return make(data)


def bundle(plot: _native.Plot) -> views.Bundle:
    return views.plot(plot.text, plot.svg, page_of(plot.json), figures(plot.json))


def write(plot: _native.Plot, path: Path) -> str:
    """Writes the picture, the page or the data, as the name ends; what there is to say of it."""
    if path.suffix == ".html":
        text = page_of(plot.json)
        if text is None:
            raise ValueError(f"cannot write {path}: this jumper has no page; write a .svg file")
    else:
        text = plot.svg if path.suffix == ".svg" else plot.json
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror}") from None
    return f"wrote {path} ({views.size(len(text.encode()))})"


def figures(data: str) -> dict[str, Any]:
    """The small figures of a plot for programs: of every curve shown lowest, highest and mean."""
    plot = json.loads(data)
    edges = plot["edges_s"]
    widths = [end - begin for begin, end in itertools.pairwise(edges)]
    metrics: dict[str, Any] = {}
    for metric in plot["metrics"]:
        panel = metric["panels"].get(plot["level"])
        if panel is None or metric["id"] not in plot["shown"] or metric.get("heat"):
            continue
        tracks = {track["name"]: _figures(track, widths) for track in panel["tracks"]}
        metrics[metric["id"]] = {"unit": metric["unit"], "tracks": tracks}
    cells = [
        {key: cell[key] for key in ("index", "execution_count", "begin_s", "end_s")}
        for cell in plot["cells"]
    ]
    head = {key: plot[key] for key in ("version", "begin_wall_s", "level")}
    return {"plot": {**head, "cells": cells, "metrics": metrics}}


def _figures(track: dict[str, Any], widths: Sequence[float]) -> dict[str, float | None]:
    mean = track["mean"]
    known = [(value, width) for value, width in zip(mean, widths, strict=True) if value is not None]
    if not known:
        return {"min": None, "max": None, "mean": None}
    whole = sum(width for _, width in known) or 1.0
    return {
        "min": min(value for value in track.get("min", mean) if value is not None),
        "max": max(value for value in track.get("max", mean) if value is not None),
        "mean": float(f"{sum(value * width for value, width in known) / whole:.5g}"),
    }


def completions(words: Sequence[str]) -> tuple[str, ...]:
    """What may stand instead of the last of these words."""
    last = words[-1]
    option, _, value = last.rpartition("=")
    before = option or (words[-2] if len(words) > 1 else "")
    if before == "--metrics":
        begun, comma, _ = value.rpartition(",")
        head = (f"{option}=" if option else "") + begun + comma
        return tuple(head + one for one in _native.plot_metrics())
    if before == "--level":
        return tuple((f"{option}=" if option else "") + one for one in LEVELS)
    if before == "--between":
        return tuple((f"{option}=" if option else "") + one for one in BETWEEN)
    return ("all", *OPTIONS)
