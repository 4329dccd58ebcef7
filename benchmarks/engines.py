"""What a cell in an engine costs, in real kernels: empty, with variables, with many lines."""

import statistics
import time
from pathlib import Path
from typing import Any

from figures import Figure, Figures, Say, of_runs, process_cpu_ns, round_to
from kernels import Kernel, kernel

RUN = "%%jumper run\n"
EMPTY = "pass"
LINES = "for number in range({}): print(number)"
ENGINES = "__import__('jumper.extension').extension._loaded[get_ipython()].magics.elsewhere.engines"
ARRAYS = "import numpy as np\nkept = [np.arange(12_500_000, dtype=float) + n for n in range(20)]"
QUIET_S = 0.2
QUIET_NS = 5_000_000  # a process that waits wakes ten times a second
READY_S = 20.0


def value(one: Kernel, expression: str) -> str:
    for message in one.run(f"print({expression})")[1]:
        if message["msg_type"] == "stream":
            return str(message["content"]["text"]).strip()
    raise RuntimeError(f"{expression} printed nothing")


def await_spare(one: Kernel) -> None:
    """Until the engine that waits has come up and uses no CPU time any more."""
    pid = int(value(one, f"{ENGINES}.spare_pid"))
    deadline_s = time.monotonic() + READY_S
    before_ns = 0
    while (now_ns := process_cpu_ns(pid)) > before_ns + QUIET_NS:
        if time.monotonic() > deadline_s:
            raise TimeoutError("the spare engine doesn't come to rest")
        before_ns = now_ns
        time.sleep(QUIET_S)


def empty(one: Kernel, rounds: int) -> Figures:
    warm, cold = [], []
    one.run(RUN + EMPTY)
    for _ in range(rounds):
        await_spare(one)
        warm.append(one.run(RUN + EMPTY)[0])
        await_spare(one)
        one.run(f"{ENGINES}.close()")
        cold.append(one.run(RUN + EMPTY)[0])
    return {
        "engine.cell_s": of_runs(warm, note="scorep-jupyter, measured elsewhere: 0.6-1.0 s"),
        "engine.cold_cell_s": of_runs(cold),
    }


def launchers(one: Kernel, rounds: int) -> Figures:
    """A launcher that does nothing but start another program: no spare can be used."""
    code = '%%jumper run --with "env"\n' + EMPTY
    return {"engine.launched_cell_s": of_runs([one.run(code)[0] for _ in range(rounds)])}


def lines(plain: Kernel, one: Kernel, rounds: int, count: int) -> Figures:
    code = LINES.format(count)
    seconds: dict[str, list[float]] = {"plain": [], "ours": []}
    messages: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(rounds):
        await_spare(one)
        for name, kernel_of, text in (("plain", plain, code), ("ours", one, RUN + code)):
            taken_s, found = kernel_of.run(text)
            if printed(found) != "".join(f"{number}\n" for number in range(count)):
                raise RuntimeError(f"{name}: the lines aren't those that were printed")
            seconds[name].append(taken_s)
            messages[name].append(len(found))
    return {
        "engine.lines_time": ratio(seconds, "s"),
        "engine.lines_messages": ratio(messages, "messages"),
    }


def printed(messages: list[dict[str, Any]]) -> str:
    return "".join(one["content"]["text"] for one in messages if one["msg_type"] == "stream")


def ratio(found: dict[str, list[float]], unit: str) -> Figure:
    ours, plain = (statistics.median(found[name]) for name in ("ours", "plain"))
    runs = [a / b for a, b in zip(found["ours"], found["plain"], strict=True)]
    note = f"{round_to(ours)} {unit}, in the plain kernel {round_to(plain)}"
    return of_runs(runs, note=note)


def with_arrays(one: Kernel, rounds: int) -> Figures:
    one.run(ARRAYS)
    seconds = []
    for _ in range(rounds):
        await_spare(one)
        seconds.append(one.run(RUN + EMPTY)[0])
    one.run("del kept")
    return {"engine.arrays_s": of_runs(seconds)}


def measure(folder: Path, rounds: int, quick: bool, say: Say) -> Figures:
    with kernel("plain", folder) as plain, kernel("jumper", folder) as one:
        one.run("%jumper set summary=never")
        say(f"empty cells in engines, {rounds} rounds")
        found = empty(one, rounds) | launchers(one, rounds)
        count = 10_000 if quick else 100_000
        say(f"{count} lines from an engine and from the plain kernel, {rounds} rounds")
        found |= lines(plain, one, rounds, count)
        if not quick:
            say("a kernel with 2 GB of arrays")
            found |= with_arrays(one, 3)
    return found
