"""What the user can set, and whose word counts.

Of the layers that say something the first counts: the magic (``%jumper set``), ``%config``, the
environment, the configuration file, the default. The environment is read at every use, so ``%env``
acts at once; a bad value there is told once, and the next layer counts.
"""

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from . import _native

Value = float | int | str | None
Layer = Literal["magic", "config", "file"]

PREFIXES = ("JUMPER_", "SCOREP_JUPYTER_", "scorep_jupyter_")  # the last two: the peers' spelling
RATES_HZ = (0.1, 1000.0)
BACKENDS = ("cloudpickle", "pickle", "dill")
PICKLERS = (*BACKENDS, "parallel")
MOST_WORKERS = 256
SWITCH = {"on": True, "1": True, "true": True, "yes": True}
SWITCH |= {"off": False, "0": False, "false": False, "no": False}
TRANSPORTS = ("memfd", "file")
LEVELS = ("process", "user", "job", "node", "all")
SUMMARIES = ("auto", "always", "never")
SHOWN_MOST = 100  # characters of a refused value


def _rate(value: object) -> float:
    rate = float(str(value))
    if not RATES_HZ[0] <= rate <= RATES_HZ[1]:  # false for NaN, too
        raise ValueError
    return rate


def _rate_of_period(value: object) -> float:
    period = float(str(value))
    return _rate(1 / period if period and math.isfinite(period) else period)


def _one_of(words: tuple[str, ...]) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return parse


def _min_reports(value: object) -> int | None:
    if value is None or value in ("auto", "None"):
        return None
    number = int(str(value))
    if number < 0:
        raise ValueError
    return number


def _amount(value: object) -> int:
    number = int(str(value))
    if not 0 <= number < 2**62:
        raise ValueError
    return number


def _workers(value: object) -> int | None:
    if value is None or value == "auto":
        return None
    number = int(str(value))
    if not 1 <= number <= MOST_WORKERS:
        raise ValueError
    return number


def _switch(value: object) -> str:
    return "on" if SWITCH[str(value).lower()] else "off"


