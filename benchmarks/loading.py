"""How long loading takes, each time in a fresh process, and how large the wheel is."""

import sys
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import places
from figures import Figure, Figures, Say, of_runs

THINGS = ("extension", "import", "session", "psutil")


def size_of_wheel() -> Figure:
    wheels = sorted(Path(sys.prefix, "wheel").glob("jumper_hpc-*.whl"))
    if wheels:
        return Figure(wheels[-1].stat().st_size / 1e6)
    files = metadata.files("jumper-hpc") or []
    installed = sum(Path(str(file.locate())).stat().st_size for file in files if file.size)
    return Figure(installed / 1e6, note="no wheel at hand: what is installed")


def measure(folder: Path, processes: int, say: Say) -> Figures:
    say(f"loading, {processes} fresh processes each")
    elapsed: dict[str, list[float]] = defaultdict(list)
    cpu: dict[str, list[float]] = defaultdict(list)
    for number in range(processes + 1):
        for thing in THINGS:
            answer = places.run("load", thing, folder=folder).splitlines()[-1].split()
            if number > 0:  # the first one brings the files into memory
                elapsed[thing].append(float(answer[0]))
                cpu[thing].append(float(answer[1]))
    return {
        "load.ms": of_runs(elapsed["extension"], note="ipykernel's shell was loaded before"),
        "load.cpu_ms": of_runs(cpu["extension"]),
        "load.import_ms": of_runs(elapsed["import"], elapsed["psutil"], "psutil: its import"),
        "load.session_ms": of_runs(elapsed["session"]),
        "load.wheel_mb": size_of_wheel(),
    }
