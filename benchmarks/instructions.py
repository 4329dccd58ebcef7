"""Instructions in user mode, counted by valgrind's callgrind.

The same at every run, however busy the machine is. What the kernel does for us isn't in it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import places
from figures import Figure, Figures, Say

TICKS = 200
CELLS = (20, 120)
TICK = "probe::Sampler::tick*"
COLLECTED = re.compile(rb"Collected : (\d+)")
PROGRAM = places.ROOT / "build" / "release" / "jumper"  # the wheel's has no names of functions


def count(command: list[str], folder: Path, *options: str) -> int:
    """Of all threads, of this process alone."""
    done = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--trace-children=no",
            f"--callgrind-out-file={folder / 'callgrind'}",
            *options,
            *command,
        ],
        env=places.environment(folder) | {"PYTHONHASHSEED": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    found = COLLECTED.search(done.stderr)
    if done.returncode != 0 or not found or int(found[1]) == 0:
        raise RuntimeError(f"callgrind counted nothing of {command[0]}: {done.stderr[-500:]!r}")
    return int(found[1])


def of_tick(folder: Path) -> Figure:
    arguments = ["sample", "--rate=100", f"--pid={os.getpid()}", f"--count={TICKS}"]
    whole = count([str(PROGRAM), *arguments], folder, f"--toggle-collect={TICK}")
    return Figure(whole / TICKS)


def of_hooks(folder: Path) -> Figure:
    """A difference between a long and a short run: starting and ending aren't in it."""
    short, long = (
        count([sys.executable, str(places.WORKERS / "cells.py"), str(cells)], folder)
        for cells in CELLS
    )
    note = "with the interpreter, without sending the mark (valgrind can't start our sampler)"
    return Figure((long - short) / (CELLS[1] - CELLS[0]), note=note)


def measure(folder: Path, say: Say) -> Figures:
    if shutil.which("valgrind") is None:
        raise RuntimeError("valgrind is not installed")
    say("instructions of a tick and of the hooks")
    return {"instructions.tick": of_tick(folder), "instructions.hooks": of_hooks(folder)}
