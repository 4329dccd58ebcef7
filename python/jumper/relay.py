"""The kernel's side of a cell that runs in an engine: its messages become the kernel's own.

Everything goes through the shell's own streams, publisher, display hook and traceback display. So
it has the kernel's parent, topics and order, and `%%capture`, redirected streams, hooks and a
terminal get what they would get from a cell that runs here. Called by the thread that runs the
cell, between its begin and its end.
"""

import io
import os
import pickle
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

Message = tuple[str, dict[str, Any], list[bytes]]  # kind; content, metadata, topic; buffers

TRAITS: Final = ("ast_node_interactivity", "autoawait", "autocall", "xmode", "colors")
NOT_THERE: Final = ("jumper", "jumper.extension")  # extensions that watch the kernel
END_OF_INPUT: Final = "\x04"  # as front ends answer
ITS_OWN: Final = ("IPython.core.", "ipykernel.", "matplotlib_inline.")


@dataclass(frozen=True)
class Setup:
    """What an engine's shell has in common with the kernel's; it can be pickled."""

    kernel_pid: int = 0  # by it ipykernel names a cell's code; 0: a terminal
    profile: str | None = None
    capture_descriptors: bool = True
    config: dict[str, Any] = field(default_factory=dict)
    traits: dict[str, Any] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()


@dataclass
class Outcome:
    """How a cell ended. `exception` and `results` are the engine's objects: carried apart."""

    status: Literal["ok", "error", "interrupted"]
    ename: str = ""
    evalue: str = ""
    traceback: list[str] | None = None  # None: what there was to show has been sent
    raised: bool = False  # else, if not ok, showing a value has failed
    payload: list[dict[str, Any]] = field(default_factory=list)
    after: list[Message] = field(default_factory=list)  # what was sent after the error
    number: int = 0  # the cell's, as in In [number]
    exception: BaseException | None = None
    results: list[Any] = field(default_factory=list)  # what the display hook was given

    def parts(self) -> list[Any]:
        """Itself without objects of the cell's; then these, each to be carried for itself."""
        return [replace(self, exception=None, results=[]), self.exception, *self.results]

    @staticmethod
    def of_parts(outcome: "Outcome", exception: Any, *results: Any) -> "Outcome":
        known = exception if isinstance(exception, BaseException) else None
        return replace(outcome, exception=known, results=list(results))

    @property
    def has_value(self) -> bool:
        return bool(self.results)

    @property
    def value(self) -> Any:
        return self.results[-1] if self.results else None


class _Known(pickle.Unpickler):
    """Of what this process has imported, and the notebook hasn't made."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "__main__" or module not in sys.modules:
            raise pickle.UnpicklingError(module)
        return super().find_class(module, name)


def told_exception(error: BaseException | None) -> bytes | None:
    """What `known_exception` takes, where that can be; nothing of the notebook's own is called."""
    if error is None or any(kind.__module__ == "__main__" for kind in type(error).__mro__):
        return None
    try:
        return pickle.dumps(error)
    except Exception:  # noqa: BLE001  (what it holds may be anything)
        return None


def known_exception(told: bytes | None) -> BaseException | None:
    """An exception of a cell whose variables stay in the engine: None where it can't come."""
    try:
        error = None if told is None else _Known(io.BytesIO(told)).load()
    except Exception:  # noqa: BLE001
        return None
    return error if isinstance(error, BaseException) else None


def know_sources(shell: Any, sources: Mapping[str, tuple[int, str]]) -> None:
    """Makes tracebacks of code that was compiled elsewhere show their lines and cell numbers."""
    import linecache

    for name, (number, text) in sources.items():
        if name not in linecache.cache:
            entry = (len(text), None, [line + "\n" for line in text.splitlines()], name)
            linecache.cache[name] = entry
            shell.compile._filename_map[name] = number  # noqa: SLF001


def known_sources(shell: Any, besides: Collection[str] = ()) -> dict[str, tuple[int, str]]:
    """What `know_sources` takes, of this shell."""
    import linecache

    found = {}
    for name, number in list(shell.compile._filename_map.items()):  # noqa: SLF001
        entry = linecache.cache.get(name)
        if name not in besides and entry is not None and len(entry) == 4:  # else it isn't read yet
            found[name] = (number, "".join(entry[2]))
    return found


def traits(shell: Any) -> dict[str, Any]:
    """How this shell runs cells and shows errors: what cells can change."""
    mode = shell.InteractiveTB.mode  # what %xmode sets
    return {name: getattr(shell, name) for name in TRAITS} | {"xmode": mode}


