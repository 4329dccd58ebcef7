"""``%perfmonitor_plot``: their metrics and levels, their pickle, and curves that go on."""

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from . import _native, exporting, frames, imported_plot, peers, plotting, views
from ._native import Session
from .live import Live
from .origins import Origin
from .peer_cells import NothingThereError, PeerCell
from .settings import Settings

INTERVAL_S: Final = 2.0
WINDOW_S: Final = 120.0
NO_BAND: Final = "the memory bandwidth of GPUs has no curve: see gpu_band in perfdata_df"


@dataclass
class Wish:
    metrics: list[str]  # as we call them; none: the usual
    theirs: list[str]
    level: str | None  # of ours
    jpeg: str | None = None
    pickle: str | None = None
    interval_s: float = INTERVAL_S
    window_s: float = WINDOW_S
    backend: str = peers.BACKENDS[0]


def parse(chosen: dict[str, str], rest: list[str]) -> Wish:
    """`rest`: what stands behind --live. Raises ValueError with the whole sentence."""
    theirs = [one.strip() for one in chosen.get("--metrics", "").split(",") if one.strip()]
    known = {**{one: one for one in _native.plot_metrics()}, **peers.METRICS}
    unknown = [one for one in theirs if one not in known]
    if unknown:
        raise ValueError(f"there is no metric {unknown[0]!r}: they are {', '.join(peers.METRICS)}")
    level = chosen.get("--level")
    if level is not None and level not in peers.LEVELS:
        raise ValueError(f"there is no level {level!r}: the levels are {', '.join(peers.LEVELS)}")
    metrics = list(dict.fromkeys(known[one] for one in theirs if known[one]))
    if theirs and not metrics:
        raise NothingThereError(NO_BAND)
    wish = Wish(metrics, theirs, peers.LEVELS[level] if level else None)
    wish.jpeg, wish.pickle = chosen.get("--save-jpeg"), chosen.get("--pickle")
    numbers = [peers.seconds(one, "--live [INTERVAL [WINDOW]]") for one in rest]
    if len(numbers) > 2:
        raise ValueError("--live takes the seconds between two pictures and those that they show")
    wish.interval_s, wish.window_s = (*numbers, *(INTERVAL_S, WINDOW_S)[len(numbers) :])
    return wish


class Plots:
    def __init__(self, session: Session, settings: Settings) -> None:
        self._session = session
        self._settings = settings
        self._live: Live | None = None

    def draw(self, origin: Origin, cells: Sequence[PeerCell], wish: Wish) -> list[views.Bundle]:
        """The curves, and a table of what was written and of what has no curve here."""
        draw, notes = self._draws(origin, cells, wish)
        bundle = plotting.bundle(draw)
        if wish.jpeg:
            path = Path(wish.jpeg).expanduser().with_suffix(".svg")
            said = plotting.write(draw(plotting.BUCKETS[0]), path, force=True)
            notes.append(("picture", f"{said}; as SVG, which every browser shows"))
        if wish.pickle:
            notes.append(("pickle", _pickled(origin, cells, wish, draw(plotting.BUCKETS[0]))))
        return [bundle, *([views.table(notes)] if notes else [])]

    def _draws(
        self, origin: Origin, cells: Sequence[PeerCell], wish: Wish
    ) -> tuple[Callable[[int], _native.Plot], list[tuple[str, str]]]:
        """What draws, without the metrics that have no value here; and why they have none."""
        level = wish.level or self._settings.level
        if origin.recorded is None:
            made = partial(imported_plot.draw, origin, cells, wish.metrics, level)
            return cast("Callable[[int], _native.Plot]", made), []
        indices = [one.entry for one in cells]
        recorded, found, notes = origin.recorded, [], []
        for metric in wish.metrics:
            try:
                self._try(recorded, indices, [metric], level)
                found.append(metric)
            except ValueError as error:
                notes.append((metric, str(error)))
        if wish.metrics and not found:
            raise NothingThereError("; ".join(text for _, text in notes))
        wanted = plotting.Wanted([], found, level)
        draw = partial(plotting.draw, recorded, indices, wanted, level)
        return cast("Callable[[int], _native.Plot]", draw), notes

    def _try(self, recorded: Any, indices: list[int], metrics: list[str], level: str) -> None:
        plotting.draw(recorded, indices, plotting.Wanted([], metrics, level), level, 2)

    # ---- curves that go on ----

    def follow(self, wish: Wish, publish: Callable[..., None]) -> None:
        """Of this kernel's last cells, again and again, until `finish`."""
        self.finish()
        draw = partial(self._recent, wish)
        self._live = Live(publish, can_update=True, least_s=wish.interval_s)
        self._live.show(draw, draw)

    def _recent(self, wish: Wish) -> views.Bundle:
        since_s = time.time() - wish.window_s
        cells = self._session.cells()
        recent = [
            one
            for one in cells
            if one.running or one.begin_wall_ns / 1e9 + one.duration_s >= since_s
        ]
        indices = [one.index for one in recent or cells[-1:]]
        level = wish.level or self._settings.level
        try:
            wanted = plotting.Wanted([], wish.metrics, level)
            return plotting.image(plotting.draw(self._session, indices, wanted, level))
        except ValueError:  # it has no value, or not yet
            wanted = plotting.Wanted([], [], level)
            return plotting.image(plotting.draw(self._session, indices, wanted, level))

    def finish(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.finish()

    def stop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()


def _pickled(origin: Origin, cells: Sequence[PeerCell], wish: Wish, plot: _native.Plot) -> str:
    """As theirs: `plotly.graph_objects.Figure(analysis["figure_dict"])` draws it."""
    name = wish.pickle or ""
    path = name if name.endswith(".pkl") else f"{name}.pkl"
    level = wish.level or "process"
    samples = origin.samples(level, cells)
    data = {
        "figure_dict": imported_plot.plotly(plot.json),
        "metrics": wish.theirs,
        "processed_data": frames.frame(samples.columns, samples.missing),
        "cell_range": (cells[0].number, cells[-1].number),
        "level": level,
        "show_idle": False,
        "metric_subsets": wish.theirs,
    }
    written = exporting.save(path, lambda file: file.write(pickle.dumps(data)), force=True)
    return f"wrote {written} ({views.size(written.stat().st_size)})"
