"""A cell under Score-P: what must be there, the run, and what is said about it afterwards.

`python -m scorep --nopython OPTIONS ENGINE`: the bindings take the first word that is no option as
the script, and pass `--` on to scorep-config, which refuses it.
"""

import os
import re
import select
import sys
from collections.abc import Sequence
from functools import partial
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from . import programs, vampir
from .arguments import options
from .elsewhere import Elsewhere, OpenRun, seconds
from .engine import Engine, EngineDied, NotStarted
from .experiment import Experiment
from .relay import Outcome
from .running import Run, Wish

CONFIG: Final = "scorep-config"
OPTIONS: Final = ("--timeout",)
KNOWN: Final = (*OPTIONS, "--mpp=mpi", "--thread=pthread", "--io=posix", "--keep-files")
PYTHON_PATH: Final = "PYTHONPATH"
TOTAL_MEMORY: Final = "SCOREP_TOTAL_MEMORY"
MEMORY: Final = re.compile(r"\[Score-P\][^\n]*\bSCOREP_TOTAL_MEMORY(?:=(\d+))?")
LINE_MOST: Final = 1 << 14  # characters of an unfinished line that are kept
BESIDE: Final = (
    "beside the cell's calls its trace holds IPython's that the cell calls (display, "
    "magics), and what the adapters of Score-P that you have chosen see (threads, files, MPI)"
)


def parse(verb: str, words: Sequence[str]) -> tuple[tuple[str, ...], float | None]:
    """The bindings' arguments and the time limit. Raises ValueError with the whole sentence."""
    arguments = []
    timeout_s = None
    left = iter(words)
    for word in left:
        if word.partition("=")[0] in OPTIONS:
            chosen, _ = options(verb, [word, *([] if "=" in word else [next(left, "")])], OPTIONS)
            timeout_s = seconds(chosen["--timeout"])
        else:
            arguments.append(word)
    check(verb, arguments)
    return tuple(arguments), timeout_s


def check(verb: str, arguments: Sequence[str]) -> None:
    """Raises ValueError for what the bindings would not take as an option."""
    for word in arguments:
        if word == "--":
            raise ValueError(f"{verb} needs no `--`: the bindings pass it on to {CONFIG} and fail")
        if not word.startswith("-"):
            raise ValueError(
                f"{verb} doesn't know what to do with {word!r}: it takes options of Score-P's "
                "bindings, and a value stands behind `=`, as in --thread=pthread"
            )


def missing() -> str | None:
    """What isn't there of Score-P, with the remedy."""
    bindings, config = _find_bindings(), programs.find(CONFIG)
    get_config = f"`module load Score-P`, or %env PATH=… with the folder of {CONFIG}"
    get_bindings = f"`{sys.executable} -m pip install scorep`"
    if bindings and config:
        return None
    if bindings:
        return (
            f"Score-P is not complete: its Python bindings are there ({bindings}), but they call "
            f"{CONFIG}, and none is on PATH: {get_config}"
        )
    if config:
        return (
            f"Score-P is not complete: {config} is there, but this Python has no bindings "
            f"(module scorep): {get_bindings}"
        )
    return (
        f"Score-P is not here: no {CONFIG} is on PATH ({get_config}), and this Python has no "
        f"module scorep ({get_bindings})"
    )


def _find_bindings() -> str | None:
    """Where a new Python would find them; never in the working directory."""
    added = os.environ.get(PYTHON_PATH, "").split(os.pathsep)
    try:
        here = str(Path.cwd())
    except OSError:
        here = ""
    known = [one for one in sys.path if one not in ("", here)]
    paths = [*(one for one in added if os.path.isabs(one)), *known]  # noqa: PTH117
    found = PathFinder.find_spec("scorep", paths)
    return found.origin if found is not None else None  # a mere folder has none


