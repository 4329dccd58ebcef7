"""What a process has around a cell beside its names, item by item: how it is read and set.

Values are made of built-in types only, so that they can be compared, and pickled anywhere.
"""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

Value = Any
Modules = Any  # sys.modules, or what a test has instead
OWN = "JUMPER_ENGINE_"  # variables by which an engine finds its kernel


class Waiting(NamedTuple):
    """A change that can be made once a module has been imported."""

    module: str
    change: Value


class Item(NamedTuple):
    title: str  # what a reason begins with
    module: str  # where it lives; an item of a module that isn't imported isn't there
    take: Callable[[Modules], Value]
    # Each sentence says what could not be set. A mapping is given as what is new in it and what is
    # gone, a list as what it was and what it is: what else was done to it here stays.
    put: Callable[[Modules, Value], Iterator[str | Waiting]]
    kind: Literal["whole", "mapping", "list"] = "whole"


def reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def merged(before: list[Any], after: list[Any], now: list[Any]) -> list[Any]:
    """What `now` becomes by that which made `after` of `before`; nothing is there twice."""
    result = [one for one in after if one not in before or one in now]
    for place, one in enumerate(now):
        if one in before or one in result:
            continue
        earlier = [result.index(other) for other in now[:place] if other in result]
        result.insert(earlier[-1] + 1 if earlier else 0, one)
    return result


def plain(value: Any) -> Value:
    """A copy, made of built-in types; TypeError for what can't be."""
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return value
    if isinstance(value, str):  # a member of an enumeration, as matplotlib's join styles
        return str.__str__(value)
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(plain(one) for one in value)
    if type(value) is dict:
        return {plain(key): plain(one) for key, one in value.items()}
    if type(value).__name__ == "Cycler":
        return repr(value)  # which matplotlib reads
    raise TypeError(f"a {type(value).__name__} is not a plain value")


# ---- the process ----


def _environment(_: Modules) -> Value:
    return {name: value for name, value in os.environ.items() if not name.startswith(OWN)}


def _put_environment(_: Modules, change: Value) -> Iterator[str]:
    new, gone = change
    for name, value in new.items():
        try:
            os.environ[name] = value
        except (OSError, ValueError) as error:
            yield f"{name}: {reason(error)}"
    for name in gone:
        os.environ.pop(name, None)


