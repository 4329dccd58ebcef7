"""Engines for a shell's cells, and one that waits ahead so that the next cell needn't."""

import os
from collections.abc import Sequence
from typing import Final

from .engine import Engine, NotStarted

WAIT_S: Final = 600.0  # a spare that nobody needs leaves


class Engines:
    """One engine runs at a time; at most one more waits."""

    def __init__(self) -> None:
        self._spare: Engine | None = None
        self.wait_s = WAIT_S

    def take(self, launcher: Sequence[str]) -> Engine:
        """The caller's to finish. Raises as Engine does."""
        if launcher:
            return Engine(launcher)
        spare = self._own_spare()
        self._spare = None
        if spare is not None:
            if spare.usable():
                return spare
            spare.finish()
        return Engine()

    def prepare(self) -> None:
        """For the next cell without a launcher. Never raises: that cell starts its own then."""
        if self._own_spare() is None:
            try:
                self._spare = Engine(wait_s=self.wait_s)
            except (NotStarted, OSError):
                self._spare = None

    @property
    def spare_pid(self) -> int | None:
        spare = self._own_spare()
        return None if spare is None else spare.pid

    def close(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.finish()

    def _own_spare(self) -> Engine | None:
        """A forked child of the kernel has none."""
        spare = self._spare
        return spare if spare is not None and spare.owner == os.getpid() else None
