"""The namespace on its way to an engine and back.

There: all names in one stream, each object once, what can't go as a placeholder. Back: what the
cell made, and what it changed of the objects that both have; loaded whole before anything of the
kernel's is touched, so it is put there wholly or not at all.
"""

import functools
import gc
import os
import pickle
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from . import _native, changes, reducing
from .pickling import Pickler, Returning, Unpickler, first_line, first_words
from .placeholders import Placeholder, place
from .segments import Choice, Group, Head, Part, Range, Segment, writable, write
from .streams import NOWHERE, Collector, Place, Stream

if TYPE_CHECKING:
    from . import parallel

# What the shells keep themselves: it goes there, so that cells may use it, but isn't brought back.
KEPT: Final = re.compile(r"_i\d*|_ii|_iii|_\d+|_ih|_dh|In|Out|_oh|_|__|___")
TOGETHER: Final = ""  # no name: what all groups share. Without it they can't be apart
# Each module has its own.
OWN: Final = frozenset(
    f"__{name}__"
    for name in ("name", "doc", "package", "loader", "spec", "builtin", "builtins", "file")
)


def ends(shell: Any) -> list[Any]:
    """What both processes have in a form of their own, in the same order; no object twice."""
    namespace = shell.user_ns
    kernel = getattr(shell, "kernel", None)
    found = [
        namespace,
        shell,
        sys.stdout,
        sys.stderr,
        sys.stdin,
        namespace.get("get_ipython"),
        namespace.get("exit"),
        namespace.get("quit"),
        getattr(shell, "user_module", None),
        getattr(shell, "displayhook", None),
        getattr(shell, "display_pub", None),
        kernel,
        getattr(kernel, "session", None),
        getattr(kernel, "comm_manager", None),
        getattr(kernel, "iopub_socket", None),
        getattr(kernel, "iopub_thread", None),
        getattr(kernel, "io_loop", None),
    ]
    ids = {id(end): number for number, end in enumerate(found)}
    return [
        end if end is not None and ids[id(end)] == number else object()
        for number, end in enumerate(found)
    ]


Call = TypeVar("Call", bound=Callable[..., Any])


def no_collection(call: Call) -> Call:
    """The garbage collector would look at a million new objects again and again."""

    @functools.wraps(call)
    def held(*arguments: Any, **options: Any) -> Any:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return call(*arguments, **options)
        finally:
            if was_on:
                gc.enable()

    return cast("Call", held)


class HeldBack:
    """In the kernel's stream, a name's value that the engine could not load."""

    def __init__(self, name: str, value: Any, reason: str) -> None:
        self.name, self.value, self.reason = name, value, reason

    def __reduce__(self) -> Any:
        return place, (self.name, self.reason)


