"""The C++ core as Python sees it. Nothing here knows IPython; nothing blocks with the GIL held."""

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, final

from typing_extensions import Buffer

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
    group: int | None  # the group that it is in, from 1
    group_name: str  # the user's; may be empty

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

    def end(
        self,
        index: int,
        outcome: str,  # "ok", "error", "interrupted"
        execution_count: int | None = None,
        engine: tuple[float | None, float | None, float | None] | None = None,
    ) -> None:
        """Marks the end. `engine`: what its start, carrying, returning took (s). Doesn't wait."""

    def wait(self, index: int, timeout_s: float = 0.05) -> bool:
        """Waits until the cell's end sample is in the recording, `timeout_s` at most."""

    def flush(self, timeout_s: float = 0.05) -> bool:
        """Waits until all marks so far, and their samples, are in the recording, as `wait`."""

    def begin_group(self, name: str = "") -> int:
        """Cells that begin from now on are one measurement; its index, 0: it can't begin."""

    def end_group(
        self,
        *,
        drop: bool = False,  # its cells are cells without a group
        engine: tuple[float | None, float | None, float | None] | None = None,  # as of a cell
    ) -> bool:
        """Ends the group that is open. False when none is."""

    def set_rate(self, rate_hz: float) -> None: ...
    def set_guard(self, percent: float) -> None:
        """From that share of a memory limit on, the running cell gets SIGINT; 0: off."""

    def set_visible_devices(self, devices: str | None) -> None:
        """CUDA_VISIBLE_DEVICES is another one than the process began with; None: it is unset."""

    def set_apart(self, pid: int, *, apart: bool) -> None:
        """A child of this process, with its descendants, isn't measured until the opposite is said.

        Then it is, with what it uses from then on.
        """

    def take_near_limit(self) -> NearLimit | None:
        """What made the guard interrupt a cell since the last call."""

    def ticks(self, index: int) -> int: ...
    def summary(self, index: int, level: str = "process") -> Rendered:
        """level: "process", "node" or "all". Raises KeyError for an index that isn't there."""

    def group_summary(self, index: int, level: str = "process") -> Rendered:
        """Of a group, as of a cell. Raises KeyError for one without cells."""

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
        group: str = "",  # whose cells these are, for the title
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
    def group_summary(self, index: int, level: str = "process") -> Rendered:
        """Of a group, as of a cell. Raises KeyError for one without cells."""

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
        group: str = "",  # whose cells these are, for the title
    ) -> Plot: ...
    def cells(self) -> list[CellInfo]: ...
    def code(self, index: int) -> bytes: ...
    def table(self, indices: Sequence[int], level: str = "process") -> Table: ...
    def totals(self) -> str: ...
    def ending(self) -> Ending: ...
    def told(self) -> bool: ...
    def label(self) -> str: ...

@final
class SegmentWriter:
    """Many buffers on their way into one anonymous file, which goes to another process."""

    def __init__(
        self,
        transport: str,  # "memfd": sealed, in memory; "file": without a name, in `directory`
        directory: str = "",
        most_bytes: int | None = None,  # of a memfd; None: MemAvailable
    ) -> None: ...
    def add(self, buffer: Buffer, discard: bool = False) -> tuple[int, int]:
        """Offset and size in the segment. Any C-contiguous buffer, else BufferError.

        `discard`: a part of a SegmentMapping, whose whole pages read as the file again when they
        have been copied. So the two are never in memory at once; a lack of space shows later.

        Its export is held until `finish` has returned or this object ends; its bytes are read in
        `finish`. ValueError when the segment is finished.
        """

    @property
    def size_bytes(self) -> int: ...
    def finish(self, threads: int = 2) -> int:
        """Writes the segment: its descriptor, close-on-exec, is the caller's. Once.

        All signals are blocked meanwhile (0.4 s a GB). Raises Error when there is no space: nothing
        is left then. The exports are released in any case.
        """

