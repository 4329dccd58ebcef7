"""The pickler that takes a namespace apart, and the unpickler that puts it together again.

The n-th object that the one has memoized is the n-th of the other: so both sides have numbers for
the objects they share. Numbers below that of the first carried object are the *ends*: what both
processes have in a form of their own (the namespace, the shell, the standard streams).
"""

import copyreg
import pickle
import struct
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

import cloudpickle

from . import _native, known, reducing
from .placeholders import place
from .streams import Collector, Stream

PROTOCOL: Final = 5
NO_DEFINITIONS: Final = (
    "pickle takes nothing that the notebook defines; %jumper carry pickler=cloudpickle does"
)
Reduced = Any
SKELETON: Final = cloudpickle.cloudpickle._make_skeleton_class  # noqa: SLF001
GLOBALS: Final = (type, types.FunctionType)


class Stays(Exception):  # noqa: N818  (it is no error where it is caught)
    """An object can't go; the namespace is pickled again, with it left out."""


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """`careful`: each object is tried, and what can't go is replaced by a placeholder.

    Otherwise the first one that can't go ends the dump with some exception.
    """

    def __init__(
        self, collector: Collector, pickler: str = "cloudpickle", *, careful: bool
    ) -> None:
        """`pickler` is one of settings.BACKENDS.

        pickle: nothing that the notebook has defined goes. dill: may take what cloudpickle refuses.
        """
        self.dispatch_table = dict(cloudpickle.Pickler.dispatch_table)  # a ChainMap: 2 us a look
        super().__init__(collector, PROTOCOL, buffer_callback=collector.keep_buffer)
        self._careful = careful
        self._pickler = pickler
        self._usual_types: set[type] = set()  # that pickle itself does right
        self.reducer_override = _native.reducer(self._usual_types, self._reduce_other)
        self._ways: dict[type, Callable[[Any], Reduced]] = {}
        self._subject: tuple[str, Any] = ("", None)
        self.left: dict[str, str] = {}  # what stays: its name, or what of a name's; and why

    def share_ends(self, ends: Sequence[Any]) -> None:
        """The first act; `first_words` does it for the unpickler."""
        self.memo = {id(end): (number, end) for number, end in enumerate(ends)}

    def dump_named(self, name: str, value: Any, content: Any = None) -> None:
        """The same as `dump`; what stays is named by it. `content`: a part of the value only."""
        self._subject = name, value
        self.dump(value if content is None else content)

    def _reduce_other(self, obj: Any) -> Reduced:
        kind = type(obj)
        way = self._ways.get(kind)
        if way is None:
            way = self._ways[kind] = self._way_of(kind)
        return way(obj)

    def _way_of(self, kind: type) -> Callable[[Any], Reduced]:
        name = reducing.type_name(kind)
        if reducing.stays(kind):
            return self._stay
        if self._pickler == "pickle" and kind.__module__ == "__main__":
            return self._stay_of_notebook
        if kind in reducing.REDUCERS:
            reduce = reducing.REDUCERS[kind]
            return lambda obj: self._own(obj, reduce)
        if reducing.reduces_exceptions(kind):
            return lambda obj: self._own(obj, reducing.reduce_exception)
        if name in reducing.LIBRARIES:
            return lambda obj: self._own(obj, reducing.reduce_library)
        if issubclass(kind, types.ModuleType):
            return lambda obj: self._own(obj, reducing.reduce_module)
        if issubclass(kind, type):
            return self._class
        numpy = sys.modules.get("numpy")
        if numpy is not None and issubclass(kind, numpy.ndarray):
            from . import arrays

            return lambda obj: self._own(obj, arrays.reduce)
        if self._careful:
            return self._try
        self._usual_types.add(kind)
        return self._usual

    def _usual(self, obj: Any) -> Reduced:
        return super().reducer_override(obj)

    def _class(self, obj: type) -> Reduced:
        if self._pickler == "pickle" and obj.__module__ == "__main__":
            return self._stay_of_notebook(obj)
        reduced = self._try(obj) if self._careful else self._usual(obj)
        if isinstance(reduced, tuple) and reduced[0] is SKELETON and known.is_made_in_c(obj):
            return self._stay(obj, "it is made in C, and no module has it")
        if isinstance(reduced, tuple) and reduced[0] is SKELETON:
            # Its own attributes in their order; cloudpickle leaves out some, and takes some that
            # the interpreter makes.
            registry = {key: it for key, it in reduced[2][0].items() if key == "_abc_impl"}
            state = known.class_attributes(obj) | registry, reduced[2][1]
            return (*reduced[:2], state, *reduced[3:])
        return reduced

    def _own(self, obj: Any, reduce: Callable[[Any], Reduced]) -> Reduced:
        reduced = reduce(obj)
        if reduced is not NotImplemented:
            definition = self._pickler == "pickle" and isinstance(obj, types.FunctionType)
            return self._stay_of_notebook(obj) if definition else reduced
        return self._try(obj) if self._careful else self._usual(obj)

    def _stay_of_notebook(self, obj: Any) -> Reduced:
        return self._stay(obj, NO_DEFINITIONS)

    def _stay(self, obj: Any, reason: str = "") -> Reduced:
        if not self._careful:
            raise Stays
        if self._pickler == "dill" and not reducing.never_goes(type(obj)):
            try:
                import dill

                return dill.loads, (dill.dumps(obj, PROTOCOL),)
            except Exception as error:  # noqa: BLE001  (any code may be called)
                reason = reason or first_line(error)
        kind = reducing.type_name(type(obj))
        name, value = self._subject
        label = name if obj is value else f"{kind} in {name}" if name else kind
        self.left[label] = reason or f"a {kind} belongs to its process"
        return place, (label, self.left[label])

    def _try(self, obj: Any) -> Reduced:
        try:
            reduced = super().reducer_override(obj)
            if reduced is NotImplemented and isinstance(obj, GLOBALS):
                name = getattr(obj, "__qualname__", obj.__name__)
                return reduced if self._is_found(obj, name) else self._stay(obj, "no module has it")
            if reduced is NotImplemented:
                reduced = self._reduce(obj)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  (any code may be called)
            return self._stay(obj, first_line(error))
        if isinstance(reduced, str) and not self._is_found(obj, reduced):
            return self._stay(obj, f"its module has no {reduced}")
        if not isinstance(reduced, str) and not is_reduction(reduced):
            return self._stay(obj, "its __reduce__ gives something that pickle can't use")
        return reduced

    def _reduce(self, obj: Any) -> Reduced:
        kind = type(obj)
        reduce = self.dispatch_table.get(kind) or copyreg.dispatch_table.get(kind)
        return reduce(obj) if reduce is not None else obj.__reduce_ex__(PROTOCOL)

    def _is_found(self, obj: Any, name: str) -> bool:
        if any(obj is one for one in (type(None), type(NotImplemented), type(...))):
            return True
        module = pickle.whichmodule(obj, name)  # type: ignore[attr-defined]
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        return found is obj or getattr(obj, "__self__", None) is not None


