"""What a cell did to the objects that it was given. Asked in the engine, put in the kernel.

An object whose content can be looked at is updated in place. Others are *opaque*: they are known
by what their `__reduce_ex__` gives. If that has changed, they get the new state where that is all
that differs, else they are replaced in whatever holds them.
"""

import copyreg
import hashlib
import types
from collections.abc import Iterator
from typing import Any, Final

from . import _native, known
from .known import Content, Kind
from .pickling import PROTOCOL, Returning
from .reducing import type_name
from .streams import Collector

Update = tuple[int, str, Any]  # number of the object; name of a kind, or STATE; content
STATE: Final = "state"
Digest = tuple[bytes, bytes]  # of what makes the object; of its state

UNCHANGING: Final = (
    type(None), str, bytes, tuple, frozenset, int, float, complex, range, slice, memoryview, type,
    types.CodeType, types.ModuleType, types.BuiltinFunctionType, types.MethodType,
)  # fmt: skip
UNCHANGING_NAMES: Final = frozenset(
    {
        "datetime.datetime", "datetime.date", "datetime.time", "datetime.timedelta",
        "datetime.timezone", "decimal.Decimal", "fractions.Fraction", "uuid.UUID",
        "pathlib.PosixPath", "pathlib.PurePosixPath", "re.Pattern", "weakref.ReferenceType",
        "operator.attrgetter", "operator.itemgetter", "logging.Logger", "numpy.generic",
        "numpy.dtype", "numpy.ufunc", "functools._lru_cache_wrapper", "pickle.PickleBuffer",
        "jumper.placeholders.Placeholder",
    }
)  # fmt: skip


def is_unchanging(kind: type) -> bool:
    exact = kind in UNCHANGING or issubclass(kind, (type, types.ModuleType))
    return exact or any(type_name(base) in UNCHANGING_NAMES for base in kind.__mro__)


class Known:
    """The objects that arrived, by number, and what each held then: made before the cell runs."""

    def __init__(self, objects: list[Any], ends: int) -> None:
        self.objects = objects
        self._ends = ends
        self.numbers = _native.Numbers(objects)
        self.replaced: set[int] = set()  # ids of those that the kernel gets anew
        self._kinds: dict[type, tuple[Kind, ...]] = {}
        self._simple = _native.Snapshot(objects, ends, known.is_plain)
        self._held: dict[int, tuple[Content, ...]] = {}
        opaque: list[int] = []
        for number in self._simple.other():
            thing = objects[number]
            kinds = self._kinds_of(thing)
            if kinds:
                self._held[number] = tuple(kind.content(thing) for kind in kinds)
            elif not is_unchanging(type(thing)):
                opaque.append(number)
        self._opaque = {number: self._digest(objects[number]) for number in opaque}

    def changes(self) -> Iterator[Update]:
        """Numbers of objects that are replaced are forgotten first: they go back as new ones."""
        changed = set(self._simple.changed())
        changed.update(
            number
            for number, before in self._held.items()
            if not all(map(known.same, before, self._contents(number)))
        )
        states = self._opaque_changes(changed)
        for number in changed:
            thing = self.objects[number]
            for kind in self._kinds_of(thing):
                yield number, kind.name, (kind.tell or kind.content)(thing)
        for number in states:
            yield number, STATE, reduce(self.objects[number])[2]

    def _kinds_of(self, thing: Any) -> tuple[Kind, ...]:
        kind = type(thing)
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = known.kinds_of_type(kind)
        if found == (known.CLASS,) and not known.is_of_notebook(thing):
            return ()
        return found

    def _contents(self, number: int) -> tuple[Content, ...]:
        thing = self.objects[number]
        return tuple(kind.content(thing) for kind in self._kinds_of(thing))

    def _opaque_changes(self, changed: set[int]) -> set[int]:
        """Who gets a new state. Adds to `changed` who holds something that is replaced."""
        states: set[int] = set()
        replaced: set[int] = set()
        while True:
            new = set()
            for number, before in self._opaque.items():
                thing = self.objects[number]
                if number in replaced or (now := self._digest(thing)) == before:
                    continue
                if now is not None and before is not None and takes_state(thing, now, before):
                    states.add(number)
                elif now is not None:
                    new.add(number)
            if not new:
                return states
            replaced |= new
            self._forget(new, changed)

    def _forget(self, replaced: set[int], changed: set[int]) -> None:
        gone = {id(self.objects[number]) for number in replaced}
        while gone:
            self.replaced |= gone
            for one in gone:
                self.numbers.discard(one)  # asked again, it is gone already
            gone_now, gone = gone, set()
            for number, thing in enumerate(self.objects):
                if number < self._ends:
                    continue
                if type(thing) in (tuple, frozenset, types.MethodType):
                    parts = (thing.__self__,) if isinstance(thing, types.MethodType) else thing
                    if id(thing) in self.numbers and any(id(part) in gone_now for part in parts):
                        gone.add(id(thing))
                elif any(
                    id(part) in gone_now for content in self._contents(number) for part in content
                ):
                    changed.add(number)

    def _digest(self, thing: Any) -> Digest | None:
        """None: it can't be told."""
        try:
            reduced = reduce(thing)
            if isinstance(reduced, str):
                return b"", b""
            return self._hash(reduced[:2], thing), self._hash(reduced[2:], thing)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001  (any code may be called)
            return None

    def _hash(self, parts: Any, thing: Any) -> bytes:
        collector = Collector()
        Returning(collector, self.numbers).dump((parts, self.numbers[id(thing)]))
        digest = hashlib.blake2b(digest_size=16)
        for piece in collector.pieces:
            digest.update(piece)
        for buffer in collector.buffers:
            digest.update(buffer.raw())
        return digest.digest()


def reduce(thing: Any) -> Any:
    way = copyreg.dispatch_table.get(type(thing))
    return way(thing) if way is not None else thing.__reduce_ex__(PROTOCOL)


def takes_state(thing: Any, now: Digest, before: Digest) -> bool:
    if now[0] != before[0]:
        return False
    reduced = reduce(thing)
    has_state = len(reduced) > 2 and reduced[2] is not None and not any(reduced[3:])
    return has_state and (hasattr(thing, "__setstate__") or hasattr(thing, "__dict__"))


def prepare(kind: str, content: Any) -> Any:
    """Before anything is changed: may fail."""
    return content if kind == STATE else known.kind_of_name(kind).prepare(content)


def put(thing: Any, kind: str, prepared: Any) -> None:
    if kind != STATE:
        known.kind_of_name(kind).put(thing, prepared)
    elif hasattr(thing, "__setstate__"):
        thing.__setstate__(prepared)
    else:
        own, slots = prepared if isinstance(prepared, tuple) else (prepared, None)
        if own is not None:
            vars(thing).clear()
            vars(thing).update(own)
        for name, value in (slots or {}).items():
            object.__setattr__(thing, name, value)
