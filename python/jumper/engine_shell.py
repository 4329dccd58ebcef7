# mypy: disable-error-code="no-untyped-call"
"""The shell of a process that runs one kernel's cell: what the cell shows goes to a callable.

It is ipykernel's own kernel and shell without sockets, so that each message is what the plain
kernel would have sent; only the error that ends the cell isn't sent but is in its `Outcome`,
since the kernel raises it again. IPython is imported here: only an engine imports this module.
"""

import asyncio
import builtins
import codecs
import fcntl
import logging
import os
import select
import signal
import sys
import termios
import threading
import time
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

import comm
import zmq
from ipykernel.compiler import XCachingCompiler, get_tmp_directory
from ipykernel.displayhook import ZMQShellDisplayHook
from ipykernel.eventloops import enable_gui
from ipykernel.iostream import IOPubThread, OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.jsonutil import json_clean
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.compilerop import CachingCompiler
from IPython.core.interactiveshell import InteractiveShellABC
from IPython.core.profiledir import ProfileDir
from jupyter_client.session import Session
from tornado.ioloop import IOLoop
from traitlets import Type
from traitlets.config import Config

from .relay import (
    END_OF_INPUT,
    Message,
    Outcome,
    Setup,
    know_sources,
    known_sources,
    put_traits,
    registered,
    traits,
)

Send = Callable[[str, dict[str, Any], list[bytes]], None]
Ask = Callable[[str, bool], str]

READ_BYTES: Final = 1 << 16
KEPT_BYTES: Final = 1 << 14  # of a pipe with room for 1 << 16
LOOK_S: Final = 0.005
PAUSE_S: Final = 0.0003  # a child that writes takes longer to start