def _umask(_: Modules) -> Value:
    """As the system tells it: os.umask() would have to change it, for all threads."""
    found = re.search(r"^Umask:\s*(\d+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if not found:
        raise OSError("the system doesn't tell it")
    return int(found[1], 8)


def _path(_: Modules) -> Value:
    return [plain(os.fspath(one)) for one in sys.path]


def _put_path(modules: Modules, change: Value) -> Iterator[str]:
    before, after = change
    now = _path(modules)
    # Whole where nothing else was done: an entry may be there twice.
    sys.path[:] = after if now == before else merged(before, after, now)
    yield from ()


def _setter(set_it: Callable[[Any], Any]) -> Callable[[Modules, Value], Iterator[str]]:
    def put(_: Modules, value: Value) -> Iterator[str]:
        set_it(value)
        yield from ()

    return put


# ---- warnings ----


def _pattern(pattern: Any) -> Value:
    return (pattern.pattern, pattern.flags) if isinstance(pattern, re.Pattern) else plain(pattern)


def _filter(one: tuple[Any, ...]) -> tuple[Value, ...]:
    action, message, category, module, line = one
    where = (plain(category.__module__), plain(category.__qualname__))
    return (action, _pattern(message), where, _pattern(module), line)


def _filters(_: Modules) -> Value:
    return [_filter(one) for one in warnings.filters]


def _category(modules: Modules, where: tuple[str, str]) -> type[Warning]:
    found: Any = modules.get(where[0])
    for name in where[1].split("."):
        found = getattr(found, name, None)
    if not (isinstance(found, type) and issubclass(found, Warning)):
        raise LookupError(f"there is no {'.'.join(where)} here")  # noqa: TRY004
    return found


def _put_filters(modules: Modules, change: Value) -> Iterator[str | Waiting]:
    before, after = change
    now = {_filter(one): one for one in warnings.filters}
    filters = []
    for one in merged(before, after, list(now)):
        if one in now:
            filters.append(now[one])
            continue
        action, message, where, module, line = one
        if where[0] not in modules:  # nobody can warn of that before
            yield Waiting(where[0], ([], [one]))
            continue
        try:
            category = _category(modules, where)
        except LookupError as error:
            yield reason(error)
            continue
        message, module = (
            re.compile(*pattern) if isinstance(pattern, tuple) else pattern
            for pattern in (message, module)
        )
        filters.append((action, message, category, module, line))
    warnings.resetwarnings()  # tells, too, that remembered decisions don't count any more
    warnings.filters[:] = filters  # type: ignore[index]  # a list, whatever typeshed says


# ---- random numbers ----


def _put_random(modules: Modules, value: Value) -> Iterator[str]:
    modules["random"].setstate(value)
    yield from ()


def _without_arrays(state: Any) -> Value:
    if isinstance(state, dict):
        return {name: _without_arrays(one) for name, one in state.items()}
    if hasattr(state, "tobytes") and state.ndim > 0:
        return (state.dtype.str, state.tobytes())
    return state.item() if hasattr(state, "item") else plain(state)


def _with_arrays(state: Value, numpy: Any) -> Any:
    if isinstance(state, dict):
        return {name: _with_arrays(one, numpy) for name, one in state.items()}
    if isinstance(state, tuple):
        return numpy.frombuffer(state[1], dtype=state[0])
    return state


def _numpy(modules: Modules) -> Value:
    return _without_arrays(modules["numpy.random"].get_state(legacy=False))


def _put_numpy(modules: Modules, value: Value) -> Iterator[str]:
    modules["numpy.random"].set_state(_with_arrays(value, modules["numpy"]))
    yield from ()


def _torch(modules: Modules) -> Value:
    return bytes(modules["torch"].get_rng_state().tolist())


def _put_torch(modules: Modules, value: Value) -> Iterator[str]:
    torch = modules["torch"]
    torch.set_rng_state(torch.tensor(list(value), dtype=torch.uint8))
    yield from ()


# ---- matplotlib ----

NOT_CARRIED = ("backend",)  # where a process shows its figures is its own business


def _settings(modules: Modules) -> Value:
    """Without those that aren't plain values: a path effect, say."""
    found = {}
    for name, value in dict.items(modules["matplotlib"].rcParams):
        try:
            found[name] = plain(value)
        except TypeError:
            continue
    return {name: value for name, value in found.items() if name not in NOT_CARRIED}


def _put_settings(modules: Modules, change: Value) -> Iterator[str]:
    settings, now = modules["matplotlib"].rcParams, _settings(modules)
    for name, value in change[0].items():
        if name in now and now[name] == value:
            continue
        try:
            settings[name] = value
        except Exception as error:  # noqa: BLE001  (another version may refuse it in any way)
            yield f"{name}: {reason(error)}"


ITEMS = {
    "environment": Item("environment", "os", _environment, _put_environment, "mapping"),
    "directory": Item("working directory", "os", lambda _: os.getcwd(), _setter(os.chdir)),  # noqa: PTH109
    "umask": Item("umask", "os", _umask, _setter(os.umask)),
    "path": Item("sys.path", "sys", _path, _put_path, "list"),
    "recursion": Item(
        "recursion limit", "sys", lambda _: sys.getrecursionlimit(), _setter(sys.setrecursionlimit)
    ),
    "digits": Item(
        "limit of int digits",
        "sys",
        lambda _: sys.get_int_max_str_digits(),
        _setter(sys.set_int_max_str_digits),
    ),
    "filters": Item("warning filters", "warnings", _filters, _put_filters, "list"),
    "random": Item(
        "state of random",
        "random",
        lambda modules: plain(modules["random"].getstate()),
        _put_random,
    ),
    "numpy": Item("state of numpy.random", "numpy.random", _numpy, _put_numpy),
    "torch": Item("state of torch's random numbers", "torch", _torch, _put_torch),
    "settings": Item("matplotlib.rcParams", "matplotlib", _settings, _put_settings, "mapping"),
}
