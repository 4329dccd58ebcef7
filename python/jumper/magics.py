"""``%jumper VERB``: questions about the recording, and settings. ``_`` and ``Out`` stay alone."""

import html
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class

from . import (
    comparing,
    earlier,
    elsewhere,
    exporting,
    finer,
    groups,
    guard,
    monitoring,
    plotting,
    scorep,
    scripting,
    totals,
    views,
)
from ._native import Error, Report, Session, Status
from .arguments import one_of, options
from .examining import examine
from .live import Live
from .session import find, find_all, find_group
from .settings import LEVELS, SETTINGS, Settings
from .verbs import CARRYING, CELL_VERBS, CELLS, CHANGEABLE, QUESTIONS, VERBS, completions, refuse


@magics_class
class JumperMagics(Magics):
    def __init__(
        self, shell: InteractiveShell, session: Session, settings: Settings, label: str
    ) -> None:
        super().__init__(shell)
        self._label = label
        self._guard_percent = 0.0
        self._session = session
        self._settings = settings
        self.live: Live | None = None  # of the cell that runs
        self._relay: finer.Relay | None = None
        self.elsewhere = elsewhere.Elsewhere(settings, session)
        self.score_p = scorep.ScoreP(self.elsewhere)
        self.groups = groups.Groups(session, self.elsewhere, self.score_p)
        self.scripts = scripting.Scripts(shell, self.score_p)

    @line_cell_magic
    def jumper(self, line: str, cell: str | None = None) -> None:
        """Ask about what JUmPER measured, or change how it measures.

        %jumper                             the state of things
        %jumper set NAME=VALUE …            rate (Hz), summary, min_reports, level
        %jumper summary [CELL] [--level L]  what a cell used; without CELL the last one
        %jumper plot [CELLS] [-o FILE.svg]  curves of cells; --live: of this one, while it runs
        %jumper history                     all cells that were measured
        %jumper code CELL                   a cell's text, as it was when it ran
        %jumper compare CELL CELL           two runs side by side: figures and code
        %jumper total                       all cells together: core-hours, memory, I/O
        %jumper export [CELLS] --to NAME    samples as a variable; -o FILE: as a file
        %jumper carry [pickler=P] [transport=T] [workers=N]
                                            how variables go to a process of a cell's own
        %jumper group begin [NAME]|end      the cells between are one measurement
        %jumper save FILE                   a copy of the recording, to be opened elsewhere
        %jumper guard memory=95%|off        interrupts a cell before it fills memory
        %jumper monitor add COMMAND …       figures of your own, from a program or a class
        %jumper open last|FILE              an earlier recording; then a question, as summary
        %%jumper run [--with "LAUNCHER"]    this cell in a process of its own
        %%jumper scorep [ARGUMENTS]         the same, under Score-P
        %jumper script begin [NAME]|end     the cells in between become NAME.py and NAME.sh
        %jumper doctor                      what works here, what doesn't, what would help
        %jumper help                        the same with all that can be set

        CELL: n is the latest run of In [n], #k entry k of the history, -1 the last cell.
        CELLS: several of them, or ranges: 3-5, #2-#4, all; or a group: g1, or its name.
        """
        try:
            verb, *arguments = shlex.split(line) or ["status"]
            one_of("verb", verb, tuple(VERBS))
            if cell is None:
                getattr(self, f"_{verb}")(arguments)
                return
            one_of("verb with a cell below it", verb, CELL_VERBS)
            wish = elsewhere.parse(arguments) if verb == "run" else self.score_p.wish(arguments)
        except (ValueError, Error, elsewhere.NotStarted) as error:
            raise UsageError(f"%jumper: {error}") from None
        runner = self.elsewhere if verb == "run" else self.score_p
        try:
            runner.run(self.shell, cell, wish)
        except elsewhere.NotStarted as error:
            raise UsageError(f"%%jumper {verb}: {error}") from None

    def _run(self, arguments: list[str]) -> None:
        elsewhere.parse(arguments)
        raise ValueError("run needs a cell below it: write `%%jumper run`, with two %")

    def _scorep(self, arguments: list[str]) -> None:
        self.score_p.wish(arguments)
        raise ValueError("scorep needs a cell below it: write `%%jumper scorep`, with two %")

    def _script(self, arguments: list[str]) -> None:
        self._publish(views.table(self.scripts.verb(arguments)))

    def _status(self, arguments: list[str]) -> None:
        refuse("status", arguments)
        _, origin = self._settings.look_up("rate")
        status = self._session.status()
        restarts = f", started again {status.sampler_restarts} times" * bool(
            status.sampler_restarts
        )
        sampler = f"process {status.sampler_pid}{restarts}"
        if status.sampler_pid is None:
            sampler = f"none{restarts}: {status.lost or 'nothing is sampled'}"
        cost = status.sampler_cpu_percent
        gaps = (f"{seconds:.3g} s: {reason}" for seconds, reason in status.gaps)
        missing = (f"{metric}: {reason}" for metric, reason in status.missing)
        rows = (
            ("rate", f"{status.rate_hz:g} Hz ({origin})"),
            ("levels", ", ".join(status.levels)),
            ("where", f"{status.where} ({views.size(status.size_bytes)})"),
            ("keeps", _kept(status)),
            ("cells", str(status.cells)),
            *([("group", self.groups.state)] if self.groups.title else []),
            *([("guard", self._guard_text())] if self._guard_percent else []),
            ("sampler", sampler),
            ("its cost", "not yet known" if cost is None else f"{cost:.2g} % of one core"),
            ("gaps", "\n".join(gaps) or "none"),
            ("missing", "\n".join(missing) or "nothing"),
        )
        self._publish(views.table(rows))

    def _set(self, arguments: list[str]) -> None:
        """All or nothing."""
        changes = [argument.partition("=") for argument in arguments]
        for name, equals, value in changes:
            if not equals or not name:
                raise ValueError(
                    f"{name!r} sets nothing: write NAME=VALUE without spaces, as rate=50"
                )
            one_of("setting", name, tuple(SETTINGS))
            if name not in CHANGEABLE:
                raise ValueError(
                    f"{name} can't be changed while recording: set c.Jumper.{name} or "
                    f"JUMPER_{SETTINGS[name].variables[0].name} before jumper is loaded"
                )
            SETTINGS[name].check(value)
        for name, _, value in changes:
            self._settings.set("magic", name, value)
            if name == "rate":
                self._session.set_rate(self._settings.rate_hz)
        if not changes:
            self._publish(views.table(self._setting_rows()))

    def _carry(self, arguments: list[str]) -> None:
        for argument in arguments:
            one_of("way of carrying", argument.partition("=")[0], CARRYING)
        if arguments:
            self._set(arguments)
        else:
            self._publish(views.table(self._setting_rows(CARRYING)))

    def _summary(self, arguments: list[str], of: Session | Report | None = None) -> None:
        of = of or self._session
        chosen, cells = options("summary", arguments, ("--level",))
        refuse("summary", cells[1:])
        known = of.cells()
        level = self._level(chosen)
        group = find_group(known, cells[0]) if cells else None
        if group is not None:
            self._publish_group(of, group, level)
            return
        cell = find(known, cells[0] if cells else "-1")
        if isinstance(of, Session):
            of.wait(cell.index)
        self._publish(views.bundle(of.summary(cell.index, level), level))

    def _publish_group(self, of: Session | Report, group: int, level: str) -> None:
        _settle(of)
        self._publish(views.bundle(of.group_summary(group, level), level))

    def _group(self, arguments: list[str]) -> None:
        if not arguments:
            self._publish(views.table([("group", self.groups.state)]))
            return
        step, *words = arguments
        one_of("step of a group", step, groups.STEPS)
        if step != "begin":
            refuse("group", words)
        if step == "end":
            index = self.groups.end()
            if any(cell.group == index for cell in self._session.cells()):
                self._publish_group(self._session, index, self._settings.level)
            else:
                self._publish(views.table([("group", f"g{index} has ended without a cell")]))
            return
        begins = step == "begin"
        said = self.groups.begin(self.shell, words) if begins else self.groups.abort()
        self._publish(views.table([("group", said)]))

    def _plot(self, arguments: list[str], of: Session | Report | None = None) -> None:
        wanted = plotting.parse(arguments)
        level = self._settings.level
        if wanted.live:
            self._plot_live(wanted, level, of)
            return
        of = of or self._session
        draw = partial(plotting.draw, of, plotting.chosen(of, wanted), wanted, level)
        if wanted.widget:
            self._plot_widget(draw, wanted)
            return
        if wanted.file is None:
            self._publish(plotting.bundle(draw))
        else:
            said = plotting.write(draw(), wanted.file, force=wanted.force)
            self._publish(views.table([("plot", said)]))

    def _plot_live(self, wanted: plotting.Wanted, level: str, of: Session | Report | None) -> None:
        if of is not None or wanted.cells or wanted.file or wanted.widget:
            raise ValueError(
                "--live draws the cell that it stands in: no CELLS, no --widget, no -o"
            )
        if self.shell is None:
            return
        session, index = self._session, plotting.running(self._session)
        draw = partial(plotting.draw_running, session, index, wanted, level)
        last = partial(plotting.draw, session, [index], wanted, level)
        can_update = hasattr(self.shell, "kernel")
        self.live = self.live or Live(self.shell.display_pub.publish, can_update=can_update)
        self.live.show(lambda: plotting.image(draw()), lambda: plotting.bundle(last))

    def _plot_widget(self, draw: finer.Draw, wanted: plotting.Wanted) -> None:
        if wanted.file:
            raise ValueError("--widget asks the kernel for finer data, a file has none: no -o")
        self._relay = self._relay or finer.Relay()
        channel, asked = self._relay.questions.add(draw)
        self._publish(plotting.bundle(asked.whole, channel))

    def close_widget(self) -> None:
        """The plots that were shown stay, without finer data."""
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.close()

    def finish_live(self) -> Exception | None:
        """The cell has ended; what drawing its live plots has failed with, if anything."""
        live = self.live
        if live is None:
            return None
        try:
            live.finish()
        except Exception as error:  # noqa: BLE001
            live.error = error
        self.live = None  # not before: after an interrupt the end comes again
        return live.error

    def _history(self, arguments: list[str], of: Session | Report | None = None) -> None:
        refuse("history", arguments)
        self._publish(views.history((of or self._session).history()))

    def _code(self, arguments: list[str], of: Session | Report | None = None) -> None:
        of = of or self._session
        if not arguments:
            raise ValueError(
                "code needs a cell: n for In [n], #k for entry k of the history, or -1"
            )
        refuse("code", arguments[1:])
        index = find(of.cells(), arguments[0]).index
        self._publish(views.code(of.code(index)))

    def _compare(self, arguments: list[str], of: Session | Report | None = None) -> None:
        of = of or self._session
        chosen, names = options("compare", arguments, ("--level",))
        if len(names) != 2:
            raise ValueError("compare needs two cells, as in `%jumper compare 3 5` or `#1 -1`")
        level = self._one_level(chosen)
        indices = [find(of.cells(), name).index for name in names]
        _settle(of)
        first, second = (of.summary(index, level) for index in indices)
        codes = of.code(indices[0]), of.code(indices[1])
        self._publish(comparing.compare(first, second, codes, level))

    def _total(self, arguments: list[str], of: Session | Report | None = None) -> None:
        of = of or self._session
        chosen, rest = options("total", arguments, ("--level",))
        refuse("total", rest)
        self._publish(totals.total(of.totals(), of.history().json, self._one_level(chosen)))

    def _export(self, arguments: list[str], of: Session | Report | None = None) -> None:
        of = of or self._session
        chosen, names = options("export", arguments, ("--level", "--to", "-o"), ("--force",))
        if ("--to" in chosen) == ("-o" in chosen):
            raise ValueError(
                "export needs one target: --to NAME for a variable of the notebook, or -o FILE "
                f"({', '.join(exporting.WRITERS)})"
            )
        indices = [cell.index for cell in find_all(of.cells(), " ".join(names))]
        _settle(of)
        table = of.table(indices, self._level(chosen))
        if "-o" in chosen:
            path, force = chosen["-o"], "--force" in chosen
            self._publish(exporting.to_file(table, path, force=force))
        elif self.shell is not None:
            name = chosen["--to"]
            self._publish(exporting.to_variable(table, self.shell.user_ns, name))

    def _save(self, arguments: list[str]) -> None:
        chosen, paths = options("save", arguments, (), ("--force",))
        if len(paths) != 1:
            raise ValueError("save needs the path of the copy, as in `%jumper save run.jumper`")
        _settle(self._session)
        path = exporting.save(
            paths[0], lambda file: self._session.save(file.fileno()), force="--force" in chosen
        )
        where = f"{path} ({views.size(path.stat().st_size)})"
        about = f"`%jumper open {shlex.quote(str(path))}`, `jumper report` read it anywhere"
        self._publish(views.table([("saved", where), ("", about)]))

    def _level(self, chosen: dict[str, str]) -> str:
        if "--level" in chosen:
            SETTINGS["level"].check(chosen["--level"])
        return chosen.get("--level") or self._settings.level

    def _one_level(self, chosen: dict[str, str]) -> str:
        """Where all levels together say nothing: the kernel's own processes."""
        level = self._level(chosen)
        return LEVELS[0] if level == "all" else level

    def _guard(self, arguments: list[str]) -> None:
        if arguments:
            self._guard_percent = guard.parse(arguments)
            self._session.set_guard(self._guard_percent)
        self._publish(views.table([("guard", self._guard_text())]))

    def _guard_text(self) -> str:
        if not self._guard_percent:
            return "off"
        lost = self._session.status().lost
        text = f"cells are interrupted from {self._guard_percent:g} % of a memory limit on"
        return text if lost is None else f"{text}, but nobody watches at the moment: {lost}"

    def _monitor(self, arguments: list[str]) -> None:
        namespace = self.shell.user_ns if self.shell is not None else {}
        self._publish(views.table(monitoring.answer(self._session, arguments, namespace)))

    def _open(self, arguments: list[str]) -> None:
        """Without a question: how it ended, its history, and what its last cell used."""
        if not arguments:
            raise ValueError("open needs a recording: last, or the path of a file")
        name, *question = arguments
        path = self._last() if name == "last" else str(Path(name).expanduser())
        report = Report.open(path)
        if question:
            one_of("question about a recording", question[0], QUESTIONS)
            getattr(self, f"_{question[0]}")(question[1:], report)
            return
        ending = report.ending()
        rows = (
            ("recording", path),
            ("of", report.label()),
            ("ended", ending.text or "it still runs"),
            *([("memory", ending.curve)] if ending.curve else []),
            ("cells", str(len(report.cells()))),
        )
        self._publish(views.table(rows))
        if report.cells():
            self._publish(views.history(report.history()))
            self._summary([f"#{report.cells()[-1].index}"], report)

    def _last(self) -> str:
        own_path = self._session.status().path
        if own_path is None:
            raise ValueError(
                "there is no last recording here: this kernel's own is in memory only, "
                "`%jumper` says why; name a file instead"
            )
        path = earlier.last(own_path, self._label).path
        if path is None:
            raise ValueError(
                f"there is no recording of an earlier kernel of {self._label!r} from the last "
                f"7 days in {Path(own_path).parent}; name a file instead"
            )
        return path

    def _doctor(self, arguments: list[str]) -> None:
        refuse("doctor", arguments)
        text = examine(self._settings.directory)
        self._publish({"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"})

    def _help(self, arguments: list[str]) -> None:
        refuse("help", arguments)
        verbs = [
            (f"%jumper {verb} {after}".rstrip(), about) for verb, (after, about) in VERBS.items()
        ]
        rows = [*verbs, ("", CELLS), *self._setting_rows()]
        self._publish(views.table(rows))

    def _setting_rows(self, names: Iterable[str] = SETTINGS) -> Iterator[tuple[str, str]]:
        for name in names:
            setting = SETTINGS[name]
            value, origin = self._settings.look_up(name)
            shown = "auto" if value is None else f"{value:g}" if name == "rate" else value
            yield f"{name}={shown}", f"({origin}) {setting.about} Must be {setting.allowed}."

    def _publish(self, bundle: views.Bundle) -> None:
        if self.shell is not None:
            self.shell.display_pub.publish(bundle, {})

    @context_matcher()  # type: ignore[untyped-decorator]
    def match(self, context: CompletionContext) -> SimpleMatcherResult:
        """Completes verbs, settings and their values."""
        words = completions(context.text_until_cursor)
        found = [SimpleCompletion(word) for word in words if word.startswith(context.token)]
        return {"completions": found, "suppress": bool(found)}


def _settle(of: Session | Report) -> None:
    """Waits a little for the last sample of the last cell that has finished."""
    if isinstance(of, Session):
        finished = [cell.index for cell in of.cells() if not cell.running]
        of.wait(finished[-1] if finished else 0)


def _kept(status: Status) -> str:
    if status.keep_days is None or status.keep_bytes is None:
        return "everything: no recording is deleted where this one lies"
    now = f"{status.kept} recording{'s' * (status.kept != 1)}, {views.size(status.kept_bytes)}"
    return f"{status.keep_days} days, {views.size(status.keep_bytes)}; now {now}"
