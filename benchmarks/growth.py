"""How many bytes a summary and a plot add to a notebook."""

import json
from pathlib import Path
from typing import Any

import nbformat
from figures import Figure, Figures, Say
from kernels import kernel

JSON_TYPE = "application/vnd.jumper+json"
# Some of everything: processes, I/O, memory, and long enough for a summary.
CELL = """
import subprocess, tempfile, time
jobs = [subprocess.Popen(["sleep", "1"]) for _ in range(3)]
with tempfile.TemporaryFile() as file:
    file.write(bytes(50_000_000))
kept = bytearray(100_000_000)
end = time.monotonic() + 1.2
while time.monotonic() < end:
    pass
for job in jobs:
    job.wait()
"""
# More samples than a plot has slices of time, and no two alike.
UNSTEADY = """
import random, tempfile, time
end = time.monotonic() + 8
with tempfile.TemporaryFile() as file:
    while time.monotonic() < end:
        kept = bytearray(random.randrange(1, 100_000_000))
        file.write(kept[: random.randrange(1_000_000)])
        time.sleep(random.random() / 50)
"""


def bundle_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
    for message in messages:
        data: dict[str, Any] = message["content"].get("data", {})
        if JSON_TYPE in data:
            return data
    raise RuntimeError("the cell has no summary")


def bytes_in_notebook(bundle: dict[str, Any]) -> int:
    """What the saved file grows by: escapes, indents and the output's own frame included."""
    v4 = nbformat.v4
    cell = v4.new_code_cell(CELL, id="a")
    without = len(v4.writes(v4.new_notebook(cells=[cell])).encode())
    cell.outputs = [v4.new_output("display_data", nbformat.from_dict(bundle))]
    return len(v4.writes(v4.new_notebook(cells=[cell])).encode()) - without


def measure(folder: Path, say: Say) -> Figures:
    say("a cell with a summary")
    with kernel("jumper", folder) as one:
        bundle = bundle_of(one.run(CELL)[1])
        one.run("%jumper set level=all")
        whole = bundle_of(one.run("%jumper summary #1")[1])
        say("a plot of a cell with 800 samples")
        one.run("%jumper set rate=100 summary=never")
        one.run(UNSTEADY)
        plot = bundle_of(one.run("%jumper plot")[1])
    sizes = {kind: len(bundle[kind].encode()) for kind in ("text/plain", "text/html")}
    compact = len(json.dumps(bundle[JSON_TYPE], separators=(",", ":")).encode())
    return {
        "summary.html_bytes": Figure(sizes["text/html"]),
        "summary.text_bytes": Figure(sizes["text/plain"]),
        "summary.bundle_bytes": Figure(
            bytes_in_notebook(bundle),
            note=f"text {sizes['text/plain']}, HTML {sizes['text/html']}, JSON {compact} (indented "
            "by the notebook's writer)",
        ),
        "summary.all_levels_bytes": Figure(bytes_in_notebook(whole)),
        "plot.bytes": Figure(bytes_in_notebook(plot) / 1000),
    }
