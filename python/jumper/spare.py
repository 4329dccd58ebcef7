"""Engines for a shell's cells, and one that waits ahead so that the next cell needn't."""

import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from . import _native, protocol
from .engine import Engine

WAIT_S: Final = 600.0  # a spare that nobody needs leaves
NOT_AHEAD: Final = ("jumper", "IPython", "ipykernel", "ipywidgets")  # they look for a shell


class Engines:
    """One engine runs at a time; at most one more waits, and is in no figures until it is taken."""

    def __init__(self, session: _native.Session) -> None:
        self._session = session
        self._spare: Engine | None = None
        self.wait_s = WAIT_S

    def take(self, launcher: Sequence[str]) -> Engine:
        """The caller's to finish. Raises as Engine does."""
        if launcher:
            return Engine(launcher)
        spare = self._own_spare()
        if spare is not None and spare.usable():
            self._spare = None
            self._session.set_apart(spare.pid, apart=False)
            return spare
        self.close()
        return Engine()

    def prepare(self, namespace: Mapping[str, Any]) -> None:
        """For the next cell without a launcher. Never raises: that cell starts its own then."""
        if self._own_spare() is None:
            try:
                imports = ",".join(modules_ahead(namespace))
                self._session.flush()  # the sample of the cell's end is older than the spare
                self._spare = Engine(
                    besides={protocol.WAIT: str(self.wait_s), protocol.IMPORTS: imports}
                )
                self._session.set_apart(self._spare.pid, apart=True)
            except Exception:  # noqa: BLE001  (of the variables, too: they may be anything)
                self.close()

    def sweep(self) -> None:
        """Waits for a spare that has left, so that none stays a zombie."""
        spare = self._own_spare()
        if spare is not None and spare.has_ended:
            self.close()

    @property
    def spare_pid(self) -> int | None:
        spare = self._own_spare()
        return None if spare is None else spare.pid

    def close(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            # What is waited for between a mark and its sample can't be told from the cell's own.
            self._session.flush()
            spare.finish()

    def _own_spare(self) -> Engine | None:
        """A forked child of the kernel has none."""
        spare = self._spare
        return spare if spare is not None and spare.owner == os.getpid() else None


def modules_ahead(namespace: Mapping[str, Any]) -> list[str]:
    """Installed modules that the variables need; the user's own may change until then."""
    paths = sysconfig.get_paths()
    installed = tuple(paths[name] + os.sep for name in ("purelib", "platlib", "stdlib"))
    names = {_module_of(value) for value in list(namespace.values())}
    return sorted(
        name
        for name in names
        if str(getattr(sys.modules.get(name), "__file__", "")).startswith(installed)
        and not name.startswith(NOT_AHEAD)
        and not _chooses_backend(name)
    )


def _module_of(value: Any) -> str:
    if type(value) is ModuleType:
        return value.__name__
    of = value if isinstance(value, type) else type(value)
    return str(of.__module__)  # a class may call it anything


def _chooses_backend(name: str) -> bool:
    """Old ones did so when they were imported, and there is no shell yet to show figures."""
    version = getattr(sys.modules.get("matplotlib"), "__version_info__", (0, 0))
    return name == "matplotlib.pyplot" and tuple(version[:2]) < (3, 6)
