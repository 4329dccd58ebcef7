"""The kernel's side of one engine process: started, met, heard, interrupted, ended.

Used by one thread, the one that runs the cell. Nothing here raises KeyboardInterrupt: while an
engine is in use, `Interrupts` holds SIGINT. What launcher and engine print to their own stdout and
stderr goes to `show`, in the order of its arrival.
"""

import codecs
import fcntl
import os
import shlex
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, Final, Self

from . import _native, protocol

HELLO_S: Final = 60.0  # until the engine must have come
DEATH_S: Final = 5.0  # what an ended engine's launcher has for telling how it ended
END_S: Final = 5.0  # until an engine without a launcher must have left
GROUP: Final = 4  # PIDFD_SIGNAL_PROCESS_GROUP
SCRIPT: Final = str(Path(__file__).with_name("engine_main.py"))
FOREVER: Final = float("inf")
Show = Callable[[str, str], None]  # stdout or stderr, text


class NotBroughtBack(RuntimeError):  # noqa: N818
    """The cell has run, and the kernel can't have what it did."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class EngineDied(NotBroughtBack):
    """The engine has ended before its cell."""


class NotStarted(Exception):  # noqa: N818
    """The engine never came; the message is the whole sentence."""


class Interrupts:
    """While it lasts, SIGINT only makes `descriptor` readable.

    Elsewhere than on the main thread there is none to hold.
    """

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.raises = False  # once: KeyboardInterrupt as well
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        closed, self.descriptor = self.descriptor, -1
        os.close(closed)
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, _: int, __: FrameType | None) -> None:
        if self.descriptor >= 0:
            os.eventfd_write(self.descriptor, 1)
        if self.raises:
            self.raises = False
            raise KeyboardInterrupt

    def take(self) -> int:
        """How many came since the last call."""
        with suppress(BlockingIOError):
            return os.eventfd_read(self.descriptor)
        return 0


class _Pipe:
    """What one of a process's pipes brings, as text."""

    def __init__(self, name: str, descriptor: int, read: Callable[[], bytes | None]) -> None:
        self.descriptor = descriptor
        self._name = name
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def pump(self, show: Show) -> None:
        while self.descriptor >= 0:
            read = self._read()
            if read is None:
                self.descriptor = -1  # the process's own: it closes it
            text = self._decoder.decode(read or b"", final=read is None)
            if text:
                show(self._name, text)
            if not read:
                return


