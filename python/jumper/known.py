"""What objects hold, kind by kind: how it is looked at, and how it is put into another's.

Contents are shallow: elements are compared by identity, so looking calls no code of the user's,
and a change is seen at the object that it happened to.
"""

import collections
import operator
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import cloudpickle

Content = tuple[Any, ...] | bytes


@dataclass(frozen=True)
class Kind:
    """`content` is compared, `tell` (else `content`) is sent.

    `prepare` may fail (it hashes keys) and changes nothing; `put` then makes it so.
    """

    name: str
    content: Callable[[Any], Content]
    prepare: Callable[[Any], Any]
    put: Callable[[Any, Any], None]
    tell: Callable[[Any], Any] | None = None


def same(before: Content, now: Content) -> bool:
    if isinstance(before, bytes):
        return before == now
    return len(before) == len(now) and all(map(operator.is_, before, now))


def flat(items: dict[Any, Any]) -> tuple[Any, ...]:
    """Keys, then values."""
    return (*items, *items.values())


def unflat(content: tuple[Any, ...]) -> dict[Any, Any]:
    half = len(content) // 2
    return dict(zip(content[:half], content[half:], strict=True))


def put_list(target: list[Any], content: tuple[Any, ...]) -> None:
    list.__setitem__(target, slice(None), content)


def dict_content(target: dict[Any, Any]) -> tuple[Any, ...]:
    return *dict.keys(target), *dict.values(target)


def put_dict(target: dict[Any, Any], content: dict[Any, Any]) -> None:
    dict.clear(target)
    dict.update(target, content)


def ordered_content(target: "collections.OrderedDict[Any, Any]") -> tuple[Any, ...]:
    return *target.keys(), *target.values()  # its own order isn't dict's


def put_ordered(target: "collections.OrderedDict[Any, Any]", content: dict[Any, Any]) -> None:
    collections.OrderedDict.clear(target)
    for key, value in content.items():
        collections.OrderedDict.__setitem__(target, key, value)


def put_set(target: set[Any], content: set[Any]) -> None:
    set.clear(target)
    set.update(target, content)


def put_bytearray(target: bytearray, content: bytes) -> None:
    target[:] = content


def put_deque(target: "collections.deque[Any]", content: tuple[Any, ...]) -> None:
    target.clear()
    target.extend(content)


