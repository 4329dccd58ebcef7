"""A namespace that goes to another process and comes back: carry.py CASE, a line of JSON.

For each line of stdin one run, with a new process at the other end: it says "ready" with the ids of
both processes, waits for the next line, carries, and says how long the steps took. As `carry.py
engine DESCRIPTOR WAY` it is that other process.
"""

import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

from carry_values import VALUES
from carry_ways import WAYS, Channel, Shell


def say(what: Any) -> None:
    print(json.dumps(what), flush=True)


def cpu_ns(pid: int) -> int:
    return time.clock_gettime_ns((~pid << 3) | 2)  # clock_getcpuclockid(3)


class Engine:
    """The process at the other end."""

    def __init__(self, kind: str, way: dict[str, Any]) -> None:
        here, there = socket.socketpair()
        command = [sys.executable, __file__, "engine", str(there.fileno()), kind, json.dumps(way)]
        self.process = subprocess.Popen(command, pass_fds=[there.fileno()])
        there.close()
        self.channel = Channel(here)
        self.channel.receive()  # it has imported what it needs
        self._begin_ns = cpu_ns(self.process.pid)
        self.cpu_s = 0.0

    def ended(self) -> None:
        """Waits for its end; its CPU time is read before it is reaped."""
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        self.cpu_s = (cpu_ns(self.process.pid) - self._begin_ns) / 1e9
        if self.process.wait():
            raise RuntimeError(f"the other process ended with {self.process.returncode}")


def serve(end: socket.socket, kind: str, way: dict[str, Any]) -> None:
    side = WAYS[kind](way, Shell())
    channel = Channel(end)
    channel.send("here")
    side.engine(channel)
    if kind == "ours":
        os._exit(0)  # as engines without a launcher do


def main() -> None:
    case = json.loads(sys.argv[1])
    values = VALUES[case["values"]]
    code, names = values.cells[case["cell"]]
    shell = Shell()
    side = WAYS[case["kind"]](case["way"], shell)
    shell.run(values.make)
    while sys.stdin.readline():
        engine = Engine(case["kind"], case["way"])
        before = shell.value(values.probe)
        ids = {name: id(shell.user_ns[name]) for name in values.names}
        say({"ready": [os.getpid(), engine.process.pid]})
        sys.stdin.readline()
        begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
        steps = side.kernel(engine.channel, code, names, engine.ended)
        wall_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - begin_cpu_s
        if (shell.value(values.probe) != before) != bool(names):
            raise RuntimeError("what the cell changed isn't here")
        if case["kind"] == "ours" and any(id(shell.user_ns[one]) != ids[one] for one in ids):
            raise RuntimeError("an object was replaced")
        say({"wall_s": wall_s, "cpu_s": cpu_s + engine.cpu_s, "steps": steps})


if __name__ == "__main__":
    if sys.argv[1] == "engine":
        serve(socket.socket(fileno=int(sys.argv[2])), sys.argv[3], json.loads(sys.argv[4]))
    else:
        main()
