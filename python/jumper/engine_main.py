"""An engine: the process that runs one cell of a kernel. A launcher starts this file as a script.

1. What launchers and Python have put into `sys.path` for a script is taken out again.
2. It comes to the kernel, as JUMPER_ENGINE_CHANNEL says, and tells who it is (see `protocol`).
3. It takes over what it shares with the kernel, the state and the cell, runs it, gives all back.
4. It returns: what the launcher does when a script ends, it does then.

It ends with the kernel, whatever the cell does. SIGINT reaches the cell only.
"""

import faulthandler
import importlib.util
import os
import signal
import sys
import threading
import types
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jumper import _native
    from jumper.engine_shell import EngineShell
    from jumper.relay import Outcome

PARENT: Final = 4  # a pidfd of the kernel, with a channel that is inherited


def repair_path() -> None:
    """Modules in this file's folder must shadow none of the cell's; the package must be found."""
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  (nothing imported)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != folder]  # noqa: PTH100
    if "jumper" in sys.modules:
        return
    # By its place: a `jumper.py` in the notebook's folder isn't meant.
    spec = importlib.util.spec_from_file_location(
        "jumper", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]  # noqa: PTH118
    )
    assert spec is not None  # noqa: S101
    assert spec.loader is not None  # noqa: S101
    package = importlib.util.module_from_spec(spec)
    sys.modules["jumper"] = package
    spec.loader.exec_module(package)


def come() -> "tuple[_native.Channel, float | None]":
    """The way to the kernel, and how long to wait there. Nothing of it stays in the environment."""
    from jumper import _native, protocol

    where = os.environ.pop(protocol.CHANNEL, "")
    token = os.environ.pop(protocol.TOKEN, "")
    wait_s = os.environ.pop(protocol.WAIT, None)
    kind, _, place = where.partition(":")
    if kind not in ("fd", "unix"):
        sys.exit("jumper: an engine is started by `%%jumper run`, not by hand")
    try:
        channel = (
            _native.connect(place, token) if kind == "unix" else _native.Channel(int(place))
        )
    except (_native.Error, ValueError) as error:
        sys.exit(f"jumper: the engine can't reach the kernel (the launcher's doing?): {error}")
    if kind == "unix" or not _native.watch_parent(PARENT):
        _watch_peer(channel)
    return channel, None if wait_s is None else float(wait_s)


def _watch_peer(channel: "_native.Channel") -> None:
    """The launcher has closed descriptors: then whoever holds the channel's other end."""
    import socket
    import struct

    from jumper import _native

    with suppress(OSError), socket.socket(fileno=os.dup(channel.fileno())) as end:
        size = struct.calcsize("3i")
        peer, _, _ = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        # Not reused meanwhile: SETUP comes later, so the kernel lives now.
        _native.watch_parent(os.pidfd_open(peer))


def lead_group() -> None:
    """Interrupts are for the cell and what it starts, not for a launcher that waits."""
    if os.getpgrp() != os.getpid():
        with suppress(OSError):
            os.setpgid(0, 0)


class Engine:
    def __init__(self, channel: "_native.Channel") -> None:
        self._channel = channel
        self._asked = 0
        self._asking = threading.Lock()
        self._shell: EngineShell | None = None
        self._arrived: Any = None
        self._known: set[str] = set()
        self._around: Any = None

    def serve(self, wait_s: float | None) -> None:
        from jumper import protocol

        steps = {protocol.SETUP: self._set_up, protocol.STATE: self._load, protocol.RUN: self._run}
        while True:
            received = self._channel.receive(wait_s)
            wait_s = None
            if received.status != "message" or received.kind == protocol.END:
                return
            steps[received.kind](received)

    def close(self) -> None:
        if self._shell is not None:
            self._shell.close()

    def _set_up(self, received: "_native.Received") -> None:
        from jumper import protocol, state, surroundings
        from jumper.engine_shell import EngineShell

        setup, around, sources = protocol.read(received.payload)
        surroundings.put(surroundings.differences(surroundings.take(), around))
        self._shell = shell = EngineShell(self._send, self._ask, setup)
        shell.know(sources)
        self._known = set(shell.shell.compile._filename_map)  # noqa: SLF001
        self._arrived = state.Arrived(shell.shell.user_ns)

    def _load(self, received: "_native.Received") -> None:
        from jumper import protocol

        refused = self._arrived.load(received.payload, received.descriptor)
        protocol.send(self._channel, protocol.LOADED, refused)

    def _run(self, received: "_native.Received") -> None:
        from jumper import engine_names, protocol, surroundings

        assert self._shell is not None  # noqa: S101
        code, options, names = protocol.read(received.payload)
        shell = self._shell.shell
        put_back = engine_names.take_over(shell, names, options["execution_count"])
        # Modules that have come with the state, too.
        before = surroundings.take()
        outcome = self._shell.run(code, **options)
        try:
            put_back()
            around = surroundings.differences(before, surroundings.take())
            compiled = shell.compile._filename_map  # noqa: SLF001
            new = engine_names.sources(compiled, set(compiled) - self._known)
            protocol.send(self._channel, protocol.AROUND, around, new, lasting_threads())
            self._give_back(outcome)
        except Exception as error:  # noqa: BLE001  (memory is short: anything may)
            protocol.send(self._channel, protocol.FAILED, f"{type(error).__name__}: {error}")

    def _give_back(self, outcome: "Outcome") -> None:
        from jumper import protocol

        head, descriptor = self._arrived.pack_back(outcome)
        try:
            self._channel.send(protocol.DONE, head, None, descriptor)
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _send(self, kind: str, message: dict[str, Any], buffers: list[bytes]) -> None:
        from jumper import _native, protocol

        with suppress(_native.Error):  # nobody is there any more: this process ends, too
            protocol.send(self._channel, protocol.MESSAGE, kind, message, buffers)

    def _ask(self, prompt: str, password: bool) -> str:
        from jumper import protocol

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


def lasting_threads() -> list[str]:
    """The cell's threads that would keep a script from ending."""
    main = threading.main_thread()
    return [
        one.name for one in threading.enumerate() if one is not main and not one.daemon
    ]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    repair_path()
    # To where the kernel reads: descriptor 2 is the cell's later, and gone with this process.
    faulthandler.enable(os.fdopen(os.dup(2), "w"))
    channel, wait_s = come()
    from jumper import protocol

    lead_group()
    protocol.send(channel, protocol.HELLO, protocol.hello())
    import jumper.engine_shell  # noqa: F401  (a quarter of a second, while the kernel packs)

    engine = Engine(channel)
    script = sys.modules["__main__"]
    try:
        engine.serve(wait_s)
        engine.close()
    finally:
        sys.modules["__main__"] = script
        # In a kernel they would go on; here the end would wait for them, for ever perhaps.
        threading._shutdown = lambda: None  # type: ignore[attr-defined]  # noqa: SLF001


if __name__ == "__main__":
    main()
