"""``%jumper plot``: which cells, which curves, and where they go. No IPython here."""

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from . import _native, exporting, page, views
from .session import find_all, find_group

LEVELS: Final = ("process", "user", "job", "node")
OPTIONS: Final = ("--metrics", "--level", "--between", "--live", "--widget", "-o", "--force")
BETWEEN: Final = {"show": False, "cut": True}
KINDS: Final = (".svg", ".html", ".json")
PANEL_PX: Final = 165  # of the page
CONTROLS_PX: Final = 95
BUCKETS: Final = (600, 400, 250, 120)
MOST_BYTES: Final = 115_000  # of a notebook, for one plot's HTML
Recorded = _native.Session | _native.Report


@dataclass
class Wanted:
    """What stands behind ``%jumper plot``."""

    cells: list[str]
    metrics: list[str]
    level: str | None = None
    cut: bool | None = None
    file: Path | None = None
    live: bool = False
    widget: bool = False
    force: bool = False
    group: str = ""  # as `g1 train`, when exactly its cells are wanted: see `chosen`


def parse(arguments: Sequence[str]) -> Wanted:
    """Raises ValueError with the whole sentence."""
    wanted = Wanted([], [])
    words = iter(arguments)
    for word in words:
        if not word.startswith("-") or word[1:2].isdigit():
            wanted.cells.append(word)
            continue
        option, equals, value = word.partition("=")
        if word in ("--live", "--widget", "--force"):
            setattr(wanted, word[2:], True)
            continue
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
    # Custom monitors' have a dot in their names: the recording knows which there are.
    return [one if "." in one else _one_of("metric", one, _native.plot_metrics()) for one in ids]


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


def chosen(of: Recorded, wanted: Wanted) -> list[int]:
    """The cells' history indices; the last one's samples are there, as far as they come soon."""
    known = of.cells()
    cells = find_all(known, ",".join(wanted.cells or ["-1"]))
    if len(wanted.cells) == 1 and find_group(known, wanted.cells[0]) is not None:
        wanted.group = f"g{cells[0].group} {cells[0].group_name}".rstrip()
    indices = [cell.index for cell in cells]
    if isinstance(of, _native.Session):
        of.wait(indices[-1])
    return indices


def draw(
    of: Recorded,
    indices: Sequence[int],
    wanted: Wanted,
    level: str,
    most_buckets: int = BUCKETS[0],
    window: tuple[float, float] | None = None,
) -> _native.Plot:
    """`level`: of the settings, where none was asked for. `window`: the data of that alone."""
    shown = wanted.level or (level if level in LEVELS else LEVELS[0])
    return of.plot(
        indices,
        level=shown,
        metrics=wanted.metrics,
        most_buckets=most_buckets,
        cut=wanted.cut,
        window=window,
        group=wanted.group,
    )


def running(session: _native.Session) -> int:
    """The cell that asks. Raises ValueError when none runs."""
    cells = [cell.index for cell in session.cells() if cell.running]
    if not cells:
        raise ValueError("--live draws the cell that runs, and none does")
    return cells[-1]


def draw_running(session: _native.Session, index: int, wanted: Wanted, level: str) -> _native.Plot:
    """Of a cell that runs: what is asked for may have no value yet."""
    try:
        return draw(session, [index], wanted, level)
    except ValueError:
        return draw(session, [index], replace(wanted, metrics=[]), level)


def bundle(draw: Callable[[int], _native.Plot], channel: str = "") -> views.Bundle:
    """The image, and the interactive page over it, which asks for finer data over `channel`.

    `draw` is given the number of slices of time: fewer where the notebook would grow too much.
    """
    for most_buckets in BUCKETS:
        plot = draw(most_buckets)
        title = plot.text.splitlines()[0]
        data = f'{{"channel":{json.dumps(channel)},{plot.json[1:]}' if channel else plot.json
        shown = page.bundle_html(plot.svg, title, page.page(data), _height_px(plot.json))
        if len(shown) <= MOST_BYTES:
            break
    return {
        "text/plain": plot.text,
        "text/html": shown,
        views.JSON_TYPE: figures(plot.json),
    }


def image(plot: _native.Plot) -> views.Bundle:
    """The image alone: of a cell that still runs."""
    title = plot.text.splitlines()[0]
    return {
        "text/plain": plot.text,
        "text/html": page.image(plot.svg, title, _height_px(plot.json)),
        views.JSON_TYPE: figures(plot.json),
    }


def _height_px(data: str) -> int:
    return CONTROLS_PX + PANEL_PX * max(1, len(json.loads(data)["shown"]))


def write(plot: _native.Plot, path: Path, *, force: bool) -> str:
    """Writes the picture, the page or the data, as the name ends; what there is to say of it."""
    texts = {".svg": lambda: plot.svg, ".html": lambda: page.page(plot.json)}
    text = texts.get(path.suffix, lambda: plot.json)().encode()
    written = exporting.save(str(path), lambda file: file.write(text), force=force)
    return f"wrote {written} ({views.size(len(text))})"


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
    head = {key: plot[key] for key in ("version", "begin_wall_s", "level", "group") if key in plot}
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
        # IPython completes what stands behind the last comma.
        head = f"{option}=" if option and "," not in value else ""
        return tuple(head + one for one in _native.plot_metrics())
    if before == "--level":
        return tuple((f"{option}=" if option else "") + one for one in LEVELS)
    if before == "--between":
        return tuple((f"{option}=" if option else "") + one for one in BETWEEN)
    return ("all", *OPTIONS)
