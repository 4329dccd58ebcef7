"""The names of the paper, scorep-jupyter and jumper-extension, as magics: `peers` is their table.

There they are first lines of a cell, with a body or without one. IPython refuses `%%name` without
a body, so such a line becomes `%name` before it sees it. Here are those of engines; those of what
was watched are in `paper_names`, `extension_names` and `extension_files`.
"""

import contextlib
import shlex
from typing import Any, Final

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
    _native,
    mode_names,
    monitoring,
    peers,
    programs,
    scorep,
    stand_in,
    vampir,
    views,
)
from ._native import Error
from .engine import NotStarted
from .extension_files import ExtensionFiles
from .extension_names import ExtensionNames
from .origins import Sessions
from .paper_names import PaperNames
from .rivals import Rivals
from .settings import BACKENDS, Settings

# What they call a pickler and a transport.
MARSHALLERS: Final = {name: name for name in BACKENDS} | {"parallel_marshall": "parallel"}
MODES: Final = {"memory": "memfd", "disk": "file"}


@magics_class
class PeersNames(Magics):
    def __init__(
        self,
        shell: InteractiveShell,
        score_p: scorep.ScoreP,
        settings: Settings,
        session: _native.Session,
    ) -> None:
        super().__init__(shell)
        self._selected = monitoring.Selected(session)
        self._settings = settings
        self._without_body = _native.bodiless((*peers.NAMES, *mode_names.NAMES))
        self._score_p = score_p
        self.sessions = Sessions(session)
        self.of_extension = ExtensionNames(shell, session, settings, self.sessions)
        self.others: tuple[Magics, ...] = (
            PaperNames(shell, session, settings),
            self.of_extension,
            ExtensionFiles(shell, self.sessions),
        )
        self._rivals = Rivals()

    def install(self, shell: InteractiveShell) -> None:
        for magics in (self, *self.others):
            self._rivals.leave_out(shell, magics)
            shell.register_magics(magics)
        transformers: list[Any] = shell.input_transformers_cleanup
        transformers.append(self._without_body)
        if shell.Completer is not None:
            shell.Completer.custom_matchers.append(self.match)
        stand_in.install(shell, self.sessions.begin, self.of_extension.unloaded)

    def uninstall(self, shell: InteractiveShell) -> None:
        stand_in.uninstall(shell)
        if shell.Completer is not None:
            with contextlib.suppress(ValueError):
                shell.Completer.custom_matchers.remove(self.match)
        if self._without_body in shell.input_transformers_cleanup:
            shell.input_transformers_cleanup.remove(self._without_body)
        self.close()

    def close(self) -> None:
        self.of_extension.close()

    def take_sentences(self) -> list[str]:
        """To be said under the cell."""
        return self._rivals.take_sentences(self.shell, self.of_extension)

    @context_matcher()  # type: ignore[untyped-decorator]
    def match(self, context: CompletionContext) -> SimpleMatcherResult:
        """Completes what may stand behind a name, and below it."""
        words = peers.completions(context.full_text, context.text_until_cursor)
        found = [SimpleCompletion(word) for word in words if word.startswith(context.token)]
        return {"completions": found, "suppress": bool(found)}

    @line_cell_magic
    def execute_with_scorep(self, line: str, cell: str | None = None) -> None:
        """Run this cell under Score-P, in a process of its own; the same as `%%jumper scorep`.

        On the line may stand arguments of Score-P's Python bindings, for this cell only.
        """
        with_name = "%%execute_with_scorep"
        if cell is None:
            raise UsageError(f"{with_name} needs code below it")
        try:
            wish = self._score_p.wish(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"{with_name}: {error}") from None
        try:
            self._score_p.run(self.shell, cell, wish)
        except (Error, NotStarted) as error:
            raise UsageError(f"{with_name}: {error}") from None

    @line_cell_magic
    def scorep_python_binding_arguments(self, line: str, cell: str | None = None) -> None:
        """Set the arguments of Score-P's Python bindings for all later cells under Score-P.

        They stand behind the name or below it; `none` takes them back. With nothing there: which
        they are now.
        """
        try:
            words = shlex.split(f"{line}\n{cell or ''}", comments=True)
            chosen = [] if words == ["none"] else words
            scorep.check("scorep_python_binding_arguments", chosen)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if words:
            self._score_p.arguments = tuple(chosen)
        self._say("arguments", shlex.join(self._score_p.arguments) or "none")

    @line_cell_magic
    def enable_vampir_launch_on_scorep_instrumented(self, _: str, cell: str = "") -> None:
        """Open the trace of each later cell under Score-P in Vampir."""
        self._score_p.opens_vampir = True
        path = programs.find(vampir.NAME)
        about = f"opens each trace ({path})" if path else f"can't open traces: {vampir.MISSING}"
        self._say("vampir", about, cell)

    @line_cell_magic
    def disable_vampir_launch(self, _: str, cell: str = "") -> None:
        """Leave traces unopened again."""
        self._score_p.opens_vampir = False
        self._say("vampir", "stays closed", cell)

    @line_cell_magic
    def marshalling_settings(self, line: str, cell: str | None = None) -> None:
        """Choose how variables go to a process of a cell's own: `%jumper carry` in other words.

        MARSHALLER=cloudpickle, pickle, dill or parallel_marshall; MODE=memory or disk; they stand
        behind the name or below it. With nothing there: how they go now.
        """
        try:
            words = shlex.split(f"{line}\n{cell or ''}", comments=True)
            chosen = [self._marshalling(word) for word in words]
        except ValueError as error:
            raise UsageError(f"marshalling_settings: {error}") from None
        for name, value in chosen:
            self._settings.set("magic", name, value)
        rows = [("pickler", self._settings.pickler), ("transport", self._settings.transport)]
        if self._settings.pickler == "parallel":
            rows += [("workers", str(self._settings.workers)), ("backend", self._settings.backend)]
        self._show(rows)

    @line_cell_magic
    def set_perfmonitor(self, line: str, cell: str | None = None) -> None:
        """Select what measures beside JUmPER itself: `%jumper monitor add` in other words.

        local: nothing else; a module with a class that has metrics() and sample(); a command. They
        stand behind the name or below it. With nothing there: what is selected now.
        """
        namespace = self.shell.user_ns if self.shell is not None else {}
        try:
            words = shlex.split(f"{line}\n{cell or ''}", comments=True)
            self._show(self._selected.choose(words, namespace))
        except (ValueError, Error) as error:
            raise UsageError(f"set_perfmonitor: {error}") from None

    def _marshalling(self, word: str) -> tuple[str, str]:
        name, equals, value = word.partition("=")
        known = {"MARSHALLER": ("pickler", MARSHALLERS), "MODE": ("transport", MODES)}
        if not equals or name not in known:
            raise ValueError(f"{word!r} sets nothing: write MARSHALLER=… or MODE=…")
        setting, values = known[name]
        if value not in values:
            raise ValueError(f"{word} is refused: {name} must be one of {', '.join(values)}")
        return setting, values[value]

    def _say(self, name: str, value: str, not_run: str = "") -> None:
        rows = [(name, value)]
        if not_run.strip():
            rows.append(("", "what stands below this name was not run"))
        self._show(rows)

    def _show(self, rows: list[tuple[str, str]]) -> None:
        if self.shell is not None:
            self.shell.display_pub.publish(views.table(rows), {})
