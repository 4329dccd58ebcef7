"""A cell of IPython's whose calls are traced, and nothing else.

A tracer is on only in a frame that calls the cell's code: one that is on before would see exits
without enters. IPython calls a cell's statements one by one by `exec`, and by `eval` those that
await; these two names of its module are ours while the cell runs. One region of the trace holds
all of them. Not traced: IPython between two statements, when it shows the last one's value or an
error or takes what is printed, and the event loop of a cell that awaits.
"""

import ast
import asyncio
import builtins
import inspect
import sys
import types
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple


class Tracer(NamedTuple):
    enable: Callable[[], Any]  # a context manager: calls in it are traced
    region_begin: Callable[..., Any]  # name, file, line
    region_end: Callable[[str], Any]
    record: Callable[..., None]  # on=…: whether anything at all is recorded
    untraced: str  # functions of a module of this name don't count


@dataclass
class _Nodes:
    """Statements of one cell."""

    left: int
    shows_last: bool


class TracedCell:
    """Of one shell, from its making to `close`."""

    def __init__(self, shell: Any, name: str, tracer: Tracer) -> None:
        from IPython.core import interactiveshell

        self._tracer = tracer
        self._name = name
        self._is_open = False
        self._shell = shell
        self._module = vars(interactiveshell)
        self._nodes: list[_Nodes] = []  # of the cell, of the cell in it, …
        self._collector: Any = None  # for the values of the last statement
        self._shown_by: Any = None
        self._loop = asyncio.get_event_loop()
        self._run_ast_nodes = shell.run_ast_nodes
        self._get_exc_info = shell._get_exc_info  # noqa: SLF001
        self._call_soon = self._loop.call_soon
        self._awaiting: Any = None  # the task that awaits the cell
        self._hook: Any = None  # the tracer's, as `sys.getprofile` has it
        self._quiet: list[tuple[Any, str, Any]] = []  # streams, with what `_hush` has replaced
        self._module |= {"exec": self._execute, "eval": self._evaluate}
        shell.run_ast_nodes, shell._get_exc_info = self._run_nodes, self._without_ours  # noqa: SLF001
        self._loop.call_soon = self._call_traced_soon  # type: ignore[method-assign,assignment]

    def close(self) -> None:
        self._end()
        del self._module["exec"], self._module["eval"]
        del self._shell.run_ast_nodes, self._shell._get_exc_info  # noqa: SLF001
        del self._loop.call_soon

    # ---- the region ----

    def _begin(self, code: types.CodeType) -> None:
        if not self._is_open:
            self._is_open = True
            for stream in {id(one): one for one in (sys.stdout, sys.stderr)}.values():
                self._hush(stream, "write")
                self._hush(stream, "flush")
            self._tracer.record(on=True)
            self._tracer.region_begin(self._name, code.co_filename, 1)

    def _end(self) -> None:
        if self._is_open:
            self._is_open = False
            self._tracer.region_end(self._name)
            self._tracer.record(on=False)
            for stream, name, before in self._quiet:
                if before is None:
                    vars(stream).pop(name, None)
                else:
                    setattr(stream, name, before)
            self._quiet.clear()

    def _hush(self, stream: Any, name: str) -> None:
        """No call behind this method of a notebook's stream is traced: a print has dozens."""
        if not hasattr(stream, "__dict__"):
            return
        method, cell = getattr(stream, name), self

        def call(*arguments: Any) -> Any:
            hook = getprofile()
            if hook is None or hook != cell._hook:  # off, or the user's own
                return method(*arguments)
            setprofile(None)
            try:
                return method(*arguments)
            finally:
                setprofile(hook)

        getprofile, setprofile = sys.getprofile, sys.setprofile
        names = {"__name__": self._tracer.untraced, "__builtins__": builtins}
        hushed = types.FunctionType(call.__code__, names, name, None, call.__closure__)
        self._quiet.append((stream, name, vars(stream).get(name)))
        setattr(stream, name, hushed)

    # ---- a statement ----

    async def _run_nodes(
        self,
        nodelist: Sequence[ast.stmt],
        name: str,
        interactivity: str = "last_expr",
        *more: Any,
        **options: Any,
    ) -> Any:
        last_is_value = bool(nodelist) and isinstance(nodelist[-1], ast.Expr)
        shows_last = last_is_value and interactivity in ("last_expr", "last")
        self._nodes.append(_Nodes(len(nodelist), shows_last))
        try:
            return await self._run_ast_nodes(nodelist, name, interactivity, *more, **options)
        finally:
            self._nodes.pop()
            if not self._nodes:
                self._end()

    def _execute(self, code: Any, *names: Any) -> None:
        __tracebackhide__ = True
        if not self._nodes or not isinstance(code, types.CodeType):
            builtins.exec(code, *names)  # noqa: S102
            return
        self._begin(code)
        with self._values() as values:
            try:
                with self._tracer.enable():
                    self._hook = sys.getprofile()
                    builtins.exec(code, *names)  # noqa: S102  (as IPython does it)
            except BaseException:
                self._end_outermost()
                raise
        self._show(values)

    def _evaluate(self, code: Any, *names: Any) -> Any:
        made = builtins.eval(code, *names)  # noqa: S307
        if not self._nodes or not inspect.iscoroutine(made):
            return made
        self._begin(code)
        self._awaiting = asyncio.current_task()
        return self._steps(made)

    @types.coroutine
    def _steps(self, coroutine: Any) -> Generator[Any, Any, Any]:
        """Its steps are traced, what awaits it isn't."""
        with self._values() as values:
            step, value = coroutine.send, None
            while True:
                try:
                    with self._tracer.enable():
                        self._hook = sys.getprofile()
                        waits_for = step(value)
                except StopIteration as end:
                    result = end.value
                    break
                except BaseException:
                    self._end_outermost()
                    raise
                try:
                    value = yield waits_for
                    step = coroutine.send
                except BaseException as error:  # noqa: BLE001  (it is the coroutine's)
                    step, value = coroutine.throw, error
        self._show(values)
        return result

    def _end_outermost(self) -> None:
        if len(self._nodes) == 1:
            self._end()

    # ---- tasks of the cell ----

    def _call_traced_soon(self, callback: Any, *arguments: Any, context: Any = None) -> Any:
        task = getattr(callback, "__self__", None)
        if self._is_open and isinstance(task, asyncio.Task) and task is not self._awaiting:
            step = callback

            def callback(*given: Any) -> None:
                if self._is_open:
                    with self._tracer.enable():
                        step(*given)
                else:
                    step(*given)

        return self._call_soon(callback, *arguments, context=context)

    # ---- what IPython does about its value or its error ----

    @contextmanager
    def _values(self) -> Iterator[list[Any]]:
        """Keeps the last statement's value: IPython's showing it isn't the cell's work."""
        self._nodes[-1].left -= 1
        values: list[Any] = []
        hook = sys.displayhook
        shown_by = self._shown_by if hook is self._collector else hook
        before = self._collector, self._shown_by
        if self._nodes[-1].shows_last and self._nodes[-1].left == 0:
            self._collector, self._shown_by = values.append, shown_by
            sys.displayhook = self._collector
        else:
            sys.displayhook = shown_by
        ours = sys.displayhook
        try:
            yield values
        finally:
            if sys.displayhook is ours:
                sys.displayhook = hook
            self._collector, self._shown_by = before

    def _show(self, values: list[Any]) -> None:
        if self._nodes[-1].left == 0:
            self._end_outermost()
        hook = self._shown_by if sys.displayhook is self._collector else sys.displayhook
        for value in values:
            hook(value)

    def _without_ours(self, exc_tuple: Any = None) -> Any:
        """IPython shows and keeps an error's frames; those here are none of the cell's."""
        kind, error, traceback = self._get_exc_info(exc_tuple)
        ours = {one.__code__ for one in (TracedCell._execute, TracedCell._steps, TracedCell._show)}
        entry = traceback
        while entry is not None and entry.tb_next is not None:
            if entry.tb_next.tb_frame.f_code in ours:
                entry.tb_next = entry.tb_next.tb_next
            else:
                entry = entry.tb_next
        return kind, error, traceback
