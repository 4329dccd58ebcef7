"""What the paper's notebooks, scorep-jupyter's and jumper-extension's call their two modes.

None of these names runs what stands below it, and where there is nothing to do they say so and
answer well, as theirs do.
"""

from typing import Final

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class

from . import views
from ._native import Error
from .engine import NotStarted
from .multicell import MultiCell
from .scorep import ScoreP

NAMES: Final = (
    "enable_multicellmode",
    "finalize_multicellmode",
    "abort_multicellmode",
)


@magics_class
class ModeNames(Magics):
    def __init__(self, shell: InteractiveShell, score_p: ScoreP) -> None:
        super().__init__(shell)
        self._multicell = MultiCell(shell, score_p)

    def install(self, shell: InteractiveShell) -> None:
        shell.register_magics(self)

    def uninstall(self) -> None:
        self._multicell.abort()

    @line_cell_magic
    def enable_multicellmode(self, line: str, cell: str = "") -> None:
        """From the next cell on, cells are collected instead of run.

        %%finalize_multicellmode runs them as one under Score-P, %%abort_multicellmode drops them.
        """
        self._refuse("enable_multicellmode", line)
        try:
            self._say("multi-cell mode", self._multicell.enable(), cell)
        except NotStarted as error:
            raise UsageError(f"%%enable_multicellmode: {error}") from None

    @line_cell_magic
    def finalize_multicellmode(self, line: str, cell: str = "") -> None:
        """Run the collected cells as one, in order, under Score-P; a heading stands over each.

        The first error ends it, and the reply of this cell is that error.
        """
        self._refuse("finalize_multicellmode", line)
        try:
            self._say("multi-cell mode", self._multicell.finalize(), cell)
        except (Error, NotStarted) as error:
            raise UsageError(f"%%finalize_multicellmode: {error}") from None

    @line_cell_magic
    def abort_multicellmode(self, line: str, cell: str = "") -> None:
        """Drop the collected cells: none of them runs."""
        self._refuse("abort_multicellmode", line)
        self._say("multi-cell mode", self._multicell.abort(), cell)

    def _refuse(self, name: str, line: str) -> None:
        if line.strip():
            raise UsageError(f"%%{name} takes nothing: {line.strip()!r} is not understood")

    def _say(self, name: str, value: str | None, not_run: str = "") -> None:
        rows = [(name, value)] if value else []
        if not_run.strip():
            rows.append(("", "what stands below this name was not run"))
        if rows and self.shell is not None:
            self.shell.display_pub.publish(views.table(rows), {})
