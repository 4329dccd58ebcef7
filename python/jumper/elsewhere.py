"""`%%jumper run`: its options, its engines, and what it has to say under the cell."""

import math
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from . import _native
from .arguments import options
from .engine import NotStarted
from .running import Figures, Run, Wish
from .settings import Settings
from .spare import Engines

__all__ = ["OPTIONS", "Elsewhere", "NotStarted", "parse"]

OPTIONS: Final = ("--with", "--timeout")


def parse(arguments: list[str], verb: str = "run") -> Wish:
    """Raises ValueError and jumper.Error with the whole sentence."""
    chosen, rest = options(verb, arguments, OPTIONS)
    if rest:
        raise ValueError(
            f"{verb} doesn't know what to do with {' '.join(rest)!r}: it takes "
            '--with "LAUNCHER", in quotes, and --timeout SECONDS'
        )
    launcher = tuple(_native.split_words(chosen.get("--with", "")))
    if "--with" in chosen and not launcher:
        raise ValueError('--with needs a launcher, as in --with "perf stat"')
    return Wish(launcher, seconds(chosen["--timeout"]) if "--timeout" in chosen else None)


def seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise ValueError(f"--timeout {text}: it must be a number of seconds above 0")
    return found


class Elsewhere:
    """Of one shell."""

    def __init__(self, settings: Settings, session: _native.Session) -> None:
        self._settings = settings
        self.engines = Engines(session)
        self._figures = Figures()  # of the cell that runs
        self._sentences: list[str] = []
        self._running = threading.Lock()
        self.opened: OpenRun | None = None  # the last one, also where `open` was interrupted
        self._left: dict[str, str] = {}
        self._wants_spare = False

    def run(self, shell: Any, cell: str, wish: Wish, make: Callable[..., Run] = Run) -> None:
        """Raises what the cell raises, and as `Run.run` does."""
        running = self._take(shell, wish, make)
        try:
            running.run(cell)
        finally:
            self._figures = self._figures.plus(running.figures)
            self._give_back(running, wish)

    def open(self, shell: Any, wish: Wish, make: Callable[..., Run] = Run) -> "OpenRun":
        """An engine for many cells, with the variables as they are now. Raises as `Run.open`."""
        running = self._take(shell, wish, make)
        opened = self.opened = OpenRun(self, running, partial(self._give_back, running, wish))
        try:
            running.open()
        finally:
            self._figures = self._figures.plus(running.figures)
            opened.settle()
        return opened

    def _take(self, shell: Any, wish: Wish, make: Callable[..., Run]) -> Run:
        if not self._running.acquire(blocking=False):
            raise NotStarted("another cell of this kernel runs in an engine: wait for its end")
        try:
            reports = self._settings.carry_report
            return make(shell, self.engines.take, wish, self._choice(), reports=reports)
        except BaseException:
            self._running.release()
            raise

    def _give_back(self, running: Run, wish: Wish) -> None:
        self.say_of(running)
        self._wants_spare = not wish.launcher
        self._running.release()

    def say_of(self, running: Run) -> None:
        """Under the cell: what the run has to say until now."""
        notes, running.notes = running.notes, []
        self._sentences += notes
        left, running.left = running.left, None
        if left is not None:
            self._say_what_stayed(left)

    def _choice(self) -> Any:
        from .segments import Choice

        settings = self._settings
        if settings.pickler == "parallel":
            return Choice(settings.backend, settings.transport, workers=settings.workers)
        return Choice(settings.pickler, settings.transport)

    def begin_cell(self) -> None:
        self._figures = Figures()

    def after_cell(self, namespace: Mapping[str, Any]) -> None:
        """The cell's end is marked: what is done now is in no cell's figures of this kernel."""
        if self._running.acquire(blocking=False):
            try:
                if self._wants_spare:
                    self._wants_spare = False
                    self.engines.prepare(namespace)
                else:
                    self.engines.sweep()
            finally:
                self._running.release()

    @property
    def figures(self) -> tuple[float | None, float | None, float | None] | None:
        """What the session is told at the cell's end; None: it ran in the kernel."""
        return None if self._figures.start_s is None else self._figures.as_tuple()

    def take_sentences(self) -> list[str]:
        """To be said under the cell."""
        sentences, self._sentences = self._sentences, []
        return sentences

    def say(self, sentence: str) -> None:
        """Under the cell."""
        self._sentences.append(sentence)

    def _say_what_stayed(self, left: dict[str, str]) -> None:
        new = {name: why for name, why in left.items() if self._left.get(name) != why}
        self._left = left
        if new:
            told = ", ".join(f"{name} ({why})" for name, why in new.items())
            self._sentences.append(f"not carried to the engine, and unchanged here: {told}")

    def close(self) -> None:
        self.engines.close()


class OpenRun:
    """Cells of one shell in one engine; each call is within a cell of the kernel's.

    Whatever `cell` or `close` raises beside a cell's own errors closes it: see `Run`.
    """

    def __init__(self, elsewhere: Elsewhere, running: Run, give_back: Callable[[], None]) -> None:
        self._elsewhere = elsewhere
        self._running = running
        self._give_back = give_back
        self._has_ended = False

    @property
    def is_open(self) -> bool:
        return self._running.is_open

    @property
    def figures(self) -> tuple[float | None, float | None, float | None]:
        """What start, carrying and returning took so far, in seconds."""
        return self._running.figures.as_tuple()

    def cell(self, code: str, number: int | None = None) -> None:
        """Runs it there; ends as it ended. `number`: see `Run.cell`."""
        try:
            self._running.cell(code, number)
        finally:
            self.settle()

    def close(self) -> None:
        """Brings all back, and ends the engine."""
        try:
            self._running.close()
        finally:
            self.settle()

    def abandon(self) -> None:
        """Ends the engine: all variables are as they were before. May be called again."""
        self._running.abandon()
        self.settle()

    def settle(self) -> None:
        """Says what there is to say; another run may begin when this one is over."""
        self._elsewhere.say_of(self._running)
        if not self.is_open and not self._has_ended:
            self._has_ended = True
            self._give_back()
