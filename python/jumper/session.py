"""One recording from begin to end, for plain scripts; the notebook's side shares the functions.

No IPython here: ``import jumper`` in a script costs next to nothing.
"""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from . import _native
from .settings import SETTINGS, Settings

DISTRIBUTION = "jumper-hpc"


def wheel_file(*tail: str) -> str | None:
    """The installed path of the wheel's file whose path ends with these parts."""
    from importlib import metadata  # more than half of what `import jumper` would cost

    try:
        files = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return None
    found = (file for file in files if file.parts[-len(tail) :] == tail)
    return next((str(Path(file.locate()).resolve()) for file in found), None)


def program() -> str:
    """The path of the `jumper` program; empty when there is none."""
    beside = str(Path(sys.executable).with_name("jumper")) if sys.executable else None
    paths = (wheel_file("bin", "jumper"), beside)
    return next((path for path in paths if path and os.access(path, os.X_OK)), "")


def start(label: str, settings: Settings) -> _native.Session:
    """Begins a recording. Doesn't raise when it can't: the session's warnings say what is wrong."""
    return _native.Session(
        program=program(),
        label=label.encode("utf-8", "backslashreplace").decode("utf-8"),
        rate_hz=settings.rate_hz,
        directory=settings.directory,
        keep_days=settings.keep_days,
        keep_bytes=settings.keep_bytes,
    )


def outcome(error: BaseException | None) -> str:
    if error is None:
        return "ok"
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "error"


def find(cells: Sequence[_native.CellInfo], name: str) -> _native.CellInfo:
    """The cell that is meant: `7` is the latest run of In [7], `#7` entry 7, `-1` the last one.

    Raises ValueError with the whole sentence.
    """
    kind, digits = (name[0], name[1:]) if name[:1] in ("#", "-") else ("", name)
    if not digits.isascii() or not digits.isdigit():
        group = find_group(cells, name)
        if group is not None:
            raise ValueError(f"{name} is a group of cells, and this question is about one cell")
        raise ValueError(
            f"{name!r} names no cell: give n for In [n], #k for entry k of the history, "
            "or -1 for the last cell; and no group of cells has that name"
        )
    if not cells:
        raise ValueError("no cell has been measured yet: run one, then ask again")
    number = int(digits)
    if kind == "-":
        finished = [cell for cell in cells if not cell.running]
        if not 1 <= number <= len(finished):
            raise ValueError(f"there is no cell {name}: {len(finished)} have been measured")
        return finished[-number]
    for cell in reversed(cells):
        if number == (cell.index if kind else cell.execution_count):
            return cell
    known = f"#{cells[0].index} to #{cells[-1].index}"
    what = f"no entry #{number}" if kind else f"no measured cell In [{number}]"
    raise ValueError(f"there is {what}: the history has {known}; `%jumper history` lists them")


GROUP: Final = re.compile(r"g(-?)([0-9]{1,18})")


def is_group_name(name: str) -> bool:
    """Whether it means a group by its number: `g2`, or `g-1`, the last one."""
    return GROUP.fullmatch(name) is not None


def find_group(cells: Sequence[_native.CellInfo], name: str) -> int | None:
    """The number of the group that is meant: by number, or the latest of that name.

    None: it means no group. Raises ValueError for a number that no group with cells has.
    """
    numbers = sorted({cell.group for cell in cells if cell.group is not None})
    by_number = GROUP.fullmatch(name)
    if by_number is None:
        named = [cell.group for cell in cells if name and cell.group_name == name]
        return named[-1] if named else None
    number = int(by_number[2])
    if by_number[1] and 1 <= number <= len(numbers):
        return numbers[-number]
    if by_number[1] or number not in numbers:
        known = ", ".join(f"g{one}" for one in numbers[-8:])
        there = f"those with cells are {known}" if known else "no cell is in a group"
        raise ValueError(f"there is no group {name}: {there}")
    return number


RANGE: Final = re.compile(r"(#?)([0-9]{1,18})-(#?)([0-9]{1,18})")


