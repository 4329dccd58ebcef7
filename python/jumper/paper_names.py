"""The paper's names of what was watched. Its indices count from 0: see `peer_cells`."""

import json
import shlex
from functools import partial
from typing import IO, Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import line_cell_magic, magics_class

from . import exporting, peer_cells, plotting, views
from ._native import Session
from .peer_cells import PeerCell
from .peer_magics import PeerMagics, answers, refuse
from .settings import Settings


@magics_class
class PaperNames(PeerMagics):
    def __init__(self, shell: InteractiveShell, session: Session, settings: Settings) -> None:
        super().__init__(shell)
        self._session = session
        self._settings = settings

    @line_cell_magic
    @answers
    def display_code_history(self, line: str) -> None:
        """Show the cells that have a sample, numbered from 0, with their times and code."""
        from . import peer_views  # when it is asked for: loading jumper stays quick

        refuse(line)
        self.publish(peer_views.history(self._cells(), self._session))

    @line_cell_magic
    @answers
    def display_code_for_index(self, line: str) -> None:
        """Show when that cell ran, and its code: `display_code_for_index 0` is the first."""
        cell = peer_cells.numbered(self._cells(), line.strip(), "display_code_for_index")
        print(f"Cell timestamp: {peer_cells.stamp(cell)}\n--\n")
        self.publish(views.code(self._session.code(cell.entry)))

    @line_cell_magic
    @answers
    def display_graph_for_last(self, line: str) -> None:
        """Draw the curves of the last cell that has a sample."""
        refuse(line)
        self._draw([peer_cells.last(self._cells())])

    @line_cell_magic
    @answers
    def display_graph_for_index(self, line: str) -> None:
        """Draw the curves of that cell: `display_graph_for_index 0` is of the first."""
        cells = self._cells()
        self._draw([peer_cells.numbered(cells, line.strip(), "display_graph_for_index")])

    @line_cell_magic
    @answers
    def display_graph_for_all(self, line: str) -> None:
        """Draw the curves of all cells that have a sample."""
        refuse(line)
        cells = self._cells()
        peer_cells.last(cells)
        self._draw(cells)

    @line_cell_magic
    @answers
    def perfdata_to_variable(self, line: str) -> None:
        """Give a variable the samples: `perfdata_to_variable myvar`.

        A list for each cell that has a sample: the node's lists (CPU by core, then mean, max, min;
        memory in GB; read and write operations; MB read and written; GPUs; their memory), then the
        eight means over all nodes. Unknown is None.
        """
        from . import perfdata

        (name,) = _words(line, "the name of a variable, as perfdata_to_variable myvar")
        cells = self._cells()
        found, missing = perfdata.paper_history(self._session, cells)
        if self.shell is not None:
            before = exporting.put(self.shell.user_ns, name, found)
            replaced = [("replaced", f"{name} was {before}")] if before else []
            self.show([("variable", f"{name}: {_many(cells)}"), *replaced, *_missing(missing)])

    @line_cell_magic
    @answers
    def perfdata_to_json(self, line: str) -> None:
        """Write the samples and the code: `perfdata_to_json base` makes two files.

        base_perfdata.json is what perfdata_to_variable gives, base_code.json has [time, code] of
        each cell. Files of that name are replaced.
        """
        from . import perfdata

        (base,) = _words(line, "the begin of a file's name, as perfdata_to_json myfile")
        cells = self._cells()
        found, missing = perfdata.paper_history(self._session, cells)
        code = [[str(peer_cells.stamp(one)), one.code] for one in cells]
        written = []
        for ending, value in (("perfdata", found), ("code", code)):
            put = partial(_put_json, value)
            written.append(exporting.save(f"{base}_{ending}.json", put, force=True))
        files = "\n".join(f"{one} ({views.size(one.stat().st_size)})" for one in written)
        self.show([("files", files), ("cells", _many(cells)), *_missing(missing)])

    def _cells(self) -> list[PeerCell]:
        finished = [one.index for one in self._session.cells() if not one.running]
        self._session.wait(finished[-1] if finished else 0)
        return peer_cells.of_paper(self._session)

    def _draw(self, cells: list[PeerCell]) -> None:
        wanted = plotting.Wanted([], [])
        indices = [one.entry for one in cells]
        draw = partial(plotting.draw, self._session, indices, wanted, self._settings.level)
        self.publish(plotting.bundle(draw))


def _words(line: str, needed: str) -> list[str]:
    words = shlex.split(line)
    if len(words) != 1:
        raise ValueError(f"it needs {needed}")
    return words


def _many(cells: list[PeerCell]) -> str:
    if not cells:
        return "no cell has a sample yet"
    return f"{len(cells)} cell{'s' * (len(cells) > 1)} with samples"


def _missing(missing: dict[str, str]) -> list[tuple[str, str]]:
    return [("missing", "\n".join(f"{name}: {why}" for name, why in missing.items()))] * bool(
        missing
    )


def _put_json(value: Any, file: IO[bytes]) -> None:
    file.write(json.dumps(value, default=str).encode())
