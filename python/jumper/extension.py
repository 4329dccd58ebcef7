"""IPython's cells become cells of the recording. Nothing here may change what a cell does.

1. `load` begins the recording and registers two events, the magic and the configurable.
2. `Extension.pre_run_cell` marks a cell's begin, `Extension.post_run_cell` its end, and shows what
   is due under it. A cell in a cell (``get_ipython().run_cell``, ``%%capture``) is the outer one's.
3. What fails here is told once under the cell, and the feature that failed is off from then on.
"""

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell
from traitlets import TraitError, TraitType
from traitlets.config import Config, Configurable

from . import _native, earlier, guard, views
from .cells import Interrupt, RunningCell, running_cells
from .magics import JumperMagics
from .mode_names import ModeNames
from .names import PeersNames
from .peer_cells import only_asks
from .session import start
from .settings import SETTINGS, Settings

AUTOMATIC_SUMMARY_S: Final = 1.0
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
SETTLED_S: Final = 10.0  # by then it is clear whether an earlier kernel is really gone
T = TypeVar("T")


class Setting(TraitType[Any, Any]):
    """A setting of `settings.SETTINGS` as traitlets sees it."""

    def __init__(self, name: str) -> None:
        setting = SETTINGS[name]
        super().__init__(setting.default, help=f"{setting.about} Must be {setting.allowed}.")
        self.tag(config=True)
        self._setting = setting

    def validate(self, obj: Any, value: Any) -> Any:  # noqa: ARG002
        try:
            return self._setting.check(value)
        except ValueError as error:
            raise TraitError(f"Jumper.{error}") from None