def find_all(cells: Sequence[_native.CellInfo], text: str = "all") -> list[_native.CellInfo]:
    """The cells that are meant, each once, in the order of the history.

    Between commas or spaces: what `find` knows; a group, as `find_group` has it; `3-5`, the latest
    runs of In [3] to In [5]; `#2-#4`, entries 2 to 4; `all`, every cell that has finished. Raises
    ValueError with the whole sentence.
    """
    chosen: dict[int, _native.CellInfo] = {}
    for name in text.replace(",", " ").split() or ["all"]:
        bounds = RANGE.fullmatch(name)
        if name == "all":
            found = [cell for cell in cells if not cell.running]
            if not found:
                raise ValueError("no cell has been measured yet: run one, then ask again")
        elif bounds:
            found = _between(cells, *bounds.groups())
        elif (group := find_group(cells, name)) is not None:
            found = [cell for cell in cells if cell.group == group and not cell.running]
            if not found:
                raise ValueError(f"no cell of group {name} has finished yet")
        else:
            found = [find(cells, name)]
        chosen.update((cell.index, cell) for cell in found)
    return [chosen[index] for index in sorted(chosen)]


def _between(
    cells: Sequence[_native.CellInfo], kind: str, first: str, other_kind: str, last: str
) -> list[_native.CellInfo]:
    name = f"{kind}{first}-{other_kind}{last}"
    if other_kind and not kind:
        raise ValueError(f"{name!r} names no cells: write {first}-{last}, or #{first}-#{last}")
    if int(first) > int(last):
        raise ValueError(f"{name!r} names no cells: write the smaller number first")
    numbered = {
        cell.index if kind else cell.execution_count: cell for cell in cells if not cell.running
    }
    found = [
        cell
        for number, cell in numbered.items()
        if number is not None and int(first) <= number <= int(last)
    ]
    if not found:
        raise ValueError(f"there is no measured cell in {name}: `%jumper history` lists them")
    return found


class Cell:
    """One named part of a script: ``with s.cell("load") as c``. Exceptions pass unchanged."""

    def __init__(self, session: "Session", name: str) -> None:
        self._session = session
        self._name = name
        self.index = 0

    def __enter__(self) -> Self:
        native = self._session.native
        self.index = native.begin(self._name.encode("utf-8", "surrogatepass"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._session.native.end(self.index, outcome(error))
        self._session.tell()

    def summary(self, level: str = SETTINGS["level"].choices[0]) -> _native.Rendered:
        self._session.native.wait(self.index)
        return self._session.native.summary(self.index, level)


class Session:
    """A recording of this process. ``native`` is the core's session, with everything it can do."""

    def __init__(self, label: str, settings: Settings) -> None:
        self.native = start(label, settings)
        self._settings = settings
        self.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def path(self) -> str | None:
        """The recording's file; None while it lives in memory only."""
        return self.native.status().path

    def cell(self, name: str) -> Cell:
        return Cell(self, name)

    def summary(self, k: int = -1, level: str = "process") -> _native.Rendered:
        """Of the history's entry k, counted from 1; -1 is the last finished one."""
        index = find(self.native.cells(), str(k) if k < 0 else f"#{k}").index
        self.native.wait(index)
        return self.native.summary(index, level)

    def history(self) -> _native.History:
        return self.native.history()

    def close(self) -> None:
        self.native.close()
        self.tell()

    def tell(self) -> None:
        """Says on stderr what the user must know; each sentence once."""
        for sentence in [*self._settings.take_warnings(), *self.native.take_warnings()]:
            print(f"jumper: {sentence}", file=sys.stderr)


def session(*, label: str | None = None, rate: float | None = None) -> Session:
    """Begins to record this process, ``rate`` times a second (else as the environment says).

    Raises ValueError for a rate that isn't allowed, and nothing else: where recording is impossible
    the script runs on, and stderr says why.
    """
    settings = Settings()
    if rate is not None:
        settings.set("magic", "rate", rate)
    return Session(label or Path(sys.argv[0]).name or "python", settings)
