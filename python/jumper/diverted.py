"""Plain cells of the user's that run somewhere else, each in its own place.

Neither input nor history is rewritten: IPython's tree of a cell becomes one call, which is given
the cell's text. Cells for `%jumper` itself stay, and what nobody is told of (silent requests).
"""

import ast
import re
import threading
import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell

MAGIC: Final = re.compile(r"\s*(%%?)(\w+)")
LOADING: Final = re.compile(r"\s*%(re|un)?load_ext\s+jumper\b")
GROUP: Final = re.compile(r"\s*%jumper\s+group\b")
# A statement, so it has no value that IPython would show; by no name of the user's.
CALL: Final = f"if __import__({__name__!r}, fromlist=['run']).run(): pass"


def our_magics(shell: "InteractiveShell") -> set[str]:
    """By name, those that ask or change this process."""
    kinds = shell.magics_manager.magics.values()
    return {
        name
        for magics in kinds
        for name, call in magics.items()
        if type(getattr(call, "__self__", None)).__module__.startswith(f"{__package__}.")
    }


def is_ours(text: str, names: Collection[str]) -> bool:
    """Whether a cell begins with a group's step or a cell magic of these, or is all lines of ours.

    `names`: of magics.
    """
    lines = [line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"]
    magics = [MAGIC.match(line) for line in lines]
    ours = [
        (magic is not None and magic[2] in names) or LOADING.match(line) is not None
        for magic, line in zip(magics, lines, strict=True)
    ]
    if not lines or not ours[0]:
        return False
    is_cells = magics[0] is not None and magics[0][1] == "%%"
    return is_cells or GROUP.match(lines[0]) is not None or all(ours)


class Diverted:
    """Until `close`, the cells of the thread that made it are given to `take`, while it `is_on`."""

    def __init__(
        self, shell: "InteractiveShell", take: Callable[[str], None], is_on: Callable[[], bool]
    ) -> None:
        global _open  # noqa: PLW0603  (the call in a cell's tree has no other way to it)
        self._shell = shell
        self._take = take
        self._is_on = is_on
        self._thread = threading.get_ident()
        self._names = our_magics(shell)
        self._text: str | None = None  # of the cell that begins
        transformers: list[Any] = shell.ast_transformers
        transformers.insert(0, self)
        # Here IPython compiles a cell to see how to run it: what that warns of is said there.
        self._hush(shell, "should_run_async")
        self._hush(shell.compile, "ast_parse")
        shell.events.register("pre_run_cell", self._see)
        shell.events.register("post_run_cell", self._forget)
        _open = self

    def close(self) -> None:
        global _open  # noqa: PLW0603
        _open = None
        for event, hook in (("pre_run_cell", self._see), ("post_run_cell", self._forget)):
            with suppress(ValueError):
                self._shell.events.unregister(event, hook)
        transformers: list[Any] = self._shell.ast_transformers
        if self in transformers:
            transformers.remove(self)
        vars(self._shell).pop("should_run_async", None)
        vars(self._shell.compile).pop("ast_parse", None)

    def _hush(self, owner: Any, name: str) -> None:
        method = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return method(*arguments, **options)

        setattr(owner, name, call)

    def _see(self, info: "ExecutionInfo") -> None:
        if threading.get_ident() == self._thread:
            text = str(info.raw_cell or "")
            self._text = None if is_ours(text, self._names) else text

    def _forget(self, _: object) -> None:
        """Its code has run, or couldn't."""
        if threading.get_ident() == self._thread:
            self._text = None

    def visit(self, node: ast.AST) -> ast.AST:
        """As IPython asks each of its `ast_transformers`, once a cell."""
        is_here = threading.get_ident() == self._thread and self._is_on()
        if not is_here or self._text is None or not getattr(node, "body", None):
            return node
        return ast.parse(CALL)

    def run(self) -> None:
        text, self._text = self._text, None
        if text is not None:
            self._take(text)


_open: Diverted | None = None


def run() -> None:
    """What a cell's code is instead."""
    if _open is not None:
        _open.run()
