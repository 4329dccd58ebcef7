"""The ways of carrying: ours, and scorep-jupyter's as we understand it.

`kernel` and `engine` are the two sides of one run; each notes how long its steps take.
"""

import importlib
import os
import pickle
import socket
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Steps = dict[str, float]  # seconds


class Channel:
    """Objects, and a descriptor with each, between the two processes."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, what: Any, descriptor: int = -1) -> None:
        text = pickle.dumps(what)
        head = len(text).to_bytes(8, "little")
        if descriptor < 0:
            self._end.sendall(head)
        else:
            socket.send_fds(self._end, [head], [descriptor])
            os.close(descriptor)
        self._end.sendall(text)

    def receive(self) -> tuple[Any, int]:
        head, descriptors, _, _ = socket.recv_fds(self._end, 8, 1)
        if not head:
            raise EOFError("the other process has ended")
        text = self._end.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)
        return pickle.loads(text), descriptors[0] if descriptors else -1


class Shell:
    """As much of IPython's shell as carrying asks for."""

    def __init__(self) -> None:
        self.user_module = types.ModuleType("__main__")
        self.user_ns = self.user_module.__dict__
        self.user_ns["__builtins__"] = __builtins__
        self.user_ns["Out"] = self.user_ns["_oh"] = {}
        self.user_ns["In"] = self.user_ns["_ih"] = [""]
        self.user_ns_hidden = dict(self.user_ns)
        self.displayhook = types.SimpleNamespace(_="", __="", ___="")
        self.history_manager = types.SimpleNamespace(input_hist_parsed=[])
        self.execution_count = 1
        sys.modules["__main__"] = self.user_module

    def run(self, code: str) -> None:
        exec(compile(code, "<cell>", "exec"), self.user_ns)

    def value(self, expression: str) -> Any:
        return eval(expression, self.user_ns)


@contextmanager
def noted(steps: Steps, name: str) -> Iterator[None]:
    begin_s = time.perf_counter()
    yield
    steps[name] = time.perf_counter() - begin_s


class Ours:
    """`state`, as the kernel and the engine use it; `way` is a `state.Choice`."""

    def __init__(self, way: dict[str, Any], shell: Shell) -> None:
        from jumper import arrays, state

        self._state, self._arrays = state, arrays  # as an engine that waits has them
        self._shell = shell
        self._choice = state.Choice(**way)

    def kernel(
        self,
        channel: Channel,
        code: str,
        names: list[str],  # noqa: ARG002
        ended: Callable[[], None],
    ) -> Steps:
        steps: Steps = {}
        with noted(steps, "pack"):
            carried = self._state.Carried(self._shell, self._choice)
            head, descriptor = carried.pack()
        channel.send((head, code), descriptor)
        (head, theirs), descriptor = channel.receive()
        with noted(steps, "take"):
            refused = carried.take_back(head, descriptor)
        if refused:
            raise RuntimeError(f"refused: {refused}")
        with noted(steps, "end"):
            ended()
        with noted(steps, "apply"):
            carried.apply()
        if carried.left:
            raise RuntimeError(f"stayed: {carried.left}")
        return steps | theirs

    def engine(self, channel: Channel) -> None:
        steps: Steps = {}
        (head, code), descriptor = channel.receive()
        with noted(steps, "load"):
            arrived = self._state.Arrived(self._shell)
            refused = arrived.load(head, descriptor)
        if refused:
            raise RuntimeError(f"refused: {refused}")
        with noted(steps, "run"):
            self._shell.run(code)
        with noted(steps, "back"):
            head, descriptor = arrived.pack_back([])
        channel.send((head, steps), descriptor)


class Theirs:
    """`way`: marshaller = dill, cloudpickle, pickle; mode = disk, memory; directory.

    All names in one dump, into a file, or into a FIFO while the other process reads it. Back come
    the names that the cell's text assigns, as new objects.
    """

    def __init__(self, way: dict[str, Any], shell: Shell) -> None:
        import numpy as np  # noqa: F401

        self._marshaller = importlib.import_module(way["marshaller"])
        self._is_fifo = way["mode"] == "memory"
        self._folder = Path(way["directory"])
        self._shell = shell

    def _carry(self, channel: Channel, name: str, values: dict[str, Any], more: Any) -> None:
        path = self._folder / name
        path.unlink(missing_ok=True)
        if self._is_fifo:
            os.mkfifo(path)
            channel.send((path, more))
        with path.open("wb") as file:
            self._marshaller.dump(values, file)
        if not self._is_fifo:
            channel.send((path, more))

    def _take(self, path: Path) -> None:
        with path.open("rb") as file:
            self._shell.user_ns.update(self._marshaller.load(file))
        path.unlink()

    def kernel(
        self, channel: Channel, code: str, names: list[str], ended: Callable[[], None]
    ) -> Steps:
        steps: Steps = {}
        shell = self._shell
        ours = {
            name: value
            for name, value in shell.user_ns.items()
            if name not in shell.user_ns_hidden
            and not name.startswith("__")
            and not isinstance(value, types.ModuleType)
        }
        with noted(steps, "pack"):
            self._carry(channel, "there", ours, (code, names))
        if names:
            (path, _), _ = channel.receive()
            with noted(steps, "apply"):
                self._take(path)
        theirs, _ = channel.receive()
        with noted(steps, "end"):
            ended()
        return steps | theirs

    def engine(self, channel: Channel) -> None:
        steps: Steps = {}
        (path, (code, names)), _ = channel.receive()
        with noted(steps, "load"):
            self._take(path)
        with noted(steps, "run"):
            self._shell.run(code)
        with noted(steps, "back"):
            if names:
                changed = {name: self._shell.user_ns[name] for name in names}
                self._carry(channel, "back", changed, None)
        channel.send(steps)


WAYS = {"ours": Ours, "theirs": Theirs}
