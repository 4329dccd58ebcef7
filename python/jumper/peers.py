"""What the paper's kernel, scorep-jupyter and jumper-extension call things, and what each is here.

One table: completion, help and `docs/coming-from.md` come from it. No IPython here.
"""

import contextlib
import math
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from . import settings

Of = Literal["paper", "scorep-jupyter", "jumper-extension"]

# What they call a level, and what we do.
LEVELS: Final[Mapping[str, str]] = {
    "process": "process",
    "user": "user",
    "system": "node",
    "slurm": "job",
    "node": "node",
    "job": "job",
}
# What they plot, and which of our curves show it; empty: nothing that is measured.
METRICS: Final[Mapping[str, str]] = {
    "cpu": "cpu",
    "cpu_summary": "cpu",
    "cpu_all": "cpu_cores",
    "mem": "memory",
    "memory": "memory",
    "io": "storage",
    "io_read": "storage",
    "io_write": "storage",
    "io_read_count": "io_operations",
    "io_write_count": "io_operations",
    "gpu": "gpu",
    "gpu_all": "gpu",
    "gpu_util": "gpu",
    "gpu_util_summary": "gpu",
    "gpu_mem": "gpu_memory",
    "gpu_mem_summary": "gpu_memory",
    "gpu_band": "",
    "gpu_band_summary": "",
}
MONITORS: Final = ("default", "native_c", "subprocess_python", "thread", "slurm_multinode")
BACKENDS: Final = ("matplotlib", "plotly")
NOTHING: Final[tuple[str, ...]] = ()


class Name(NamedTuple):
    of: Of
    after: str  # what may stand behind it
    ours: str  # what does the same here
    about: str
    choices: Mapping[str, tuple[str, ...]] = {}  # options with what may stand behind each


_LEVEL: Final = {"--level": tuple(LEVELS)}
_CELL: Final = {"--cell": NOTHING}
_FILE: Final = {"--file": NOTHING}

