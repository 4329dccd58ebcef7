"""IPython's own names: In, Out, `_` and their like are the kernel's, also while an engine runs."""

import linecache
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

UNDERSCORES: Final = ("_", "__", "___")
OWN: Final = frozenset(("In", "_ih", "get_ipython", "exit", "quit", "open", "_i", "_ii", "_iii"))
MODULE: Final = frozenset(("__builtin__", "__builtins__", "__loader__", "__package__", "__spec__"))
INPUT: Final = re.compile(r"_i\d+")
ABSENT: Final = object()


@dataclass(frozen=True)
class Names:
    """What a kernel tells its engine with a cell."""

    raw: list[str] = field(default_factory=list)  # In, as typed
    parsed: list[str] = field(default_factory=list)
    underscores: bool = True  # nobody has assigned to `_`, `__`, `___`


def hidden(shell: Any) -> set[str]:
    """Names that each shell has of its own: not carried, unless the user has assigned to them."""
    return {
        name for name in list(shell.user_ns) if name in MODULE or _is_own(shell, name)
    }


def _is_own(shell: Any, name: str) -> bool:
    return (name in OWN or INPUT.fullmatch(name) is not None) and shell.user_ns_hidden.get(
        name, ABSENT
    ) is shell.user_ns[name]


def of(shell: Any) -> Names:
    manager = shell.history_manager
    return Names(
        list(manager.input_hist_raw),
        list(manager.input_hist_parsed),
        _in_step(shell),
    )


def _in_step(shell: Any) -> bool:
    """As IPython's display hook finds out whether `_` may be overwritten."""
    values, hook = shell.user_ns, shell.displayhook
    return all(
        name not in values
        or shell.user_ns_hidden.get(name, ABSENT) is values[name]
        or getattr(hook, name) is values[name]
        for name in UNDERSCORES
    )


def take_over(shell: Any, names: Names, count: int) -> Callable[[], None]:
    """In an engine, before cell `count` runs. What is returned takes back what the cell's results
    have done to IPython's names: the kernel's own display hook does it there."""
    manager, hook, values = shell.history_manager, shell.displayhook, shell.user_ns
    for ours, theirs in ((manager.input_hist_raw, names.raw), (manager.input_hist_parsed, names.parsed)):
        ours[:] = theirs[:count]
    outputs = values.setdefault("_oh", {})
    values["Out"] = manager.output_hist = outputs
    before = {name: values[name] for name in UNDERSCORES if name in values}
    if names.underscores:
        for name, value in before.items():
            setattr(hook, name, value)
    result = f"_{count}"
    was_there = {result: values.get(result, ABSENT)}

    def put_back() -> None:
        for name, value in before.items():
            if values.get(name, ABSENT) is getattr(hook, name) and names.underscores:
                values[name] = value
        if count in outputs and values.get(result, ABSENT) is outputs[count]:
            del outputs[count]
            if was_there[result] is ABSENT:
                del values[result]
            else:
                values[result] = was_there[result]
        for name in hidden(shell) - MODULE:
            del values[name]

    return put_back


def sources(numbers: Mapping[str, int], names: Iterable[str]) -> dict[str, tuple[int, str]]:
    """The text of cells by their file names, with their numbers, as far as known."""
    found = {}
    for name in names:
        entry = linecache.cache.get(name)
        if entry is not None and len(entry) == 4:  # else it isn't read yet
            found[name] = (numbers[name], "".join(entry[2]))
    return found
