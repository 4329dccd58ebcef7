"""A namespace that goes to another process and back, without a kernel: `Pair`.

As a script it is the other process: it forks a child for each run, so that nothing of the run
before is there.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
import types
from pathlib import Path

FAKE = os.environ.get("FAKE_NATIVE")
if FAKE:
    sys.path.insert(0, FAKE)
    import fake_native

    sys.modules["jumper._native"] = fake_native


class Shell:
    """As much of a shell as carrying asks for."""

    def __init__(self):
        self.user_module = types.ModuleType("__main__")
        self.user_ns = self.user_module.__dict__
        self.user_ns["__builtins__"] = __builtins__
        self.user_ns["Out"] = self.user_ns["_oh"] = {}
        self.user_ns["In"] = self.user_ns["_ih"] = [""]
        self.user_ns_hidden = dict(self.user_ns)
        self.displayhook = types.SimpleNamespace(_="", __="", ___="")
        self.history_manager = types.SimpleNamespace(input_hist_parsed=[])
        self.execution_count = 99

    def run(self, code):
        exec(compile(code, "<cell>", "exec"), self.user_ns)


def send(end, message, descriptor=-1):
    text = pickle.dumps(message)
    head = len(text).to_bytes(8, "little")
    if descriptor < 0:
        end.sendall(head)
    else:
        socket.send_fds(end, [head], [descriptor])
        os.close(descriptor)
    end.sendall(text)


def receive(end):
    head, descriptors, _, _ = socket.recv_fds(end, 8, 1)
    if not head:
        raise EOFError
    text = b""
    while left := int.from_bytes(head, "little") - len(text):
        text += end.recv(min(left, 1 << 20))
    return pickle.loads(text), descriptors[0] if descriptors else -1


def other(end):
    import numpy as np  # noqa: F401
    import pandas as pd  # noqa: F401

    import jumper.state  # noqa: F401

    while True:
        try:
            (head, code), descriptor = receive(end)
        except EOFError:
            return
        child = os.fork()
        if not child:
            try:
                run_there(end, head, code, descriptor)
            except BaseException:
                import traceback

                send(end, ("failed", traceback.format_exc()))
            os._exit(0)
        os.close(descriptor)
        os.waitpid(child, 0)


def run_there(end, head, code, descriptor):
    from jumper.state import Arrived

    shell = Shell()
    sys.modules["__main__"] = shell.user_module
    arrived = Arrived(shell)
    refused = arrived.load(head, descriptor)
    if refused:
        send(end, ("refused", refused))
        return
    error = None
    try:
        shell.run(code)
    except Exception as raised:
        error = raised
    while True:
        head, descriptor = arrived.pack_back([error])
        send(end, ("done", head), descriptor)
        (refused,), _ = receive(end)
        if not refused:
            return
        arrived.give_up(refused)


# Each says the same; with workers, each group of names may be another process's.
WAYS = {"in one stream": {}, "by workers": {"workers": 3}}


class Pair:
    """Runs cells in another process; its own namespace is the kernel's."""

    def __init__(self, **choice):
        from jumper import parallel
        from jumper.state import Choice

        parallel.SERIAL_BELOW_BYTES = 0 if choice.get("workers") else 64 << 20
        self.taken_apart_by = 0  # processes, the last time

        self.begin()
        self.choice = Choice(**choice)
        self.left = {}
        self.lost = {}
        self.notes = []
        here, there = socket.socketpair()
        self._end = here
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(there.fileno())], pass_fds=[there.fileno()]
        )
        there.close()

    def begin(self):
        """With an empty namespace."""
        self.shell = Shell()
        if hasattr(self, "_main"):
            sys.modules["__main__"] = self.shell.user_module

    def __enter__(self):
        self._main = sys.modules["__main__"]
        sys.modules["__main__"] = self.shell.user_module
        return self

    def __exit__(self, *_):
        sys.modules["__main__"] = self._main
        self._end.close()
        self._process.wait(10)

    def here(self, code):
        self.shell.run(code)

    def there(self, code):
        """Runs it there; what it raised is raised here, after all has come back."""
        from jumper.state import Carried

        carried = Carried(self.shell, self.choice)
        for _ in range(20):
            head, descriptor = carried.pack()
            send(self._end, (head, code), descriptor)
            (kind, *rest), descriptor = receive(self._end)
            if kind != "refused":
                break
            carried.hold_back(rest[0])
        assert kind != "refused", rest
        if kind == "failed":
            raise AssertionError(rest[0])
        self.left = carried.left
        self.taken_apart_by = len(carried.shares)
        while refused := carried.take_back(rest[0], descriptor):
            send(self._end, (refused,))
            (kind, *rest), descriptor = receive(self._end)
            assert kind == "done", rest[0]
        send(self._end, ({},))
        (error,) = carried.apply()
        self.lost, self.notes = carried.lost, carried.notes
        if error is not None:
            raise error

    def __getitem__(self, name):
        return self.shell.user_ns[name]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.insert(0, str(Path(__file__).parent))
    other(socket.socket(fileno=int(sys.argv[1])))
