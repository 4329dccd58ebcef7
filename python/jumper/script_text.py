"""NAME.py and NAME.sh of the parts that cells have become: pure text."""

import ast
import builtins
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .script_cells import HISTORY, Part

WRITTEN: Final = "Written by JUmPER"  # in the first lines of both: these may be written again
ENVIRONMENT: Final = "SCOREP_"
NOT_QUALITY: Final = re.compile(r"  # noqa\b[^\n]*")
PRELUDE: Final = Path(__file__).with_name("prelude.py")


@dataclass
class Script:
    """What is to be written, and what is to be said about it."""

    python: str = ""
    shell: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where it is written and was made."""

    python: Path
    shell: Path
    folder: Path  # the kernel's working directory when the mode began
    is_slurm: bool = False


def script(
    parts: list[Part],
    place: Place,
    arguments: tuple[str, ...],
    known: Iterable[str],
    environment: Mapping[str, str],
) -> Script:
    """`known`: the notebook's variables; `environment`: the kernel's, `arguments`: Score-P's."""
    made = Script()
    needs = _needs_ipython(parts)
    made.python = _python(parts, place)
    if needs:
        made.notes.append(f"{', '.join(needs)}: only IPython has that, so it runs the script")
    made.notes += _about_names(parts, known)
    made.notes += _about_futures(parts)
    settings, unset = _settings(parts, environment)
    if unset:
        made.notes.append(
            f"{', '.join(unset)}: Score-P reads its settings once, when the script begins; those "
            "before the first cell under Score-P are used"
        )
    left_out = sorted({name for one in parts for name in one.left_out})
    if left_out:
        made.notes.append(f"left out, a script has no use for it: {', '.join(left_out)}")
    options, differ = _arguments(parts, arguments)
    if differ:
        made.notes.append(
            f"one process has one set of arguments of Score-P's bindings: {shlex.join(options)}"
        )
    made.shell = _shell(parts, place, settings, options, bool(needs))
    return made


def _cells(parts: list[Part]) -> str:
    if not parts:
        return "no cell"
    first, last = parts[0].number, parts[-1].number
    return (
        f"In [{first}]" if len(parts) == 1 else f"{len(parts)} cells, In [{first}] to In [{last}]"
    )


# ---- NAME.py ----


def _python(parts: list[Part], place: Place) -> str:
    futures = list(dict.fromkeys(name for one in parts for name in one.futures))
    head = [
        f"# {WRITTEN}: {_cells(parts)} of a notebook. {place.shell.name} runs it as it was there.\n"
    ]
    head += [f"from __future__ import {', '.join(futures)}\n"] if futures else []
    wanted = {"_jumper_begin"} | {name for one in parts for name in one.uses}
    wanted |= {"_jumper_scorep"} if any(one.is_marked for one in parts) else set()
    body = [_part(one) for one in parts]
    return "\n".join(["".join(head), prelude(wanted) + "\n_jumper_begin()\n", *body])


def _part(one: Part) -> str:
    name = f"In [{one.number}]"
    if not one.is_marked:
        return f"# %% {name}\n{one.text}"
    begin = f'_jumper_mark = _jumper_scorep("{name}"); _jumper_mark.__enter__()\n'
    return f"# %% {name}, under Score-P\n{begin}{one.text}_jumper_mark.__exit__(None, None, None)\n"


def prelude(wanted: set[str]) -> str:
    """These functions and what they use."""
    source = PRELUDE.read_text(encoding="utf-8")
    found = {
        one.name: one
        for one in ast.parse(source).body
        if isinstance(one, ast.FunctionDef | ast.ClassDef)
    }
    left, needed = [*wanted], set()
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left += [
                node.id
                for node in ast.walk(found[name])
                if isinstance(node, ast.Name) and node.id in found
            ]
    lines = source.splitlines(keepends=True)
    chosen = [one for name, one in found.items() if name in needed]
    pieces = ["".join(lines[one.lineno - 1 : one.end_lineno]) for one in chosen]
    return NOT_QUALITY.sub("", "\n\n".join(pieces))


# ---- what is to be said ----


def _needs_ipython(parts: list[Part]) -> list[str]:
    found = [name for one in parts for name in one.needs_ipython]
    bound: set[str] = set()
    for one in parts:
        found += [
            name
            for name in sorted(one.unknown - bound)
            if name in HISTORY or (name.startswith("_") and name.strip("_i").isdigit())
            if not (name == "get_ipython" and one.needs_ipython)
        ]
        bound |= one.bound
    return list(dict.fromkeys(found))


def _about_names(parts: list[Part], known: Iterable[str]) -> list[str]:
    """Variables of the notebook that no cell of the script binds."""
    bound = {name for one in parts for name in one.bound}
    asked = {name for one in parts for name in one.unknown} - bound - {*dir(builtins), *HISTORY}
    missing = sorted(asked & {*known})
    if not missing:
        return []
    return [f"the notebook has it from cells before the script: {', '.join(missing)}"]


def _about_futures(parts: list[Part]) -> list[str]:
    has_annotated = False
    for one in parts:
        if "annotations" in one.futures and has_annotated:
            return ["`from __future__ import annotations` holds for the whole script"]
        has_annotated |= one.is_annotated
    return []


