"""The parallel marshaller: names that share no object are taken apart by several processes at once.

1. `Groups` finds them. What many of them use (classes, functions, long arrays) goes first, in the
   kernel's own stream; groups go to workers by size, the largest first, each to whoever has least
   (LPT: Graham 1969).
2. `Team.start` forks a worker for each share but the first one, which is the kernel's own.
3. `Team.collect` takes their streams, and the kernel's objects for the numbers in them.

The engine puts them together one after the other. Only objects whose pickling is known through and
through go to workers; that no two of them have met the same object is checked afterwards, and
where they have, all goes in one stream.
"""

import contextlib
import copyreg
import enum
import itertools
import os
import pickle
import signal
import socket
import sys
import time
import types
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import cloudpickle

from . import _native, known, reducing
from .pickling import Pickler, first_words
from .segments import Choice, Group, Segment, spacious_directory
from .streams import LONG_BYTES, NOWHERE, Collector, Place

SERIAL_BELOW_BYTES: Final = 64 << 20  # of what workers would write: less is done before they begin
# As src/bind/groups.cpp names them.
NOTHING, ATOM, NODE, FIRST, OTHER, ASK = range(6)
CONTAINERS: Final = (list, dict, set, frozenset, tuple, bytearray)
SIMPLE: Final = frozenset(
    {
        "collections.deque", "collections.OrderedDict", "collections.defaultdict",
        "datetime.datetime", "datetime.date", "datetime.time", "datetime.timedelta",
        "decimal.Decimal", "fractions.Fraction", "uuid.UUID", "pathlib.PosixPath",
        "pathlib.PurePosixPath", "re.Pattern",
    }
)  # fmt: skip
FIRSTS: Final = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, enum.Enum)


class NotParallel(Exception):  # noqa: N818  (caught at once: then all goes in one stream)
    """Why the workers' streams can't be used."""


@dataclass
class Share:
    """What one process takes apart."""

    values: list[int] = field(default_factory=list)  # numbers of names
    size_bytes: int = 0
    seconds: float = 0.0
    written_bytes: int = 0


def spread(groups: Sequence[tuple[list[int], int]], workers: int) -> list[Share]:
    """Greedily; the first share is the kernel's."""
    shares = [Share() for _ in range(workers)]
    for values, size_bytes in sorted(groups, key=lambda group: -group[1]):
        least = min(shares, key=lambda share: share.size_bytes)
        least.values += values
        least.size_bytes += size_bytes
    return shares


def way_of(kind: type) -> int:
    """How objects of this type are pickled, as far as it concerns groups."""
    if issubclass(kind, FIRSTS):
        return FIRST
    name = reducing.type_name(kind)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if issubclass(kind, numpy.ndarray):
            return ASK if kind is numpy.ndarray else OTHER
        if issubclass(kind, numpy.dtype | numpy.ufunc):
            return FIRST
        if issubclass(kind, numpy.generic):
            return OTHER if issubclass(kind, numpy.void) else NODE
    if kind in CONTAINERS or name in SIMPLE:
        return NODE
    return NODE if known.is_plain(kind) and not chooses_what_goes(kind) else OTHER


def chooses_what_goes(kind: type) -> bool:
    """Whether code of its own, or somebody's for it, says what is pickled of it."""
    tables = copyreg.dispatch_table, cloudpickle.Pickler.dispatch_table
    asked = ("__getnewargs__", "__getnewargs_ex__")
    return any(kind in table for table in tables) or any(hasattr(kind, name) for name in asked)


def ask(thing: Any) -> tuple[int, int]:
    """Of an array: long ones and views go first, by the kernel itself, out of its stream."""
    if thing.dtype.hasobject:
        return OTHER, thing.nbytes
    return (FIRST if thing.nbytes >= LONG_BYTES or thing.base is not None else NODE), thing.nbytes


class Groups:
    """Of the names that share objects. Keeps all that it has met alive."""

    def __init__(self, items: Mapping[str, Any], ends: Sequence[Any]) -> None:
        self.items = items
        self.names = list(items)
        self.native = _native.Groups(list(items.values()), list(ends), way_of, ask)

    def shares(self, workers: int, held_back: Collection[str]) -> list[Share]:
        """Only one: more aren't worth it."""
        groups = [
            (values, size_bytes)
            for values, size_bytes in self.native.found
            if size_bytes and not any(self.names[value] in held_back for value in values)
        ]
        if sum(size_bytes for _, size_bytes in groups) < SERIAL_BELOW_BYTES:
            return [Share()]
        shares = spread(groups, min(workers, len(groups)))
        return [shares[0], *(share for share in shares[1:] if share.values)]


@dataclass
class _Told:
    """What a worker has to say; its stream and the addresses are in its segment."""

    pieces: list[Place]
    addresses: Place
    left: dict[str, str]
    seconds: float


