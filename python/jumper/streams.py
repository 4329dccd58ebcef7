"""One pickle stream and its long buffers: collected in one process, read in the other.

What is long isn't copied: the collector keeps it until the core has written all into one segment.
"""

from collections.abc import Callable, Sequence
from pickle import PickleBuffer
from typing import Any, Final

LONG_BYTES: Final = 64 << 10  # begins at a page of its own in the segment, is mapped where it goes

# In both processes' lists of objects: made on the way, nobody has it afterwards.
NOWHERE: Final = "made on the way"  # no constant: nothing else is this object

Place = tuple[int, int]  # offset_bytes, size_bytes in the segment


class Collector:
    """The file that a pickler writes to, and its `buffer_callback`."""

    def __init__(self) -> None:
        self.pieces: list[bytes | bytearray] = []
        self.buffers: list[PickleBuffer] = []
        # Streams that others have written, after so many dumps that make so many objects known.
        self.groups: list[tuple[Any, list[memoryview]]] = []
        self.firsts = self.shared = 0
        self._open: bytearray | None = None

    def write(self, data: bytes | bytearray) -> int:
        if len(data) >= LONG_BYTES:
            self._open = None
            self.pieces.append(data if isinstance(data, bytes) else bytes(data))
        else:
            if self._open is None:
                self._open = bytearray()
                self.pieces.append(self._open)
            self._open += data
        return len(data)

    def keep_buffer(self, buffer: PickleBuffer) -> bool:
        """Whether it goes in the stream (a short one)."""
        with buffer.raw() as raw:
            if raw.nbytes < LONG_BYTES:
                return True
        self.buffers.append(buffer)
        return False

    def places(self, add: Callable[[Any], Place]) -> tuple[list[Place], list[Place]]:
        """Where `add` puts the pieces of the stream, and the buffers."""
        pieces = [add(piece) for piece in self.pieces if piece]
        return pieces, [add(buffer.raw()) for buffer in self.buffers]


class Stream:
    """The file that an unpickler reads: the pieces one after the other."""

    def __init__(self, pieces: Sequence[memoryview]) -> None:
        self._pieces = list(reversed(pieces))

    def read(self, size: int) -> bytes:
        found = bytearray(size)
        return bytes(found[: self.readinto(found)])

    def readinto(self, target: Any) -> int:
        filled = 0
        with memoryview(target).cast("B") as into:
            while filled < len(into) and self._pieces:
                piece = self._pieces.pop()
                part = piece[: len(into) - filled]
                into[filled : filled + len(part)] = part
                filled += len(part)
                if len(part) < len(piece):
                    self._pieces.append(piece[len(part) :])
        return filled

    def readline(self) -> bytes:
        """Only protocols before ours have lines."""
        line = bytearray()
        while not line.endswith(b"\n") and (character := self.read(1)):
            line += character
        return bytes(line)
