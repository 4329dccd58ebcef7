"""How objects that pickle leaves out, or takes apart in the wrong place, are put together again.

Functions of the notebook keep the notebook's globals and share their closures' cells, modules go
by name, and what belongs to the shell is the other shell's.
"""

import functools
import importlib
import marshal
import sys
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

Reduced = Any  # what object.__reduce_ex__ gives, or NotImplemented

# Never tried: some of them do pickle, as something else.
STAY: Final = frozenset(
    {
        "generator", "coroutine", "async_generator", "frame", "traceback", "_thread.lock",
        "_thread.RLock", "threading.Thread", "socket.socket", "_io.TextIOWrapper", "_io.FileIO",
        "_io.BufferedReader", "_io.BufferedWriter", "_io.BufferedRandom", "sqlite3.Connection",
        "_asyncio.Task", "_asyncio.Future", "_contextvars.Context", "_contextvars.ContextVar",
        "_contextvars.Token", "select.epoll", "mmap.mmap",
        "selectors.EpollSelector", "asyncio.unix_events._UnixSelectorEventLoop",
        "tornado.platform.asyncio.AsyncIOLoop", "tornado.platform.asyncio.AsyncIOMainLoop",
        "zmq.sugar.context.Context", "zmq.sugar.socket.Socket", "zmq.asyncio.Context",
        "zmq.asyncio.Socket",
    }
)  # fmt: skip
# Nor by dill: a copy's end deletes files and ends processes.
NEVER: Final = frozenset(
    {
        "weakref.finalize",
        "tempfile._TemporaryFileWrapper", "tempfile._TemporaryFileCloser",
        "tempfile.TemporaryDirectory", "tempfile.SpooledTemporaryFile", "subprocess.Popen",
        "multiprocessing.pool.Pool", "multiprocessing.pool.ThreadPool",
        "multiprocessing.process.BaseProcess", "multiprocessing.shared_memory.SharedMemory",
        "multiprocessing.managers.BaseManager", "concurrent.futures._base.Executor",
    }
)  # fmt: skip


def stays(kind: type) -> bool:
    """Subclasses too."""
    return any(type_name(base) in STAY for base in kind.__mro__) or never_goes(kind)


def never_goes(kind: type) -> bool:
    return any(type_name(base) in NEVER for base in kind.__mro__)


def type_name(kind: type) -> str:
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


@dataclass
class Here:
    """What is this process's own."""

    namespace: dict[str, Any] = field(default_factory=dict)  # the notebook's
    maps: bool = False  # whether long memory of arrays stays where it was mapped


here: Final = Here()


def reduce_module(module: types.ModuleType) -> Reduced:
    name = module.__name__
    if module.__dict__ is here.namespace:
        return importlib.import_module, ("__main__",)
    if sys.modules.get(name) is module:
        return importlib.import_module, (name,)
    return types.ModuleType, (name, module.__doc__), vars(module), None, None, set_vars


def set_vars(module: types.ModuleType, state: dict[str, Any]) -> None:
    vars(module).update(state)


def is_importable(thing: Any) -> bool:
    """Whether the other process finds the same under its name."""
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    if module is None or module.__dict__ is here.namespace or module.__name__ == "__main__":
        return False
    found: Any = module
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing


def reduce_function(function: types.FunctionType) -> Reduced:
    if is_importable(function):
        return NotImplemented
    state = {
        "__defaults__": function.__defaults__,
        "__kwdefaults__": function.__kwdefaults__,
        "__dict__": function.__dict__,
        "__qualname__": function.__qualname__,
        "__annotations__": function.__annotations__,
        "__module__": function.__module__,
        "__doc__": function.__doc__,
        "__type_params__": getattr(function, "__type_params__", None),
    }
    names: Any = function.__globals__
    module = sys.modules.get(names.get("__name__", ""))
    if names is here.namespace:
        names = None
    elif module is not None and module.__dict__ is names:
        names = module.__name__
    made_of = function.__code__, names, function.__name__, function.__closure__
    return make_function, made_of, state, None, None, set_function


def reduce_code(code: types.CodeType) -> Reduced:
    """By marshal: the other interpreter is the same one."""
    return marshal.loads, (marshal.dumps(code),)


def itself(thing: Any) -> Any:
    return thing


def make_function(
    code: types.CodeType,
    names: dict[str, Any] | str | None,
    name: str,
    closure: tuple[types.CellType, ...] | None,
) -> types.FunctionType:
    """With the notebook's names, those of a module, or others."""
    if names is None:
        names = here.namespace
    elif isinstance(names, str):
        names = importlib.import_module(names).__dict__
    names.setdefault("__builtins__", __builtins__)
    return types.FunctionType(code, names, name, None, closure)