@final
class SegmentMapping:
    """A segment as its receiver sees it: what is written to it is seen here only.

    A buffer itself: all of it, writable. Mapped as long as there is this object or a view of it.
    """

    def __init__(self, descriptor: int) -> None:
        """Takes the descriptor, also on error. Error: neither a sealed memfd nor a regular file."""

    @property
    def size_bytes(self) -> int: ...
    def view(self, offset_bytes: int, size_bytes: int) -> memoryview:
        """Writable, of format "B". Error for bytes outside the segment."""

    def changed(self, offset_bytes: int, size_bytes: int) -> list[tuple[int, int]]:
        """What differs from the file: (offset in the segment, size), ascending, by page."""

    def discard(self, offset_bytes: int, size_bytes: int) -> None:
        """Gives whole pages in this range back to the system: they read as the file again."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

def room_bytes() -> int:
    """What this process may take until the nearest limit: the machine's, its control groups'.

    Page cache that can be given up doesn't count as used, swap is no room.
    """

@final
class Received:
    status: Literal["message", "timeout", "woken", "closed", "malformed"]
    kind: int
    payload: bytes
    descriptor: int  # what came along, close-on-exec, the caller's; -1: none
    woken: int  # bit i: wakes[i] was ready or broken; told with every status
    reason: str  # of "malformed": why a message was dropped

@final
class Channel:
    """Whole messages between kernel and engine, over one socket; any thread may call.

    That it is closed says nothing about the engine's end: a forked child keeps the socket.
    """

    def __init__(self, descriptor: int) -> None:
        """Takes the descriptor, also on error: Error when it is no SOCK_SEQPACKET socket."""

    @staticmethod
    def pair() -> tuple[Channel, int]:
        """The kernel's end, and the descriptor that the engine inherits: the caller's."""

    def fileno(self) -> int:
        """-1 when it was closed."""

    def send(
        self,
        kind: int,  # 32 bits
        payload: Buffer,
        timeout_s: float | None = None,
        descriptor: int = -1,  # goes along, stays the caller's
    ) -> None:
        """Waits while the other end is behind; Python's signal handlers run meanwhile.

        Raises Error with ETIMEDOUT, EPIPE (nobody will read it), EBADF (closed here), or what made
        a memfd for a large payload fail; and what a signal handler raises. Nothing was sent then.
        """

    def receive(self, timeout_s: float | None = None, wakes: Sequence[int] = ()) -> Received:
        """Waits for a message, one of at most 32 descriptors, or the time; -1 is skipped.

        Python's signal handlers run meanwhile, within 100 ms; what they raise costs no message.
        """

    def close(self) -> None:
        """Whoever waits in another thread is told "closed" within 100 ms."""

@final
class Ended:
    """How a process ended."""

    how: Literal["exited", "killed", "unknown"]  # unknown: somebody else reaped it
    status: int
    signal: int
    core: bool
    text: str  # "exited with status 3", "killed by signal 9 (Killed)"

@final
class EngineProcess:
    """A child in a process group of its own; the group is killed when this object ends.

    In a forked child of the kernel nothing is sent to it.
    """

    @staticmethod
    def start(
        command: Iterable[str],  # the first word is looked up in this process's PATH
        environment: Mapping[str, str],  # all of it
        directory: str = "",  # "": this process's own
        channel: int = -1,  # becomes descriptor 3, stays the caller's; -1: none
    ) -> EngineProcess:
        """Its descriptor 0 is /dev/null, 1 and 2 pipes, 4 a pidfd of this process.

        Raises Error when it can't be started.
        """

    @property
    def pid(self) -> int: ...  # -1 after finish()
    @property
    def pidfd(self) -> int: ...  # readable when it has ended; -1 where the system has none
    @property
    def output_fd(self) -> int: ...  # these stay its own, and don't block
    @property
    def errors_fd(self) -> int: ...
    def wait(self, timeout_s: float | None = None) -> Ended | None:
        """None: it hasn't ended yet. Python's signal handlers run meanwhile."""

    def interrupt(self) -> bool:
        """SIGINT to its group; False: nobody was reached."""

    def terminate(self) -> bool: ...
    def kill(self) -> bool: ...
    def finish(self) -> None:
        """Kills its group, reaps it, closes the descriptors, now."""

    def read_output(self) -> bytes | None:
        """What is there, 64 KiB at most; b"": nothing now; None: the end."""

    def read_errors(self) -> bytes | None: ...

@final
class Rendezvous:
    """A Unix socket in a new private folder, for one engine of this user that knows a token."""

    def __init__(self) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def token(self) -> str: ...  # for the engine's environment, never for a log
    def accept(
        self, timeout_s: float | None = None, wakes: Sequence[int] = ()
    ) -> tuple[Literal["met", "timeout", "woken", "failed"], Channel | None, int]:
        """With the engine's pid as this process sees it: 0 in another namespace, -1: nobody.

        Python's signal handlers run meanwhile. Folder and socket are removed once it has come, or
        when this object ends.
        """

def connect(path: str, token: str) -> Channel:
    """The engine's side of a Rendezvous. Raises Error."""

def watch_parent(descriptor: int) -> bool:
    """Takes a pidfd: when that process has ended, this process's group is killed (SIGKILL).

    False: there can't be a thread for it, or it is no pidfd.
    """

def split_words(text: str) -> list[str]:
    """A launcher's words as a POSIX shell would part them; Error for what only a shell can do."""

def launch_command(words: Iterable[str], python: str, engine_script: str) -> list[str]:
    """The command that starts the engine under a launcher; Error when it never would."""

