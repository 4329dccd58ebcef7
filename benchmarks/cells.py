"""What an empty cell costs more: three kernels, one with us and two without, by turns."""

import json
import random
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

import places
from figures import Figure, Figures, Say, of_runs, quantile, round_to
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


def added(values: dict[str, float]) -> tuple[float, float]:
    """What ours has more than the two without us, and what those two differ by."""
    without = values["plain"], values["again"]
    return values["jumper"] - statistics.mean(without), abs(without[0] - without[1])


def figure_of(times_ms: dict[str, list[float]], part: float) -> Figure:
    values = {name: quantile(times, part) for name, times in times_ms.items()}
    ours, noise = added(values)
    without = statistics.mean((values["plain"], values["again"]))
    note = (
        f"{values['jumper']:.2f} ms with, {without:.2f} without, of {len(times_ms['jumper'])} "
        f"cells each; two kernels without us differ by {round_to(noise)} ms"
    )
    return Figure(ours, note=note, noise=noise)


def over_zeromq(folder: Path, rounds: int, cells: int, say: Say) -> Figures:
    chance = random.Random(2026)
    with (
        kernel("plain", folder) as plain,
        kernel("again", folder) as again,
        kernel("jumper", folder) as jumper,
    ):
        kernels = {"plain": plain, "again": again, "jumper": jumper}
        round_of(kernels, WARM_UP_CELLS, chance)
        done = []
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}, {cells} empty cells in each kernel")
            done.append(round_of(kernels, cells, chance))
    times_ms = {name: [ms for one in done for ms in one[name].times_ms] for name in kernels}
    median = figure_of(times_ms, 0.5)
    median.runs = [
        figure_of({name: series.times_ms for name, series in one.items()}, 0.5).ours or 0
        for one in done
    ]
    cpu_us = [added({name: series.cpu_us for name, series in one.items()}) for one in done]
    differ = statistics.median(noise for _, noise in cpu_us)
    return {
        "cell.added_median_ms": median,
        "cell.added_p99_ms": figure_of(times_ms, 0.99),
        "cell.added_kernel_cpu_us": of_runs(
            [ours for ours, _ in cpu_us],
            note=f"two kernels without us differ by {round_to(differ)} µs",
        ),
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
