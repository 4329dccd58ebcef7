"""While a mode is on: which cells are the mode's, and that they are taken instead of run.

1. `Collector.install` puts two events and, first among the shell's AST transformers, one of ours.
2. `pre_run_cell` sees a user's cell come, `visit` replaces its tree by an empty one: its text has
   been completed, stored in the history and parsed as ever, so a syntax error answers at once.
3. `post_run_cell` gives the cell to the mode, if it has ended well, and shows what the mode says.

Not taken: silent requests, cells without a number, cells in a cell, and cells with a statement of
the mode's own (`%end_write_script`) or with nothing but questions to `%jumper`. They run.
"""

import ast
import contextlib
import re
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from . import views
from .cells import Interrupt, running_cells
from .diverted import Diverted

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

MARKED: Final = re.compile(
    r"(?:[ \t]*\n)*[ \t]*%%(?:(execute_with_scorep)|jumper[ \t]+(scorep|run))\b[ \t]*([^\n]*)\n?"
)
LOADING: Final = ("load_ext", "reload_ext", "unload_ext")
# The names that begin and end a mode: they act whatever mode is on.
MODES: Final = (
    *("enable_multicellmode", "finalize_multicellmode", "abort_multicellmode"),
    *("start_writefile", "end_writefile", "abort_writefile"),
    *("start_write_script", "end_write_script"),
)
EVENTS: Final = ("pre_run_cell", "post_run_cell")


@dataclass(frozen=True)
class Cell:
    """As the user has it."""

    number: int
    text: str

    def unmarked(self) -> tuple[str, str | None]:
        """Its code without `%%execute_with_scorep` or the like, and what stood behind that.

        None: it has no mark, or one that means nothing of Score-P's (`%%jumper run`).
        """
        mark = MARKED.match(self.text)
        if mark is None:
            return self.text, None
        return self.text[mark.end() :], None if mark[2] == "run" else mark[3]


def magic(statement: ast.stmt) -> tuple[str, str, bool] | None:
    """A magic that is a statement of its own, as IPython has made it of `%`.

    Its name, its line, and whether it has a cell below it.
    """
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Name(id="get_ipython")),
                    attr="run_line_magic" | "run_cell_magic" as kind,
                ),
                args=[ast.Constant(value=str(name)), ast.Constant(value=str(line)), *_],
            )
        ):
            return name, line, kind == "run_cell_magic"
    return None


class Collector:
    """For one time that a mode is on. `take` gets each cell, returns what to show under it."""

    def __init__(
        self,
        shell: "InteractiveShell",
        own: Collection[str],
        take: Callable[[Cell], dict[str, Any] | None],
        *,
        asks: Collection[str] = (),
        runs: bool = False,
    ) -> None:
        self._shell = shell
        self._own = own
        self._take = take
        self._asks = asks  # names that act at once where nothing else stands in the cell
        self._runs = runs  # the cells run as ever, and are only noted
        self._here = threading.local()  # .info: of the cell to be taken; .seen: its tree was

    def install(self) -> None:
        """Raises ValueError while another one is there: a cell can't be of two modes."""
        others = self._shell.ast_transformers
        if any(isinstance(one, Collector) for one in others):
            raise ValueError("another mode is on: end or abort it before this one")
        if any(isinstance(one, Diverted) for one in others):
            raise ValueError("a group with an engine is open: `%jumper group end` before this")
        transformers: list[Any] = self._shell.ast_transformers
        transformers.insert(0, self)
        for event in EVENTS:
            self._shell.events.register(event, getattr(self, event))

    def uninstall(self) -> None:
        """Can be called again, and from within a cell."""
        for event in EVENTS:
            with contextlib.suppress(ValueError):
                self._shell.events.unregister(event, getattr(self, event))
        transformers: list[Any] = self._shell.ast_transformers
        if self in transformers:
            transformers.remove(self)
        self._here.info = None

    # IPython prints what its hooks raise, interrupts too: so both can be called again.

    def pre_run_cell(self, info: "ExecutionInfo") -> None:
        try:
            self._begin(info)
        except KeyboardInterrupt:
            self._begin(info)
            Interrupt(self._shell.ast_transformers)

    def _begin(self, info: "ExecutionInfo") -> None:
        if info.store_history and running_cells() <= 1:
            self._here.seen, self._here.info = False, info

    def visit(self, node: ast.AST) -> ast.AST:
        if getattr(self._here, "info", None) is None or self._here.seen:
            return node
        if self._runs_at_once(node):
            self._here.info = None
            return node
        self._here.seen = True
        return node if self._runs else ast.Module(body=[], type_ignores=[])

    def _runs_at_once(self, node: ast.AST) -> bool:
        magics = [magic(statement) for statement in getattr(node, "body", ())]
        for one in filter(None, magics):
            name, line, _ = one
            if name in self._own or (name in LOADING and line.strip() == "jumper"):
                return True
            if name == "jumper" and line.split()[:1] == ["script"]:
                return True
        return bool(magics) and all(one is not None and self._is_asked(*one) for one in magics)

    def _is_asked(self, name: str, _: str, has_cell: bool) -> bool:
        return name in self._asks or (name == "jumper" and not has_cell)

    def post_run_cell(self, result: "ExecutionResult | None") -> None:
        try:
            self._end(result)
        except KeyboardInterrupt:  # too late for the cell, and nothing else runs
            self._end(result)

    def _end(self, result: "ExecutionResult | None") -> None:
        info = getattr(self._here, "info", None)
        if info is None or running_cells():
            return
        text: str = info.raw_cell
        if result is None or result.info is not info:  # an interrupt in IPython's own code
            self._here.info = None
            return
        shown = None
        if self._here.seen and result.success:
            number = result.execution_count or 0
            try:
                shown = self._take(Cell(number, text))
            except Exception as error:  # noqa: BLE001
                said = f"In [{number}] can't be taken: {type(error).__name__}: {error}"
                shown = views.table([("jumper", said)])
        self._here.info = None
        if shown is not None:
            self._shell.display_pub.publish(shown, {})