class ScorePRun(Run):
    """Of one cell. Raises NotStarted when Score-P can't be used."""

    def __init__(
        self,
        score_p: "ScoreP",
        shell: Any,
        _: object,
        wish: Wish,
        choice: Any,
        *,
        reports: bool = False,
    ) -> None:
        if said := missing():
            raise NotStarted(said)
        super().__init__(shell, self._start, wish, choice, reports=reports)
        self._experiment = Experiment(shell.execution_count - 1, os.environ)
        self._score_p = score_p
        self._memory: str | None = None  # what Score-P has said of it: the limit, if it named it
        self._line = ""  # of stderr, as far as it has come
        self._has_reported = False

    def _start(self, launcher: Sequence[str]) -> Engine:
        besides = {"PYTHONSAFEPATH": "1", programs.PATH: programs.path_without_here()}
        return Engine(launcher, besides=besides | self._experiment.variables)

    def _told(self, error: BaseException) -> BaseException:
        told = super()._told(error)
        if isinstance(error, EngineDied | NotStarted):
            return type(told)("; ".join([str(told), *self._left_behind()]))
        if not self._has_reported:
            self.notes += self._left_behind()
        return told

    def abandon(self) -> None:
        was_open = self.is_open
        super().abandon()
        if was_open:
            self.notes += self._left_behind()

    def _left_behind(self) -> list[str]:
        """What is to be said of an engine that didn't come to its end."""
        experiment = self._experiment
        told = experiment.told() if experiment.is_complete else experiment.mark()
        return [*filter(None, [self._memory_sentence(), told])]

    def _publish(self, kind: str, message: dict[str, Any], buffers: list[bytes]) -> None:
        super()._publish(kind, message, buffers)
        content = message["content"]
        if kind == "stream" and content.get("name") == "stderr":
            self._line += content["text"]
            for found in MEMORY.finditer(self._line):
                self._memory = found[1] or ""
            self._line = self._line.rpartition("\n")[2][-LINE_MOST:]

    def _bring_back(self) -> list[Outcome]:
        engine = self._open_engine()
        outcomes = super()._bring_back()
        self._has_reported = True
        waited = engine.has_failed or self._experiment.wait(self._pause)
        marked = self._experiment.mark() if engine.has_failed else None
        self.notes.append(marked or self._experiment.told())
        if not self._score_p.has_told:
            self._score_p.has_told = True
            self.notes.append(BESIDE)
        if said := self._memory_sentence():
            self.notes.append(said)
        if self._score_p.opens_vampir:
            self.notes.append(self._open())
        if not waited:
            raise KeyboardInterrupt(
                f"the {self.scope} was done; only its experiment was waited for"
            )
        return outcomes

    def _pause(self, wait_s: float) -> bool:
        waiting = select.poll()
        waiting.register(self._interrupts.descriptor, select.POLLIN)
        return not waiting.poll(wait_s * 1000) or not self._was_interrupted()

    def _memory_sentence(self) -> str | None:
        if self._memory is None:
            return None
        now = self._memory or os.environ.get(TOTAL_MEMORY, "")
        digits, unit = (now[:-1], now[-1]) if now[-1:].isalpha() else (now, "")
        more = f"{4 * int(digits)}{unit}" if digits.isdigit() else "64M"
        return (
            f"Score-P had not enough memory of its own{f' ({now})' if now else ''}: "
            f"%env {TOTAL_MEMORY}={more} gives it more (4G is the most), and a filter "
            "(SCOREP_FILTERING_FILE) makes it need less"
        )

    def _open(self) -> str:
        if self._experiment.trace not in self._experiment.anchors:
            return "Vampir was not opened: there is no trace, %env SCOREP_ENABLE_TRACING=true"
        if not self._experiment.is_complete:
            return "Vampir was not opened: the trace is not complete"
        return vampir.open_trace(self._experiment.trace)


class ScoreP:
    """Of one shell: what its cells run under, and how."""

    def __init__(self, elsewhere: Elsewhere) -> None:
        self.arguments: tuple[str, ...] = ()
        self.opens_vampir = False
        self._elsewhere = elsewhere
        self.has_told = False  # what else is in an experiment

    def wish(self, words: Sequence[str]) -> Wish:
        """Raises ValueError with the whole sentence."""
        arguments, timeout_s = parse("scorep", words)
        command = "{python}", "-m", "scorep", "--nopython", *(arguments or self.arguments)
        return Wish((*command, "{engine}"), timeout_s)

    def run(self, shell: Any, cell: str, wish: Wish) -> None:
        """Raises NotStarted, and what the cell raises."""
        self._elsewhere.run(shell, cell, wish, partial(ScorePRun, self))

    def open(self, shell: Any, wish: Wish) -> OpenRun:
        """Many cells in one engine and one experiment. Raises NotStarted, and as `Run.open`."""
        return self._elsewhere.open(shell, wish, partial(ScorePRun, self))
