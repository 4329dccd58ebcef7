"""What an engine does from its start to its end.

1. It comes to the kernel, as JUMPER_ENGINE_CHANNEL says, and tells who it is (see `protocol`).
2. It takes over what it shares with the kernel and the state, runs cells, gives all back.
3. It returns, so that a launcher can do what it does when a script ends.

It ends with the kernel, whatever the cell does. SIGINT reaches the cell only.
"""

import atexit
import contextlib
import faulthandler
import importlib
import os
import pickle
import signal
import socket
import struct
import sys
import threading
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from . import _native, engine_hooks, protocol

if TYPE_CHECKING:
    from .engine_shell import EngineShell
    from .relay import Outcome
    from .state import Arrived

MOST_NAMED: Final = 5
PARENT: Final = 4  # a pidfd of the kernel, with a channel that is inherited


def come() -> tuple[_native.Channel, float | None, list[str]]:
    """The way to the kernel; for a spare how long to wait there, and what to import meanwhile.

    Nothing of it stays in the environment.
    """
    where = os.environ.pop(protocol.CHANNEL, "")
    token = os.environ.pop(protocol.TOKEN, "")
    wait_s = os.environ.pop(protocol.WAIT, None)
    imports = os.environ.pop(protocol.IMPORTS, "")
    kind, _, place = where.partition(":")
    if kind not in ("fd", "unix"):
        sys.exit(
            "jumper: an engine is started by `%%jumper run`, which tells it in "
            f"{protocol.CHANNEL} where the kernel is; the launcher must leave that alone"
        )
    try:
        by_name = kind == "unix"
        channel = _native.connect(place, token) if by_name else _native.Channel(int(place))
    except (_native.Error, ValueError) as error:
        sys.exit(f"jumper: the engine can't reach the kernel: {error}")
    if kind == "unix" or not _native.watch_parent(PARENT):
        watch_peer(channel)
    return channel, None if wait_s is None else float(wait_s), imports.split(",")