class Engine:
    """One process. `finish` must be called, whatever happens."""

    def __init__(
        self, launcher: Sequence[str] = (), besides: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Raises NotStarted. `besides`: variables for launcher and engine, beside the kernel's."""
        self.launcher = list(launcher)
        self.environment = dict(os.environ)
        self.directory = _directory()
        command = _command(self.launcher)
        self.command = shlex.join(command)
        self._name = Path(command[0]).name if self.launcher else "the engine"
        self.owner = os.getpid()
        self._engine_pidfd = -1
        self._group = -1  # once it is known not to be the launcher's
        self._channel: _native.Channel | None = None
        self._meeting: _native.Rendezvous | None = None
        self._hello: protocol.Hello | None = None
        self._last_words: dict[str, int] = {}  # where they can be read, by the stream's name
        added = dict(besides)
        inherited = -1
        if _native.needs_named_channel(self.launcher):
            self._meeting = _native.Rendezvous()
            added[protocol.CHANNEL] = f"unix:{self._meeting.path}"
            added[protocol.TOKEN] = self._meeting.token
        else:
            self._channel, inherited = _native.Channel.pair()
            added[protocol.CHANNEL] = "fd:3"
        try:
            self._process = _native.EngineProcess.start(
                command, self.environment | added, "", inherited
            )
        except _native.Error as error:
            self._close_channel()
            raise NotStarted(f"{error} (tried: {self.command})") from None
        finally:
            if inherited >= 0:
                os.close(inherited)
        self._pipes = [
            _Pipe("stdout", self._process.output_fd, self._process.read_output),
            _Pipe("stderr", self._process.errors_fd, self._process.read_errors),
        ]

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def pidfd(self) -> int:
        """Of the engine itself, else of its launcher; -1: there is none."""
        return self._engine_pidfd if self._engine_pidfd >= 0 else self._process.pidfd

    @property
    def has_ended(self) -> bool:
        """The process that was started: the launcher, where there is one."""
        return self._process.wait(0) is not None

    def usable(self) -> bool:
        """For a spare: it lives, and what a process takes only at its start is as it was then."""
        return not self.has_ended and _at_start(self.environment) == _at_start(os.environ)

    # ---- talking ----

    def meet(self, show: Show, interrupted: Callable[[], bool], wake: int) -> None:
        """Waits until the engine has come.

        Raises NotStarted, and KeyboardInterrupt when `interrupted` says so.
        """
        until = time.monotonic() + HELLO_S
        while self._hello is None:
            kind, content = self.receive(show, until, wake)
            if interrupted():
                raise KeyboardInterrupt
            if kind == protocol.HELLO:
                self._greet(protocol.Hello(*content[0]))
            elif kind is None and time.monotonic() >= until:
                raise NotStarted(f"the engine has not come within {HELLO_S:g} s: {self.command}")

    def _greet(self, other: protocol.Hello) -> None:
        here = protocol.hello()
        if refused := other.refused(here):
            raise NotStarted(f"this engine can't be used, {refused}: {self.command}")
        self._hello = other
        if other.pid != self._process.pid:
            with suppress(OSError):  # before Linux 5.3
                self._engine_pidfd = os.pidfd_open(other.pid)
            if other.group == other.pid:
                self._group = other.pid

    def send(self, kind: int, *content: Any) -> None:
        """Raises EngineDied."""
        self._send(lambda channel: protocol.send(channel, kind, *content))

    def send_state(self, head: bytes, descriptor: int) -> None:
        """Closes the descriptor. Raises EngineDied."""
        try:
            self._send(lambda channel: channel.send(protocol.STATE, head, None, descriptor))
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _send(self, say: Callable[[_native.Channel], None]) -> None:
        assert self._channel is not None  # noqa: S101
        try:
            say(self._channel)
        except _native.Error as error:
            raise EngineDied(f"{self._how_ended()} ({error})") from None

    def receive(self, show: Show, until: float, wake: int) -> "tuple[int | None, Any]":
        """The next message's kind and content; of DONE head and descriptor.

        (None, None) at `until` and when `wake` is readable. Raises EngineDied, NotStarted before
        it has come.
        """
        while True:
            ended = self._is_ended()  # before: what it has said until then is there
            wait_s = 0.0 if ended else max(0.0, until - time.monotonic())
            got = self._wait(wait_s, wake)
            self.pump(show)
            if isinstance(got, _native.Received) and got.status == "message":
                if got.kind == protocol.DONE:
                    return got.kind, (got.payload, got.descriptor)
                if got.kind == protocol.PIPE:
                    self._keep(got)
                    continue
                if got.descriptor >= 0:
                    os.close(got.descriptor)
                return got.kind, _content(got.payload)
            if ended:
                self._raise_ended(show)
            if isinstance(got, _native.Received):
                if got.status == "malformed":
                    raise EngineDied(f"what the engine has sent is no message: {got.reason}")
                if got.status == "closed":
                    self._lost(show)
            if got == "failed":
                raise NotStarted(f"the engine can't come: its socket was removed ({self.command})")
            if _is_ready(wake) or time.monotonic() >= until:
                return None, None

    def _wait(self, wait_s: float, wake: int) -> "_native.Received | str":
        process = self._process
        wakes = [wake, process.pidfd, self._engine_pidfd, *(one.descriptor for one in self._pipes)]
        limit = None if wait_s == FOREVER else wait_s
        if self._meeting is None:
            assert self._channel is not None  # noqa: S101
            return self._channel.receive(limit, wakes)
        status, channel, _ = self._meeting.accept(HELLO_S if limit is None else limit, wakes)
        if channel is not None:
            self._channel, self._meeting = channel, None
        return status

    def pump(self, show: Show) -> None:
        for pipe in self._pipes:
            pipe.pump(show)

    # ---- its end ----

    def _is_ended(self) -> bool:
        """The engine; its launcher may go on, or end before it."""
        if self._engine_pidfd >= 0:
            return _is_ready(self._engine_pidfd)
        return self._process.wait(0) is not None

    def _how_ended(self) -> str:
        ended = self._process.wait(DEATH_S)
        who = f"its launcher {self._name}" if self.launcher else "it"
        if ended is None:
            return f"the engine has ended, and {who} goes on"
        return f"the engine has ended before its cell: {who} {_told(ended)}"

    def _raise_ended(self, show: Show) -> None:
        said = self._how_ended()
        self._show_last_words(show)
        self.pump(show)
        if self._hello is None:
            ended = self._process.wait(0)
            how = _told(ended) if ended is not None else "goes on without it"
            raise NotStarted(f"the engine has not come up, {how}: {self.command}")
        raise EngineDied(said)

    def _keep(self, pipe: _native.Received) -> None:
        if pipe.descriptor < 0:
            return
        (name,) = _content(pipe.payload)
        before, self._last_words[name] = self._last_words.get(name), pipe.descriptor
        if before is not None:
            os.close(before)

    def _show_last_words(self, show: Show) -> None:
        """What it has written to the cell's descriptors, and not lived to send."""
        waiting = bytearray(4)
        for name, descriptor in self._last_words.items():
            with suppress(OSError):
                fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
                size = int.from_bytes(waiting, sys.byteorder)
                if text := os.read(descriptor, size) if size else b"":
                    show(name, text.decode("utf-8", "replace"))

    @property
    def has_failed(self) -> bool:
        """It has ended, and not as it should."""
        ended = self._process.wait(0)
        return ended is not None and (ended.how == "killed" or ended.status != 0)

    def _lost(self, show: Show) -> None:
        """Nobody holds the other end of the channel any more."""
        until = time.monotonic() + DEATH_S
        while not self._is_ended() and time.monotonic() < until:
            self._process.wait(0.05)
        if self._is_ended():
            self._raise_ended(show)
        raise EngineDied("the engine has lost its channel: the cell has closed descriptor 3")

    def end(self, show: Show, interrupted: Callable[[], None], wake: int) -> str | None:
        """After DONE: waits until launcher and engine have ended by themselves.

        What launchers print then is shown. Returns what is to be said about it.
        """
        with suppress(_native.Error):
            assert self._channel is not None  # noqa: S101
            protocol.send(self._channel, protocol.END, bool(self.launcher))
        self._close_channel()
        until = FOREVER if self.launcher else time.monotonic() + END_S
        ended = None
        while ended is None and time.monotonic() < until:
            ended = self._process.wait(0.0)
            if ended is None:
                _sleep([self._process.pidfd, wake, *(one.descriptor for one in self._pipes)])
            self.pump(show)
            if _is_ready(wake):
                interrupted()
        if ended is None:
            return f"the engine has not ended within {END_S:g} s of its cell and was killed"
        if ended.how == "exited" and ended.status == 0:
            return None
        if ended.how == "unknown":
            return None
        return f"{self._name} {_told(ended)} after the cell"

    def interrupt(self) -> None:
        """SIGINT to the engine and what the cell has started in its process group."""
        if not self._signal(signal.SIGINT):
            self._process.interrupt()

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)
        self._process.terminate()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._process.kill()

    def _signal(self, number: int) -> bool:
        """To a group of the engine's own."""
        if self._group < 0 or self._engine_pidfd < 0:
            return False
        try:
            signal.pidfd_send_signal(self._engine_pidfd, number, None, GROUP)
        except ProcessLookupError:
            return False
        except OSError:  # before Linux 6.9
            if _is_ready(self._engine_pidfd):
                return False  # its number may be somebody else's
            with suppress(OSError):
                os.killpg(self._group, number)
        return True

    def finish(self) -> None:
        """Kills what still runs of it and closes everything."""
        if self.owner != os.getpid():  # a forked child of the kernel: nothing of this is its own
            return
        self._signal(signal.SIGKILL)
        self._process.finish()
        self._close_channel()
        if self._engine_pidfd >= 0:
            os.close(self._engine_pidfd)
            self._engine_pidfd = -1
        while self._last_words:
            os.close(self._last_words.popitem()[1])

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
        self._meeting = None


