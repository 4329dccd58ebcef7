"""Cells become a script: NAME.py with them, and NAME.sh that runs it as it was in the notebook.

`%jumper script begin` notes the cells that run from then on and end well, so that what is written
has been tried. The peers' names collect cells without running them, as theirs do.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from . import exporting, script_text, views
from ._native import Error
from .arguments import options
from .collecting import MODES, Cell, Collector
from .scorep import ScoreP
from .script_cells import Part, part

Rows = list[tuple[str, str]]
NAME: Final = "jupyter_to_script"
VERBS: Final = ("begin", "end", "abort")
OPTIONS: Final = ("--slurm", "--force")
HEAD_BYTES: Final = 4096


@dataclass(frozen=True)
class Wish:
    """How one script is to be made."""

    python: str
    shell: str
    finish: str
    runs: bool = False
    is_slurm: bool = False
    force: bool = False
    renews: bool = False  # replaces what this mode has written, and nothing else
    makes_folder: bool = False


def ours(name: str, *, is_slurm: bool, force: bool) -> Wish:
    base = name.removesuffix(".py")
    finish = "`%jumper script end` writes them, `%jumper script abort` forgets them"
    return Wish(f"{base}.py", f"{base}.sh", finish, True, is_slurm, force)


def papers(name: str) -> Wish:
    base = name.removesuffix(".py")
    finish = "%%end_writefile writes them, %%abort_writefile forgets them"
    return Wish(f"{base}.py", f"{base}_run.sh", finish, renews=True)


def extensions(path: str) -> Wish:
    path = path or f"notebook_script_{datetime.now():%Y%m%d_%H%M%S}.py"  # noqa: DTZ005
    finish = "%end_write_script writes them"
    shell = f"{path.removesuffix('.py')}.sh"
    return Wish(path, shell, finish, renews=True, makes_folder=True)


class Scripts:
    """Of one shell: at most one script is being made."""

    def __init__(self, shell: Any, score_p: ScoreP) -> None:
        self._shell = shell
        self._score_p = score_p
        self._collector: Collector | None = None
        self._wish: Wish | None = None
        self._place: script_text.Place | None = None
        self._parts: list[Part] = []
        self.marks = False  # the cells that come are for Score-P, as in multi-cell mode

    @property
    def is_on(self) -> bool:
        return self._collector is not None

    def verb(self, words: list[str]) -> Rows:
        """`%jumper script …`. Raises ValueError and jumper.Error with the whole sentence."""
        chosen, rest = options("script", words, (), OPTIONS)
        verb, *names = rest or [""]
        if verb not in VERBS or (names and verb != "begin") or len(names) > 1:
            raise ValueError(
                "script takes begin [NAME] [--slurm] [--force], or end, or abort; not "
                f"{' '.join(words)!r}"
            )
        if verb != "begin" and not self.is_on:
            raise ValueError("no script is being made: `%jumper script begin` begins one")
        if verb == "end":
            return self.end()
        if verb == "abort":
            return self.abort()
        if self.is_on:
            raise ValueError("a script is being made already: end or abort it before another one")
        name = names[0] if names else NAME
        return self.begin(ours(name, is_slurm="--slurm" in chosen, force="--force" in chosen))

    def begin(self, wish: Wish) -> Rows:
        """Raises Error and ValueError before anything is noted where the files can't be written."""
        if not wish.shell.isprintable():
            raise ValueError(f"{wish.shell!a} is no name for a script: it has control characters")
        folder = Path.cwd()
        place = script_text.Place(
            folder / Path(wish.python).expanduser(),
            folder / Path(wish.shell).expanduser(),
            folder,
            wish.is_slurm,
        )
        if wish.makes_folder:
            place.python.parent.mkdir(parents=True, exist_ok=True)
        for path in (place.python, place.shell):
            _check(path, wish)
        collector = Collector(self._shell, MODES, self._take, runs=wish.runs)
        collector.install()
        self._collector = collector
        self._wish, self._place, self._parts, self.marks = wish, place, [], False
        how = "noted as they run" if wish.runs else "collected, not run"
        return [
            ("script", f"{place.python}\n{place.shell}"),
            ("", f"the cells that follow are {how}; {wish.finish}"),
        ]

    def _take(self, cell: Cell) -> views.Bundle | None:
        assert self._wish is not None  # noqa: S101
        made = part(self._shell, cell, is_marked=self.marks)
        if made not in self._parts[-1:]:  # else an interrupt has come between
            self._parts.append(made)
        if self._wish.runs:
            return None
        count = f"{len(self._parts)} cell{'s' * (len(self._parts) != 1)}"
        marked = " for Score-P" * made.is_marked
        said = f"In [{cell.number}] is collected{marked}, {count} so far; {self._wish.finish}"
        return views.table([("script", said)])

    def end(self) -> Rows:
        """Whatever becomes of the files, the mode is off."""
        wish, place, parts = self._wish, self._place, self._parts
        self.abort()
        assert wish is not None  # noqa: S101
        assert place is not None  # noqa: S101
        made = script_text.script(
            parts, place, self._score_p.arguments, self._shell.user_ns, os.environ
        )
        rows: Rows = []
        for path, text, is_program in (
            (place.python, made.python, False),
            (place.shell, made.shell, True),
        ):
            _check(path, wish)
            force = wish.force or wish.renews
            written = exporting.save(str(path), _writer(text, is_program), force=force)
            rows.append(("" if rows else "script", f"{written} ({views.size(len(text.encode()))})"))
        count = f"{len(parts)} cell{'s' * (len(parts) != 1)}"
        rows.append(("", f"{count}; `bash {place.shell.name}` runs the script"))
        return rows + [("note", note) for note in made.notes]

    def abort(self) -> Rows:
        """Can be called at any time: nothing of the mode is left, nothing is written."""
        collector, self._collector = self._collector, None
        if collector is None:
            return [("script", "none is being made: there is nothing to abort")]
        collector.uninstall()
        count = len(self._parts)
        self._wish, self._place, self._parts, self.marks = None, None, [], False
        said = f"forgotten, with its {count} cell{'s' * (count != 1)}; nothing is written"
        return [("script", said)]


def _writer(text: str, is_program: bool) -> Callable[[IO[bytes]], object]:
    def write(file: IO[bytes]) -> None:
        file.write(text.encode("utf-8", "surrogatepass"))
        if is_program:  # for all who may read it
            mode = os.fstat(file.fileno()).st_mode
            os.fchmod(file.fileno(), mode | (mode & 0o444) >> 2)

    return write


def _check(path: Path, wish: Wish) -> None:
    if not path.parent.is_dir():
        raise Error(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not path.exists() or wish.force:
        return
    if wish.renews and _is_ours(path):
        return
    remedy = "choose another name" if wish.renews else "--force replaces it"
    why = "it is there already" + ", and not by this mode" * wish.renews
    raise Error(f"cannot write {str(path)!r}: {why}; {remedy}")


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return script_text.WRITTEN.encode() in file.read(HEAD_BYTES)
    except OSError:
        return False