def import_ahead(names: list[str]) -> None:
    """The state needs them. What they say has been said in the kernel; errors come up then."""
    with (
        open(os.devnull, "w") as nowhere,  # noqa: PTH123
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        for name in names:
            with suppress(Exception):
                importlib.import_module(name)


def watch_peer(channel: _native.Channel) -> None:
    """Where the launcher has closed descriptors: ends with whoever holds the channel's other end.

    Its number is nobody else's by now: SETUP comes later, so the kernel lives.
    """
    with suppress(OSError), socket.socket(fileno=os.dup(channel.fileno())) as end:
        size = struct.calcsize("3i")
        peer, _, _ = struct.unpack(
            "3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        )
        _native.watch_parent(os.pidfd_open(peer))


def lead_group() -> None:
    """Interrupts are for the cell and what it starts, not for a launcher that waits for us."""
    if os.getpgrp() != os.getpid():
        with suppress(OSError):
            os.setpgid(0, 0)


def launchers_changes(began: Mapping[str, str]) -> dict[str, str | None]:
    """Of the environment with which the kernel has started the launcher; None: taken out."""
    own = os.environ
    changed: dict[str, str | None] = {
        name: value for name, value in own.items() if began.get(name) != value
    }
    return changed | dict.fromkeys(began.keys() - own.keys())


def put_environment(changed: Mapping[str, str | None]) -> None:
    for name, value in changed.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def lasting_threads() -> list[str]:
    """Threads that would keep a script from ending."""
    main = threading.main_thread()
    return [one.name for one in threading.enumerate() if one is not main and not one.daemon]


class Engine:
    def __init__(self, channel: _native.Channel) -> None:
        self._channel = channel
        self._asked = 0
        self._asking = threading.Lock()
        self._shell: EngineShell
        self._arrived: Arrived
        self._known: set[str] = set()
        self._score_p = engine_hooks.find()
        self._steps = {
            protocol.SETUP: self._set_up,
            protocol.STATE: self._load,
            protocol.RUN: self._run,
            protocol.BACK: self._back,
            protocol.AGAIN: self._again,
        }
        self._outcomes: list[Outcome] = []  # of the cells so far
        self._results: list[Any] = []
        self._had: Collection[tuple[str, int]] = ()  # registered before the first cell
        self._before: Any = None  # surroundings and traits, before the first cell

    def serve(self, wait_s: float | None) -> bool:
        """Until the kernel has had enough, or is gone, or has said nothing for that long.

        Whether a launcher waits for a script that ends as scripts do.
        """
        while True:
            received = self._channel.receive(wait_s)
            if received.status != "message":
                return True
            if received.kind == protocol.END:
                return bool(protocol.read(received.payload)[0])
            self._steps[received.kind](received)
            wait_s = None

    def _set_up(self, received: _native.Received) -> None:
        from . import surroundings
        from .engine_shell import EngineShell
        from .state import Arrived

        setup, there, sources, (environment, directory) = protocol.read(received.payload)
        changed, own = launchers_changes(environment), Path.cwd()
        if self._score_p is not None:
            changed = self._score_p.cells(changed)
        surroundings.put(surroundings.differences(surroundings.take(), there))
        put_environment(changed)
        if own != Path(directory):
            os.chdir(own)  # as `env -C` wants it
        self._shell = EngineShell(self._send, self._ask, setup)
        self._shell.know(sources)
        self._known = set(sources)
        self._arrived = Arrived(self._shell.shell)
        self._share_pipes()

    def _share_pipes(self) -> None:
        """What is written before this process dies: nobody here would read it any more."""
        for name, descriptor in self._shell.pipes.items():
            self._channel.send(protocol.PIPE, pickle.dumps((name,)), None, descriptor)

    def _load(self, received: _native.Received) -> None:
        refused = self._arrived.load(received.payload, received.descriptor)
        protocol.send(self._channel, protocol.LOADED, refused)

    def _run(self, received: _native.Received) -> None:
        from . import surroundings
        from .relay import told_exception

        code, stays, options, inputs = protocol.read(received.payload)
        self._shell.begin_history(*inputs)
        if self._before is None:  # not earlier: modules have come with the state
            self._before = surroundings.take(), self._shell.traits()
            self._had = self._shell.registered()
        with self._traced(options["execution_count"]):
            outcome = self._shell.run(code, **options)
        outcome.number = options["execution_count"]
        told = told_exception(outcome.exception) if stays else None
        if stays:  # it is raised in its own cell
            outcome.exception = None
        self._outcomes.append(outcome)
        protocol.send(self._channel, protocol.RAN, outcome.parts()[0], told)

    def _back(self, _: _native.Received) -> None:
        from . import surroundings

        try:
            before, traits = self._before or (surroundings.take(), self._shell.traits())
            around = protocol.Around(
                surroundings.differences(before, surroundings.take()),
                self._shell.sources(self._known),
                {name: it for name, it in self._shell.traits().items() if it != traits[name]},
                lasting_threads(),
                self._notes(),
            )
            protocol.send(self._channel, protocol.AROUND, *around)
        except _native.Error:
            raise  # of the channel: nobody to tell
        except Exception as error:  # noqa: BLE001  (memory is short: anything may)
            protocol.send(self._channel, protocol.FAILED, f"{type(error).__name__}: {error}")
        else:
            parts = [outcome.parts() for outcome in self._outcomes]
            self._results = [[len(one) for one in parts], *chain.from_iterable(parts)]
            self._give_back()

    def _notes(self) -> list[str]:
        new = [name for one, name in self._shell.registered().items() if one not in self._had]
        notes = list(self._shell.without)
        if new:
            more = f" and {len(new) - MOST_NAMED} more" if len(new) > MOST_NAMED else ""
            named = ", ".join(new[:MOST_NAMED])
            notes.append(f"what the cell has registered with IPython isn't here: {named}{more}")
        return notes + (self._score_p.notes if self._score_p is not None else [])

    def _again(self, received: _native.Received) -> None:
        (refused,) = protocol.read(received.payload)
        self._arrived.give_up(refused)
        self._give_back()

    def _traced(self, number: int) -> AbstractContextManager[None]:
        if self._score_p is None:
            return nullcontext()
        return self._score_p.traced(self._shell.shell, number)

    def _give_back(self) -> None:
        try:
            head, descriptor = self._arrived.pack_back(self._results)
        except Exception as error:  # noqa: BLE001  (memory is short: anything may)
            protocol.send(self._channel, protocol.FAILED, f"{type(error).__name__}: {error}")
            return
        try:
            self._channel.send(protocol.DONE, head, None, descriptor)
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def close(self) -> None:
        if hasattr(self, "_shell"):
            self._shell.close()
        if self._score_p is not None:
            self._score_p.restore()
        self._channel.close()

    def _send(self, kind: str, message: dict[str, Any], buffers: list[bytes]) -> None:
        with suppress(_native.Error):  # nobody is there any more: this process ends, too
            protocol.send(self._channel, protocol.MESSAGE, kind, message, buffers)

    def _ask(self, prompt: str, password: bool) -> str:
        with self._asking:
            self._asked += 1
            protocol.send(self._channel, protocol.ASK, self._asked, prompt, password)
            while True:
                received = self._channel.receive(None)
                if received.status != "message":
                    raise EOFError
                if received.kind == protocol.ANSWER:
                    number, text = protocol.read(received.payload)
                    if number == self._asked:  # else somebody has interrupted that question
                        return str(text)


def serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # To where the kernel reads: descriptor 2 will be the cell's, and goes with this process.
    faulthandler.enable(os.dup(2), all_threads=False)
    channel, wait_s, imports = come()
    lead_group()
    protocol.send(channel, protocol.HELLO, protocol.hello())
    from . import engine_shell, state, surroundings  # noqa: F401  (while the kernel packs)

    import_ahead(imports)
    engine = Engine(channel)
    script = sys.modules["__main__"]
    failed, for_launcher = "", True
    try:
        for_launcher = engine.serve(wait_s)
    except _native.Error as error:
        failed = f"jumper: the engine has lost the kernel: {error}"
    finally:
        engine.close()
        sys.modules["__main__"] = script
        if lasting_threads():
            # In a kernel they would go on; here the end would wait for them, for ever perhaps.
            threading._shutdown = lambda: None  # type: ignore[attr-defined]  # noqa: SLF001
    if failed:
        sys.exit(failed)
    if not for_launcher:
        # Without taking the interpreter apart: a quarter of a second with pandas in it.
        atexit._run_exitfuncs()  # noqa: SLF001
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