def registered(shell: Any) -> dict[tuple[str, int], str]:
    """Magics and hooks that a shell has, but for IPython's: how each is called, for people.

    IPython loads its own magics when they are asked for, and `%matplotlib inline` sets hooks that
    the kernel's shell sets itself.
    """
    found: list[tuple[str, Any, str]] = []
    for kind, sign in (("line", "%"), ("cell", "%%")):
        for name, magic in shell.magics_manager.magics[kind].items():
            found.append((sign + name, magic, sign + name))
    for event, hooks in shell.events.callbacks.items():
        found += [(event, hook, f"hook {_name_of(hook)} of {event}") for hook in hooks]
    for one in (*shell.ast_transformers, *shell.input_transformers_cleanup):
        found.append(("transformer", one, f"input transformer {_name_of(one)}"))
    return {
        (kind, id(thing)): text
        for kind, thing, text in found
        if not _home_of(thing).startswith(ITS_OWN)
    }


def _name_of(thing: Any) -> str:
    return str(getattr(thing, "__name__", type(thing).__name__))


def _home_of(thing: Any) -> str:
    owner = getattr(thing, "__self__", None)
    return str(getattr(thing if owner is None else type(owner), "__module__", ""))


def put_traits(shell: Any, changed: Mapping[str, Any]) -> None:
    for name, value in changed.items():
        setattr(shell, name, value)
        if name == "xmode":
            shell.InteractiveTB.set_mode(mode=value)


