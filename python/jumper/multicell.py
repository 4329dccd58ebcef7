"""The paper's multi-cell mode: cells are collected, and then run as one under Score-P."""

from typing import Any, Final

from . import peers, scorep, views
from .collecting import MODES, Cell, Collector
from .engine import NotStarted
from .peer_cells import WITH_CODE
from .scorep import ScoreP

FINISH: Final = "%%finalize_multicellmode runs them under Score-P, %%abort_multicellmode drops them"
# Questions, and settings of how Score-P runs the cells.
ASKS: Final = tuple(name for name in peers.NAMES if name not in WITH_CODE)
HEADING: Final = "margin:0.4em 0 0.1em;border-bottom:1px solid #8888;font-weight:bold"


def run_as_one(shell: Any, score_p: ScoreP, cells: list[Cell]) -> None:
    """In one engine, carried there and back once. Raises as `ScoreP.open`, and what a cell raises.

    What the cells before an error have done comes back, as that of any cell that fails.
    """
    running = score_p.open(shell, score_p.wish([]))
    try:
        for place, cell in enumerate(cells, 1):
            name, rest = f"In [{cell.number}]", f", cell {place} of {len(cells)}"
            shown = f'<div style="{HEADING}">{name}{rest}</div>'
            shell.display_pub.publish({"text/plain": f"── {name}{rest} ──", "text/html": shown}, {})
            try:
                running.cell(cell.unmarked()[0], cell.number)
            except BaseException as error:
                left = len(cells) - place
                after = f"; the {left} after it {'has' if left == 1 else 'have'} not run"
                _add_line(error, f"in {name}{rest}{after * bool(left)}")
                raise
    finally:
        if running.is_open:
            running.close()


def _add_line(error: BaseException, line: str) -> None:
    """Below its traceback, if it comes with one of the engine's."""
    render = getattr(error, "_render_traceback_", None)
    if render is not None:
        lines = [*render(), line]
        error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]


class MultiCell:
    """Of one shell. What it returns is to be shown."""

    def __init__(self, shell: Any, score_p: ScoreP) -> None:
        self._shell = shell
        self._score_p = score_p
        self._cells: list[Cell] = []
        self._collector: Collector | None = None

    @property
    def is_on(self) -> bool:
        return self._collector is not None

    def enable(self) -> str:
        """Raises NotStarted where Score-P is missing: the cells that follow run as ever."""
        if self.is_on:
            return f"is on already: {self._counted()} collected; {FINISH}"
        if said := scorep.missing():
            raise NotStarted(said)
        collector = Collector(self._shell, MODES, self._take, asks=ASKS)
        collector.install()
        self._cells, self._collector = [], collector
        return f"is on: the cells that follow are collected, not run; {FINISH}"

    def _take(self, cell: Cell) -> views.Bundle:
        if cell not in self._cells[-1:]:  # else an interrupt has come between
            self._cells.append(cell)
        said = f"In [{cell.number}] is collected, {self._counted()} so far; {FINISH}"
        return views.table([("multi-cell mode", said)])

    def _counted(self) -> str:
        return f"{len(self._cells)} cell{'s' * (len(self._cells) != 1)}"

    def abort(self) -> str:
        """Can be called at any time: nothing of the mode is left."""
        if not self.is_on:
            return "is not on: there is nothing to abort"
        said = f"is off: {self._counted()} dropped, nothing has run"
        self._leave()
        return said

    def _leave(self) -> list[Cell]:
        collector, self._collector = self._collector, None
        if collector is not None:
            collector.uninstall()
        cells, self._cells = self._cells, []
        return cells

    def finalize(self) -> str | None:
        """None: the cells have run. Whatever they raise, the mode is off."""
        if not self.is_on:
            return "is not on: there is nothing to run; %%enable_multicellmode collects cells"
        cells = self._leave()
        if not cells:
            return "is off: no cell was collected"
        run_as_one(self._shell, self._score_p, cells)
        return None
