"""A segment: what is carried, in one piece of memory or one file without a name.

The core writes and maps it; here is decided which of both it is, and what its receiver is told.
"""

import errno
import os
import pickle
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast

from . import _native
from .streams import Collector, Place

THREADS: Final = 2  # that copy
Range = tuple[int, int, int]  # number of a buffer, offset_bytes in it, size_bytes


@dataclass(frozen=True)
class Choice:
    """How to carry. `directory` is for the transport "file"; "": one with room."""

    pickler: str = "cloudpickle"  # one of settings.BACKENDS
    transport: str = "memfd"  # one of settings.TRANSPORTS
    directory: str = ""
    workers: int = 1  # processes that pickle; more than one: the parallel marshaller


@dataclass(frozen=True)
class Part:
    """One dump of the stream back. `key` says what is left out if it can't be loaded."""

    kind: str  # "name", "update", "result"; "": deleted names and changed ranges
    key: str = ""


@dataclass
class Group:
    """A stream that another process has written (see `parallel`)."""

    names: list[str]
    made: bytes  # for each object 1 where nobody has it afterwards
    pieces: list[Place] = field(default_factory=list)


@dataclass
class Head:
    """What the receiver of a segment must know before it can read it."""

    pieces: list[Place]
    buffers: list[Place]
    names: list[str] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    firsts: int = 0  # with groups: dumps of the first stream before those of names
    shared: int = 0  # and how many objects all groups know from it
    parts: list[Part] = field(default_factory=list)  # back only: what the stream holds
    changed: list[Place] = field(default_factory=list)  # back only: ranges of the first segment
    left: dict[str, str] = field(default_factory=dict)  # back only: what can't come, and why
    notes: list[str] = field(default_factory=list)
    choice: Choice = field(default_factory=Choice)

    @property
    def size_bytes(self) -> int:
        """Of all that the segment holds."""
        streams = self.pieces, self.buffers, self.changed, *(one.pieces for one in self.groups)
        return sum(size for places in streams for _, size in places)


def write(
    collector: Collector,
    choice: Choice,
    notes: list[str],
    changed: Sequence[memoryview] = (),
    *,
    discard: bool = False,
) -> tuple[Head, int]:
    """Adds to `notes` when it went another way than was chosen. Raises jumper.Error.

    `discard`: of `changed`, parts of the segment that came, only the copies are left.
    """
    room_bytes = _native.room_bytes() if choice.transport == "memfd" else None
    directory = choice.directory or spacious_directory()
    threads = max(THREADS, choice.workers)
    writer = _native.SegmentWriter(choice.transport, directory, room_bytes)
    head = add_all(writer, collector, changed, discard=discard)
    if room_bytes is None or writer.size_bytes <= room_bytes:
        try:
            return head, writer.finish(threads)
        except _native.Error as error:
            lost = discard and changed
            no_room = error.errno in (errno.ENOSPC, errno.ENOMEM)
            if choice.transport != "memfd" or lost or not no_room:
                raise
    writer = _native.SegmentWriter("file", directory)
    head = add_all(writer, collector, changed, discard=discard)
    descriptor = writer.finish(threads)
    notes.append(
        f"variables were carried through a file in {directory}: there is no room for "
        f"{writer.size_bytes / 2**20:.0f} MiB in memory"
    )
    return head, descriptor


def add_all(
    writer: _native.SegmentWriter,
    collector: Collector,
    changed: Sequence[memoryview],
    *,
    discard: bool,
) -> Head:
    pieces, buffers = collector.places(writer.add)
    groups = [
        Group(group.names, group.made, [writer.add(one) for one in views])
        for group, views in collector.groups
    ]
    places = [writer.add(one, discard) for one in changed]
    head = Head(pieces, buffers, groups=groups, changed=places)
    head.firsts, head.shared = collector.firsts, collector.shared
    return head


def spacious_directory() -> str:
    """For large files that nobody must see: /tmp is often memory."""
    named = [os.environ.get("TMPDIR", ""), "/var/tmp"]  # noqa: S108  (only asked whether it is there)
    found = (one for one in named if one and os.access(one, os.W_OK | os.X_OK))
    return next(found, tempfile.gettempdir())


class Segment:
    """One that has come: its stream and its buffers."""

    def __init__(self, descriptor: int) -> None:
        self.mapping = _native.SegmentMapping(descriptor)

    def views(self, places: Sequence[Place]) -> list[memoryview]:
        return [self.mapping.view(*place) for place in places]


@contextmanager
def writable(buffer: pickle.PickleBuffer) -> Iterator[memoryview]:
    """Its memory; also that of an array which only says that it is read-only."""
    with buffer.raw() as raw:
        owner: Any = getattr(raw.obj, "base", None)
        if not raw.readonly or not hasattr(owner, "setflags") or not owner.flags.owndata:
            yield raw
            return
        from .arrays import flat_bytes

        owner.setflags(write=True)
        try:
            yield memoryview(cast("Any", flat_bytes(owner)))
        finally:
            owner.setflags(write=False)
