"""What the sampler costs, from the CPU clock that it writes into each row of a real recording."""

import json
import os
import statistics
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import places
from figures import Figure, Figures, Say, of_runs

WARM_UP_S = 2.0  # starting, opening files, the first proportional sizes
SIZES = (1, 100, 500)
HOUR_SAMPLES = 36_000
HOUR_RATE_HZ = 1000
MAGIC = b"\xf1JUMPER\n"
HEADER = struct.Struct("<8sBBHIII")
SEALED_ROWS = 6


@dataclass
class Cost:
    """Of one recording, after the warm-up."""

    cpu_us: float  # a sample
    core_percent: float
    outside_core_percent: float  # the same by the sampler's CPU clock, read from outside
    memory_mb: float
    bytes_per_hour: float
    missed: int  # samples that the schedule had and the recording hasn't
    duration_us: float  # of reading, median
    threads_us: list[float]  # CPU a sample of each thread: the tick's, then those it started

    @property
    def disagreement(self) -> float:
        """Between the rows' clock and the one read from outside; 0 is none."""
        return abs(self.outside_core_percent / self.core_percent - 1)


class Tree:
    """A running workers/tree.py."""

    def __init__(self, count: int, is_busy: bool, folder: Path) -> None:
        self._process = subprocess.Popen(
            places.command("tree", count, "busy" if is_busy else "idle"),
            env=places.environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the tree to be measured has ended")
        return line

    def record(self, program: str, rate_hz: float, seconds: float) -> Cost:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{rate_hz} {WARM_UP_S} {seconds}\n")
        self._process.stdin.flush()
        answer = json.loads(self._answer())
        cost = cost_of(program, answer, rate_hz)
        Path(answer["path"]).unlink()
        return cost

    def poll(self, rate_hz: float, seconds: float, folder: Path) -> tuple[float, float]:
        """CPU a sample in us, and of a core in per cent, by psutil."""
        answer = places.run(
            "psutil_poll", self._process.pid, rate_hz, WARM_UP_S / 2, seconds, folder=folder
        )
        cpu_us, core_percent = map(float, answer.split())
        return cpu_us, core_percent

    def read_bare(self, rate_hz: float, seconds: float, folder: Path) -> tuple[float, float]:
        """CPU in us of reading a tick's files, and of sleeping until the next one."""
        answer = places.run("bare_reads", self._process.pid, rate_hz, seconds, folder=folder)
        reads_us, waking_us = map(float, answer.split())
        return reads_us, waking_us

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


@contextmanager
def tree(count: int, is_busy: bool, folder: Path) -> Iterator[Tree]:
    one = Tree(count, is_busy, folder)
    try:
        yield one
    finally:
        one.close()


def rows_of(program: str, path: str) -> list[dict[str, int]]:
    """The ticks of a recording; the samples at edges aren't any."""
    dump = subprocess.run([program, "dump", "--json", path], capture_output=True, check=True)
    found = []
    for line in dump.stdout.splitlines():
        if line.startswith(b'{"kind":"row"'):
            row = json.loads(line)
            if "edge" not in row["flags"]:
                found.append(row)
    return found


def sealed_bytes_per_row(path: Path) -> float:
    """Of the sealed chunks alone; docs/formats.md draws their header.

    The file's beginning and its unsealed end would count too much in a short recording.
    """
    content, offset, size, rows = path.read_bytes(), 0, 0, 0
    while offset + HEADER.size <= len(content):
        magic, _, kind, _, length, _, _ = HEADER.unpack_from(content, offset)
        if magic != MAGIC:
            break
        whole = HEADER.size + length
        if kind == SEALED_ROWS:
            size += whole
            rows += content[
                offset + HEADER.size
            ]  # a varint; one second has fewer than 128 at 10 Hz
        offset += whole
    return size / rows


def cost_of(program: str, answer: dict[str, Any], rate_hz: float) -> Cost:
    begin_ns, end_ns = answer["begin_ns"], answer["end_ns"]
    path: str = answer["path"]
    rows = [row for row in rows_of(program, path) if begin_ns <= row["time_ns"] <= end_ns]
    count = len(rows) - 1
    cpu_ns = rows[-1]["sampler_cpu_ns"] - rows[0]["sampler_cpu_ns"]
    elapsed_ns = rows[-1]["time_ns"] - rows[0]["time_ns"]
    durations = sorted(row["duration_ns"] for row in rows)
    return Cost(
        cpu_us=cpu_ns / count / 1e3,
        core_percent=cpu_ns / elapsed_ns * 100,
        outside_core_percent=answer["outside_cpu_ns"] / (end_ns - begin_ns) * 100,
        memory_mb=answer["memory_kb"] * 1024 / 1e6,
        bytes_per_hour=sealed_bytes_per_row(Path(path)) * rate_hz * 3600 if rate_hz < 100 else 0,
        missed=max(round(elapsed_ns / 1e9 * rate_hz) - count, 0),
        duration_us=durations[len(durations) // 2] / 1e3,
        threads_us=[ns / 1e3 / (end_ns - begin_ns) * 1e9 / rate_hz for ns in answer["threads_ns"]],
    )


def measure(folder: Path, rounds: int, seconds: float, say: Say) -> Figures:
    """All rows of the sampler, ours and psutil's by turns, `rounds` times."""
    from jumper.session import program

    path = program()
    if not os.access(path, os.X_OK):
        raise RuntimeError("the program `jumper` is not installed in this environment")
    costs: dict[str, list[Cost]] = defaultdict(list)
    peers: dict[str, list[tuple[float, float]]] = defaultdict(list)
    bare: list[tuple[float, float]] = []
    for number in range(rounds):
        for count in SIZES:
            say(f"round {number + 1} of {rounds}, a tree of {count}")
            with tree(count, True, folder) as one:
                name = f"tree_{count}"
                costs[name].append(one.record(path, 10, seconds))
                peers[name].append(one.poll(10, seconds, folder))
                if count == 1:
                    bare.append(one.read_bare(10, seconds, folder))
                    costs["rate_100"].append(one.record(path, 100, seconds))
                    peers["rate_100"].append(one.poll(100, seconds, folder))
                    costs["rate_1000"].append(one.record(path, 1000, seconds))
                    peers["rate_1000"].append(one.poll(1000, seconds, folder))
            if count > 1:
                with tree(count, False, folder) as one:
                    costs[f"{name}_idle"].append(one.record(path, 10, seconds))
                    peers[f"{name}_idle"].append(one.poll(10, seconds, folder))
    found = figures_of(costs, peers)
    if seconds > HOUR_SAMPLES / HOUR_RATE_HZ / 10:  # not for a smoke test
        say("an hour's worth of samples")
        with tree(1, True, folder) as one:
            hour = one.record(path, HOUR_RATE_HZ, HOUR_SAMPLES / HOUR_RATE_HZ)
        note = f"VmHWM, at {HOUR_RATE_HZ} Hz"
        found["sampler.hour_rss_mb"] = Figure(hour.memory_mb, note=note)
    found |= costs_of_sources(path)
    waking_us = statistics.median(waking for _, waking in bare)
    found["sampler.bare_reads_us"] = of_runs(
        [reads for reads, _ in bare], note=f"Python's sleep of 100 ms alone {waking_us:.0f} µs"
    )
    return found


def costs_of_sources(program: str) -> Figures:
    """What each source takes at an ordinary tick; the note has when everything is read."""
    done = subprocess.run([program, "sample", "--list", "--json"], capture_output=True, check=True)
    found: Figures = {}
    for line in done.stdout.splitlines():
        metric = json.loads(line)
        full_us = metric["source_full_cost_us"]
        note = f"once a second and at edges {full_us:.0f} µs" if full_us is not None else ""
        name = f"sampler.source.{metric['source']}_us"
        found.setdefault(name, Figure(metric["source_cost_us"], note=note))
    return found


def note_of(costs: list[Cost]) -> str:
    threads = zip(*(cost.threads_us for cost in costs), strict=False)
    parts = [
        "threads " + " + ".join(f"{statistics.median(thread):.0f}" for thread in threads),
        f"reading took {statistics.median(cost.duration_us for cost in costs):.0f} µs",
    ]
    missed = sum(cost.missed for cost in costs)
    if missed:
        parts.append(f"{missed} samples missed")
    if max(cost.disagreement for cost in costs) > 0.1:
        parts.append("the clock read from outside differs by over 10 %")
    return "; ".join(parts)


def figures_of(
    costs: dict[str, list[Cost]], peers: dict[str, list[tuple[float, float]]]
) -> Figures:
    found: Figures = {}
    for name, runs in costs.items():
        cpu_us = [cost.cpu_us for cost in runs]
        percent = [cost.core_percent for cost in runs]
        note = note_of(runs)
        found[f"sampler.{name}.cpu_us"] = of_runs(cpu_us, [p[0] for p in peers[name]], note)
        found[f"sampler.{name}.core_percent"] = of_runs(percent, [p[1] for p in peers[name]], note)
    every = [cost for runs in costs.values() for cost in runs]
    found["sampler.rss_mb"] = Figure(max(cost.memory_mb for cost in every), note="VmHWM")
    hours = [cost.bytes_per_hour / 1e6 for cost in costs["tree_1"]]
    found["sampler.recording_mb_per_hour"] = of_runs(hours)
    return found