class Team:
    """The workers of one dump. `stop` is always called."""

    def __init__(self, groups: Groups, choice: Choice, held_back: Collection[str]) -> None:
        self._groups = groups
        self._choice = choice
        self._ends: list[socket.socket] = []
        self._workers: list[tuple[int, int]] = []  # pid and pidfd
        self.shared = 0  # how many objects all know, after `start`
        self.shares = groups.shares(choice.workers, held_back)
        self.firsts = len(groups.native.first)  # dumps before those of names
        self.elsewhere = {
            groups.names[value] for share in self.shares[1:] for value in share.values
        }
        self.objects: list[Any] = []  # behind those of the kernel's own stream
        self.left: dict[str, str] = {}

    def start(self, pickler: Pickler, *, careful: bool) -> None:
        """Writes what goes first. Raises NotParallel, and whatever pickling raises."""
        if not self.elsewhere:
            return
        for number, things in self._groups.native.first:
            name = self._groups.names[number]
            pickler.dump_named(name, self._groups.items[name], things)
        shared = _native.memoized(pickler)
        self.shared = len(shared)
        try:
            for share in self.shares[1:]:
                self._start(share, shared, careful=careful)
        except OSError as error:
            raise NotParallel(f"no process can be made: {error}") from None

    def _start(self, share: Share, shared: list[Any], *, careful: bool) -> None:
        here, there = socket.socketpair()
        self._ends.append(here)
        with there:
            # One call of C: no interrupt comes between the process and our knowing of it.
            self._workers.extend(itertools.starmap(_native.fork_worker, [()]))
            if self._workers[-1][0] == 0:
                self._work(there, share, shared, careful=careful)

    def _work(
        self, end: socket.socket, share: Share, shared: list[Any], *, careful: bool
    ) -> NoReturn:
        """In the worker. What it fails with, its end tells."""
        try:
            begin_s = time.monotonic()
            collector = Collector()
            collector.write(first_words(len(shared)))
            pickler = Pickler(collector, self._choice.pickler, careful=careful)
            pickler.share_ends(shared)
            for value in share.values:
                name = self._groups.names[value]
                pickler.dump_named(name, self._groups.items[name])
            if collector.buffers:  # long ones go first, with the kernel
                os._exit(1)
            met = _native.memoized(pickler)
            addresses = array("Q", map(id, met[len(shared) :])).tobytes()
            writer = _native.SegmentWriter(
                self._choice.transport, self._choice.directory or spacious_directory()
            )
            pieces, _ = collector.places(writer.add)
            place = writer.add(addresses)
            descriptor = writer.finish(1)
            told = _Told(pieces, place, pickler.left, time.monotonic() - begin_s)
            text = pickle.dumps(told)
            socket.send_fds(end, [len(text).to_bytes(8, sys.byteorder)], [descriptor])
            end.sendall(text)
            os._exit(0)
        except BaseException:  # noqa: BLE001  (nobody is above this process)
            os._exit(1)

    def collect(self, pickler: Pickler, collector: Collector) -> None:
        """The workers' streams go behind that of the kernel's pickler. Raises NotParallel."""
        if not self._workers:
            return
        groups = self._groups.native
        theirs = [value for share in self.shares[1:] for value in share.values]
        if groups.touches(_native.memoized(pickler), self.shared, theirs):
            raise NotParallel("the kernel's own stream has an object of a worker's")
        for end, share in zip(self._ends, self.shares[1:], strict=True):
            told, segment = _hear(end)
            addresses = bytes(segment.mapping.view(*told.addresses))
            try:
                objects, made = groups.resolve(addresses, share.values, NOWHERE)
            except ValueError as error:
                raise NotParallel(str(error)) from None
            names = [self._groups.names[value] for value in share.values]
            self.objects += objects
            self.left.update(told.left)
            share.seconds = told.seconds
            share.written_bytes = sum(size for _, size in told.pieces)
            collector.groups.append((Group(names, made), segment.views(told.pieces)))

    def stop(self) -> None:
        """Ends and reaps whoever is left."""
        for end in self._ends:
            end.close()
        for pid, pidfd in self._workers:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # the user's code has reaped it
                os.waitpid(pid, 0)
            os.close(pidfd)
        self._ends, self._workers = [], []


def _hear(end: socket.socket) -> tuple[_Told, Segment]:
    head, descriptors, _, _ = socket.recv_fds(end, 8, 1)
    if len(head) < 8 or not descriptors:
        raise NotParallel("a worker has ended before its time")
    segment = Segment(descriptors[0])
    text = b""
    while left := int.from_bytes(head, sys.byteorder) - len(text):
        part = end.recv(left)
        if not part:
            raise NotParallel("a worker has ended before its time")
        text += part
    told: _Told = pickle.loads(text)  # noqa: S301  (our own child's, over our own descriptor)
    return told, segment