def _command(launcher: list[str]) -> list[str]:
    if not sys.executable:
        raise NotStarted("this kernel doesn't know which Python it runs on (sys.executable)")
    try:
        command = _native.launch_command(launcher, sys.executable, SCRIPT)
    except _native.Error as error:
        raise NotStarted(str(error)) from None
    if command[-2:] == [sys.executable, SCRIPT]:
        command[-1:-1] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001
    return command


def _directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it is gone
        return ""


def _content(payload: bytes) -> Any:
    try:
        return protocol.read(payload)
    except Exception as error:  # noqa: BLE001
        raise EngineDied(f"what the engine has sent can't be read: {error!r}") from None


def _told(ended: _native.Ended) -> str:
    return f"was {ended.text}" if ended.how == "killed" else ended.text


def _is_ready(descriptor: int) -> bool:
    import select

    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(0))


def _sleep(descriptors: list[int]) -> None:
    """Until one of them is ready; 0.1 s where the process has no pidfd."""
    import select

    waiting = select.poll()
    for one in descriptors:
        if one >= 0:
            waiting.register(one, select.POLLIN)
    waiting.poll(100)


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    begins = ("LD_", "PYTHON", "MALLOC_", "GLIBC_", "OMP_", "MKL_", "OPENBLAS_")
    return {name: value for name, value in environment.items() if name.startswith(begins)}
