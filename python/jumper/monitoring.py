"""``%jumper monitor``: the user's own figures beside ours, from a program or a Python class.

A class runs in a process of its own (``monitor_main``); no IPython here.
"""

import importlib.util
import os
import pickle
import re
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import _native
from .session import program

ACTIONS: Final = ("add", "remove")
OPTIONS: Final = ("--name", "--rate")
SHIPPED: Final = ("lustre", "mountstats")
CLASS: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)
TAKEN: Final = ("core", "gpu", "drm", "file_system", "root_")
RATES_HZ: Final = (0.001, 1000.0)
WAIT_S: Final = 3.0  # for its metrics, or for what is wrong
LOOK_S: Final = 0.02
MOST_ABOUT: Final = 120
CHILD: Final = str(Path(__file__).with_name("monitor_main.py"))
Rows = list[tuple[str, str]]


@dataclass
class Wish:
    """What stands behind ``%jumper monitor add``."""

    name: str
    rate_hz: float
    command: list[str]
    about: str
    payload: bytes = b""


def parse(arguments: Sequence[str], namespace: Mapping[str, Any]) -> Wish:
    """Raises ValueError with the whole sentence."""
    name, rate_hz, words = None, 1.0, list(arguments)
    while words and words[0].startswith("-"):
        option, equals, value = words.pop(0).partition("=")
        if option not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise ValueError(f"{option} is no option of monitor add: it knows {known}")
        if not equals:
            value = words.pop(0) if words else ""
        if option == "--name":
            name = value
        else:
            rate_hz = _rate(value)
    if not words:
        raise ValueError(
            "monitor add needs a command, a class as MODULE:CLASS, the name of a class of this "
            f"notebook, or one of {', '.join(SHIPPED)}"
        )
    return _wish(words, name, rate_hz, namespace)


def _wish(words: list[str], name: str | None, rate_hz: float, namespace: Mapping[str, Any]) -> Wish:
    what = words[0]
    kind = namespace.get(what)
    if len(words) == 1 and what in SHIPPED:
        path = program()
        if not path:
            raise ValueError("the program `jumper` is missing: reinstall jumper-hpc")
        command = [path, "monitor", what]
        return Wish(_name(name or what), rate_hz, command, f"jumper monitor {what}")
    if len(words) == 1 and isinstance(kind, type):
        for method in ("metrics", "sample"):
            if not callable(getattr(kind, method, None)):
                refusal = f"class {what} is no monitor: it has no method {method}()"
                raise ValueError(refusal)  # noqa: TRY004
        return _of_class(what, name, rate_hz, {"class": _by_value(kind)})
    if len(words) == 1 and CLASS.fullmatch(what):
        return _of_class(what, name, rate_hz, {"name": what})
    if shutil.which(what) is None:
        raise ValueError(
            f"there is no program {what!r}, and no class of that name in this notebook; "
            "a class of a module is written MODULE:CLASS"
        )
    guess = re.sub(r"\W+", "_", Path(what).stem.lower(), flags=re.ASCII)
    return Wish(_name(name or guess), rate_hz, words, shlex.join(words)[:MOST_ABOUT])


def of_module(module: str) -> Wish:
    """A module with one class that is a monitor."""
    try:
        there = importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        there = False
    if not there:
        raise ValueError(f"there is no module, program or class {module!r}")
    return _of_class(module, None, 1.0, {"name": module})


def _of_class(what: str, name: str | None, rate_hz: float, wish: dict[str, Any]) -> Wish:
    if not sys.executable:
        raise ValueError("a class needs a Python to run in, and this one doesn't say where it is")
    guess = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.split("[:.]", what)[-1]).lower()
    payload = pickle.dumps({"path": [one or str(Path.cwd()) for one in sys.path], **wish})
    command = [sys.executable, "-P", CHILD]
    return Wish(_name(name or guess), rate_hz, command, f"class {what}"[:MOST_ABOUT], payload)


def _by_value(kind: type) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(kind))
    except Exception as error:  # noqa: BLE001 — any object's own
        raise ValueError(f"class {kind.__name__} can't go to another process: {error}") from None


