"""What an empty cell costs more: two kernels, with and without us, cell by cell in turns."""

import json
import random
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

import places
from figures import Figure, Figures, Say, of_runs, quantile
from kernels import Kernel, kernel

WARM_UP_CELLS = 50
PAUSE_S = 0.004  # what the cell before has set off is over by then, in kernel and sampler
EMPTY = "pass"  # truly empty code fires no `pre_run_cell`


@dataclass
class Series:
    """One kernel's cells of one round."""

    times_ms: list[float] = field(default_factory=list)
    cpu_us: float = 0  # of the whole process, a cell


def round_of(kernels: dict[str, Kernel], cells: int, chance: random.Random) -> dict[str, Series]:
    found = {name: Series() for name in kernels}
    begin_ns = {name: one.cpu_ns() for name, one in kernels.items()}
    for _ in range(cells):
        for name in chance.sample(sorted(kernels), len(kernels)):
            time.sleep(PAUSE_S)
            found[name].times_ms.append(kernels[name].run(EMPTY)[0] * 1e3)
    time.sleep(0.1)
    for name, one in kernels.items():
        found[name].cpu_us = (one.cpu_ns() - begin_ns[name]) / cells / 1e3
    return found


def over_zeromq(folder: Path, rounds: int, cells: int, say: Say) -> Figures:
    chance = random.Random(2026)
    with kernel("plain", folder) as plain, kernel("jumper", folder) as jumper:
        kernels = {"plain": plain, "jumper": jumper}
        round_of(kernels, WARM_UP_CELLS, chance)
        done = []
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}, {cells} empty cells in each kernel")
            done.append(round_of(kernels, cells, chance))
    with_us = [time_ms for one in done for time_ms in one["jumper"].times_ms]
    without = [time_ms for one in done for time_ms in one["plain"].times_ms]
    medians = [
        statistics.median(one["jumper"].times_ms) - statistics.median(one["plain"].times_ms)
        for one in done
    ]
    cpu_us = [one["jumper"].cpu_us - one["plain"].cpu_us for one in done]
    p99_ms = quantile(with_us, 0.99), quantile(without, 0.99)
    median_ms = statistics.median(with_us), statistics.median(without)
    return {
        "cell.added_median_ms": of_runs(
            medians, note=f"{median_ms[0]:.2f} ms with, {median_ms[1]:.2f} without"
        ),
        "cell.added_p99_ms": Figure(
            p99_ms[0] - p99_ms[1],
            note=f"{p99_ms[0]:.2f} ms with, {p99_ms[1]:.2f} without, of {len(with_us)} cells each",
        ),
        "cell.added_kernel_cpu_us": of_runs(cpu_us),
    }


def in_process(folder: Path, rounds: int, cells: int, say: Say) -> Figures:
    """The hooks alone, in CPU time: what is left when the machine's noise is taken away."""
    say(f"hooks around {rounds} x {cells} cells in IPython")
    medians: list[float] = []
    peers: list[float] = []
    every: list[float] = []
    for _ in range(rounds):
        printed = places.run("hooks", cells, PAUSE_S, folder=folder).splitlines()
        answer = json.loads(printed[-1])
        medians.append(statistics.median(answer["ours"]))
        peers.append(statistics.median(answer["peer"]))
        every += answer["ours"]
    return {
        "hooks.cpu_us": of_runs(medians, peers, "psutil: cpu, io and memory of itself, twice"),
        "hooks.cpu_p99_us": Figure(quantile(every, 0.99), note=f"of {len(every)} cells"),
    }


def measure(folder: Path, rounds: int, cells: int, say: Say) -> Figures:
    return over_zeromq(folder, rounds, cells, say) | in_process(folder, rounds, cells // 2, say)
