"""jumper-extension's names that take away what was recorded, and bring it back."""

import shlex
from pathlib import Path
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import line_cell_magic, magics_class

from . import exporting, origins, views
from .arguments import options
from .origins import Sessions
from .peer_cells import NothingThereError
from .peer_magics import PeerMagics, answers, at_most_one, level_of

FRAMES: Final = {"perfdata": "perfdata_df", "cell_history": "cell_history_df"}


@magics_class
class ExtensionFiles(PeerMagics):
    def __init__(self, shell: InteractiveShell, sessions: Sessions) -> None:
        super().__init__(shell)
        self._sessions = sessions

    @line_cell_magic
    @answers
    def perfmonitor_export_perfdata(self, line: str) -> None:
        """Give the samples as the DataFrame perfdata_df, or as a file.

        --name VARIABLE; --file FILE.csv or .json; --level process, user, system or slurm.
        """
        chosen, rest = options(
            "perfmonitor_export_perfdata", shlex.split(line), ("--file", "--name", "--level")
        )
        level, origin = level_of(chosen), self._sessions.current()
        samples = origin.samples(level, origin.cells())
        if not samples.rows:
            why = samples.missing.get("", "no cell has finished yet, or none has a sample")
            raise NothingThereError(f"there is nothing to export: {why}")
        self._hand_out("perfdata", chosen, rest, samples.columns, samples.missing)

    @line_cell_magic
    @answers
    def perfmonitor_export_cell_history(self, line: str) -> None:
        """Give the cells as the DataFrame cell_history_df, or as a file.

        --name VARIABLE; --file FILE.csv or .json.
        """
        chosen, rest = options(
            "perfmonitor_export_cell_history", shlex.split(line), ("--file", "--name")
        )
        origin = self._sessions.current()
        cells = origin.cells()
        if not cells:
            raise NothingThereError("there is nothing to export: no cell has finished yet")
        self._hand_out("cell_history", chosen, rest, origins.history(origin, cells, self._lines()))

    def _hand_out(
        self,
        kind: str,
        chosen: dict[str, str],
        rest: list[str],
        columns: dict[str, list[Any]],
        missing: dict[str, str] | None = None,
    ) -> None:
        from . import frames  # when it is asked for: loading jumper stays quick

        path = chosen.get("--file") or at_most_one(rest, "the name of a file")
        count = len(next(iter(columns.values())))
        if path is not None:
            written = frames.write(columns, path)
            rows = [("file", f"{written} ({views.size(written.stat().st_size)})")]
        else:
            name = chosen.get("--name") or FRAMES[kind]
            rows = self._put(name, frames.frame(columns, missing))
        why = "\n".join(f"{name}: {reason}" for name, reason in (missing or {}).items())
        self.show([*rows, ("rows", str(count)), *([("missing", why)] if why else [])])

    @line_cell_magic
    @answers
    def perfmonitor_load_perfdata(self, line: str) -> None:
        """Read a file of perfmonitor_export_perfdata into the DataFrame loaded_perfdata_df."""
        from .imported import PERFDATA

        self._load("perfmonitor_load_perfdata", line, "loaded_perfdata_df", PERFDATA)

    @line_cell_magic
    @answers
    def perfmonitor_load_cell_history(self, line: str) -> None:
        """Read a file of perfmonitor_export_cell_history into loaded_cell_history_df."""
        required = origins.HISTORY[:-1]
        self._load("perfmonitor_load_cell_history", line, "loaded_cell_history_df", required)

    def _load(self, verb: str, line: str, name: str, required: tuple[str, ...]) -> None:
        from . import frames

        chosen, rest = options(verb, shlex.split(line), ("--file",))
        path = chosen.get("--file") or at_most_one(rest, "the name of a file")
        if path is None:
            raise ValueError("it needs the name of a CSV or JSON file")
        columns = frames.read(Path(path).expanduser(), required)
        rows = self._put(name, frames.frame(columns))
        self.show([*rows, ("rows", str(len(columns[required[0]])))])

    @line_cell_magic
    @answers
    def export_session(self, line: str) -> None:
        """Write manifest, CSV files and the recording into a folder or, if it ends so, a .zip."""
        from . import session_files

        path = at_most_one(shlex.split(line), "a folder or the name of a .zip file")
        written, names = session_files.export(self._sessions.current(), path or "", self._lines())
        self.show([("session", str(written)), ("files", ", ".join(names))])

    @line_cell_magic
    @answers
    def import_session(self, line: str) -> None:
        """Let plots, reports, history and exports be of an exported session.

        It is a folder or a .zip, ours or jumper-extension's. perfmonitor_start goes back.
        """
        from . import session_files

        path = at_most_one(shlex.split(line), "a folder or a .zip file")
        if path is None:
            raise ValueError("it needs a folder or a .zip file that export_session has made")
        imported = session_files.load(path)
        self._sessions.imported = imported
        rows = [("session", path), ("cells", str(len(imported.cells())))]
        whole = "a recording: all of it can be asked"
        parts = "tables: figures and curves are of their samples"
        rows.append(("it has", parts if imported.recorded is None else whole))
        self.show([*rows, ("back", "%perfmonitor_start")])

    def _put(self, name: str, value: Any) -> list[tuple[str, str]]:
        if self.shell is None:
            return []
        before = exporting.put(self.shell.user_ns, name, value)
        rows = [("variable", f"{name}: a pandas DataFrame")]
        return [*rows, ("replaced", f"{name} was {before}")] if before else rows

    def _lines(self) -> list[str]:
        """The names of all line magics."""
        return [] if self.shell is None else list(self.shell.magics_manager.magics["line"])