class _Session(Session):
    """Gives whole messages to `deliver`, from any thread and from forked children.

    While `held` is a list, they wait there: the cell has failed, and its error comes first.
    """

    deliver: Send
    held: list[Message] | None = None

    def send(  # type: ignore[override]
        self,
        stream: object,  # noqa: ARG002
        msg_or_type: dict[str, Any] | str,
        content: dict[str, Any] | None = None,
        parent: dict[str, Any] | None = None,
        ident: bytes | None = None,
        buffers: Sequence[Any] | None = None,
        track: bool = False,  # noqa: ARG002
        header: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        if isinstance(msg_or_type, str):
            message = self.msg(msg_or_type, content, parent, header, metadata)
        else:
            message, buffers = msg_or_type, buffers or msg_or_type.get("buffers")
        kind = message["header"]["msg_type"]
        body = {"content": message["content"], "metadata": message["metadata"], "topic": ident}
        held = self.held
        if held is not None:
            held.append((kind, body, [bytes(one) for one in buffers or ()]))
        else:
            self.deliver(kind, body, [bytes(one) for one in buffers or ()])
        return message


class _Stream(OutStream):
    """ipykernel's stream; what is written to its descriptor comes whole and before a flush.

    Nothing is copied to where the descriptor led before: the kernel reads that, too. Short text
    stays in the descriptor's pipe until it can be sent, or written before something else: should
    the process end meanwhile, the kernel finds it there.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._reading = threading.RLock()
        self._taker = 0  # the thread that is in `_take`
        self._written_s = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        super().__init__(*arguments, **options)

    def _watch_pipe_fd(self) -> None:
        waiting = select.poll()
        assert self._fid is not None  # noqa: S101
        waiting.register(self._fid, select.POLLIN)
        while self._should_watch:
            if not all(event & select.POLLIN for _, event in waiting.poll()):
                return  # the cell has closed it, or all that write to it
            until_s = time.monotonic() + self.flush_interval
            while 0 < self._size() < KEPT_BYTES and self._should_watch:
                if time.monotonic() >= until_s:
                    self.flush()
                    break
                time.sleep(LOOK_S)
            else:
                if self._should_watch:
                    self._take()

    def _size(self) -> int:
        """How much waits in the pipe; 0 where the cell has closed that."""
        assert self._fid is not None  # noqa: S101
        try:
            size = fcntl.ioctl(self._fid, termios.FIONREAD, bytes(4))
        except OSError:
            return 0
        return int.from_bytes(size, sys.byteorder)

    def write(self, string: str) -> int | None:  # type: ignore[override]
        now_s = time.monotonic()
        due = self._taker != 0 or now_s - self._written_s > PAUSE_S
        if due and self._should_watch and self._is_master_process():
            self._take()
        self._written_s = now_s
        return super().write(string)

    def _take(self) -> None:
        """Takes over what has been written to the descriptor until now."""
        assert self._fid is not None  # noqa: S101
        if self._taker == threading.get_ident():
            return  # a signal's handler prints in the middle of it
        with self._reading:
            self._taker = threading.get_ident()
            try:
                left = self._size()
                while left > 0:
                    text = os.read(self._fid, min(left, READ_BYTES))
                    left -= len(text)
                    if decoded := self._decoder.decode(text):
                        super().write(decoded)
            finally:
                self._taker = 0

    def finish(self) -> None:
        """Half a character will not become whole any more."""
        self.flush()
        with self._reading:
            rest = self._decoder.decode(b"", final=True)
        if rest:
            self.write(rest)
            self.flush()

    def flush(self) -> None:
        if self._should_watch and self._is_master_process():
            self._take()
        super().flush()


class _DisplayHook(ZMQShellDisplayHook):
    shell: "_Shell"

    def fill_exec_result(self, result: object) -> None:
        super().fill_exec_result(result)
        self.shell.results.append(result)


class _KernelsCompiler(XCachingCompiler):
    """Names a cell's code as the kernel does, by the kernel's process."""

    kernel_pid = 0

    def get_code_name(self, raw_code: str, code: str, number: int) -> str:
        name: str = super().get_code_name(raw_code, code, number)
        own = get_tmp_directory()
        if not name.startswith(own + os.sep):  # IPYKERNEL_CELL_NAME
            return name
        kernels = f"{own.removesuffix(str(os.getpid()))}{self.kernel_pid}"
        return kernels + name.removeprefix(own)


class _Shell(ZMQInteractiveShell):
    """ipykernel's shell that keeps the error that ends the cell."""

    displayhook_class = Type(_DisplayHook)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.results: list[object] = []
        self.final_traceback: list[str] | None = None
        self._outer: Any = None  # the cell's ExecutionResult, once its code runs
        super().__init__(*arguments, **options)

    def begin(self, execution_count: int) -> None:
        self.results, self.final_traceback, self._outer = [], None, None
        self.execution_count = execution_count
        manager = cast("Any", self.history_manager)
        for history in (manager.input_hist_parsed, manager.input_hist_raw):
            history.extend([""] * (execution_count - len(history)))

    async def run_code(self, code_obj: Any, result: Any = None, *, async_: bool = False) -> bool:
        if self._outer is None:
            self._outer = result
            self._release()  # errors of hooks before the cell
        failed: bool = await super().run_code(code_obj, result, async_=async_)
        return failed

    @property
    def error(self) -> BaseException | None:
        error: BaseException | None = getattr(self._outer, "error_in_exec", None)
        return error

    def _release(self) -> None:
        session, traceback = self.kernel.session, self.final_traceback
        held, session.held = session.held or [], None
        if traceback is not None:
            self.final_traceback = None
            session.send(None, *self._final)
        for kind, body, buffers in held:
            session.deliver(kind, body, buffers)

    def _showtraceback(self, etype: type, evalue: Any, stb: list[str]) -> None:
        if self._outer is not None and self.error is None:
            super()._showtraceback(etype, evalue, stb)
            return
        # The cell is over. (Set by IPython before it shows; a nested cell has its own result.)
        sys.stdout.flush()
        sys.stderr.flush()
        self._release()
        content = {"traceback": stb, "ename": etype.__name__, "evalue": str(evalue)}
        self._final = ("error", json_clean(content))
        self._last_traceback = self.final_traceback = stb
        self.kernel.session.held = []

    def enable_gui(self, gui: Any = None) -> None:
        enable_gui(gui, self.kernel)
        self.active_eventloop = gui

    def ask_exit(self) -> None:
        """The kernel ends, not the engine."""
        payload = {"source": "ask_exit", "keepkernel": self.keepkernel_on_exit}
        manager: Any = self.payload_manager
        manager.write_payload(payload)


InteractiveShellABC.register(_Shell)
for _ours, _known in ((_Shell, ZMQInteractiveShell), (_Stream, OutStream)):
    # By these names libraries find out where they run.
    _ours.__name__, _ours.__qualname__ = _known.__name__, _known.__qualname__
    _ours.__module__ = _known.__module__


class _Kernel(IPythonKernel):
    """ipykernel's kernel as far as running a cell and comms need it."""

    ask: Ask
    compiler_class = Type(CachingCompiler)  # type: ignore[assignment]
    debugger_class = Type(object)  # or debugpy would be imported

    def __init__(self, **options: Any) -> None:
        super(IPythonKernel, self).__init__(**options)  # without debugger and handlers
        shell: Any = _Shell.instance(
            parent=self,
            profile_dir=self.profile_dir,
            kernel=self,
            compiler_class=self.compiler_class,
        )
        self.shell = shell
        for part in (shell.displayhook, shell.display_pub):
            part.session, part.pub_socket = self.session, self.iopub_socket
        shell.displayhook.topic = b"execute_result"
        self.comm_manager = comm.get_comm_manager()
        shell.configurables.append(self.comm_manager)

    def _input_request(
        self,
        prompt: str,
        ident: object,  # noqa: ARG002
        parent: object,  # noqa: ARG002
        password: bool = False,
    ) -> str:
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            value = self.ask(prompt, password)
        except KeyboardInterrupt:
            msg = "Interrupted by user"
            raise KeyboardInterrupt(msg) from None
        if value == END_OF_INPUT:
            raise EOFError
        return value


@dataclass
class _NoSocket:
    """What IOPubThread asks of a socket: where its in-process pipe may be."""

    context: zmq.Context[Any] = field(default_factory=lambda: zmq.Context(io_threads=0))

    def close(self) -> None:
        self.context.term()


class _Thread(IOPubThread):
    async def _run_event_pipe_gc(self) -> None:
        """Pipes of ended threads stay until the end: this task would be in its way."""


class EngineShell:
    r"""One per process, made by its main thread; takes over `sys.stdout`, `sys.stderr`, 1 and 2.

    `send(kind, message, buffers)` is called by several threads and by forked children, message by
    message, and must be whole each time; `message` has content, metadata and topic. `ask(prompt,
    password)` blocks the cell until somebody has typed; "\x04" is the end of input.
    `sys.modules["__main__"]` becomes the user's module, as in a kernel.
    """

    def __init__(self, send: Send, ask: Ask, setup: Setup | None = None) -> None:
        setup = setup or Setup()
        session = _Session()
        session.deliver = send
        thread = _Thread(_NoSocket(), session=session)
        thread.start()
        watch = "force" if setup.capture_descriptors else False
        self._before = (sys.stdout, sys.stderr)
        self._streams = [
            _Stream(session, thread, name, watchfd=watch) for name in ("stdout", "stderr")
        ]
        sys.stdout, sys.stderr = self._streams
        self._thread = thread
        self._session = session
        _KernelsCompiler.kernel_pid = setup.kernel_pid
        log = logging.getLogger("jumper.engine")
        log.addHandler(logging.NullHandler())
        log.propagate = False
        config = Config(setup.config)
        config.HistoryManager.enabled = False
        options = {}
        if setup.profile is not None:
            options["profile_dir"] = ProfileDir(location=setup.profile)
        self.kernel: Any = _Kernel.instance(
            config=config,
            session=session,
            log=log,
            iopub_thread=thread,
            iopub_socket=thread.background_socket,
            # where it looks whether signals may be handled
            shell_channel_thread=types.SimpleNamespace(parent_thread=threading.main_thread()),
            compiler_class=_KernelsCompiler if setup.kernel_pid else CachingCompiler,
            **options,
        )
        self.kernel.ask = ask
        shell: Any = self.kernel.shell
        self.shell = shell
        put_traits(shell, setup.traits)
        self.without = self._load(setup.extensions)
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        # ipykernel's handler for awaiting cells doesn't wake the loop: a byte does.
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._loop.add_reader(self._woken, os.read, self._woken, READ_BYTES)

    def _load(self, extensions: Sequence[str]) -> list[str]:
        """A sentence for each that fails: the cell runs without it."""
        said = []
        for name in extensions:
            try:
                self.shell.extension_manager.load_extension(name)
            except ImportError:  # the kernel may have made it itself
                continue
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  (any code may be called)
                said.append(f"the engine is without extension {name}: {error!r}")
        return said

    @property
    def pipes(self) -> dict[str, int]:
        """By a stream's name, from where what is written to its descriptor is read."""
        found = {one.name: getattr(one, "_fid", None) for one in self._streams}
        return {name: fid for name, fid in found.items() if fid is not None}

    def know(self, sources: Mapping[str, tuple[int, str]]) -> None:
        """Sources of earlier cells by file name, each with its number: for tracebacks."""
        know_sources(self.shell, sources)

    def sources(self, besides: Collection[str]) -> dict[str, tuple[int, str]]:
        """What `know` takes, of cells that this shell has compiled itself."""
        return known_sources(self.shell, besides)

    def traits(self) -> dict[str, Any]:
        return traits(self.shell)

    def registered(self) -> dict[tuple[str, int], str]:
        try:
            return registered(self.shell)
        except Exception:  # noqa: BLE001  (the user's objects are asked for their names)
            return {}

    def begin_history(self, raw: list[str], parsed: list[str]) -> None:
        """The kernel's In before the cell. New lists: those that came with the state are its."""
        manager, names = self.shell.history_manager, self.shell.user_ns
        manager.input_hist_raw = raw
        manager.input_hist_parsed = names["In"] = names["_ih"] = parsed
        ago = ("_i00", "_i", "_ii")
        for name, text in zip(ago, [*reversed(raw[1:]), "", "", ""], strict=False):
            setattr(manager, name, text)

    def run(
        self,
        code: str,
        *,
        execution_count: int,
        silent: bool = False,
        store_history: bool = True,
        allow_stdin: bool = True,
        parent: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Runs a cell; every message of it has been sent on return. SIGINT interrupts the cell.

        `execution_count` is its number; `parent` the kernel's request (what it's shown under).
        """
        self.shell.begin(execution_count)
        if parent is not None:
            self.kernel.set_parent([], parent)
        reply: dict[str, Any] = {}
        error: BaseException | None = None

        async def execute() -> None:
            self.kernel.io_loop = IOLoop.current()
            signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                reply.update(
                    await self.kernel.do_execute(
                        code, silent, store_history, allow_stdin=allow_stdin
                    )
                )
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.set_wakeup_fd(-1)

        try:
            self._loop.run_until_complete(execute())
        except BaseException as raised:  # noqa: BLE001
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            error = raised
            reply = {"status": "error", "ename": type(raised).__name__, "evalue": str(raised)}
        for stream in self._streams:
            stream.finish()
        return self._outcome(reply, error)

    def _outcome(self, reply: dict[str, Any], error: BaseException | None) -> Outcome:
        held, self._session.held = self._session.held or [], None
        status: Literal["ok", "error", "interrupted"] = reply["status"]
        if status == "ok":
            for message in held:
                self._session.deliver(*message)
            held = []
        else:
            error = error or self.shell.error
            if error is None and self.shell.final_traceback is not None:
                error = self.shell.last_execution_result.error_before_exec
            if isinstance(error, (KeyboardInterrupt, asyncio.CancelledError)):
                status = "interrupted"
        return Outcome(
            status,
            ename=reply.get("ename", ""),
            evalue=reply.get("evalue", ""),
            traceback=self.shell.final_traceback,
            raised=status != "ok" and error is not None,
            payload=reply.get("payload", []),
            after=held,
            exception=error,
            results=list(self.shell.results),
        )

    def close(self) -> None:
        """Sends what is left and gives the descriptors back."""
        sys.stdout, sys.stderr = self._before
        for stream in self._streams:
            stream.finish()
            stream.close()
        self._thread.stop()
        self._loop.close()
        os.close(self._woken)
        os.close(self._wake)
        builtins.__dict__.pop("_", None)
