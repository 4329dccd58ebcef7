"""Several cells as one: each runs in the shell under its own number, the first error is the last.

`text` makes the code of one cell out of them, which runs here or in an engine and binds no name;
there it calls `run`, or `run_awaiting` where one of them awaits.
"""

import html
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from .cells import running_cells
from .collecting import Cell

HEADING: Final = "margin:0.4em 0 0.1em;border-bottom:1px solid #8888;font-weight:bold"


def text(shell: Any, cells: Iterable[Cell]) -> str:
    listed = [(cell.number, cell.unmarked()[0]) for cell in cells]
    awaits = any(_awaits(shell, code) for _, code in listed)
    call = "run_awaiting" if awaits else "run"
    code = f"__import__('jumper.joining').joining.{call}(get_ipython(), {listed!a})"
    return f"await {code}" if awaits else code


def _awaits(shell: Any, code: str) -> bool:
    try:
        return bool(shell.should_run_async(code, transformed_cell=shell.transform_cell(code)))
    except Exception:  # noqa: BLE001  (the user's transformers; the cell will say it)
        return False


def run(shell: Any, cells: list[tuple[int, str]]) -> None:
    """Raises what the first cell that fails has raised; then the rest has not run."""
    for place, (number, code) in enumerate(cells, 1):
        _show_heading(shell, number, place, len(cells))
        with _untraced(), _as_cell(shell, number, code) as shown:
            result = shell.run_cell(code, store_history=False)
        _raise(shell, result, shown, _where(number, place, len(cells)))


async def run_awaiting(shell: Any, cells: list[tuple[int, str]]) -> None:
    for place, (number, code) in enumerate(cells, 1):
        _show_heading(shell, number, place, len(cells))
        with _as_cell(shell, number, code) as shown:
            if _awaits(shell, code):
                result = await _awaited(shell, code)
            else:
                with _untraced(), _interruptible():
                    result = shell.run_cell(code, store_history=False)
        _raise(shell, result, shown, _where(number, place, len(cells)))


async def _awaited(shell: Any, code: str) -> Any:
    """As ipykernel does it."""
    result = None
    try:
        result = await shell.run_cell_async(
            code, store_history=False, transformed_cell=shell.transform_cell(code)
        )
    finally:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
    return result


def _where(number: int, place: int, count: int) -> str:
    rest = count - place
    left = f"; the {rest} after it {'has' if rest == 1 else 'have'} not run" if rest else ""
    return f"in In [{number}], cell {place} of {count}{left}"


def _show_heading(shell: Any, number: int, place: int, count: int) -> None:
    name, rest = f"In [{number}]", f", cell {place} of {count}"
    shown = f'<div style="{HEADING}">{html.escape(name + rest)}</div>'
    shell.display_pub.publish({"text/plain": f"── {name}{rest} ──", "text/html": shown})


@contextmanager
def _as_cell(shell: Any, number: int, code: str) -> Iterator[list[list[str]]]:
    """Gives tracebacks that would have been shown: the cell's own ones are shown at the end."""
    depth = running_cells() + 1
    count, parsed = shell.execution_count, shell.history_manager.input_hist_parsed
    joined = parsed[-1:]
    kept: list[list[str]] = []
    shell.execution_count = number
    parsed[-1:] = [code] if joined else []  # by its last `;` IPython knows what not to show
    show, usage = shell._showtraceback, shell.show_usage_error  # noqa: SLF001

    def keep(etype: type, evalue: BaseException, lines: list[str]) -> None:
        if running_cells() > depth:
            show(etype, evalue, lines)
        else:
            kept.append(lines)

    def keep_usage(error: BaseException) -> None:
        if running_cells() > depth:
            usage(error)

    shell._showtraceback, shell.show_usage_error = keep, keep_usage  # noqa: SLF001
    try:
        yield kept
    finally:
        for name in ("_showtraceback", "show_usage_error"):
            vars(shell).pop(name, None)
        parsed[-1:] = joined
        shell.execution_count = count


def _raise(shell: Any, result: Any, shown: list[list[str]], where: str) -> None:
    """What the cell has raised, once more; shown is its own traceback, without our frames."""
    error = None
    if result is not None:
        error = result.error_before_exec or result.error_in_exec
    if error is None:
        return
    if shown:
        shell._showtraceback = _shows_once(shell, [*shown[-1], where])  # noqa: SLF001
    raise error


def _shows_once(shell: Any, lines: list[str]) -> Callable[..., None]:
    def show(etype: type, evalue: BaseException, _: list[str]) -> None:
        vars(shell).pop("_showtraceback", None)
        shell._showtraceback(etype, evalue, lines)  # noqa: SLF001

    return show


def _untraced() -> AbstractContextManager[Any]:
    """Under Score-P the cells' own statements are traced (see `traced`), not what calls them."""
    instrumenter = sys.modules.get("scorep.instrumenter")
    try:
        quiet: AbstractContextManager[Any] = (
            instrumenter.disable() if instrumenter else nullcontext()
        )
    except Exception:  # noqa: BLE001  (the user's import, or bindings of another make)
        return nullcontext()
    return quiet


@contextmanager
def _interruptible() -> Iterator[None]:
    """While a cell awaits, an interrupt would cancel a task that doesn't get its turn."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
