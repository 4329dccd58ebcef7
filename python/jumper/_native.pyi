"""The C++ core as Python sees it. Nothing here knows IPython; nothing blocks with the GIL held."""

from collections.abc import Sequence
from typing import Any, final

__version__: str

class Error(OSError):
    """What was tried, on what, why it failed, what to do: ``str()`` is the whole sentence."""

class Rendered:
    """One summary in its three forms."""

    text: str
    html: str
    json: str  # one line; the object described in docs/formats.md

@final
class History(Rendered):
    """All cells; json: a list of the summaries' objects."""

    page: str  # what the interactive page is given: JSON

@final
class Plot:
    """The curves of some cells in three forms."""

    text: str  # a line for each curve
    svg: str  # a whole document
    json: str  # one line; the object described in docs/formats.md

@final
class Reduction:
    """A column made small enough to draw, any part of it at once; keeps the arrays."""

    def __init__(
        self,
        times_ns: Any,  # an array of int64, ascending
        values: Any,  # an array of float64; nan: unknown
        longest_ns: int = ...,  # a value doesn't count for longer than that: then there is a gap
    ) -> None: ...
    def reduce(
        self, begin_ns: int, end_ns: int, buckets: int
    ) -> list[tuple[float, float, float, float, float]]:
        """Of each bucket min, max, first, last and mean; nan where nothing is known."""

@final
class CellInfo:
    index: int  # the history entry #k, from 1
    execution_count: int | None
    begin_wall_ns: int  # ns since 1970
    duration_s: float  # so far, while the cell runs
    outcome: str  # "ok", "error", "interrupted", "died"
    running: bool

@final
class Status:
    path: str | None  # the recording; None when it lives in memory only
    where: str  # one sentence: which file or why it is in memory
    size_bytes: int
    rate_hz: float
    levels: list[str]
    sampler_pid: int | None  # None: no sampler runs at the moment
    sampler_restarts: int
    lost: str | None  # why nothing is sampled at the moment, or None
    sampler_cpu_percent: float | None  # its own cost, per cent of one core, over its life
    cells: int
    keep_days: int | None  # None: no recording beside it is ever deleted
    keep_bytes: int | None
    kept: int  # recordings there, this one included
    kept_bytes: int
    gaps: list[tuple[float, str]]  # (seconds, reason)
    missing: list[tuple[str, str]]  # ("node.io_read_bytes", "not supported: …")

@final
class Consumer:
    """A process of the tree."""

    pid: int
    name: str  # comm: whatever it calls itself
    memory_bytes: int

@final
class NearLimit:
    """Memory came near a limit, and the running cell was interrupted."""

    source: str  # "the limit of control group /slurm/job_7"
    memory_bytes: int  # without page cache that can be given up
    limit_bytes: int
    largest: list[Consumer]  # by memory, at that moment

NO_NUMBER: int  # what stands in a Table's array where a number is unknown

@final
class Table:
    """The samples of some cells; a column by its place in `columns`."""

    rows: int
    columns: list[tuple[str, bool]]  # the name, and whether NO_NUMBER is in it
    head: str  # everything but the rows, as JSON (docs/export.md)

    def array(self, column: int) -> Any:
        """A NumPy array of int64, or for rates of float64 with NaN, which owns the table."""

    def values(self, column: int) -> list[float | None]: ...
    def write_csv(self, fd: int) -> None: ...
    def write_json(self, fd: int) -> None: ...

