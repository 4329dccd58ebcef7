"""The core's own benchmarks: build/release/jumper_bench (google/benchmark), medians of CPU time."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import places
from figures import Figure, Figures, Say

PROGRAM = places.ROOT / "build" / "release" / "jumper_bench"
NS_OF = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
# The benchmarks that the table names: row, benchmark, and nanoseconds in the row's unit.
ROWS = (
    ("native.open_one_hour_ms", "open_one_hour/2", 1e6),
    ("native.open_one_hour_128_ms", "open_one_hour/128", 1e6),
    ("native.open_256_mib_s", "open_256_mib", 1e9),
    ("native.summarize_us", "summarize_one_cell/2", 1e3),
    ("native.edge_read_us", "edge", 1e3),
    ("native.encode_row_us", "encode_plain_row/2", 1e3),
    ("plot.first_paint_ms", "plot_one_hour/128", 1e6),
    ("plot.reduce_ms", "reduce_ten_million", 1e6),
    ("plot.zoom_ms", "zoom_ten_million", 1e6),
)
HOUR = "write_one_hour/128/iterations:1"
CHECKSUM = "checksum/65536"


def results(folder: Path, repetitions: int) -> dict[str, dict[str, Any]]:
    """The median of each benchmark by its name."""
    out = folder / "native.json"
    subprocess.run(
        [
            str(PROGRAM),
            f"--benchmark_repetitions={repetitions}",
            "--benchmark_enable_random_interleaving=true",
            "--benchmark_min_time=0.1",
            "--benchmark_report_aggregates_only=true",
            f"--benchmark_out={out}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder)},
        check=True,
    )
    found = {}
    for one in json.loads(out.read_text())["benchmarks"]:
        if one.get("aggregate_name") == "median":
            found[one["run_name"]] = one
    return found


def cpu_ns(result: dict[str, Any]) -> float:
    return float(result["cpu_time"]) * NS_OF[result["time_unit"]]


def measure(folder: Path, repetitions: int, say: Say) -> tuple[Figures, dict[str, float]]:
    """The table's rows, and all benchmarks in ns of CPU time."""
    say("the core")
    if not PROGRAM.is_file():
        raise RuntimeError(
            "build/release/jumper_bench is not built: cmake --build --preset release"
        )
    found = results(folder, repetitions)
    figures = {
        row: Figure(cpu_ns(found[name]) / ns_of_unit)
        for row, name, ns_of_unit in ROWS
        if name in found
    }
    if HOUR in found:
        figures["native.recording_mb_per_hour_128_cores"] = Figure(found[HOUR]["bytes"] / 1e6)
    if CHECKSUM in found:
        figures["native.checksum_gb_per_s"] = Figure(found[CHECKSUM]["bytes_per_second"] / 1e9)
    return figures, {name: cpu_ns(one) for name, one in found.items()}