def _rate(text: str) -> float:
    least, most = RATES_HZ
    try:
        rate_hz = float(text)
    except ValueError:
        rate_hz = 0.0
    if not least <= rate_hz <= most:
        raise ValueError(
            f"--rate {text} is refused: it must be a number from {least:g} to {most:g}"
        )
    return rate_hz


def _name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} can't name a monitor: give --name with a lower-case letter, then letters, "
            "digits and _, 32 at most"
        )
    if name.startswith(TAKEN):
        raise ValueError(
            f"{name!r} can't name a monitor: our own devices have names that begin with "
            f"{', '.join(TAKEN)}; give another --name"
        )
    return name


def add(of: _native.Session, wish: Wish) -> Rows:
    """Starts it, and waits a little for what becomes of it."""
    _native.add_monitor(
        of,
        wish.name,
        command=[os.fsencode(word) for word in wish.command],
        about=wish.about,
        directory=os.fsencode(_directory()),
        payload=wish.payload,
        rate_hz=wish.rate_hz,
    )
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        if any(one.name == wish.name and one.state != "begins" for one in _native.monitors(of)):
            break
        time.sleep(LOOK_S)
    return [row for row in rows(of) if row[0] == wish.name]


def _directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was deleted
        return "/"


def answer(of: _native.Session, arguments: Sequence[str], namespace: Mapping[str, Any]) -> Rows:
    """Raises ValueError with the whole sentence."""
    if not arguments:
        return rows(of) or [("monitors", "none; `%jumper monitor add COMMAND` starts one")]
    action, *rest = arguments
    if action == "add":
        return add(of, parse(rest, namespace))
    if action != "remove":
        raise ValueError(f"monitor knows {' and '.join(ACTIONS)}, and not {action!r}")
    if len(rest) != 1:
        raise ValueError("monitor remove needs the name of one monitor")
    if not _native.remove_monitor(of, rest[0]):
        known = ", ".join(one.name for one in _native.monitors(of)) or "none"
        raise ValueError(f"there is no monitor {rest[0]!r}: there are {known}")
    return [(rest[0], "removed")]


def rows(of: _native.Session) -> Rows:
    """What became of each."""
    states = {"begins": "has named no metrics so far", "measures": "measures"}
    found = []
    for one in _native.monitors(of):
        state = states.get(one.state, f"measures no more: {one.reason}")
        found.append((one.name, f"{state} ({one.about}, {one.rate_hz:g} Hz)"))
    return found


class Selected:
    """What ``set_perfmonitor`` has chosen: one monitor at a time, beside our own figures."""

    def __init__(self, of: _native.Session) -> None:
        self._of = of
        self._name: str | None = None

    def choose(self, words: Sequence[str], namespace: Mapping[str, Any]) -> Rows:
        """Raises ValueError with the whole sentence; what was selected then stays."""
        if not words:
            return [("monitor", self._name or "local: this node, by JUmPER itself")]
        if list(words) == ["slurm"]:
            return [
                ("monitor", self._name or "local"),
                ("", "the nodes of a Slurm job come later: nothing has changed"),
            ]
        wish = None if list(words) == ["local"] else self._wish(list(words), namespace)
        if self._name is not None:
            _native.remove_monitor(self._of, self._name)
            self._name = None
        if wish is None:
            return [("monitor", "local: this node, by JUmPER itself")]
        found = add(self._of, wish)
        self._name = wish.name
        return found

    @staticmethod
    def _wish(words: list[str], namespace: Mapping[str, Any]) -> Wish:
        known = words[0] in SHIPPED or words[0] in namespace or shutil.which(words[0]) is not None
        if len(words) > 1 or known or ":" in words[0]:
            return parse(words, namespace)
        return of_module(words[0])


def completions(words: Sequence[str], of_running: Sequence[str] = ()) -> tuple[str, ...]:
    """What may stand behind ``%jumper monitor``."""
    if len(words) == 1:
        return ACTIONS
    if words[0] == "add":
        return (*OPTIONS, *SHIPPED)
    return tuple(of_running)
