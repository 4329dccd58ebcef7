"""`%jumper group`: cells that are one measurement, each run at once and in its place.

With a launcher, or under Score-P, they run in one engine: it has the variables from `begin` on, and
they come back at `end`.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from . import _native, elsewhere
from .collecting import Collector
from .diverted import Diverted
from .running import Wish
from .scorep import ScoreP
from .session import is_group_name

if TYPE_CHECKING:
    from .elsewhere import OpenRun

Figures = tuple[float | None, float | None, float | None]

STEPS: Final = ("begin", "end", "abort")
SCOREP: Final = "scorep"
NAME: Final = re.compile(r"[^\W\d][\w.-]{0,59}")
TAKEN: Final = ("all", "last", SCOREP)


def checked_name(name: str) -> str:
    """Raises ValueError with the sentence for what would mean something else."""
    if not NAME.fullmatch(name) or name in TAKEN or is_group_name(name):
        raise ValueError(
            f"{name!r} can't be a group's name: it needs a letter first, then letters, digits, "
            f"'_', '.' or '-', and can't be {', '.join(TAKEN)} or like g1"
        )
    return name


class Groups:
    """Of one shell: at most one is open."""

    def __init__(
        self, session: _native.Session, there: elsewhere.Elsewhere, score_p: ScoreP
    ) -> None:
        self._session = session
        self._elsewhere = there
        self._score_p = score_p
        self._index = 0  # of the one that is open
        self._name = ""
        self._engine: OpenRun | None = None
        self._diverted: Diverted | None = None
        self._ends: list[Figures] = []  # one, when the group ends with the cell that runs

    @property
    def title(self) -> str:
        """Of the one that is open, as `g1 train`; empty: none is."""
        return f"g{self._index} {self._name}".rstrip() if self._index else ""

    @property
    def state(self) -> str:
        """In words."""
        if not self._index:
            return "none is open"
        where = ", and its cells run in an engine" if self._engine is not None else ""
        return f"{self.title} is open{where}"

    def begin(self, shell: Any, words: Sequence[str]) -> str:
        """What is to be said about it.

        Raises ValueError with the whole sentence, NotStarted, and what `Run.open` raises.
        """
        if self._index:
            raise ValueError(
                f"group {self.title} is open, and a group has no groups in it: "
                "`%jumper group end` ends it, `%jumper group abort` drops it"
            )
        is_named = bool(words) and words[0] != SCOREP and not words[0].startswith("-")
        name = checked_name(words[0]) if is_named else ""
        options = list(words[1:] if is_named else words)
        if options and any(isinstance(one, Collector) for one in shell.ast_transformers):
            raise ValueError(
                "a mode that collects cells is on: end or abort it before a group with an engine"
            )
        before = self._elsewhere.opened
        try:
            self._open(shell, name, options)
        except BaseException:  # an interrupt, at any point of it
            opened = self._elsewhere.opened
            if opened is not None and opened is not before:
                opened.abandon()
            self.close()
            self._session.end_group(drop=True)
            raise
        where = " and runs in its engine" if self._engine is not None else ""
        return f"{self.title} begins: each cell from the next one on is part of it{where}"

    def _open(self, shell: Any, name: str, options: list[str]) -> None:
        if options[:1] == [SCOREP]:
            self._engine = self._score_p.open(shell, self._score_p.wish(options[1:]))
        elif options:
            self._engine = self._elsewhere.open(shell, self._wish(options))
        index = self._session.begin_group(name)
        if not index and self._session.end_group():  # an interrupt has kept the last one open
            index = self._session.begin_group(name)
        if not index:
            raise ValueError("a group can't begin here: this process records no cells")
        self._index, self._name = index, name
        if self._engine is not None:
            self._diverted = Diverted(shell, self._run, lambda: self._has_engine)

    @property
    def _has_engine(self) -> bool:
        return self._engine is not None and self._engine.is_open

    def _wish(self, options: list[str]) -> Wish:
        if not options[0].startswith("-"):
            raise ValueError(
                f"group begin doesn't know what to do with {' '.join(options)!r}: it takes a name, "
                f'then --with "LAUNCHER" or {SCOREP} and its arguments'
            )
        return elsewhere.parse(options, "group begin")

    def _run(self, text: str) -> None:
        """One cell of the user's."""
        if self._engine is None:
            return
        try:
            self._engine.cell(text)
        finally:
            if not self._engine.is_open:
                self._elsewhere.say(f"group {self.title} has ended with its engine")
                self._ends.append(self._engine.figures)
                self.close()

    def after_cell(self) -> None:
        """The cell's end is marked: one whose engine has died is in the group, too."""
        if self._ends:
            self._session.end_group(engine=self._ends[-1])
            self._ends.clear()

    def end(self) -> int:
        """The index of the group that has ended. Raises what `Run.close` raises."""
        index = self._checked()
        try:
            if self._engine is not None and self._engine.is_open:
                self._engine.close()
        finally:
            self._finish(drop=False)
        return index

    def abort(self) -> str:
        """What is to be said about it."""
        self._checked()
        title, there = self.title, self._engine is not None
        self._finish(drop=True)
        if there:
            return (
                f"{title} is dropped, and its engine is ended: nothing of its cells comes back, "
                "all variables are as they were before it began"
            )
        return f"{title} is dropped: its cells have run, and are cells without a group now"

    def close(self) -> None:
        """The extension goes, or the kernel: an open group stays without an end."""
        self._leave_engine()
        self._index, self._name = 0, ""

    def _checked(self) -> int:
        if not self._index:
            raise ValueError("no group is open: `%jumper group begin` opens one")
        return self._index

    def _finish(self, *, drop: bool) -> None:
        figures = self._engine.figures if self._engine is not None else None
        self._leave_engine()
        self._index, self._name = 0, ""
        self._session.end_group(drop=drop, engine=figures)

    def _leave_engine(self) -> None:
        """Can be called again, where an interrupt has stopped it."""
        if self._diverted is not None:
            self._diverted.close()
        self._diverted = None
        if self._engine is not None:
            self._engine.abandon()
        self._engine = None