def cell_content(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def put_cell(cell: types.CellType, content: tuple[Any, ...]) -> None:
    if content:
        cell.cell_contents = content[0]
    else:
        del cell.cell_contents


PARTS: Final = (
    "__code__",
    "__defaults__",
    "__kwdefaults__",
    "__doc__",
    "__name__",
    "__qualname__",
)


def function_content(function: types.FunctionType) -> tuple[Any, ...]:
    return *(getattr(function, name) for name in PARTS), *flat(function.__dict__)


def put_function(function: types.FunctionType, content: tuple[Any, ...]) -> None:
    for name, value in zip(PARTS, content[: len(PARTS)], strict=True):
        setattr(function, name, value)
    function.__dict__.clear()
    function.__dict__.update(unflat(content[len(PARTS) :]))


NOT_PUT: Final = {
    "__dict__",
    "__weakref__",
    "_abc_impl",
    "__module__",
    "__firstlineno__",
    "__slotnames__",
}


def class_attributes(kind: type) -> dict[str, Any]:
    """Without what the interpreter makes of them."""
    hidden = NOT_PUT.union(own_slots(kind))
    return {name: value for name, value in vars(kind).items() if name not in hidden}


def put_class(kind: type, content: dict[str, Any]) -> None:
    now = class_attributes(kind)
    for name in now.keys() - content.keys():
        type.__delattr__(kind, name)
    for name, value in content.items():
        if name not in now or now[name] is not value:
            type.__setattr__(kind, name, value)


def module_content(module: types.ModuleType) -> tuple[Any, ...]:
    """Of one that can't be imported; the others are as their files have them."""
    imported = sys.modules.get(module.__name__) is module
    return () if imported else flat(vars(module))


def put_module(module: types.ModuleType, content: dict[str, Any]) -> None:
    vars(module).clear()
    vars(module).update(content)


def own_slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    owner = "_" + kind.__name__.lstrip("_")
    return tuple(owner + name if is_private(name) else name for name in names)


def is_private(name: str) -> bool:
    """Whether the compiler has put the class's name before it."""
    return name.startswith("__") and not name.endswith("__")


def all_slots(kind: type) -> list[str]:
    names = (name for base in kind.__mro__ for name in own_slots(base))
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def attributes(thing: Any) -> dict[str, Any]:
    found = dict(instance_dict(thing) or {})
    for name in all_slots(type(thing)):
        try:
            found[name] = object.__getattribute__(thing, name)
        except AttributeError:
            continue
    return found


def instance_dict(thing: Any) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None
    return found


def put_attributes(thing: Any, content: dict[str, Any]) -> None:
    slots = all_slots(type(thing))
    for name in slots:
        if name in content:
            object.__setattr__(thing, name, content[name])
        elif name in attributes(thing):
            object.__delattr__(thing, name)
    own = instance_dict(thing)
    if own is not None:
        own.clear()
        own.update((name, value) for name, value in content.items() if name not in slots)


def itself(content: Any) -> Any:
    return content


LIST: Final = Kind("list", lambda it: (*list.__iter__(it),), itself, put_list)
DICT: Final = Kind("dict", dict_content, unflat, put_dict)
SET: Final = Kind("set", lambda it: (*set.__iter__(it),), set, put_set)
BYTES: Final = Kind("bytearray", bytes, itself, put_bytearray)
ORDERED: Final = Kind("ordered", ordered_content, unflat, put_ordered)
DEQUE: Final = Kind("deque", tuple, itself, put_deque)
CELL: Final = Kind("cell", cell_content, itself, put_cell)
FUNCTION: Final = Kind("function", function_content, itself, put_function)
MODULE: Final = Kind("module", module_content, unflat, put_module)
CLASS: Final = Kind("class", lambda it: flat(class_attributes(it)), unflat, put_class)
ATTRIBUTES: Final = Kind("attributes", lambda it: flat(attributes(it)), unflat, put_attributes)

EXACT: Final = {
    list: LIST,
    dict: DICT,
    set: SET,
    bytearray: BYTES,
    collections.OrderedDict: ORDERED,
    collections.deque: DEQUE,
    types.CellType: CELL,
    types.FunctionType: FUNCTION,
    types.ModuleType: MODULE,
}
CONTAINERS: Final = (
    (collections.OrderedDict, ORDERED),
    (collections.deque, DEQUE),
    (list, LIST),
    (dict, DICT),
    (set, SET),
    (bytearray, BYTES),
)
KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in (*EXACT.values(), CLASS, ATTRIBUTES)}


def kinds_of_type(kind: type) -> tuple[Kind, ...]:
    """What all of this type are made of; a subclass of list, say, of elements and attributes."""
    if kind in EXACT:
        return (EXACT[kind],)
    if issubclass(kind, type):
        return (CLASS,)
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.ndarray):
        if kind.__reduce__ is not numpy.ndarray.__reduce__:
            return ()
        mapped = issubclass(kind, numpy.memmap)
        return (array_kind(), ATTRIBUTES) if kind.__dictoffset__ and not mapped else (array_kind(),)
    inner = next((found for base, found in CONTAINERS if issubclass(kind, base)), None)
    has_attributes = kind.__dictoffset__ != 0 or bool(all_slots(kind))
    if inner is not None:
        return (inner, ATTRIBUTES) if has_attributes else (inner,)
    return (ATTRIBUTES,) if has_attributes and is_plain(kind) else ()


def array_kind() -> Kind:
    from . import arrays

    if "array" not in KINDS:
        KINDS["array"] = Kind("array", arrays.content, itself, arrays.put, arrays.tell)
    return KINDS["array"]


def kind_of_name(name: str) -> Kind:
    return array_kind() if name == "array" else KINDS[name]


def is_of_notebook(kind: type) -> bool:
    by_reference = cloudpickle.cloudpickle._should_pickle_by_reference  # noqa: SLF001
    return not by_reference(kind)


REDUCING: Final = ("__reduce__", "__reduce_ex__")


MADE_IN_C: Final = (types.WrapperDescriptorType, types.MethodDescriptorType)


def is_made_in_c(kind: type) -> bool:
    return any(type(value) in MADE_IN_C for value in vars(kind).values())


def is_plain(kind: type) -> bool:
    """Whether its attributes are all that there is to it."""
    return (
        bool(kind.__flags__ & (1 << 9))  # Py_TPFLAGS_HEAPTYPE: not made in C
        and all(getattr(kind, name) is getattr(object, name) for name in REDUCING)
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not hasattr(kind, "__setstate__")
        and kind.__basicsize__ <= object.__basicsize__ + 8 * (len(all_slots(kind)) + 2)
    )
