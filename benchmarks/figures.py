"""What a measurement hands in, and the few statistics that it may use."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Figure:
    """One row's measured values; None is shown as "not run"."""

    ours: float | None = None
    peer: float | None = None  # psutil's calls for the same, in the same run
    note: str = ""
    runs: list[float] = field(default_factory=list)  # what `ours` is the median of
    noise: float = 0  # by how much two of the same differ; over the promise, nothing is decided


Figures = dict[str, Figure]


def of_runs(ours: Sequence[float], peer: Sequence[float] = (), note: str = "") -> Figure:
    """The medians of several rounds, with the spread of ours in the note."""
    spread = f"{round_to(min(ours))}-{round_to(max(ours))} in {len(ours)} rounds"
    note = "; ".join(part for part in (note, spread if len(ours) > 1 else "") if part)
    middle = statistics.median(peer) if peer else None
    return Figure(statistics.median(ours), middle, note, list(ours))


def quantile(values: Sequence[float], part: float) -> float:
    """The nearest-rank quantile: always a value that was measured."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def round_to(value: float, digits: int = 3) -> str:
    """Three digits that count, without an exponent."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text else text


def process_cpu_ns(pid: int) -> int:
    """CPU time of another process so far, ended threads included: clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def spin_ms(rounds: int = 200_000) -> float:
    """CPU time of one fixed piece of work: how fast this machine is at this moment."""
    begin = time.thread_time()
    total = 0
    for number in range(rounds):
        total += number
    return (time.thread_time() - begin) * 1e3


class Steadiness:
    """Whether the machine stayed as fast as it was: other programs take caches and clock speed."""

    def __init__(self) -> None:
        self.spins_ms: list[float] = []

    def look(self) -> None:
        self.spins_ms.extend(spin_ms() for _ in range(5))

    @property
    def ratio(self) -> float:
        """Median over least: 1.0 on a machine that nobody else uses."""
        return statistics.median(self.spins_ms) / min(self.spins_ms)


Say = Callable[[str], None]