class Relay:
    """For one cell of `shell`, an InteractiveShell of a kernel or a terminal."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._kernel = getattr(shell, "kernel", None)

    def setup(self) -> Setup:
        """For a new engine."""
        shell = self._shell
        return Setup(
            kernel_pid=os.getpid() if self._kernel is not None else 0,
            profile=getattr(shell.profile_dir, "location", None),
            traits=traits(shell),
            extensions=tuple(sorted(set(shell.extension_manager.loaded) - set(NOT_THERE))),
        )

    def options(self) -> dict[str, Any]:
        """For `EngineShell.run`, within the cell."""
        return {
            "execution_count": self._shell.execution_count - 1,
            "allow_stdin": self._kernel is None or self._kernel._allow_stdin,  # noqa: SLF001
            "parent": self._kernel.get_parent() if self._kernel is not None else None,
        }

    def inputs(self) -> tuple[list[str], list[str]]:
        """For `EngineShell.begin_history`, within the cell."""
        manager, number = self._shell.history_manager, self._shell.execution_count - 1
        return manager.input_hist_raw[:number], manager.input_hist_parsed[:number]

    def flush(self) -> None:
        """What this process has written comes before what the engine writes."""
        sys.stdout.flush()
        sys.stderr.flush()

    def begin(self, cell: str, number: int | None = None) -> str:
        """The code to run of a cell magic's `cell`; later tracebacks here will show its lines.

        `number`: of another cell than the one that runs.
        """
        code = cell.removesuffix("\n")  # IPython's: names of code depend on it
        self.flush()
        shell = self._shell
        try:
            transformed = shell.transform_cell(code)
        except Exception:  # noqa: BLE001
            return code
        number = shell.execution_count - 1 if number is None else number
        shell.compile.cache(transformed, number, raw_code=code)
        return code

    def publish(self, kind: str, message: Mapping[str, Any], buffers: list[bytes]) -> None:
        """Publishes one message of the engine; their order is kept."""
        content, metadata = message["content"], message["metadata"]
        if kind == "stream":
            self._write(content["name"], content["text"])
        elif kind in ("display_data", "update_display_data"):
            self._shell.display_pub.publish(
                content["data"],
                content["metadata"],
                transient=content.get("transient"),
                update=kind == "update_display_data",
            )
        elif kind == "clear_output":
            self._shell.display_pub.clear_output(wait=content["wait"])
        elif kind == "execute_result":
            self._show_result(content["data"], content["metadata"])
        elif kind == "error":
            # Shown by the cell itself: it went on.
            shown = type(content["ename"], (Exception,), {})
            self._shell._showtraceback(shown, content["evalue"], content["traceback"])  # noqa: SLF001
        elif self._kernel is not None:  # comms; a terminal has none
            self._kernel.session.send(
                self._kernel.iopub_socket,
                kind,
                content,
                metadata=metadata,
                parent=self._kernel.get_parent(),
                ident=message["topic"],
                buffers=buffers,
            )

    def _write(self, name: str, text: str) -> None:
        stream = getattr(sys, name)
        other = sys.stderr if name == "stdout" else sys.stdout
        other.flush()
        stream.write(text)
        stream.flush()

    def _show_result(self, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        hook = self._shell.displayhook
        captured = getattr(sys.displayhook, "outputs", None)
        if sys.displayhook is not hook and captured is not None:
            captured.append({"data": data, "metadata": metadata})  # as %%capture keeps it
            return
        hook.start_displayhook()
        hook.write_output_prompt()
        hook.write_format_data(data, metadata)
        hook.log_output(data)
        hook.finish_displayhook()

    def answer(self, prompt: str, password: bool) -> str:
        """Asks whom the kernel asks. An interrupt comes through: the engine gets it itself."""
        import builtins
        import getpass

        try:
            return getpass.getpass(prompt) if password else builtins.input(prompt)
        except EOFError:
            return END_OF_INPUT

    def raise_outcome(self, outcome: Outcome) -> None:
        """The cell's end here: results, payload, and its error once, as the engine has it."""
        self._keep(outcome)
        for payload in outcome.payload:
            self._pay(payload)
        if outcome.after:
            self._after(outcome.after)
        if outcome.raised:
            if outcome.traceback is None:
                self._show_no_error()
            raise stand_in(outcome) from None
        if outcome.status != "ok":
            # As ipykernel has it when showing a value has failed; the message has been sent.
            self._shell._last_traceback_during_displayhook = True  # noqa: SLF001

    def keep(self, outcomes: Iterable[Outcome]) -> None:
        """The values of earlier cells, each by its number."""
        shell = self._shell
        now = shell.execution_count
        ahead = now - shell.displayhook.prompt_count
        try:
            for outcome in outcomes:
                shell.execution_count = outcome.number + ahead
                self._keep(outcome, in_its_cell=False)
        finally:
            shell.execution_count = now

    def _keep(self, outcome: Outcome, *, in_its_cell: bool = True) -> None:
        """`_`, `__`, `_n` and `Out[n]`."""
        hook = self._shell.displayhook
        for value in outcome.results:
            hook.check_for_underscore()
            hook.update_user_ns(value)
            if in_its_cell:
                hook.fill_exec_result(value)

    def _pay(self, payload: dict[str, Any]) -> None:
        shell, source = self._shell, payload.get("source")
        if source == "ask_exit":
            shell.keepkernel_on_exit = payload.get("keepkernel")
            shell.ask_exit()
        elif self._kernel is not None:
            shell.payload_manager.write_payload(payload, single=False)
        elif source == "page":
            from IPython.core import page

            page.page(payload["data"], start=payload.get("start", 0))
        elif source == "set_next_input":
            shell.set_next_input(payload["text"], replace=payload.get("replace", False))

    def _after(self, messages: list[Message]) -> None:
        """Publishes when the error has been shown."""
        events = self._shell.events

        def publish() -> None:
            events.unregister("post_execute", publish)
            for message in messages:
                self.publish(*message)

        events.register("post_execute", publish)

    def _show_no_error(self) -> None:
        """IPython has shown it on stderr, there."""
        shell = self._shell

        def show_nothing(*_: object) -> None:
            del shell._showtraceback  # noqa: SLF001

        shell._showtraceback = show_nothing  # noqa: SLF001


def stand_in(outcome: Outcome) -> BaseException:
    """An exception that IPython shows and replies as the engine's.

    It is of the engine's type where that is known; but not where IPython would show that type
    in a way of its own (SyntaxError, SystemExit, groups, usage errors).
    """
    lines = outcome.traceback or []
    members = {
        "__str__": lambda _: outcome.evalue,
        "_render_traceback_": lambda _: lines,
        "__module__": type(outcome.exception).__module__,
    }
    original = outcome.exception
    bases: list[type[BaseException]] = [Exception]
    if isinstance(original, KeyboardInterrupt):
        bases = [KeyboardInterrupt]
    elif isinstance(original, Exception) and not isinstance(
        original, (SyntaxError, ExceptionGroup)
    ):
        bases = [type(original), Exception]
    for base in bases:
        try:
            made = type(outcome.ename, (base,), members)
            error: BaseException = made.__new__(made, *getattr(original, "args", ()))
            error.__dict__.update(getattr(original, "__dict__", {}))
        except Exception:  # noqa: BLE001, S112
            continue
        return error
    return RuntimeError(f"{outcome.ename}: {outcome.evalue}")
