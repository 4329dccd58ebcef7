"""A user's cell between IPython's two events, whatever happens between them."""

import ast
import inspect
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from .session import outcome

if TYPE_CHECKING:
    import asyncio

    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell


class Interrupt:
    """Stands in for one cell's code: raises what arrived while that cell's begin was marked."""

    def __init__(self, transformers: list[Any]) -> None:
        self._transformers = transformers
        transformers.append(self)

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.parse("raise KeyboardInterrupt") if self.drop() else node

    def drop(self) -> bool:
        """False on a subshell's thread: interrupts are the main thread's."""
        if threading.current_thread() is threading.main_thread():
            self._transformers.remove(self)
            return True
        return False


class RunningCell:
    """A user's cell between its two events."""

    def __init__(self, info: "ExecutionInfo", shell_count: int) -> None:
        self.info = info
        self.shell_count = shell_count
        self.task = _task()
        self.begin_s = time.monotonic()
        self.index: list[int] = []  # one number, once the begin is marked
        self.ended: list[None] = []  # one item, once the end is marked
        self.shown = False

    @property
    def source(self) -> bytes:
        """Lossless: what is no character (a lone surrogate) stays what it is."""
        return (self.info.raw_cell or "").encode("utf-8", "surrogatepass")

    def ends_with(self, result: "ExecutionResult | None") -> bool:
        if result is None:  # the cell was cancelled, or IPython itself failed: which cell was it?
            return running_cells() == 0
        if result.info is self.info:
            return True
        # An interrupt in IPython's own code: it makes up a result, whose number is missing.
        if result.info is None or result.execution_count is not None:
            return False
        return bool(result.info.raw_cell == self.info.raw_cell)

    def outcome(self, result: "ExecutionResult | None", shell: "InteractiveShell") -> str:
        if result is None:
            return "interrupted"
        error = result.error_before_exec
        error = result.error_in_exec if error is None else error
        if self.task is not None and self.task.cancelling() and _is_cancelled(error):
            return "interrupted"  # ipykernel turns SIGINT into this while a cell awaits
        if error is None and getattr(shell, "_last_traceback_during_displayhook", False):
            return "error"  # as ipykernel replies
        return outcome(error)


def _task() -> "asyncio.Task[Any] | None":
    if "asyncio" not in sys.modules:  # nobody awaits, and to import it takes 20 ms
        return None
    import asyncio

    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _is_cancelled(error: BaseException | None) -> bool:
    import asyncio

    return isinstance(error, asyncio.CancelledError)


def running_cells() -> int:
    """How many cells have code of theirs below the caller: one runs the other."""
    cells = 0
    frame = inspect.currentframe()
    while frame is not None:
        cells += frame.f_code.co_name == "run_cell_async"
        frame = frame.f_back
    return cells