class Carried:
    """The kernel's side of one run."""

    def __init__(self, shell: Any, choice: Choice) -> None:
        self._namespace: dict[str, Any] = shell.user_ns
        self._shell, self._choice = shell, choice
        self._held_back: dict[str, str] = {}
        self._failing = ""
        self._pickler: Pickler | None = None
        self._groups: parallel.Groups | None = None
        self._of_workers: list[Any] = []  # objects behind those of the kernel's own stream
        self._back: tuple[Head, Segment, Back] | None = None
        self._buffers: list[pickle.PickleBuffer] = []
        self.left: dict[str, str] = {}  # what stays here, and why
        self.lost: dict[str, str] = {}  # what the cell has made and can't come here, and why
        self.notes: list[str] = []  # for the user
        self.shares: list[parallel.Share] = []  # of the parallel marshaller's processes
        self.there_bytes = self.back_bytes = 0

    def hold_back(self, names: Mapping[str, str]) -> None:
        """These stay here: the engine could not load them."""
        if TOGETHER in names:
            self._choice = replace(self._choice, workers=1)
        else:
            self._held_back.update(names)

    @no_collection
    def pack(self) -> tuple[bytes, int]:
        """What the engine's `load` takes; the descriptor is the caller's."""
        reducing.here.namespace = self._namespace
        try:
            collector, names = self._dump(careful=False)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001  (anything may be raised by what can't go)
            collector, names = self._dump_carefully()
        head, descriptor = write(collector, self._choice, self.notes)
        head.names, head.choice = names, self._choice
        self.there_bytes = head.size_bytes
        self._buffers = collector.buffers
        collector.groups = []  # the pickler keeps the collector, and they their descriptors
        return pickle.dumps(head), descriptor

    def _dump_carefully(self) -> tuple[Collector, list[str]]:
        while True:
            try:
                return self._dump(careful=True)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if not self._failing or self._failing in self._held_back:
                    raise
                self._held_back[self._failing] = first_line(error)

    def _dump(self, *, careful: bool) -> tuple[Collector, list[str]]:
        items = {n: value for n, value in list(self._namespace.items()) if self._goes(n, value)}
        shared = ends(self._shell)
        collector = Collector()
        pickler = self._pickler = Pickler(collector, self._choice.pickler, careful=careful)
        collector.write(first_words(len(shared)))
        pickler.share_ends(shared)
        if self._choice.workers < 2:
            self._dump_all(pickler, items, frozenset())
            return collector, list(items)
        from . import parallel  # nobody else needs it

        if self._groups is None:
            self._groups = parallel.Groups(items, shared)
        team = parallel.Team(self._groups, self._choice, self._held_back)
        collected = False
        try:
            team.start(pickler, careful=careful)
            self._dump_all(pickler, items, team.elsewhere)
            team.collect(pickler, collector)
            collected = True
        except parallel.NotParallel:
            self._choice = replace(self._choice, workers=1)
        finally:
            team.stop()
            if not collected:
                collector.groups = []  # as in `pack`
        if not collected:
            return self._dump(careful=careful)
        collector.firsts, collector.shared = team.firsts, team.shared
        self._of_workers, self.shares = team.objects, team.shares
        self.left.update(team.left)
        return collector, list(items)

    def _dump_all(
        self, pickler: Pickler, items: Mapping[str, Any], elsewhere: Collection[str]
    ) -> None:
        for name, value in items.items():
            if name in elsewhere:
                continue
            self._failing = name
            reason = self._held_back.get(name)
            pickler.dump_named(name, value if reason is None else HeldBack(name, value, reason))
        self._failing = ""
        self.left = {**self._held_back, **pickler.left}

    def _goes(self, name: str, value: Any) -> bool:
        if KEPT.fullmatch(name):
            return True
        if name in OWN:
            return False
        hidden = self._shell.user_ns_hidden
        return name not in hidden or hidden[name] is not value

    @no_collection
    def take_back(self, head: bytes, descriptor: int) -> dict[str, str]:
        """Loads what `pack_back` gave; nothing of the kernel's is changed yet.

        What can't be loaded is named: `pack_back` is asked again then, without it. Raises whatever
        loading raises when that isn't the fault of one of them.
        """
        segment = Segment(descriptor)
        told: Head = pickle.loads(head)  # noqa: S301  (our child's)
        self.back_bytes = told.size_bytes
        objects = self._objects()
        unpickler = Unpickler(
            Stream(segment.views(told.pieces)), segment.views(told.buffers), objects
        )
        back = Back({}, [], [], [], [])
        for part in told.parts:
            try:
                take(part, unpickler.load(), back, objects)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if part.key == "":
                    raise
                return {part.key: first_line(error)}
        self._back = told, segment, back
        return {}

    @no_collection
    def apply(self) -> list[Any]:
        """Puts what was taken back, and returns `pack_back`'s results."""
        assert self._back is not None  # noqa: S101  (take_back came first)
        (told, segment, back), self._back = self._back, None
        for (number, offset, size), where in zip(back.ranges, told.changed, strict=True):
            with writable(self._buffers[number]) as whole:
                if whole.readonly:
                    self.notes.append("what the cell did to memory that is read-only here is lost")
                else:
                    whole[offset : offset + size] = segment.mapping.view(*where)
        self._release()
        self.lost = told.left
        self.notes += told.notes
        for thing, kind, content in back.updates:
            try:
                changes.put(thing, kind, content)
            except BaseException as error:  # noqa: BLE001  (__setstate__; on with the others)
                kind_name = reducing.type_name(type(thing))
                self.notes.append(
                    f"what the cell did to a {kind_name} is lost: {first_line(error)}"
                )
        for name in back.deleted:
            self._namespace.pop(name, None)
        self._namespace.update(back.names)
        return back.results

    def _objects(self) -> list[Any]:
        assert self._pickler is not None  # noqa: S101  (pack came first)
        objects = _native.memoized(self._pickler) + self._of_workers
        if self._held_back:
            return [one.value if type(one) is HeldBack else one for one in objects]
        return objects

    def forget(self) -> None:
        """Whatever has become of it: a traceback that keeps this keeps no variables alive."""
        self._release()
        self._pickler = self._groups = self._back = None
        self._of_workers = []

    def _release(self) -> None:
        for buffer in self._buffers:
            buffer.release()
        self._buffers = []


@dataclass
class Back:
    """What comes back; objects of the kernel's instead of their numbers."""

    names: dict[str, Any]
    updates: list[changes.Update | tuple[Any, str, Any]]
    deleted: list[str]
    ranges: list[Range]
    results: list[Any]


def take(part: Part, value: Any, back: Back, objects: Sequence[Any]) -> None:
    if part.kind == "name":
        back.names[part.key] = value
    elif part.kind == "update":
        number, kind, content = value
        back.updates.append((objects[number], kind, changes.prepare(kind, content)))
    elif part.kind == "result":
        back.results.append(value)
    else:
        back.deleted, back.ranges = value


def made_again(before: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    """Names that were deleted and made again: they stand behind those that stayed."""
    left = iter([name for name in now if name in before])
    stands = next(left, None)
    found = set()
    for name in before:
        if name == stands:
            stands = next(left, None)
        elif name in now:
            found.add(name)
    return found


class CannotLoad(Exception):  # noqa: N818  (the kernel is told)
    def __init__(self, name: str, error: BaseException) -> None:
        self.name = name
        self.reason = f"{type(error).__name__}: {first_line(error)}"


def load_names(unpickler: Unpickler, names: Sequence[str], values: dict[str, Any]) -> None:
    """Raises CannotLoad."""
    for name in names:
        try:
            values[name] = unpickler.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  (any code may be called)
            raise CannotLoad(name, error) from None


def load_group(
    stream: Stream, group: Group, shared: Sequence[Any], values: dict[str, Any]
) -> list[Any]:
    """Returns its objects behind the shared ones. Raises CannotLoad."""
    unpickler = Unpickler(stream, [], shared)
    unpickler.load()
    load_names(unpickler, group.names, values)
    objects = _native.memoized(unpickler)[len(shared) :]
    return [NOWHERE if made else one for one, made in zip(objects, group.made, strict=True)]


class Arrived:
    """The engine's side of one run; `shell` is its own."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._namespace: dict[str, Any] = shell.user_ns
        self._before: dict[str, Any] = {}
        self._choice = Choice()
        self._known = changes.Known([], 0)
        self._segment: Segment  # from `load` on
        self._places: list[Place] = []
        self._given: tuple[list[Range], list[memoryview]] | None = None
        self._left: dict[str, str] = {}
        self._given_up: dict[str, str] = {}  # by a part's key

    @no_collection
    def load(self, head: bytes, descriptor: int) -> dict[str, str]:
        """Fills the namespace; or names what can't be loaded, and leaves it as it was."""
        told: Head = pickle.loads(head)  # noqa: S301  (the kernel's)
        reducing.here.namespace = self._namespace
        self._choice = told.choice
        segment = self._segment = Segment(descriptor)
        self._places = told.buffers
        shared = ends(self._shell)
        stream = Stream(segment.views(told.pieces))
        unpickler = Unpickler(stream, segment.views(told.buffers), shared)
        values: dict[str, Any] = {}
        reducing.here.maps = True
        try:
            unpickler.load()  # the ends
            if told.groups:
                load_names(unpickler, [TOGETHER] * told.firsts, {})
            elsewhere = {name for group in told.groups for name in group.names}
            load_names(unpickler, [one for one in told.names if one not in elsewhere], values)
            objects = _native.memoized(unpickler)
            for group in told.groups:
                stream = Stream(segment.views(group.pieces))
                objects += load_group(stream, group, objects[: told.shared], values)
        except CannotLoad as error:
            return {error.name: error.reason}
        finally:
            reducing.here.maps = False
        self._namespace.update((name, values[name]) for name in told.names)
        self._sync_history()
        self._before = dict(self._namespace)
        self._known = changes.Known(objects, len(shared))
        return {}

    def _sync_history(self) -> None:
        """The shell's own history is what the names hold."""
        names, shell = self._namespace, self._shell
        shell.history_manager.input_hist_parsed = names.get("_ih", [])
        for number in (1, 2, 3):
            name = "_" * number
            setattr(shell.displayhook, name, names.get(name, ""))

    def give_up(self, parts: Mapping[str, str]) -> None:
        """The kernel can't load these: `pack_back` leaves them out from now on."""
        self._given_up.update(parts)

    @no_collection
    def pack_back(self, results: Sequence[Any]) -> tuple[bytes, int]:
        """What the kernel's `take_back` takes. The way is that by which the variables came."""
        self._forget_result()
        updates = list(self._known.changes())
        ranges, memory = self._given or self._changed_memory()
        names, deleted = self._changed_names()
        parts: list[tuple[Part, Any]] = [
            *((Part("name", name), value) for name, value in names.items()),
            *((Part("update", f"#{one[0]} {one[1]}"), one) for one in updates),
            (Part(""), (deleted, ranges)),
            *((Part("result", f"result {n}"), one) for n, one in enumerate(results)),
        ]
        collector, told = self._dump(parts)
        notes: list[str] = []
        discard = self._given is None
        head, descriptor = write(collector, self._choice, notes, memory, discard=discard)
        if ranges:
            # Asked again, its own pages are as they came.
            self._given = ranges, Segment(os.dup(descriptor)).views(head.changed)
        head.parts, head.left, head.notes = told, self._left, notes
        return pickle.dumps(head), descriptor

    def _dump(self, parts: list[tuple[Part, Any]]) -> tuple[Collector, list[Part]]:
        """Begins again without a part that can't go as a whole: it is nested too deeply, say."""
        while True:
            collector = Collector()
            pickler = Returning(collector, self._known.numbers, self._choice.pickler)
            told = []
            part = Part("")
            try:
                for part, value in parts:
                    reason = self._given_up.get(part.key)
                    if reason is not None:
                        value = self._instead(part, reason)  # noqa: PLW2901
                    if part.kind != "update" or reason is None:
                        pickler.dump_named(self._label(part), value)
                        told.append(part)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if part.key == "" or part.key in self._given_up:
                    raise
                self._given_up[part.key] = first_line(error)
            else:
                self._left.update(pickler.left)
                return collector, told

    def _label(self, part: Part) -> str:
        if part.kind == "update":
            thing = self._known.objects[int(part.key[1:].split()[0])]
            return f"what was done to a {reducing.type_name(type(thing))}"
        return part.key if part.kind == "name" else "the cell"

    def _instead(self, part: Part, reason: str) -> Placeholder:
        label = self._label(part)
        self._left[label] = reason
        return Placeholder(label, reason)

    def _forget_result(self) -> None:
        """The kernel's display hook keeps the cell's values itself."""
        shell, out = self._shell, self._namespace.get("_oh")
        if isinstance(out, dict) and shell.execution_count in out:
            del out[shell.execution_count]

    def _changed_memory(self) -> tuple[list[Range], list[memoryview]]:
        mapping = self._segment.mapping
        found = [
            ((number, offset - begin, size), mapping.view(offset, size))
            for number, (begin, whole) in enumerate(self._places)
            for offset, size in mapping.changed(begin, whole)
        ]
        return [one for one, _ in found], [memory for _, memory in found]

    def _changed_names(self) -> tuple[dict[str, Any], list[str]]:
        now, before = self._namespace, self._before
        missing = object()
        again = made_again(before, now)
        names = {
            name: value
            for name, value in now.items()
            if self._comes_back(name, value)
            and (
                before.get(name, missing) is not value or self._is_replaced(value) or name in again
            )
        }
        deleted = [name for name in before if name not in now and not KEPT.fullmatch(name)]
        return names, [*deleted, *(name for name in names if name in again)]

    def _is_replaced(self, value: Any) -> bool:
        """Whether the kernel gets a new object for one that it has."""
        return id(value) in self._known.replaced

    def _comes_back(self, name: str, value: Any) -> bool:
        if name in ("_", "__", "___"):
            return getattr(self._shell.displayhook, name, value) is not value
        return not KEPT.fullmatch(name) and name not in OWN
