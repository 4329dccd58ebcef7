"""The directory into which Score-P writes what one cell gave, and whether it is complete.

Score-P makes it at its begin and puts its anchors there at its end: `traces.otf2` for a trace,
`profile.cubex` for a profile. Without its anchor neither can be opened.
"""

import os
import secrets
import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from . import views
from .engine import NotStarted

DIRECTORY: Final = "SCOREP_EXPERIMENT_DIRECTORY"
ANCHOR_S = 60.0  # until an anchor must be there
ABSENT_S = 2.0  # the same, when there isn't even a directory
STEP_S: Final = 0.05
TRACE: Final = "traces.otf2"
READERS: Final = {TRACE: ("trace", "vampir"), ".cubex": ("profile", "cube")}
OTHER_FORMATS: Final = ("none", "tau_snapshot")  # of profiles: no file of Cube's
Identity = tuple[int, int, int]


class Experiment:
    def __init__(self, number: int, environment: Mapping[str, str]) -> None:
        """Raises NotStarted when Score-P couldn't write it, with the reason and a remedy."""
        named = environment.get(DIRECTORY, "")
        try:
            here = Path.cwd()
        except OSError as error:
            raise NotStarted(f"there is no working directory for the experiment: {error}") from None
        self.path = here / (named or _fresh_name(number))
        self.is_named = bool(named)
        self.number = number
        self.trace = self.path / TRACE
        self.anchors = _anchors(self.path, environment)
        self._before = {path: _identity(path) for path in (self.path, *self.anchors)}
        self._check(environment)

    def _check(self, environment: Mapping[str, str]) -> None:
        remedy = f"%env {DIRECTORY}=FOLDER says where it may"
        parent = self.path.parent
        if parent.exists() and not os.access(parent, os.W_OK | os.X_OK):
            raise NotStarted(f"Score-P can't write its experiment into {parent}: {remedy}")
        if self.path.exists() and not _is_on(environment, "SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY"):
            raise NotStarted(
                f"{self.path} is there already, and SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY=false: "
                f"Score-P would give up; {remedy}"
            )

    @property
    def variables(self) -> dict[str, str]:
        return {} if self.is_named else {DIRECTORY: str(self.path)}

    @property
    def exists(self) -> bool:
        return self._is_new(self.path)

    @property
    def is_complete(self) -> bool:
        return self.exists and all(map(self._is_new, self.anchors))

    def _is_new(self, path: Path) -> bool:
        now = _identity(path)
        return now is not None and now != self._before.get(path)

    def wait(self, pause: Callable[[float], bool]) -> bool:
        """Until it is complete; not for ever. False when `pause` wants no more."""
        began_s = time.monotonic()
        while not self.is_complete:
            limit_s = ANCHOR_S if self.exists else ABSENT_S
            if time.monotonic() - began_s >= limit_s:
                return True
            if not pause(STEP_S):
                return False
        return True

    def told(self) -> str:
        """One line: where it is, how large, how to open it."""
        if not self.exists:
            return (
                f"Score-P has written nothing for In [{self.number}] ({self.path} is not there): "
                "%env SCOREP_VERBOSE=true lets it say more"
            )
        size = views.size(sum(_size(one) for one in self.path.rglob("*")))
        where = f"In [{self.number}] under Score-P: {self.path} ({size})"
        if not self.is_complete:
            return f"{where}, not complete: {self._missing()}"
        openers = (_opener(one) for one in self.anchors)
        return ": ".join([where, *filter(None, [", ".join(openers)])])

    def _missing(self) -> str:
        missing = (one.name for one in self.anchors if not self._is_new(one))
        return f"it has no {' and no '.join(missing)}, so it can't be opened"

    def mark(self) -> str | None:
        """Renames what a process has left that ended too early. Returns what is to be said."""
        if not self.exists or self.is_complete:
            return None
        marked = self.path.with_name(f"{self.path.name}-incomplete-{secrets.token_hex(2)}")
        try:
            self.path.rename(marked)
        except OSError:
            marked = self.path
        return f"what Score-P had written by then is in {marked}: {self._missing()}"


def _fresh_name(number: int) -> str:
    now = time.strftime("%Y%m%d_%H%M%S")
    return f"scorep-{now}-In{number}-{secrets.token_hex(3)}"


def _anchors(path: Path, environment: Mapping[str, str]) -> list[Path]:
    anchors = []
    if _is_on(environment, "SCOREP_ENABLE_TRACING", otherwise=False):
        anchors.append(path / TRACE)
    kind = environment.get("SCOREP_PROFILING_FORMAT", "").lower()
    if _is_on(environment, "SCOREP_ENABLE_PROFILING") and kind not in OTHER_FORMATS:
        base = environment.get("SCOREP_PROFILING_BASE_NAME") or "profile"
        anchors.append(path / f"{base}.cubex")
    return anchors


def _is_on(environment: Mapping[str, str], name: str, *, otherwise: bool = True) -> bool:
    """As Score-P reads a switch."""
    text = environment.get(name, "").strip().lower()
    if text in ("true", "yes", "on") or (text.isdigit() and int(text)):
        return True
    return otherwise and not (text in ("false", "no", "off") or text.isdigit())


def _opener(anchor: Path) -> str:
    what, program = READERS.get(anchor.name) or READERS[anchor.suffix]
    return f"{what} `{program} {shlex.quote(str(anchor))}`"


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    # Of a directory only which it is: its time changes with what is put into it.
    return found.st_dev, found.st_ino, 0 if path.is_dir() else found.st_mtime_ns


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size if not path.is_dir() else 0
    except OSError:
        return 0