def is_reduction(reduced: Any) -> bool:
    return (
        isinstance(reduced, tuple)
        and 2 <= len(reduced) <= 6
        and callable(reduced[0])
        and isinstance(reduced[1], tuple)
    )


def first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__


class Returning(Pickler):
    """Writes objects that the other process has as their numbers; a number tells identity."""

    def __init__(
        self, collector: Collector, numbers: _native.Numbers, pickler: str = "cloudpickle"
    ) -> None:
        super().__init__(collector, pickler, careful=True)
        self._numbers = numbers  # by id

    def persistent_id(self, obj: Any) -> int | None:
        return self._numbers.get(id(obj))


class Unpickler(pickle.Unpickler):
    """`known`: what persistent ids stand for; the ends first, in a process that shares them."""

    def __init__(self, stream: Stream, buffers: Sequence[memoryview], known: Sequence[Any]) -> None:
        super().__init__(stream, buffers=buffers)
        self._known = known

    def persistent_load(self, pid: Any) -> Any:
        return self._known[pid]


def first_words(ends: int) -> bytes:
    """A pickle that gives an unpickler's memo the ends: its setter can't."""
    each = [b"J" + struct.pack("<i", number) + b"Q\x94" + b"0" for number in range(ends)]
    return b"\x80\x05" + b"".join(each) + b"N."
