"""A cell was stopped near a memory limit: what holds the memory.

Sizes come from what Python, NumPy, pandas and torch say of their own types, not from the user's
code, and are estimates where a container has many items.
"""

import itertools
import time
from array import array
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import FunctionType, ModuleType, TracebackType
from typing import Any, Final, NamedTuple

from . import _native, views

MOST_NAMED: Final = 5
MOST_SECONDS: Final = 0.3  # for all variables; what is left then counts as it stands
MOST_ITEMS: Final = 1000  # of a container; more are estimated from as many
MOST_DEPTH: Final = 6
LEAST_BYTES: Final = 1 << 20  # smaller ones aren't worth a name
CONTAINERS: Final = (list, tuple, dict, set, frozenset, deque)
BUILTINS: Final = (*CONTAINERS, bytearray, bytes, str, array)


def parse(words: list[str]) -> float:
    """The per cent of `memory=95%`; 0 for `off`. Raises ValueError with the whole sentence."""
    if words == ["off"]:
        return 0.0
    said = " ".join(words)
    name, _, value = said.partition("=")
    try:
        percent = float(value.removesuffix("%"))
    except ValueError:
        percent = 0.0
    if name != "memory" or not 0 < percent < 100:  # false for NaN, too
        raise ValueError(
            f"guard {said!r} is refused: write memory=95% (more than 0, less than 100) or off"
        )
    return percent


class Variable(NamedTuple):
    name: str
    kind: str
    size_bytes: int


def sentence(
    near: _native.NearLimit,
    namespace: Mapping[str, Any],
    hidden: Container[str],
    error: BaseException | None,
) -> str:
    """What the user is told.

    `hidden` are names that aren't the user's, `error` is what the cell's code raised.
    """
    share = 100 * near.memory_bytes / near.limit_bytes
    amounts = f"{views.size(near.memory_bytes)} of {views.size(near.limit_bytes)}"
    parts = [
        f"guard: memory came to {amounts} ({share:.0f} % of {near.source}); this cell was stopped",
        *_listed("largest variables", map(_variable_text, largest(namespace, error, hidden))),
        *_listed("largest processes", _processes(near.largest)),
        "`%jumper guard off` ends this",
    ]
    return "; ".join(parts)


def _listed(title: str, texts: Iterable[str]) -> Iterator[str]:
    joined = ", ".join(texts)
    if joined:
        yield f"{title}: {joined}"


def _variable_text(one: Variable) -> str:
    return f"{one.name} ({one.kind}) {views.size(one.size_bytes)}"


def _processes(largest: list[_native.Consumer]) -> Iterator[str]:
    for one in largest if len(largest) > 1 else ():
        name = "".join(letter if letter.isprintable() else "?" for letter in one.name)
        yield f"{name} ({one.pid}) {views.size(one.memory_bytes)}"


def largest(
    namespace: Mapping[str, Any], error: BaseException | None, hidden: Container[str] = ()
) -> list[Variable]:
    """The biggest variables of the notebook, and of the functions that the error came through.

    Memory that several of them share counts for the first.
    """
    sizes = Sizes()
    found = []
    for name, value in [*_named(namespace, hidden), *_of_frames(error, namespace)]:
        size_bytes = sizes.of(value)
        if size_bytes >= LEAST_BYTES:
            found.append(Variable(name, type(value).__name__, size_bytes))
    return sorted(found, key=lambda one: -one.size_bytes)[:MOST_NAMED]


def _named(namespace: Mapping[str, Any], hidden: Container[str]) -> Iterator[tuple[str, Any]]:
    for name, value in list(namespace.items()):
        if not name.startswith("_") and name not in ("In", "Out") and name not in hidden:
            yield name, value
    results = namespace.get("Out")
    if isinstance(results, dict):
        yield from ((f"Out[{number}]", value) for number, value in list(results.items()))


def _of_frames(
    error: BaseException | None, namespace: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    step: TracebackType | None = error.__traceback__ if error is not None else None
    while step is not None:
        frame = step.tb_frame
        if frame.f_globals is namespace and frame.f_locals is not namespace:
            for name, value in list(frame.f_locals.items()):
                yield f"{name} in {frame.f_code.co_name}()", value
        step = step.tb_next


class Sizes:
    """Sizes in bytes of objects, each counted once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._until_s = time.monotonic() + MOST_SECONDS

    def of(self, value: Any, depth: int = 0) -> int:
        if id(value) in self._seen:
            return 0
        self._seen.add(id(value))
        try:
            return self._size(value, depth)
        except Exception:  # noqa: BLE001  (another library's object in a state of its own)
            return 0

    def _size(self, value: Any, depth: int) -> int:
        for base in type(value).__mro__:
            library = base.__module__.partition(".")[0]
            if library in THE_NOTEBOOK:
                return 0
            if library in LIBRARIES:
                return LIBRARIES[library](self, value)
        base = next((one for one in BUILTINS if isinstance(value, one)), object)
        size_bytes = int(base.__sizeof__(value))
        if depth == MOST_DEPTH or time.monotonic() > self._until_s:
            return size_bytes
        if base in CONTAINERS:
            size_bytes += self._items(base, value, depth)
        if isinstance(value, type | ModuleType | FunctionType):
            return size_bytes
        try:
            attributes = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return size_bytes
        return size_bytes + self.of(attributes, depth + 1)

    def _items(self, base: Any, container: Any, depth: int) -> int:
        values = dict.values(container) if base is dict else base.__iter__(container)
        taken = list(itertools.islice(values, MOST_ITEMS))
        size_bytes = sum(self.of(one, depth + 1) for one in taken)
        return size_bytes * int(base.__len__(container)) // max(len(taken), 1)

    def array(self, value: Any) -> int:
        """The memory that an array or its base owns; a view of another's counts nothing more."""
        owner = value
        while type(base := getattr(owner, "base", None)) is type(owner):
            owner = base
        if owner is not value and id(owner) in self._seen:
            return 0
        self._seen.add(id(owner))
        return int(getattr(owner, "nbytes", 0))

    def frame(self, value: Any) -> int:
        used = value.memory_usage(deep=False)
        return int(used.sum() if hasattr(used, "sum") else used)

    def tensor(self, value: Any) -> int:
        if value.device.type != "cpu":
            return 0
        storage = value.untyped_storage()
        if storage.data_ptr() in self._seen:
            return 0
        self._seen.add(storage.data_ptr())
        return int(storage.nbytes())


THE_NOTEBOOK: Final = ("IPython", "ipykernel", "ipywidgets", "traitlets", "zmq", "jumper")
LIBRARIES: Final[dict[str, Callable[[Sizes, Any], int]]] = {
    "numpy": Sizes.array,
    "pandas": Sizes.frame,
    "torch": Sizes.tensor,
}