def needs_named_channel(words: Iterable[str]) -> bool:
    """Whether the launcher closes descriptors: the engine then comes to a Rendezvous."""

@final
class Snapshot:
    """What known mutable objects hold at this moment, by identity; keeps all of it alive.

    Known are list, dict, set (these exactly), bytearray (a copy of its bytes is kept) and plain
    instances: those of `object` and of classes written in Python above it that are pickled as
    usual. Slots and ``__dict__`` count, never what their attributes do. No code of theirs runs.
    """

    def __init__(
        self,
        objects: Sequence[object],
        begin: int = 0,  # earlier ones are none of its business
        plain_types: Callable[[type], bool] | None = None,  # asked once per type; None: all
    ) -> None:
        """`plain_types` can refuse a type, not allow another one. What it raises is raised.

        A type's own ``__reduce__``, ``__reduce_ex__``, ``__getstate__``, ``__setstate__`` or place
        in copyreg's table makes it one that isn't plain.
        """

    def changed(self) -> list[int]:
        """Indices of those that now hold other objects, another number, or another order."""

    def other(self) -> list[int]:
        """Indices of those that are not known, and are not atoms either.

        Atoms are exactly str, bytes, int, float, complex, bool, None, tuple, frozenset, builtin
        function and code: they hold the same for ever.
        """

@final
class Numbers:
    """{id of an object: its number in `objects`}, the last one where it is there twice.

    Whoever asks keeps `objects` and all in it alive. 0.05 s for two million; a dict takes 0.4 s.
    """

    def __init__(self, objects: list[Any]) -> None: ...
    def get(self, id: int) -> int | None: ...  # noqa: A002
    def __contains__(self, id: int) -> bool: ...  # noqa: A002
    def __getitem__(self, id: int) -> int: ...  # noqa: A002
    def discard(self, id: int) -> None:  # noqa: A002
        """Whether or not it is there."""

@final
class Groups:
    """Which values share no object with each other, found by what the collector of garbage follows.

    Keeps all that it has met alive. Some 0.1 us an object; an interrupt ends it.
    """

    def __init__(
        self,
        values: list[Any],
        ends: list[Any],  # known to all: not looked at
        way_of_type: Callable[[type], int],  # see parallel.way_of
        ask: Callable[[Any], tuple[int, int]],  # its way, its bytes
    ) -> None: ...
    @property
    def first(self) -> list[tuple[int, list[Any]]]:
        """What goes before all groups: the number of the value that reached it first, objects."""

    @property
    def found(self) -> list[tuple[list[int], int]]:
        """Numbers of values and bytes of each group that another process may take apart."""

    def resolve(self, ids: bytes, values: list[int], nowhere: object) -> tuple[list[Any], bytes]:
        """The objects with these ids (u64) in a forked child; 1 for each that is made there.

        Raises ValueError for one of a group that is none of `values`.
        """

    def touches(self, objects: list[Any], begin: int, values: list[int]) -> bool:
        """Whether one of these, from `begin` on, is in the groups of `values`."""

def fork_worker() -> tuple[int, int]:
    """As os.fork(), with a pidfd; the child (0, -1) takes no signal that is meant for its parent.

    It ends with the thread that called. Raises OSError, before Linux 5.3 always.
    """

def bodiless(names: tuple[str, ...]) -> Callable[[list[str]], list[str]]:
    """An input transformer: ``%%name …`` of one of these, alone in its cell, as ``%name …``.

    One call of C, so that no interrupt comes in the middle of it.
    """

def memoized(pickler: pickle.Pickler | pickle.Unpickler) -> list[object]:
    """The objects in its memo, by number. 20 ms for a million; its own `copy` takes 1.2 s."""

def reducer(usual_types: set[type], otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A `reducer_override` that leaves instances of `usual_types` to pickle at once.

    Those of other types it gives to `otherwise`. The set may grow while it is in use.
    """

class MonitorInfo:
    """A custom monitor, and what has become of it."""

    @property
    def name(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def rate_hz(self) -> float: ...
    @property
    def state(self) -> str: ...  # begins, measures, cut off
    @property
    def reason(self) -> str: ...  # why it was cut off

def add_monitor(
    session: Session,
    name: str,
    *,
    command: Sequence[bytes],  # found along PATH
    about: str,
    directory: bytes,
    payload: bytes,  # what it finds on its standard input
    rate_hz: float,
) -> None:
    """Starts a custom monitor, now and for each sampler that follows. Doesn't wait for it.

    Raises Error when one of that name runs.
    """

def remove_monitor(session: Session, name: str) -> bool: ...  # False: there is none
def monitors(session: Session) -> list[MonitorInfo]: ...