class Jumper(Configurable):
    """How cells are measured and what stands under them."""

    rate = Setting("rate")
    summary = Setting("summary")
    min_reports = Setting("min_reports")
    level = Setting("level")
    pickler = Setting("pickler")
    backend = Setting("backend")
    workers = Setting("workers")
    carry_report = Setting("carry_report")
    transport = Setting("transport")
    directory = Setting("directory")
    keep_days = Setting("keep_days")
    keep_bytes = Setting("keep_bytes")

    def __init__(self, settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self._settings = settings
        for name, setting in SETTINGS.items():
            if getattr(self, name) != setting.default:
                settings.set("file", name, getattr(self, name))

    def update_config(self, config: Config) -> None:
        """``%config`` comes this way, the configuration file doesn't."""
        super().update_config(config)
        for name in SETTINGS.keys() & config["Jumper"].keys():
            self._settings.set("config", name, config["Jumper"][name])


class Extension:
    """One shell's recording. Every method may be called from any thread that runs cells."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.settings = Settings()
        self._warnings: list[str] = []
        self._off: set[str] = set()
        self._here = threading.local()  # .cell: the cell that runs on this thread
        self._pid = os.getpid()
        self._visible = at_begin(VISIBLE)
        self._offset: int | None = None  # from the shell's count at a cell's begin to its In [n]
        try:
            self.configurable = Jumper(self.settings, parent=shell)
        except TraitError as error:
            self._warnings.append(f"the configuration file's c.Jumper is ignored: {error}")
            self.configurable = Jumper(self.settings)
        self._label = label(shell)
        self._look_until_s = time.monotonic() + SETTLED_S
        self.session = start(self._label, self.settings)
        self._rate_hz = self.settings.rate_hz
        self.magics = JumperMagics(shell, self.session, self.settings, self._label)
        self.peers_names = PeersNames(shell, self.magics.score_p, self.settings, self.session)
        self.mode_names = ModeNames(shell, self.magics.score_p, self.magics.scripts)

    def install(self) -> None:
        atexit.register(self.close)
        configurables: list[Any] = self.shell.configurables
        configurables.append(self.configurable)
        self.shell.register_magics(self.magics)
        self.peers_names.install(self.shell)
        self.mode_names.install(self.shell)
        if self.shell.Completer is not None:
            self.shell.Completer.custom_matchers.append(self.magics.match)
        self.shell.events.register("pre_run_cell", self.pre_run_cell)
        self.shell.events.register("post_run_cell", self.post_run_cell)

    def uninstall(self) -> None:
        """Takes back what `install` did, as far as it came."""
        for event, hook in (
            ("pre_run_cell", self.pre_run_cell),
            ("post_run_cell", self.post_run_cell),
        ):
            with contextlib.suppress(ValueError):
                self.shell.events.unregister(event, hook)
        if self.shell.Completer is not None:
            with contextlib.suppress(ValueError):
                self.shell.Completer.custom_matchers.remove(self.magics.match)
        registered = self.shell.magics_manager
        self.peers_names.uninstall(self.shell)
        self.mode_names.uninstall()
        all_magics = (self.magics, self.mode_names, self.peers_names, *self.peers_names.others)
        for magics in all_magics:
            registered.registry.pop(type(magics).__name__, None)
            for kind, names in magics.magics.items():
                for name, method in names.items():
                    if registered.magics[kind].get(name) is method:  # else another took it
                        del registered.magics[kind][name]
                names.clear()  # bound methods: they would keep the session
        configurables: list[Any] = self.shell.configurables
        for configurable in (self.configurable, *all_magics):
            with contextlib.suppress(ValueError):
                configurables.remove(configurable)
        cell = getattr(self._here, "cell", None)
        if cell is not None:  # the one that unloads us
            self._finish(cell, "ok", None)
        self._finish_live(cell)
        self.magics.close_widget()
        self.magics.groups.close()
        self.magics.elsewhere.close()
        self.session.close("the extension was unloaded")
        atexit.unregister(self.close)

    def close(self) -> None:
        """The interpreter ends."""
        self.magics.groups.close()
        self.peers_names.close()
        self.magics.elsewhere.close()
        self.session.close(why_it_ends(self.shell))

    # The two hooks. IPython prints what they raise, interrupts too. So all that they call can be
    # called again, and goes on where an interrupt stopped it.

    def pre_run_cell(self, info: ExecutionInfo) -> None:
        try:
            self._guarded(self._begin, info)
        except KeyboardInterrupt:
            self._guarded(self._begin, info)
            Interrupt(self.shell.ast_transformers)

    def post_run_cell(self, result: ExecutionResult | None) -> None:
        try:
            self._guarded(self._end, result)
            self._follow_up("the end of groups", self.magics.groups.after_cell)
            self._follow_up(
                "the spare engine", self.magics.elsewhere.after_cell, self.shell.user_ns
            )
            self._follow_up("the notice of an earlier kernel", self._look_back)
            self._tell()
        except KeyboardInterrupt:  # too late for the cell, and nothing else runs
            self._guarded(self._end, result)
            self._follow_up("the end of groups", self.magics.groups.after_cell)

    def _guarded(self, step: Callable[[T], None], argument: T) -> None:
        try:
            step(argument)
        except Exception as error:  # noqa: BLE001
            self._fail("measuring", error)
            self._finish_live(None)
            self._here.cell = None

    def _follow_up(self, feature: str, step: Callable[..., None], *arguments: object) -> None:
        """What is done once the cell's end is marked."""
        if feature in self._off:
            return
        try:
            step(*arguments)
        except Exception as error:  # noqa: BLE001
            self._fail(feature, error)

    def _is_absent(self) -> bool:
        return "measuring" in self._off or os.getpid() != self._pid  # a forked child of the kernel

    def _begin(self, info: ExecutionInfo) -> None:
        if self._is_absent():
            return
        cell: RunningCell | None = getattr(self._here, "cell", None)
        if cell is not None and cell.info is not info:
            if not info.store_history or running_cells() > 1:
                return
            self._finish(cell, "interrupted", None)  # an interrupt in IPython took its end event
            self._finish_live(cell)
            cell = None
        if cell is None:
            self._here.cell = cell = RunningCell(info, self.shell.execution_count)
            self.magics.elsewhere.begin_cell()
        if not cell.index:
            self._set_rate()
            self._see_devices()
            known = info.store_history and self._offset is not None
            number = cell.shell_count + (self._offset or 0) if known else None
            # One call of C: no interrupt comes between the mark and our knowing of it.
            cell.index.extend(map(self.session.begin, (cell.source,), (number,)))

    def _end(self, result: ExecutionResult | None) -> None:
        self._drop_interrupt()
        cell: RunningCell | None = getattr(self._here, "cell", None)
        if self._is_absent() or cell is None or not cell.ends_with(result):
            return
        number = None
        if result is not None and cell.info.store_history and result.execution_count is not None:
            number = result.execution_count
            self._offset = number - cell.shell_count
        self._finish(cell, cell.outcome(result, self.shell), number)
        self._say_near_limit(result)
        self._finish_live(cell)
        if not cell.shown:  # else an interrupt has stopped it
            cell.shown = True
            self._show(cell)
        self._here.cell = None

    def _finish_live(self, cell: RunningCell | None) -> None:
        if self.magics.live is None or os.getpid() != self._pid:
            return
        try:
            for index in cell.index if cell is not None else ():
                self.session.wait(index)
            error = self.magics.finish_live()
        except Exception as failure:  # noqa: BLE001
            error = failure
        if error is not None:
            self._warnings.append(f"the live plot isn't whole: {type(error).__name__}: {error}")

    def _say_near_limit(self, result: ExecutionResult | None) -> None:
        near = self.session.take_near_limit()
        if near is None:
            return
        error = result.error_in_exec if result is not None else None
        try:
            said = guard.sentence(near, self.shell.user_ns, self.shell.user_ns_hidden, error)
        except Exception as failure:  # noqa: BLE001  (memory is short: anything may)
            said = f"guard: memory came near a limit, so this cell was interrupted ({failure!r})"
        self._warnings.append(said)

    def _finish(self, cell: RunningCell, outcome: str, number: int | None) -> None:
        if not cell.ended:
            engine = self.magics.elsewhere.figures
            cell.ended.extend(map(self.session.end, cell.index, (outcome,), (number,), (engine,)))

    def _drop_interrupt(self) -> None:
        """One that found no code to stop: the cell's syntax was wrong."""
        for transformer in list(self.shell.ast_transformers):
            if isinstance(transformer, Interrupt):
                transformer.drop()

    def _show(self, cell: RunningCell) -> None:
        """The summary under the cell, when one is due."""
        if "summary" in self._off:
            return
        try:
            for index in cell.index:
                if self._due(cell, index):
                    self.session.wait(index)
                    level = self.settings.level
                    rendered = self.session.summary(index, level)
                    self.shell.display_pub.publish(views.bundle(rendered, level), {})
        except Exception as error:  # noqa: BLE001
            self._fail("summary", error)

    def _due(self, cell: RunningCell, index: int) -> bool:
        wish = self.settings.summary
        if wish != "auto":
            return wish == "always"
        least = self.settings.min_reports  # as the peers count: cells that only ask don't
        lasted_s = time.monotonic() - cell.begin_s
        if least is None:
            return lasted_s >= AUTOMATIC_SUMMARY_S
        if lasted_s * self._rate_hz < least - 1 or only_asks(views.readable(cell.source)):
            return False
        self.session.wait(index)  # its last rows are on their way to the disk
        return self.session.ticks(index) >= least

    def _see_devices(self) -> None:
        """The notebook may choose its cards itself, before it uses the first one."""
        visible = _native.environment((VISIBLE,)).get(VISIBLE)
        if visible != self._visible:
            self._visible = visible
            self.session.set_visible_devices(visible)

    def _set_rate(self) -> None:
        rate_hz = self.settings.rate_hz
        if rate_hz != self._rate_hz:
            self.session.set_rate(rate_hz)
            self._rate_hz = rate_hz

    def _fail(self, feature: str, error: Exception) -> None:
        self._off.add(feature)
        self._warnings.append(f"{feature} is off from here on: {type(error).__name__}: {error}")

    def _look_back(self) -> None:
        """What became of the last kernel of this notebook; under the first cell, as a rule."""
        if not self._look_until_s or self._is_absent():
            return
        until_s, self._look_until_s = self._look_until_s, 0.0
        path = self.session.status().path
        found = earlier.last(path, self._label) if path else None
        if found and found.unsettled and time.monotonic() < until_s:
            self._look_until_s = until_s
        elif found and found.path:
            self._warnings += filter(None, [earlier.notice(found)])

    def _tell(self) -> None:
        """Under the cell, what the user must know; each sentence once."""
        if os.getpid() != self._pid:
            return
        with contextlib.suppress(Exception):  # the user's stderr may be anything
            warnings, self._warnings = self._warnings, []
            warnings += self.magics.elsewhere.take_sentences()
            warnings += self.peers_names.take_sentences()
            warnings += self.settings.take_warnings() + self.session.take_warnings()
            for sentence in warnings:
                print(f"jumper: {sentence}", file=sys.stderr)


def at_begin(name: str) -> str | None:
    """A variable of the environment that this process began with."""
    with contextlib.suppress(OSError):
        for entry in Path("/proc/self/environ").read_bytes().split(b"\0"):
            if entry.startswith(os.fsencode(f"{name}=")):
                return os.fsdecode(entry.partition(b"=")[2])
    return None


def label(shell: InteractiveShell) -> str:
    """What is recorded: the notebook's name, as Jupyter's server tells it, else where we are."""
    notebook = os.environ.get("JPY_SESSION_NAME")
    if notebook:
        return notebook
    with contextlib.suppress(OSError):
        return f"{type(shell).__name__} in {Path.cwd()}"
    return type(shell).__name__


def why_it_ends(shell: InteractiveShell) -> str:
    """What a front end has asked a kernel for, as ipykernel keeps it (shutdown_request)."""
    message: Any = getattr(getattr(shell, "kernel", None), "_shutdown_message", None)
    try:
        restarts = message["content"]["restart"]
    except (TypeError, KeyError):  # nobody asked, or another kernel
        return "the interpreter ended"
    return "the kernel was restarted" if restarts else "the kernel was shut down"


_loaded: dict[InteractiveShell, Extension] = {}


def load(shell: InteractiveShell) -> None:
    if shell in _loaded:
        return
    extension = Extension(shell)
    try:
        extension.install()
    except BaseException:
        extension.uninstall()
        raise
    _loaded[shell] = extension


def unload(shell: InteractiveShell) -> None:
    if shell in _loaded:
        _loaded.pop(shell).uninstall()