@final
class Session:
    """The kernel's side of one recording: starts the sampler, marks cells, answers questions.

    The constructor creates the recording and starts the sampler; it doesn't raise when either is
    impossible: then the recording lives in memory, or cells are kept without samples, and
    ``take_warnings()`` has one sentence for each. Every method may be called from any thread. In a
    forked child every method does nothing (``begin`` returns 0).
    """

    def __init__(
        self,
        *,
        program: str,  # path of the `jumper` program; "" when it wasn't found
        label: str,  # what is recorded: notebook, script
        rate_hz: float,
        directory: str | None = None,  # JUMPER_DIR, else None: $XDG_STATE_HOME/jumper, …
        process_level: bool = True,
        node_level: bool = True,
        most_bytes: int = 0,  # of the recording, then it is thinned; 0: 256 MiB
        keep_days: int = -1,  # older finished recordings are deleted; -1: none is
        keep_bytes: int = -1,  # of all together, then the oldest finished ones are deleted
    ) -> None: ...
    def begin(self, source: bytes, execution_count: int | None = None) -> int:
        """Marks the begin of a cell, returns its index. Doesn't wait; about 50 µs."""

    def end(self, index: int, outcome: str, execution_count: int | None = None) -> None:
        """Marks the end. outcome: "ok", "error", "interrupted". Doesn't wait."""

    def wait(self, index: int, timeout_s: float = 0.05) -> bool:
        """Waits until the cell's end sample is in the recording, `timeout_s` at most."""

    def set_rate(self, rate_hz: float) -> None: ...
    def set_guard(self, percent: float) -> None:
        """From that share of a memory limit on, the running cell gets SIGINT; 0: off."""

    def set_visible_devices(self, devices: str | None) -> None:
        """CUDA_VISIBLE_DEVICES is another one than the process began with; None: it is unset."""

    def take_near_limit(self) -> NearLimit | None:
        """What made the guard interrupt a cell since the last call."""

    def ticks(self, index: int) -> int: ...
    def summary(self, index: int, level: str = "process") -> Rendered:
        """level: "process", "node" or "all". Raises KeyError for an index that isn't there."""

    def history(self) -> History: ...
    def plot(
        self,
        cells: Sequence[int] = (),  # history indices; none: all
        *,
        level: str = "process",  # the one first shown; where it has no data, the first that has
        metrics: Sequence[str] = (),  # of plot_metrics(), those first shown; none: the usual
        most_buckets: int = 600,
        cut: bool | None = None,  # leave out the time between cells; None: when it is the longer
        window: tuple[float, float] | None = None,  # seconds since the plot's begin: only its JSON
    ) -> Plot:
        """Raises ValueError for a metric that has no value here, and says why it has none.

        ValueError also for a window that has nothing of the plot's time.
        """

    def cells(self) -> list[CellInfo]: ...
    def code(self, index: int) -> bytes: ...
    def table(self, indices: Sequence[int], level: str = "process") -> Table:
        """Their samples, in that order. level: "process", "user", "job", "node" or "all"."""

    def totals(self) -> str:
        """The figures of the whole recording as a summary's JSON, with a cell #0; "" in a fork."""

    def save(self, fd: int) -> None:
        """Writes a copy of the recording into an empty file."""

    def status(self) -> Status: ...
    def take_warnings(self) -> list[str]:
        """What the user must be told and hasn't been: each sentence once per session."""

    def close(self, reason: str = "") -> None:
        """Ends the recording and the sampler (2 s at most). Idempotent."""

def plot_metrics() -> list[str]:
    """What `Session.plot` and `Report.plot` may be asked for."""

def environment(prefixes: Sequence[str]) -> dict[str, str]:
    """The variables of this process whose names begin with one of these; 1 us."""

def stacks() -> str:
    """The Python stacks of all threads, read without the GIL, or a sentence why there are none.

    What `jumper report --follow` shows of a kernel that hangs.
    """

def earlier(directory: str, label: str, own_path: str, not_before_wall_ns: int) -> list[str]:
    """Recordings of the same label in the folder, last written to since then, newest first."""

def ended_quietly(path: str) -> bool:
    """Its last bytes say that its kernel was closed or its user told how it ended."""

def mark_told(path: str) -> bool:
    """Notes in the recording that the user was told how it ended; False where that can't be."""

@final
class Ending:
    """How a recording ended, concluded where its sampler has died as well."""

    kind: str  # running, closed, exited, killed, out of memory, rebooted, unknown
    text: str  # a clause: "killed by the memory limit (peak 511 MiB of 512 MiB)"
    wall_ns: int  # ns since 1970; 0: unknown
    cell: int | None  # the history entry that ran then
    curve: str  # memory before it died, in one line; "": nothing to show

@final
class Report:
    """A recording opened for reading."""

    @staticmethod
    def open(path: str) -> Report: ...
    def summary(self, index: int, level: str = "process") -> Rendered: ...
    def history(self) -> History: ...
    def plot(
        self,
        cells: Sequence[int] = (),
        *,
        level: str = "process",
        metrics: Sequence[str] = (),
        most_buckets: int = 600,
        cut: bool | None = None,
        window: tuple[float, float] | None = None,
    ) -> Plot: ...
    def cells(self) -> list[CellInfo]: ...
    def code(self, index: int) -> bytes: ...
    def table(self, indices: Sequence[int], level: str = "process") -> Table: ...
    def totals(self) -> str: ...
    def ending(self) -> Ending: ...
    def told(self) -> bool: ...
    def label(self) -> str: ...
