"""A stand-in for the engine's channel: `%%elsewhere` runs its cell in a child of the kernel.

As a script it is the child: `over_socket.py DESCRIPTOR`. Frames are a length and a pickle; a lock
between processes keeps those of forked children whole.
"""

import fcntl
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

from jumper.relay import Relay


class Channel:
    def __init__(self, end: socket.socket):
        self._end = end
        self._rest = bytearray()
        self._between_processes = tempfile.TemporaryFile()  # noqa: SIM115
        self._between_threads = threading.Lock()
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self):
        self._between_threads = threading.Lock()

    def put(self, *frame):
        text = pickle.dumps(frame)
        with self._between_threads:
            fcntl.lockf(self._between_processes, fcntl.LOCK_EX)
            try:
                self._end.sendall(len(text).to_bytes(8, "little") + text)
            finally:
                fcntl.lockf(self._between_processes, fcntl.LOCK_UN)

    def _read(self, size) -> bytes:
        while len(self._rest) < size:
            piece = self._end.recv(1 << 16)
            if not piece:
                raise EOFError
            self._rest += piece  # nothing is lost when an interrupt comes
        return bytes(self._rest[:size])

    def get(self):
        size = int.from_bytes(self._read(8), "little")
        frame = pickle.loads(self._read(8 + size)[8:])
        del self._rest[: 8 + size]
        return frame


def can_be_pickled(value) -> bool:
    try:
        return b"__main__" not in pickle.dumps(value)
    except Exception:
        return False


def child(descriptor: int) -> None:
    from jumper.engine_shell import EngineShell

    channel = Channel(socket.socket(fileno=descriptor))
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def ask(prompt, password):
        channel.put("ask", prompt, password)
        return channel.get()[1]

    (setup,) = channel.get()
    shell = EngineShell(lambda *message: channel.put("message", *message), ask, setup)
    while True:
        try:
            code, options = channel.get()
        except EOFError:
            break
        outcome = shell.run(code, **options)
        kept = [one for one in outcome.results if can_be_pickled(one)]
        error = outcome.exception if can_be_pickled(outcome.exception) else None
        channel.put("outcome", replace(outcome, exception=error, results=kept))
    shell.close()


def load_ipython_extension(shell) -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__)), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        process_group=0,
    )
    theirs.close()
    channel = Channel(ours)
    channel.put(Relay(shell).setup())

    def serve(relay):
        while True:
            kind, *rest = channel.get()
            if kind == "outcome":
                return rest[0]
            if kind == "ask":
                channel.put("answer", relay.answer(*rest))
            else:
                relay.publish(*rest)

    def elsewhere(line, cell):
        relay = Relay(shell)
        channel.put(relay.begin(cell), relay.options())
        while True:
            try:
                outcome = serve(relay)
                break
            except KeyboardInterrupt:
                os.killpg(process.pid, signal.SIGINT)
        relay.raise_outcome(outcome)

    shell.register_magic_function(elsewhere, "cell")


if __name__ == "__main__":
    sys.path.pop(0)
    child(int(sys.argv[1]))