NAMES: Final[Mapping[str, Name]] = {
    "display_code_history": Name(
        "paper", "", "%jumper history", "the cells with a sample, numbered from 0, with their code"
    ),
    "display_code_for_index": Name("paper", "I", "%jumper code", "that cell's time and code"),
    "display_graph_for_last": Name(
        "paper", "", "%jumper plot", "curves of the last cell with a sample"
    ),
    "display_graph_for_index": Name("paper", "I", "%jumper plot", "curves of that cell"),
    "display_graph_for_all": Name("paper", "", "%jumper plot all", "curves of all these cells"),
    "perfdata_to_variable": Name(
        "paper", "VARIABLE", "%jumper export --to", "their samples as lists of lists"
    ),
    "perfdata_to_json": Name(
        "paper", "BASE", "%jumper export -o", "writes BASE_perfdata.json and BASE_code.json"
    ),
    "set_perfmonitor": Name(
        "paper",
        "local|slurm|MODULE:CLASS|COMMAND …",
        "%jumper monitor add",
        "figures of a monitor of one's own beside ours",
    ),
    "execute_with_scorep": Name(
        "scorep-jupyter",
        "[ARGUMENTS]",
        "%%jumper scorep",
        "the cell below runs under Score-P",
    ),
    "scorep_python_binding_arguments": Name(
        "scorep-jupyter",
        "[ARGUMENTS]",
        "%%jumper scorep ARGUMENTS",
        "arguments for all later cells under Score-P",
    ),
    "enable_vampir_launch_on_scorep_instrumented": Name(
        "scorep-jupyter", "", "", "Vampir opens the trace of each later cell"
    ),
    "disable_vampir_launch": Name("scorep-jupyter", "", "", "traces stay unopened again"),
    "marshalling_settings": Name(
        "scorep-jupyter",
        "[MARSHALLER=…] [MODE=…]",
        "%jumper carry",
        "how variables go to a process of a cell's own",
        {"MARSHALLER": (*settings.BACKENDS, "parallel_marshall"), "MODE": ("memory", "disk")},
    ),
    "perfmonitor_start": Name(
        "jumper-extension",
        "[SECONDS] [--monitor M] [--check-sanity]",
        "%jumper set rate=",
        "a sample every so many seconds; cells are measured without it, too",
        {"--monitor": MONITORS, "--check-sanity": NOTHING},
    ),
    "perfmonitor_stop": Name(
        "jumper-extension",
        "",
        "",
        "takes back the rate and the reports that were asked for; nothing recorded is lost",
    ),
    "perfmonitor_resources": Name(
        "jumper-extension", "", "%jumper", "cores, memory and GPUs that there are"
    ),
    "perfmonitor_perfreport": Name(
        "jumper-extension",
        "[--cell RANGE] [--level L] [--text]",
        "%jumper summary",
        "what the last cell with a sample used, or these cells together",
        {**_CELL, **_LEVEL, "--text": NOTHING},
    ),
    "perfmonitor_enable_perfreports": Name(
        "jumper-extension",
        "[--level L] [--interval SECONDS] [--text]",
        "%jumper set summary=",
        "a report under each cell that has a sample",
        {**_LEVEL, "--interval": NOTHING, "--text": NOTHING},
    ),
    "perfmonitor_disable_perfreports": Name(
        "jumper-extension", "", "%jumper set summary=never", "no report under cells"
    ),
    "perfmonitor_plot": Name(
        "jumper-extension",
        "[--metrics M,…] [--cell RANGE] [--level L] [--save-jpeg F] [--pickle F] [--live [S [S]]]",
        "%jumper plot",
        "curves of these cells, or of all",
        {
            "--metrics": tuple(METRICS),
            **_CELL,
            **_LEVEL,
            "--save-jpeg": NOTHING,
            "--pickle": NOTHING,
            "--backend": BACKENDS,
            "--live": NOTHING,
        },
    ),
    "perfmonitor_export_perfdata": Name(
        "jumper-extension",
        "[--file F] [--name V] [--level L]",
        "%jumper export",
        "samples as the DataFrame perfdata_df (or V), or as a CSV or JSON file",
        {**_FILE, "--name": NOTHING, **_LEVEL},
    ),
    "perfmonitor_export_cell_history": Name(
        "jumper-extension",
        "[--file F] [--name V]",
        "%jumper history",
        "cells as the DataFrame cell_history_df (or V), or as a CSV or JSON file",
        {**_FILE, "--name": NOTHING},
    ),
    "perfmonitor_load_perfdata": Name(
        "jumper-extension", "FILE", "", "such a file as the DataFrame loaded_perfdata_df", _FILE
    ),
    "perfmonitor_load_cell_history": Name(
        "jumper-extension",
        "FILE",
        "",
        "such a file as the DataFrame loaded_cell_history_df",
        _FILE,
    ),
    "perfmonitor_fast_setup": Name(
        "jumper-extension", "", "", "perfmonitor_start and perfmonitor_enable_perfreports"
    ),
    "perfmonitor_help": Name("jumper-extension", "", "%jumper help", "this list"),
    "show_cell_history": Name(
        "jumper-extension", "", "%jumper history", "all cells, numbered from 0, with their code"
    ),
    "export_session": Name(
        "jumper-extension",
        "[FOLDER|FILE.zip]",
        "%jumper save",
        "manifest, CSV files and the recording, to be imported elsewhere",
    ),
    "import_session": Name(
        "jumper-extension",
        "FOLDER|FILE.zip",
        "%jumper open",
        "plots, reports, history and exports are of that session, until perfmonitor_start",
    ),
}


def seconds(text: str, what: str) -> float:
    """Raises ValueError with the whole sentence."""
    with contextlib.suppress(ValueError):
        found = float(text)
        if 0 < found < math.inf:
            return found
    raise ValueError(f"{text!r} is no number of seconds above 0: {what}")


def completions(cell: str, line: str) -> tuple[str, ...]:
    """What may stand at the end of this unfinished line, instead of its last word.

    `cell`: all of it; some names take what stands below them.
    """
    first = cell.lstrip().partition("\n")[0]
    magic, blank, rest = (line if line.startswith("%") else first).partition(" ")
    known = NAMES.get(magic.lstrip("%"))
    if known is None or not magic.startswith("%") or not (blank or line != first):
        return ()
    words = (rest if line.startswith("%") else line).split(" ")
    assigned, equals, _ = words[-1].rpartition("=")
    before = assigned if equals else words[-2] if len(words) > 1 else ""
    if known.choices.get(before):
        return known.choices[before]
    return tuple(one if one.startswith("-") else f"{one}=" for one in known.choices)
