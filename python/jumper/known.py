"""Objects that both processes have: what was done to them, and how it is done to the other's.

The pickler's memo in one process and the unpickler's in the other give the same number to the same
object. `Known` keeps what each one held when it arrived (its elements, not theirs) and compares by
identity; so whatever a cell does to an object is seen at that object, however deep it lies.
"""

import collections
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import cloudpickle

IMMUTABLE: Final = (str, bytes, tuple, frozenset, int, float, complex, range, slice, types.CodeType)
Content = Any


@dataclass(frozen=True)
class Kind:
    """How one kind of object is looked at: `content` is compared and sent, `put` makes it so."""

    name: str
    content: Callable[[Any], Content]
    put: Callable[[Any, Content], None]


def same(before: Content, now: Content) -> bool:
    """By identity of the elements; containers of elements are tuples and dicts."""
    if type(before) is not type(now):
        return False
    if isinstance(before, tuple):
        return len(before) == len(now) and all(map(same_element, before, now))
    if isinstance(before, dict):
        return list(before) == list(now) and all(map(same_element, before.values(), now.values()))
    return before is now or bool(before == now)


def same_element(before: Any, now: Any) -> bool:
    if before is now:
        return True
    nested = type(before) in (tuple, dict) and type(now) is type(before)
    return nested and isinstance(before, Nested) and same(before, now)


class Nested(tuple[Any, ...]):
    """Contents of contents: compared element by element; any other tuple is one element."""

    __slots__ = ()


def put_list(target: list[Any], content: Iterable[Any]) -> None:
    list.__setitem__(target, slice(None), content)


def put_dict(target: dict[Any, Any], content: dict[Any, Any]) -> None:
    dict.clear(target)
    dict.update(target, content)


def put_ordered(target: "collections.OrderedDict[Any, Any]", content: tuple[Any, ...]) -> None:
    target.clear()
    for key, value in zip(content[::2], content[1::2], strict=True):
        target[key] = value


def flat_items(target: "collections.OrderedDict[Any, Any]") -> tuple[Any, ...]:
    return tuple(part for item in target.items() for part in item)


def put_set(target: set[Any], content: Iterable[Any]) -> None:
    set.clear(target)
    set.update(target, content)


def put_bytearray(target: bytearray, content: bytes) -> None:
    target[:] = content


def put_deque(target: "collections.deque[Any]", content: Iterable[Any]) -> None:
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


FUNCTION: Final = ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__name__", "__qualname__")


def function_content(function: types.FunctionType) -> dict[str, Any]:
    fixed = {name: getattr(function, name) for name in FUNCTION}
    return fixed | {f".{name}": value for name, value in vars(function).items()}


def put_function(function: types.FunctionType, content: dict[str, Any]) -> None:
    vars(function).clear()
    for name, value in content.items():
        setattr(function, name.removeprefix("."), value)


NOT_COPIED: Final = {"__dict__", "__weakref__", "_abc_impl", "__module__", "__firstlineno__"}


def class_content(kind: type) -> dict[str, Any]:
    """Its attributes, without what the interpreter makes of them."""
    hidden = NOT_COPIED.union(slots_of(kind))
    return {name: value for name, value in vars(kind).items() if name not in hidden}


def put_class(kind: type, content: dict[str, Any]) -> None:
    for name in class_content(kind).keys() - content.keys():
        delattr(kind, name)
    now = vars(kind)
    for name, value in content.items():
        if now.get(name, content) is not value:
            setattr(kind, name, value)


def slots_of(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def all_slots(kind: type) -> list[str]:
    names = [name for base in kind.__mro__ for name in slots_of(base)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def attributes(thing: Any) -> dict[str, Any]:
    found = dict(vars(thing)) if hasattr(thing, "__dict__") else {}
    for name in all_slots(type(thing)):
        value = getattr(thing, name, found)
        if value is not found:
            found[name] = value
    return found


def put_attributes(thing: Any, content: dict[str, Any]) -> None:
    for name in attributes(thing).keys() - content.keys():
        object.__delattr__(thing, name)
    for name, value in content.items():
        if getattr(thing, name, content) is not value:
            object.__setattr__(thing, name, value)


KINDS: Final[dict[type, Kind]] = {
    list: Kind("list", tuple, put_list),
    dict: Kind("dict", dict, put_dict),
    set: Kind("set", tuple, put_set),
    bytearray: Kind("bytearray", bytes, put_bytearray),
    collections.OrderedDict: Kind("ordered", flat_items, put_ordered),
    collections.deque: Kind("deque", tuple, put_deque),
    types.CellType: Kind("cell", cell_content, put_cell),
    types.FunctionType: Kind("function", function_content, put_function),
    type: Kind("class", class_content, put_class),
    object: Kind("attributes", attributes, put_attributes),
}
BY_NAME: Final = {kind.name: kind for kind in KINDS.values()}
CONTAINERS: Final = (collections.OrderedDict, collections.deque, list, dict, set, bytearray)


def kinds_of(thing: Any) -> list[Kind]:
    """What it is made of; a subclass of list, say, of elements and of attributes."""
    kind = type(thing)
    if kind in KINDS and kind is not type and kind is not object:
        return [KINDS[kind]]
    if kind in IMMUTABLE or thing is None:
        return []
    if isinstance(thing, type):
        return [KINDS[type]] if is_of_notebook(thing) else []
    container = next((KINDS[base] for base in CONTAINERS if isinstance(thing, base)), None)
    found = [container] if container else []
    has_attributes = hasattr(thing, "__dict__") or all_slots(kind)
    if has_attributes and (container or pickles_plainly(kind)):
        found.append(KINDS[object])
    return found


def is_of_notebook(kind: type) -> bool:
    return bool(cloudpickle.cloudpickle._should_pickle_by_reference(kind)) is False


def pickles_plainly(kind: type) -> bool:
    """Whether its attributes are all that there is to it."""
    return (
        kind.__reduce__ is object.__reduce__
        and kind.__reduce_ex__ is object.__reduce_ex__
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not hasattr(kind, "__setstate__")
    )
