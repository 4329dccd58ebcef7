"""An engine under Score-P's Python bindings: the cell's calls are traced, and nothing else of it.

The bindings run the engine with their instrumenter off (`--nopython`); `traced` switches it on
where the cell is called. What they have put into the environment is this process's, not the cell's.
"""

import ctypes
import os
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from .traced import TracedCell, Tracer

PREFIX: Final = "SCOREP_"
UNTRACED: Final = "scorep.jumper"  # the bindings leave out modules whose names begin like theirs
# The loader's, and what the kernel sets so that nothing is taken from the working directory.
NAMES: Final = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "PYTHONSAFEPATH")
NOT_STOPPED: Final = (
    "Score-P can't be stopped outside the cell (its library has no SCOREP_User_DisableRecording): "
    "what its adapters see of the engine, as threads and files, is in the experiment, too"
)


def find() -> "ScoreP | None":
    """Whether this process runs under the bindings; to be asked before the cell has its module."""
    script = getattr(sys.modules["__main__"], "__spec__", None)
    if script is None or script.name != "scorep.__main__":
        return None  # though a notebook may import them, and an engine with it
    try:
        return ScoreP(sys.modules["scorep.instrumenter"])
    except (ImportError, KeyError, AttributeError):  # bindings of another make
        return None


class ScoreP:
    def __init__(self, instrumenter: types.ModuleType) -> None:
        from scorep import user  # type: ignore[import-not-found]

        self._recording = Recording()
        self._tracer = Tracer(
            instrumenter.enable,
            user.region_begin,
            user.region_end,
            self._recording.set,
            UNTRACED,
        )
        self._own: dict[str, str | None] = {}

    @property
    def notes(self) -> list[str]:
        """What the user must know of the trace."""
        return [] if self._recording.can_stop else [NOT_STOPPED]

    def cells(self, changed: Mapping[str, str | None]) -> dict[str, str | None]:
        """Of what the launcher has changed in the environment, what the cell may see."""
        self._own = {name: it for name, it in changed.items() if _is_own(name)}
        return {name: it for name, it in changed.items() if not _is_own(name)}

    def restore(self) -> None:
        """After the cell: the bindings look for what they have left in the environment."""
        for name, value in self._own.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    @contextmanager
    def traced(self, shell: Any, number: int) -> Iterator[None]:
        """While it lasts, what the shell executes is traced as region `In [number]`."""
        cell = TracedCell(shell, f"In [{number}]", self._tracer)
        try:
            yield
        finally:
            cell.close()


def _is_own(name: str) -> bool:
    return name.startswith(PREFIX) or name in NAMES


class Recording:
    """All that Score-P records; off until it is switched on, where its library lets us."""

    def __init__(self) -> None:
        loaded = ctypes.CDLL(None)
        self._switch: tuple[Any, ...] = ()
        with suppress(AttributeError):
            self._switch = (loaded.SCOREP_User_DisableRecording, loaded.SCOREP_User_EnableRecording)
        self.set(on=False)

    @property
    def can_stop(self) -> bool:
        return bool(self._switch)

    def set(self, *, on: bool) -> None:
        if self._switch:
            self._switch[on]()
