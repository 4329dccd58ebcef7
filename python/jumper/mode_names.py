"""What the paper's notebooks, scorep-jupyter's and jumper-extension's call their two modes.

None of these names runs what stands below it, and where there is nothing to do they say so and
answer well, as theirs do.
"""

import shlex
from collections.abc import Callable
from typing import Final

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class

from . import views
from ._native import Error
from .collecting import MODES
from .engine import NotStarted
from .multicell import MultiCell
from .scorep import ScoreP
from .scripting import Rows, Scripts, Wish, extensions, papers

NAMES: Final = MODES
MODE: Final = "multi-cell mode"


@magics_class
class ModeNames(Magics):
    def __init__(self, shell: InteractiveShell, score_p: ScoreP, scripts: Scripts) -> None:
        super().__init__(shell)
        self._multicell = MultiCell(shell, score_p)
        self._scripts = scripts

    def install(self, shell: InteractiveShell) -> None:
        shell.register_magics(self)

    def uninstall(self) -> None:
        self._multicell.abort()
        self._scripts.abort()

    @line_cell_magic
    def enable_multicellmode(self, line: str, cell: str = "") -> None:
        """From the next cell on, cells are collected instead of run.

        %%finalize_multicellmode runs them as one under Score-P, %%abort_multicellmode drops them.
        While a script is written: the cells from here to %%finalize_multicellmode are for Score-P.
        """
        self._refuse("enable_multicellmode", line)
        if self._mark("enable_multicellmode", cell, marks=True):
            return
        try:
            self._say(MODE, self._multicell.enable(), cell)
        except NotStarted as error:
            raise UsageError(f"%%enable_multicellmode: {error}") from None

    @line_cell_magic
    def finalize_multicellmode(self, line: str, cell: str = "") -> None:
        """Run the collected cells as one, in order, under Score-P; a heading stands over each.

        The first error ends it, and the reply of this cell is that error.
        """
        self._refuse("finalize_multicellmode", line)
        if self._mark("finalize_multicellmode", cell, marks=False):
            return
        try:
            self._say(MODE, self._multicell.finalize(), cell)
        except (Error, NotStarted) as error:
            raise UsageError(f"%%finalize_multicellmode: {error}") from None

    @line_cell_magic
    def abort_multicellmode(self, line: str, cell: str = "") -> None:
        """Drop the collected cells: none of them runs."""
        self._refuse("abort_multicellmode", line)
        if self._scripts.is_on:
            self._say(MODE, "can't be aborted while a script is written: marks stay", cell)
            return
        self._say(MODE, self._multicell.abort(), cell)

    @line_cell_magic
    def start_writefile(self, line: str, cell: str = "") -> None:
        """From the next cell on, cells are collected for NAME.py and NAME_run.sh, not run.

        %%start_writefile [NAME]; without NAME jupyter_to_script. %%end_writefile writes both files,
        %%abort_writefile forgets the cells. Cells with %%execute_with_scorep, and those between
        %%enable_multicellmode and %%finalize_multicellmode, run under Score-P there.
        """
        self._begin("start_writefile", papers, line or "jupyter_to_script", cell)

    @line_cell_magic
    def end_writefile(self, line: str, cell: str = "") -> None:
        """Write the collected cells: a Python script, and the shell script that runs it."""
        self._refuse("end_writefile", line)
        self._end("end_writefile", cell)

    @line_cell_magic
    def abort_writefile(self, line: str, cell: str = "") -> None:
        """Forget the collected cells; nothing is written."""
        self._refuse("abort_writefile", line)
        self._show(self._scripts.abort(), cell)

    @line_cell_magic
    def start_write_script(self, line: str, cell: str = "") -> None:
        """From the next cell on, cells are collected for a Python script, not run.

        %start_write_script [PATH]; without PATH notebook_script_ and the time. %end_write_script
        writes it, and beside it a shell script that runs it.
        """
        self._begin("start_write_script", extensions, line, cell)

    @line_cell_magic
    def end_write_script(self, line: str, cell: str = "") -> None:
        """Write the collected cells: a Python script, and the shell script that runs it."""
        self._refuse("end_write_script", line)
        self._end("end_write_script", cell)

    def _begin(self, name: str, wish: Callable[[str], Wish], line: str, cell: str) -> None:
        try:
            words = shlex.split(line)
            if len(words) > 1:
                raise ValueError(f"it takes one name, not {line.strip()!r}; quote blanks")  # noqa: TRY301
            if self._multicell.is_on:
                self._say("script", "multi-cell mode is on: finalize or abort it before", cell)
            elif self._scripts.is_on:
                self._say("script", "one is being made already: end or abort it before", cell)
            else:
                self._show(self._scripts.begin(wish(words[0] if words else "")), cell)
        except (ValueError, OSError) as error:
            raise UsageError(f"%{name}: {error}") from None

    def _end(self, name: str, cell: str) -> None:
        if not self._scripts.is_on:
            self._say("script", "none is being made: there is nothing to write", cell)
            return
        try:
            self._show(self._scripts.end(), cell)
        except (ValueError, OSError) as error:
            raise UsageError(f"%{name}: {error}") from None

    def _mark(self, name: str, cell: str, *, marks: bool) -> bool:
        """While a script is made, multi-cell mode marks its cells and nothing more."""
        if self._scripts.is_on:
            self._scripts.marks = marks
            whose = "the cells that follow are" if marks else "the cells that follow are not"
            self._say(name, f"{whose} for Score-P in the script", cell)
        return self._scripts.is_on

    def _refuse(self, name: str, line: str) -> None:
        if line.strip():
            raise UsageError(f"%%{name} takes nothing: {line.strip()!r} is not understood")

    def _say(self, name: str, value: str | None, not_run: str = "") -> None:
        self._show([(name, value)] if value else [], not_run)

    def _show(self, rows: Rows, not_run: str = "") -> None:
        if not_run.strip():
            rows = [*rows, ("", "what stands below this name was not run")]
        if rows and self.shell is not None:
            self.shell.display_pub.publish(views.table(rows), {})
