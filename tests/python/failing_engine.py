"""A launcher whose engine fails: `failing_engine.py ACTION@STEP ENGINE`.

STEP is one of `protocol`'s kinds: "before DONE" (it is about to be sent), "after DONE" (it has
been), "got RUN" (it has come); or "begin", before the engine's script runs.
"""

import os
import runpy
import signal
import sys

from jumper import _native, protocol

ACTIONS = {
    "kill": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda _: os.kill(os.getpid(), signal.SIGSTOP),
    "exit": lambda _: os._exit(7),
    "garbage": lambda channel: channel.send(protocol.MESSAGE, b"no pickle"),
    "close": lambda channel: channel.close(),
}
KINDS = {number: name for name, number in vars(protocol).items() if type(number) is int}
RealChannel = _native.Channel


class Channel:
    def __init__(self, descriptor):
        self._real = RealChannel(descriptor)
        self.fileno, self.close = self._real.fileno, self._real.close

    def send(self, kind, *arguments):
        fail("before", kind, self._real)
        self._real.send(kind, *arguments)
        fail("after", kind, self._real)

    def receive(self, *arguments):
        received = self._real.receive(*arguments)
        fail("got", received.kind, self._real)
        return received


def fail(when, kind, channel):
    if f"{when} {KINDS.get(kind)}".strip() == step:
        ACTIONS[action](channel)


if __name__ == "__main__":
    action, _, step = sys.argv[1].partition("@")
    if step == "begin":
        ACTIONS[action](None)
    _native.Channel = Channel
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
