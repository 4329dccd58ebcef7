"""`make bench`: what JUmPER promises against what it costs now, in one table.

Ends with 1 when a promise is broken (not with --no-fail), with 2 when a part couldn't be measured.
docs/benchmarks.md says how each figure comes about and how far to trust it.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import carry
import cells
import engines
import growth
import instructions
import loading
import native
import places
import sampler
import table
from figures import Figures, Steadiness, round_to

if TYPE_CHECKING:
    from collections.abc import Callable

UNSTEADY = 1.15
PARTS = ("sampler", "cells", "load", "summary", "carry", "native")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; else all")
    parser.add_argument("--no-fail", action="store_true", help="end with 0 whatever is broken")
    parser.add_argument("--quick", action="store_true", help="one short round: a smoke test")
    parser.add_argument("--instructions", action="store_true", help="count them, with valgrind")
    parser.add_argument("--json", type=Path, default=places.ROOT / "build" / "bench.json")
    found = parser.parse_args()
    unknown = set(found.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}: {', '.join(PARTS)}")
    return found


def say(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)


class Run:
    """The parts one after the other; what one of them can't do leaves the others alone."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.figures: Figures = {}
        self.failures: dict[str, str] = {}
        self.natives: dict[str, float] = {}
        self.carried: list[carry.Case] = []
        self.steadiness = Steadiness()
        rounds = 1 if quick else 5
        seconds = 2.0 if quick else 5.0
        self.parts: dict[str, Callable[[], Figures]] = {
            "sampler": partial(sampler.measure, folder, min(rounds, 3), seconds, say),
            "cells": partial(cells.measure, folder, rounds, 100 if quick else 400, say),
            "load": partial(loading.measure, folder, 3 if quick else 11, say),
            "summary": partial(growth.measure, folder, say),
            "carry": partial(self._carry, folder, min(rounds, 3), quick),
            "native": partial(self._native, folder, 3 if quick else 9),
            "instructions": partial(instructions.measure, folder, say),
        }

    def _native(self, folder: Path, repetitions: int) -> Figures:
        found, self.natives = native.measure(folder, repetitions, say)
        return found

    def _carry(self, folder: Path, rounds: int, quick: bool) -> Figures:
        found, self.carried = carry.measure(folder, rounds, quick, say)
        self.figures |= found  # whatever becomes of the kernels
        return engines.measure(folder, 1 if quick else 5, quick, say)

    def measure(self, part: str) -> None:
        self.steadiness.look()
        try:
            self.figures |= self.parts[part]()
        except Exception as error:  # noqa: BLE001
            self.failures[part] = f"{type(error).__name__}: {error}"
        self.steadiness.look()


def machine(begin_load: float, steadiness: Steadiness) -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_begin": begin_load,
        "load_end": os.getloadavg()[0],
        "unsteadiness": steadiness.ratio,
    }


def warnings(about: dict[str, object], run: Run) -> list[str]:
    found = [f"{part} was not measured: {why}" for part, why in run.failures.items()]
    busy = max(float(str(about["load_begin"])), float(str(about["load_end"])))
    if float(str(about["load_begin"])) > len(os.sched_getaffinity(0)) / 2:
        found.append(
            f"other programs were running (load {round_to(busy)}): elapsed times and percentiles "
            "say more about them than about us; CPU times suffer less"
        )
    if run.steadiness.ratio > UNSTEADY:
        found.append(
            f"the same work took {round_to(run.steadiness.ratio)} times its shortest time: "
            "the machine wasn't steady"
        )
    return found


def main() -> int:
    chosen = options()
    rows = table.read_rows(Path(__file__).with_name("budgets.toml"))
    begin_load, begin_s = os.getloadavg()[0], time.monotonic()
    build = places.ROOT / "build"
    build.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=build))  # on the disk, not in memory
    try:
        run = Run(folder, chosen.quick)
        parts = chosen.parts or PARTS
        for part in (*parts, *(["instructions"] if chosen.instructions else [])):
            run.measure(part)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    about = machine(begin_load, run.steadiness)
    say(f"{time.monotonic() - begin_s:.0f} s")
    print(table.text(rows, run.figures))
    unknown = run.figures.keys() - {row.id for row in rows}
    if run.natives:
        print("\nThe core's benchmarks, CPU time:")
        for name, ns in sorted(run.natives.items()):
            print(f"  {name:<40} {round_to(ns / 1e3):>8} µs")
    if run.carried:
        print("\nVariables there and back, the ways side by side:")
        for line in table.aligned(carry.lines(run.carried)):
            print(f"  {line}")
    print()
    for sentence in warnings(about, run):
        print(f"note: {sentence}")
    found = table.as_json(rows, run.figures)
    chosen.json.write_text(
        json.dumps(
            {
                "machine": about,
                "rows": found,
                "more": {name: run.figures[name].ours for name in sorted(unknown)},
                "native_cpu_ns": run.natives,
                "carry": carry.as_json(run.carried),
                "failures": run.failures,
            },
            indent=2,
        )
        + "\n"
    )
    undecided = [row["id"] for row in found if row["verdict"] == table.UNDECIDED]
    if undecided:
        print(f"note: too much noise to decide: {', '.join(undecided)}; run it on a quiet machine")
    broken = [row["id"] for row in found if row["verdict"] == "BROKEN"]
    print(f"{len(broken)} promises broken" + (f": {', '.join(broken)}" if broken else ""))
    if chosen.no_fail:
        return 0
    return 1 if broken else 2 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