def _directory(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError
    try:
        path = str(Path(value).expanduser().absolute())
    except (OSError, RuntimeError):  # the working folder is gone; there is no such user
        raise ValueError from None
    os.fsencode(path)  # a ValueError, too, for what no file can be called
    return path


def _shown(value: object) -> str:
    """As one line of a warning, whatever it is."""
    try:
        text = str(value)
    except Exception:  # noqa: BLE001  (its own code, or an int of too many digits)
        return f"({type(value).__name__})"
    text = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\n", "\\n")
    return text if len(text) <= SHOWN_MOST else text[: SHOWN_MOST - 1] + "…"


class Variable(NamedTuple):
    """An environment variable, without its prefix."""

    name: str
    parse: Callable[[object], Value]
    allowed: str


class Setting(NamedTuple):
    name: str
    default: Value
    parse: Callable[[object], Value]  # raises ValueError
    allowed: str  # after "must be"
    about: str
    variables: tuple[Variable, ...] = ()  # the first that is set counts
    choices: tuple[str, ...] = ()  # for completion; none: can't be changed while recording

    def check(self, value: object) -> Value:
        """Raises ValueError with the whole sentence."""
        try:
            return self.parse(value)
        except Exception:  # noqa: BLE001  (a configuration file holds whatever it likes)
            sentence = f"{self.name}={_shown(value)} is refused: it must be {self.allowed}"
            raise ValueError(sentence) from None


def _settings() -> tuple[Setting, ...]:
    rates = f"a number of samples a second from {RATES_HZ[0]:g} to {RATES_HZ[1]:g}"
    periods = f"the seconds between two samples, from {1 / RATES_HZ[1]:g} to {1 / RATES_HZ[0]:g}"
    days = "a whole number of days from 0 on"
    sizes = "a whole number of bytes from 0 on"
    reports = "a whole number of samples from 0 on, or auto"
    backends = "cloudpickle, pickle or dill"
    processes = f"a whole number of processes from 1 to {MOST_WORKERS}, or auto"
    return (
        Setting(
            name="rate",
            default=10.0,
            parse=_rate,
            allowed=rates,
            about="Samples a second.",
            variables=(
                Variable("SAMPLING_RATE", _rate, rates),
                Variable("REPORT_FREQUENCY", _rate_of_period, periods),
            ),
            choices=("1", "10", "100"),
        ),
        Setting(
            name="summary",
            default="auto",
            parse=_one_of(SUMMARIES),
            allowed="auto, always or never",
            about="Whether a summary stands under each cell; auto: as min_reports says.",
            choices=SUMMARIES,
        ),
        Setting(
            name="min_reports",
            default=None,
            parse=_min_reports,
            allowed=reports,
            about="Samples a cell must have for an automatic summary; auto: it took 1 s or more.",
            variables=(
                Variable("MIN_REPORTS", _min_reports, reports),
                Variable("REPORTS_MIN", _min_reports, reports),
            ),
            choices=("auto", "1", "10"),
        ),
        Setting(
            name="level",
            default="process",
            parse=_one_of(LEVELS),
            allowed="process, user, job, node or all",
            about="What a summary is about: the kernel with its children, its user, job or node.",
            choices=LEVELS,
        ),
        Setting(
            name="pickler",
            default="cloudpickle",
            parse=_one_of(PICKLERS),
            allowed="cloudpickle, pickle, dill or parallel",
            about="What takes variables apart that go to an engine; parallel: in many processes.",
            choices=PICKLERS,
        ),
        Setting(
            name="backend",
            default="cloudpickle",
            parse=_one_of(BACKENDS),
            allowed=backends,
            about="The pickler in each process of pickler=parallel.",
            variables=(Variable("PARALLEL_MARSHALL_BACKEND", _one_of(BACKENDS), backends),),
            choices=BACKENDS,
        ),
        Setting(
            name="workers",
            default=None,
            parse=_workers,
            allowed=processes,
            about="Processes of pickler=parallel, the kernel among them; auto: one for each core.",
            variables=(Variable("PARALLEL_MARSHALL_NWORKERS", _workers, processes),),
            choices=("auto", "2", "4"),
        ),
        Setting(
            name="carry_report",
            default="off",
            parse=_switch,
            allowed="on or off",
            about="Whether a cell that ran in an engine says what was carried, how and how fast.",
            variables=(Variable("MARSHALLING_DETAILED_REPORT", _switch, "on or off"),),
            choices=("off", "on"),
        ),
        Setting(
            name="transport",
            default="memfd",
            parse=_one_of(TRANSPORTS),
            allowed="memfd or file",
            about="What carries variables to an engine: memory, or a file without a name.",
            choices=TRANSPORTS,
        ),
        Setting(
            name="directory",
            default=None,
            parse=_directory,
            allowed="the path of a folder",
            about="Where recordings lie; counts when the extension is loaded.",
            variables=(Variable("DIR", _directory, "the path of a folder"),),
        ),
        Setting(
            name="keep_days",
            default=30,
            parse=_amount,
            allowed=days,
            about="How long finished recordings are kept; counts when the extension is loaded.",
            variables=(Variable("KEEP_DAYS", _amount, days),),
        ),
        Setting(
            name="keep_bytes",
            default=2 << 30,
            parse=_amount,
            allowed=sizes,
            about="How much all recordings take, until the oldest finished ones are deleted; "
            "counts when the extension is loaded.",
            variables=(Variable("KEEP_BYTES", _amount, sizes),),
        ),
    )


SETTINGS = {setting.name: setting for setting in _settings()}


class Settings:
    """The layers of one session, and what is still to be told about them."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._given = environment  # None: this process's own
        self._layers: dict[Layer, dict[str, Value]] = {"magic": {}, "config": {}, "file": {}}
        self._warnings: list[str] = []
        self._said: set[str] = set()

    def set(self, layer: Layer, name: str, value: object) -> None:
        """Raises ValueError with the whole sentence."""
        self._layers[layer][name] = SETTINGS[name].check(value)

    def take_back(self, layer: Layer, name: str) -> None:
        """The next layer counts again."""
        self._layers[layer].pop(name, None)

    def look_up(self, name: str) -> tuple[Value, str]:
        """The value that counts, and who said it."""
        if name in self._layers["magic"]:
            return self._layers["magic"][name], "%jumper set"
        if name in self._layers["config"]:
            return self._layers["config"][name], "%config"
        found = self._in_environment(SETTINGS[name])
        if found is not None:
            return found
        if name in self._layers["file"]:
            return self._layers["file"][name], "configuration file"
        return SETTINGS[name].default, "default"

    @property
    def rate_hz(self) -> float:
        return float(str(self.look_up("rate")[0]))

    @property
    def summary(self) -> str:
        return str(self.look_up("summary")[0])

    @property
    def min_reports(self) -> int | None:
        value = self.look_up("min_reports")[0]
        return None if value is None else int(value)

    @property
    def level(self) -> str:
        return str(self.look_up("level")[0])

    @property
    def pickler(self) -> str:
        return str(self.look_up("pickler")[0])

    @property
    def backend(self) -> str:
        return str(self.look_up("backend")[0])

    @property
    def workers(self) -> int:
        value = self.look_up("workers")[0]
        return len(os.sched_getaffinity(0)) if value is None else int(value)

    @property
    def carry_report(self) -> bool:
        return self.look_up("carry_report")[0] == "on"

    @property
    def transport(self) -> str:
        return str(self.look_up("transport")[0])

    @property
    def directory(self) -> str | None:
        value = self.look_up("directory")[0]
        return None if value is None else str(value)

    @property
    def keep_days(self) -> int:
        return int(str(self.look_up("keep_days")[0]))

    @property
    def keep_bytes(self) -> int:
        return int(str(self.look_up("keep_bytes")[0]))

    def take_warnings(self) -> list[str]:
        warnings, self._warnings = self._warnings, []
        return warnings

    def _in_environment(self, setting: Setting) -> tuple[Value, str] | None:
        if not setting.variables:
            return None
        # In C, at once: it is asked at every cell, and os.environ.get() raises for what is absent.
        environment = _native.environment(PREFIXES) if self._given is None else self._given
        if not environment:
            return None
        found: list[tuple[Value, str]] = []
        for variable in setting.variables:
            for prefix in PREFIXES:
                text = environment.get(prefix + variable.name)
                if not text:
                    continue
                try:
                    found.append((variable.parse(text), prefix + variable.name))
                except ValueError:
                    shown = f"{prefix}{variable.name}={_shown(text)}"
                    self._say_once(f"{shown} is ignored: it must be {variable.allowed}")
        for _, other in found[1:]:
            if setting.name == "rate" and other.endswith("REPORT_FREQUENCY"):
                self._say_once(f"{found[0][1]} and {other} are both set: {found[0][1]} counts")
                break
        return found[0] if found else None

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._warnings.append(sentence)
