"""What all magics with a peer's name share: how they answer, and what they say when they can't."""

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics

from . import peers, views
from ._native import Error
from .arguments import one_of
from .peer_cells import NothingThereError

NOT_RUN: Final = "what stands below this name was not run"
M = TypeVar("M", bound="PeerMagics")
Method = Callable[[M, str], None]


class PeerMagics(Magics):
    def show(self, rows: list[tuple[str, str]]) -> None:
        self.publish(views.table(rows))

    def publish(self, bundle: views.Bundle) -> None:
        if self.shell is not None:
            self.shell.display_pub.publish(bundle, {})


def answers(method: Method[M]) -> Callable[[M, str, str | None], None]:
    """Bad input is a UsageError that names the magic; where there is nothing, that is said."""
    name = method.__name__

    @functools.wraps(method)
    def answer(self: M, line: str, cell: str | None = None) -> None:
        try:
            method(self, line)
        except NothingThereError as nothing:
            self.show([(name, str(nothing))])
        except (ValueError, Error) as error:
            raise UsageError(f"%{name}: {error}") from None
        if cell is not None and cell.strip():
            self.show([(name, NOT_RUN)])

    wrapped: Any = answer
    return wrapped  # type: ignore[no-any-return]


def level_of(chosen: dict[str, str]) -> str:
    """As we call it."""
    return peers.LEVELS[one_of("level", chosen.get("--level", "process"), tuple(peers.LEVELS))]


def at_most_one(words: list[str], what: str) -> str | None:
    if len(words) > 1:
        raise ValueError(f"it takes {what}, and does not know what to do with {words[1]!r}")
    return words[0] if words else None


def refuse(line: str) -> None:
    if line.strip():
        raise ValueError(f"it takes nothing more, and does not know what {line.strip()!r} means")