def set_function(function: types.FunctionType, state: dict[str, Any]) -> None:
    for name, value in state.items():
        if name == "__dict__":
            function.__dict__.update(value)
        elif name != "__type_params__" or value is not None:
            setattr(function, name, value)


def reduce_cell(cell: types.CellType) -> Reduced:
    try:
        content: tuple[Any, ...] = (cell.cell_contents,)
    except ValueError:
        content = ()
    return types.CellType, (), content, None, None, set_cell


def set_cell(cell: types.CellType, content: tuple[Any, ...]) -> None:
    if content:
        cell.cell_contents = content[0]


def reduce_weakref(reference: "weakref.ref[Any]") -> Reduced:
    target = reference()
    return (weakref.ref, (target,)) if target is not None else (dead_weakref, ())


class Gone:
    pass


def dead_weakref() -> "weakref.ref[Any]":
    return weakref.ref(Gone())


def reduce_weak_values(weak: "weakref.WeakValueDictionary[Any, Any]") -> Reduced:
    return weakref.WeakValueDictionary, (dict(weak.items()),)


def reduce_weak_keys(weak: "weakref.WeakKeyDictionary[Any, Any]") -> Reduced:
    return weakref.WeakKeyDictionary, (dict(weak.items()),)


def reduce_weak_set(weak: "weakref.WeakSet[Any]") -> Reduced:
    return weakref.WeakSet, (list(weak),)


def reduce_lru_cache(cached: Any) -> Reduced:
    if is_importable(cached):
        return NotImplemented
    how = cached.cache_parameters()
    return (
        make_lru_cache,
        (how["maxsize"], how["typed"], cached.__wrapped__),
        vars(cached),
        None,
        None,
        set_vars,
    )


def make_lru_cache(maxsize: int | None, typed: bool, wrapped: Callable[..., Any]) -> Any:
    """Empty: what it has kept so far it may compute again."""
    return functools.lru_cache(maxsize, typed)(wrapped)


def reduce_memoryview(view: memoryview) -> Reduced:
    if isinstance(view.obj, bytes | bytearray) and view.nbytes == len(view.obj):
        return cast_memoryview, (view.obj, view.format, view.shape, view.readonly)
    return NotImplemented


def cast_memoryview(obj: Any, form: Any, shape: tuple[int, ...], readonly: bool) -> memoryview:
    whole = memoryview(obj).cast("B").cast(form, shape) if form != "B" else memoryview(obj)
    return whole.toreadonly() if readonly else whole


def reduce_exception(error: BaseException) -> Reduced:
    """Without its __init__, which may want other arguments than those it has kept."""
    state = vars(error), error.__cause__, error.__context__, error.__suppress_context__
    return make_exception, (type(error), error.args), state, None, None, set_exception


def make_exception(kind: type[BaseException], arguments: tuple[Any, ...]) -> BaseException:
    error = kind.__new__(kind, *arguments)
    builtin: Any = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    builtin.__init__(error, *arguments)  # StopIteration's `value`, say, is no attribute of Python's
    return error


def set_exception(error: BaseException, state: tuple[Any, ...]) -> None:
    own, error.__cause__, error.__context__, error.__suppress_context__ = state
    vars(error).update(own)


def reduces_exceptions(kind: type) -> bool:
    """Those that are pickled as usual: made anew by type and arguments."""
    usual = BaseException.__reduce__, object.__reduce_ex__
    return issubclass(kind, BaseException) and (kind.__reduce__, kind.__reduce_ex__) == usual


def reduce_library(library: Any) -> Reduced:
    return type(library), (library._name,)  # noqa: SLF001  (ctypes.CDLL's)


LIBRARIES: Final = frozenset({"ctypes.CDLL", "ctypes.PyDLL"})
REDUCERS: Final[dict[type, Callable[[Any], Reduced]]] = {
    types.FunctionType: reduce_function,
    types.ModuleType: reduce_module,
    types.CellType: reduce_cell,
    types.CodeType: reduce_code,
    weakref.ref: reduce_weakref,
    weakref.WeakValueDictionary: reduce_weak_values,
    weakref.WeakKeyDictionary: reduce_weak_keys,
    weakref.WeakSet: reduce_weak_set,
    type(functools.lru_cache(itself)): reduce_lru_cache,
    memoryview: reduce_memoryview,
}
