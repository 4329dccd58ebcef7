"""What can be asked by ``%jumper VERB``, and what may stand behind each verb. No IPython here."""

from typing import Final

from . import elsewhere, groups, monitoring, plotting, scorep, scripting
from .settings import LEVELS, SETTINGS

# What can be asked, with what stands after it and what it says.
VERBS: Final = {
    "status": ("", "what is measured, how often, where it is kept, what is missing and why"),
    "set": ("NAME=VALUE …", "changes settings until the kernel ends"),
    "summary": ("[CELL|GROUP] [--level L]", "what a cell used; without CELL the last one"),
    "plot": (
        "[CELLS|--live] [--metrics M,…] [--level L] [--between cut|show] [--widget|-o FILE]",
        "curves of cells: 3-5, #2-#4 or all of them; without CELLS the last one",
    ),
    "history": ("", "all cells that were measured"),
    "code": ("CELL", "a cell's text, as it was when it ran"),
    "compare": ("CELL CELL [--level L]", "two runs side by side: figures and code"),
    "total": ("[--level L]", "all cells together: time, core-hours, memory, I/O, GPU-hours"),
    "export": ("[CELLS] [--level L] [--to NAME|-o FILE]", "samples as a variable or a file"),
    "group": (
        'begin [NAME] [--with "LAUNCHER"|scorep]|end|abort',
        "the cells until `end` are one measurement, with a launcher in one process of their own",
    ),
    "save": ("FILE", "a copy of the recording, to be opened elsewhere"),
    "guard": ("memory=95%|off", "interrupts a cell before it fills memory; without more: is it on"),
    "open": ("last|FILE [QUESTION …]", "an earlier recording, to read"),
    "run": (
        '[--with "LAUNCHER"] [--timeout S]',
        "%%jumper run: this cell runs in a process of its own, under a launcher if there is one",
    ),
    "scorep": (
        "[BINDING ARGUMENTS] [--timeout S]",
        "%%jumper scorep: this cell runs in a process of its own, under Score-P",
    ),
    "carry": (
        "[pickler=P] [transport=T] [workers=N]",
        "how variables go to a process of a cell's own; without more, how they do",
    ),
    "script": (
        "begin [NAME] [--slurm] [--force] | end | abort",
        "the cells in between become NAME.py, and NAME.sh that runs it",
    ),
    "monitor": (
        "[add [--name N] [--rate HZ] COMMAND …|MODULE:CLASS|CLASS|lustre|mountstats, remove N]",
        "figures of your own beside ours; without more: what became of them",
    ),
    "doctor": ("", "tries everything that measuring needs, says what would help"),
    "help": ("", "this list"),
}
# About an earlier recording.
QUESTIONS: Final = ("summary", "plot", "history", "code", "compare", "total", "export")
CELLS: Final = (
    "CELL: n is the latest run of In [n], #k entry k of the history, -1 the last cell. "
    "CELLS: several of them, or ranges: 3-5, #2-#4, all; GROUP: g1, g-1 the last one, or its name."
)
CARRYING: Final = ("pickler", "transport", "workers", "backend", "carry_report")
CELL_VERBS: Final = ("run", "scorep")
CHANGEABLE: Final = tuple(name for name, setting in SETTINGS.items() if setting.choices)


def refuse(verb: str, arguments: list[str]) -> None:
    """Raises ValueError for what a verb doesn't take."""
    if arguments:
        takes = VERBS[verb][0]
        what = f"it takes {takes}" if takes else "it takes nothing"
        raise ValueError(f"{verb} does not know what to do with {' '.join(arguments)!r}: {what}")


def completions(line: str) -> tuple[str, ...]:
    """What may stand at the end of this unfinished line (of a cell), instead of its last word."""
    magic, _, rest = line.lstrip().partition(" ")
    if magic not in ("%jumper", "%%jumper") or not line.startswith("%"):
        return ()
    verb, *words = rest.split(" ")
    if magic == "%%jumper":
        after = {"run": elsewhere.OPTIONS, "scorep": scorep.KNOWN}
        return after.get(verb, ()) if words else CELL_VERBS
    if not words:
        return tuple(one for one in VERBS if one not in CELL_VERBS)
    if verb in ("set", "carry"):
        name, equals, _ = words[-1].partition("=")
        if equals:
            return SETTINGS[name].choices if name in SETTINGS else ()
        return tuple(f"{name}=" for name in (CARRYING if verb == "carry" else CHANGEABLE))
    if verb == "plot":
        return plotting.completions(words)
    if verb == "group":
        return groups.STEPS if len(words) == 1 else ()
    if verb == "monitor":
        return monitoring.completions(words)
    if verb == "guard":
        return ("memory=", "off")
    if verb == "script":
        return scripting.VERBS if len(words) == 1 else scripting.OPTIONS
    if verb == "open":
        return ("last",) if len(words) == 1 else QUESTIONS if len(words) == 2 else ()
    if verb in ("summary", "compare", "total", "export"):
        return LEVELS if words[-2:-1] == ["--level"] or "=" in words[-1] else ("--level",)
    return ()
