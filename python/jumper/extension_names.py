"""jumper-extension's names. Its numbers of cells count from 0: see `peer_cells`.

``perfmonitor_start`` and ``_stop`` change how often is sampled and what stands under cells. Cells
are measured all the time, so nothing is lost before, between or after them.
"""

import importlib.util
import shlex
from typing import TYPE_CHECKING, Any, Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import line_cell_magic, magics_class

from . import origins, peer_cells, peers, views
from ._native import Session
from .arguments import one_of, options
from .origins import Origin, Sessions
from .peer_cells import NothingThereError, PeerCell
from .peer_magics import PeerMagics, answers, at_most_one, level_of, refuse
from .settings import RATES_HZ, Settings

if TYPE_CHECKING:
    from . import peer_plots

RANGES: Final = "5, 2:8, :5, 3: or -3:-1; both ends included, the first cell is 0"


@magics_class
class ExtensionNames(PeerMagics):
    def __init__(
        self,
        shell: InteractiveShell,
        session: Session,
        settings: Settings,
        sessions: Sessions,
    ) -> None:
        super().__init__(shell)
        self._session = session
        self._settings = settings
        self._sessions = sessions
        self._before: dict[str, Any] = {}  # of the settings that were changed here
        self._plots: peer_plots.Plots | None = None

    def unloaded(self) -> None:
        """``%unload_ext jumper_extension``."""
        self._finish_plots()
        self._take_back()

    # ---- begin and end ----

    @line_cell_magic
    @answers
    def perfmonitor_start(self, line: str) -> None:
        """Choose how often is sampled: `%perfmonitor_start 0.5` is every half second.

        Without a number the rate stays; cells are measured without this, too. After import_session
        it goes back to this session. --monitor M: all of theirs are one here. --check-sanity says
        what can't be measured.
        """
        chosen, rest = options(
            "perfmonitor_start", shlex.split(line), ("--monitor",), ("--check-sanity",)
        )
        monitor = one_of("monitor", chosen.get("--monitor", "default"), peers.MONITORS)
        rows = self._start(at_most_one(rest, "the seconds between two samples"))
        if monitor == "slurm_multinode":
            rows.append(("nodes", "this one only: several nodes come in a later version"))
        if "--check-sanity" in chosen:
            missing = self._session.status().missing
            text = "\n".join(f"{metric}: {reason}" for metric, reason in missing)
            rows.append(("missing", text or "nothing"))
        self.show(rows)

    @line_cell_magic
    @answers
    def perfmonitor_stop(self, line: str) -> None:
        """Take back the rate and the reports that were asked for. Nothing recorded is lost.

        All questions and exports go on answering, and cells are still measured.
        """
        refuse(line)
        self._finish_plots()
        self._take_back()
        rate = f"{self._settings.rate_hz:g} Hz, as without perfmonitor_start"
        self.show([("cells", "are measured on, and all that was recorded stays"), ("rate", rate)])

    @line_cell_magic
    @answers
    def perfmonitor_enable_perfreports(self, line: str) -> None:
        """Put a report under each cell that has a sample.

        --level process, user, system or slurm; --interval: the seconds between two samples; --text
        is understood: every report has its text.
        """
        chosen, rest = options(
            "perfmonitor_enable_perfreports",
            shlex.split(line),
            ("--level", "--interval", "--cell"),
            ("--text",),
        )
        refuse(" ".join(rest))
        level = level_of(chosen)
        rows = self._start(chosen.get("--interval"))
        self._reports(level)
        self.show([*rows, ("reports", f"under each cell with a sample, level {level}")])

    @line_cell_magic
    @answers
    def perfmonitor_disable_perfreports(self, line: str) -> None:
        """No report under cells any more."""
        refuse(line)
        self._change("summary", "never")
        self.show([("reports", "none; %jumper summary still tells what a cell used")])

    @line_cell_magic
    @answers
    def perfmonitor_fast_setup(self, line: str) -> None:
        """Do perfmonitor_start and perfmonitor_enable_perfreports.

        And %matplotlib ipympl where that is installed.
        """
        refuse(line)
        rows = self._start(None)
        self._reports(peers.LEVELS["process"])
        rows.append(("reports", "under each cell with a sample, level process"))
        if self.shell is not None and importlib.util.find_spec("ipympl") is not None:
            self.shell.run_line_magic("matplotlib", "ipympl")
            rows.append(("matplotlib", "ipympl"))
        self.show(rows)

    def _start(self, period: str | None) -> list[tuple[str, str]]:
        self._sessions.imported = None
        note = ""
        if period is not None:
            rate_hz, note = _rate(period)
            self._change("rate", rate_hz)
            self._session.set_rate(self._settings.rate_hz)
        rate, origin = self._settings.look_up("rate")
        rows = [
            ("rate", f"{rate:g} Hz ({origin if period is None else 'perfmonitor_start'}){note}")
        ]
        status = self._session.status()
        if status.lost:
            rows.append(("sampler", f"none: {status.lost}"))
        return rows

    def _reports(self, level: str) -> None:
        for name, value in (("summary", "auto"), ("min_reports", 1), ("level", level)):
            self._change(name, value)

    def _change(self, name: str, value: Any) -> None:
        now, origin = self._settings.look_up(name)
        self._before.setdefault(name, now if origin == "%jumper set" else None)
        self._settings.set("magic", name, value)

    def _take_back(self) -> None:
        while self._before:
            name, before = self._before.popitem()
            if before is None:
                self._settings.take_back("magic", name)
            else:
                self._settings.set("magic", name, before)
        self._session.set_rate(self._settings.rate_hz)

    # ---- questions ----

    @line_cell_magic
    @answers
    def perfmonitor_resources(self, line: str) -> None:
        """Show the cores, the memory and the GPUs that there are."""
        refuse(line)
        self.show(origins.resources(self._sessions.current().monitor()))

    @line_cell_magic
    @answers
    def perfmonitor_perfreport(self, line: str) -> None:
        """Say what the last cell with a sample used, or the cells of a range together.

        --cell 5, 2:8, :5, 3: or -3:-1; --level process, user, system or slurm; --text prints it.
        """
        from . import peer_views

        chosen, rest = options(
            "perfmonitor_perfreport", shlex.split(line), ("--cell", "--level"), ("--text",)
        )
        refuse(" ".join(rest))
        level, origin = level_of(chosen), self._sessions.current()
        if "--cell" in chosen:
            cells = peer_cells.in_range(origin.cells(), chosen["--cell"])
        else:
            cells = [_last_sampled(origin, level)]
        recorded = origin.recorded
        if recorded is not None and len(cells) == 1:
            bundle = views.bundle(recorded.summary(cells[0].entry, level), level)
        else:
            bundle = peer_views.report(cells, origin.samples(level, cells), recorded, level)
        if "--text" in chosen:
            print(bundle["text/plain"])
        else:
            self.publish(bundle)

    @line_cell_magic
    @answers
    def perfmonitor_plot(self, line: str) -> None:
        """Draw the curves of all cells, or of a range.

        --cell 2:5; --level process, user, system or slurm; --metrics cpu_summary,memory,…;
        --live [INTERVAL [WINDOW]] goes on while other cells run, until perfmonitor_stop;
        --pickle FILE.pkl saves figure and data; --save-jpeg FILE saves the picture, as SVG.
        """
        from . import peer_plots  # when it is asked for: loading jumper stays quick

        chosen, rest = options(
            "perfmonitor_plot",
            shlex.split(line),
            ("--metrics", "--cell", "--level", "--save-jpeg", "--pickle", "--backend"),
            ("--live",),
        )
        if "--live" not in chosen:
            refuse(" ".join(rest))
        one_of("backend", chosen.get("--backend", peers.BACKENDS[0]), peers.BACKENDS)
        wanted = peer_plots.parse(chosen, rest)
        plots = self._plots = self._plots or peer_plots.Plots(self._session, self._settings)
        origin = self._sessions.current()
        can_follow = self._sessions.imported is None and hasattr(self.shell, "kernel")
        if "--live" in chosen and can_follow and self.shell is not None:
            plots.follow(wanted, self.shell.display_pub.publish)
            return
        cells = origin.cells()
        if "--cell" in chosen:
            cells = peer_cells.in_range(cells, chosen["--cell"])
        if not cells:
            raise NothingThereError("no cell has finished yet: run one, then ask again")
        for bundle in plots.draw(origin, cells, wanted):
            self.publish(bundle)

    @line_cell_magic
    @answers
    def show_cell_history(self, line: str) -> None:
        """Show all cells, numbered from 0, with their times and code."""
        from . import peer_views

        refuse(line)
        origin = self._sessions.current()
        self.publish(peer_views.history(origin.cells(), origin.recorded))

    @line_cell_magic
    @answers
    def perfmonitor_help(self, line: str) -> None:
        """List these names and what may stand behind them."""
        refuse(line)
        rows = [
            (f"%{name} {one.after}".rstrip(), one.about)
            for name, one in peers.NAMES.items()
            if one.of == "jumper-extension"
        ]
        rows += [
            ("RANGE", RANGES),
            ("L", "process; user; system: the node; slurm: the job"),
            ("M", ", ".join(one for one, ours in peers.METRICS.items() if ours)),
            ("", "%jumper help lists what JUmPER has besides"),
        ]
        self.show(rows)

    def close(self) -> None:
        """The interpreter ends, or jumper is unloaded."""
        if self._plots is not None:
            self._plots.stop()

    def _finish_plots(self) -> None:
        if self._plots is not None:
            self._plots.finish()


def _rate(period: str) -> tuple[float, str]:
    """The rate, and what is to be said of it. Theirs takes any period."""
    seconds = peers.seconds(period, "they are the time between two samples")
    rate_hz = min(max(1 / seconds, RATES_HZ[0]), RATES_HZ[1]) if seconds > 1e-9 else RATES_HZ[1]
    is_other = abs(rate_hz * seconds - 1) > 1e-9
    note = f"; {period} s between samples is out of {RATES_HZ[0]:g} to {RATES_HZ[1]:g} Hz"
    return rate_hz, note * is_other


def _last_sampled(origin: Origin, level: str) -> PeerCell:
    """It does more than to ask, and has a sample."""
    cells = [one for one in origin.cells() if not peer_cells.only_asks(one.code)]
    if origin.recorded is not None:
        entries = {one.entry for one in peer_cells.of_paper(origin.recorded)}
        found = [one for one in cells if one.entry in entries]
    else:
        samples = origin.samples(level, cells)
        if not samples.rows and "" in samples.missing:
            raise NothingThereError(samples.missing[""])
        numbers = set(samples.columns.get("cell_index", ()))
        found = [one for one in cells if one.number in numbers]
    return peer_cells.last(found)