# ---- NAME.sh ----


def _settings(
    parts: list[Part], environment: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What the shell script exports, and the settings of Score-P's that come too late."""
    settings = {
        name: value
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT) and "PYTHON_BINDINGS" not in name
    }
    late: list[str] = []
    has_code = is_late = False
    for one in parts:
        has_code |= one.has_code
        for name, value in one.environment:
            if "$" in value or "{" in value:  # of Python's variables: only the script knows them
                continue
            is_score_p = name.startswith(ENVIRONMENT)
            if is_score_p and is_late and settings.get(name) != value:
                late.append(name)
            elif is_score_p or not has_code:
                settings[name] = value
        is_late |= one.is_marked
    return settings, list(dict.fromkeys(late))


def _arguments(parts: list[Part], arguments: tuple[str, ...]) -> tuple[list[str], bool]:
    chosen = [one.arguments for one in parts if one.arguments is not None]
    first = chosen[0] if chosen else [*arguments]
    options = [word for word in first if word not in ("--nopython", "--noinstrumenter")]
    return options, any(one != first for one in chosen)


SHELL: Final = """\
#!/bin/bash
{headers}# {written}: runs {python}, {cells} of a notebook.
#   bash {shell} ARGUMENT …          with the script's arguments
#   JUMPER_RECORD=FILE bash {shell}  records CPU, memory, GPUs and I/O: jumper report FILE

name={name}
script={script}
python={interpreter}
[ -x "$python" ] || python=python3
{where}{exports}
{command}
if [ -n "${{JUMPER_RECORD:-}}" ]; then
  run=(jumper record -o "$JUMPER_RECORD" -- "${{run[@]}}")
fi
exec "${{run[@]}}" "$@"
"""
WHERE: Final = """\
[ -e "$script" ] || script=$(dirname -- "$(readlink -f -- "${{BASH_SOURCE[0]}}")")/{python}
cd -- {folder} || echo "$name: runs in $PWD instead" >&2
"""
SCOREP: Final = """\
{ipython}import_scorep() {{ "$python" -P -c 'import scorep' 2>/dev/null; }}
if [ -n "$(command -v scorep-config)" ] && import_scorep; then
  run=("$python" -m scorep --nopython{options}{runner} "$script")
else
  echo "$name: Score-P is not here (scorep-config on PATH, module scorep): runs without it" >&2
  run=("$python"{plain} "$script")
fi
"""
FIND_IPYTHON: Final = """\
ipython='import importlib.util as one; print(one.find_spec("IPython.__main__").origin)'
"""
IPYTHON: Final = " -m IPython --no-banner --HistoryManager.enabled=False --colors=NoColor"


def _shell(
    parts: list[Part],
    place: Place,
    settings: Mapping[str, str],
    options: list[str],
    needs_ipython: bool,
) -> str:
    plain = IPYTHON if needs_ipython else ""
    runner = ' "$("$python" -c "$ipython")"' if needs_ipython else ""
    command = f'run=("$python"{plain} "$script")\n'
    if any(one.is_marked for one in parts):
        command = SCOREP.format(
            options="".join(f" {shlex.quote(word)}" for word in options),
            ipython=FIND_IPYTHON if needs_ipython else "",
            runner=runner,
            plain=plain,
        )
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in settings.items())
    return SHELL.format(
        headers=_slurm(place, os.environ) if place.is_slurm else "",
        written=WRITTEN,
        python=place.python.name,
        cells=_cells(parts),
        shell=place.shell.name,
        name=shlex.quote(place.shell.name),
        script=shlex.quote(str(place.python)),
        interpreter=shlex.quote(sys.executable or "python3"),
        where=WHERE.format(
            python=shlex.quote(place.python.name),
            folder=shlex.quote(str(place.folder)),
        ),
        exports=exports,
        command=command.rstrip("\n"),
    )


def _slurm(place: Place, environment: Mapping[str, str]) -> str:
    """As much of the machine as the notebook has now; what is not known stands there to be set."""
    cores = environment.get("SLURM_CPUS_PER_TASK") or str(len(os.sched_getaffinity(0)))
    memory = environment.get("SLURM_MEM_PER_NODE")
    lines = [
        f"--job-name={place.python.stem}",
        f"--output={place.python.stem}-%j.out",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={cores}",
    ]
    for option, name in (("partition", "SLURM_JOB_PARTITION"), ("account", "SLURM_JOB_ACCOUNT")):
        if environment.get(name):
            lines.append(f"--{option}={environment[name]}")
    lines += [f"--mem={memory}M"] if memory else []
    cards = [one for one in environment.get("SLURM_GPUS_ON_NODE", "").split(",") if one.isdigit()]
    lines += [f"--gpus={cards[0]}"] if cards else []
    unknown = ["--time=01:00:00"] + ([] if memory else ["--mem=…"])
    return "".join(f"#SBATCH {one}\n" for one in lines) + "".join(
        f"##SBATCH {one}   # to be set: remove one #\n" for one in unknown
    )
