"""What a cell sees and changes beside its names: environment, folder, random states, settings.

The kernel's surroundings go to the engine before the cell runs, what the cell did to them comes
back: ``put(differences(before, take()))``. Nothing here raises, nothing here imports a module: a
state that belongs to a module which isn't imported yet is set as soon as somebody imports it.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .surrounding_items import ITEMS, Item, Waiting, reason

Modules = Mapping[str, ModuleType]


@dataclass(frozen=True)
class Surroundings:
    """Picklable; values are made of built-in types."""

    values: dict[str, Any]
    left: dict[str, str]  # item -> why it could not be read


@dataclass(frozen=True)
class Differences:
    """Picklable; false when there are none."""

    changes: dict[str, Any] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changes or self.left)


_later: list[tuple[str, Waiting]] = []  # items, and changes whose module isn't imported yet


def take(modules: Modules | None = None) -> Surroundings:
    """What is around this process now; about 0.1 ms without matplotlib."""
    there = sys.modules if modules is None else modules
    now = Surroundings({}, {})
    for name, item in ITEMS.items():
        if item.module not in there:
            now.values.update(_expected(name, item))
            continue
        try:
            now.values[name] = item.take(there)
        except Exception as error:  # noqa: BLE001  (of the user's modules)
            now.left[name] = f"{item.title}: {reason(error)}"
    return now


def differences(
    before: Surroundings, now: Surroundings, *, environment: bool = True
) -> Differences:
    """What makes `now` of `before`.

    Without `environment` for an engine: its process was started with the kernel's, and what a
    launcher has set since (``env A=1``, ``mpirun``) is meant for the cell.
    """
    changes = {}
    for name, value in now.values.items():
        there = before.values.get(name)
        if (name == "environment" and not environment) or value == there:
            continue
        changes[name] = _change(ITEMS[name], there, value)
    left = {name: why for name, why in now.left.items() if before.left.get(name) != why}
    return Differences(changes, left)


def put(change: Differences, modules: Modules | None = None) -> list[str]:
    """Sets it here; a sentence for each thing that could not be set or, there, be read."""
    there = sys.modules if modules is None else modules
    told = list(change.left.values())
    for name, value in change.changes.items():
        if ITEMS[name].module in there:
            told += _put(name, value, there)
        else:
            _put_later(name, Waiting(ITEMS[name].module, value))
    return told


def _expected(name: str, item: Item) -> dict[str, Any]:
    """What waits for the item's module is as good as set."""
    changes = [one.change for of, one in _later if (of, one.module) == (name, item.module)]
    if item.kind == "mapping" and changes:
        return {name: dict(each for change in changes for each in change[0].items())}
    return {name: changes[-1]} if changes else {}


def _change(item: Item, before: Any, now: Any) -> Any:
    if item.kind == "whole":
        return now
    if item.kind == "list":
        return (before or [], now)
    before = before or {}
    new = {key: one for key, one in now.items() if key not in before or before[key] != one}
    return (new, [key for key in before if key not in now])


def _put(name: str, value: Any, modules: Modules) -> list[str]:
    item, told = ITEMS[name], []
    try:
        for outcome in item.put(modules, value):
            if isinstance(outcome, Waiting):
                _put_later(name, outcome)
            else:
                told.append(f"{item.title}: {outcome}")
    except Exception as error:  # noqa: BLE001  (of the user's modules)
        told.append(f"{item.title}: {reason(error)}")
    return told


# ---- when the module comes ----


def _put_later(name: str, waiting: Waiting) -> None:
    if (name, waiting) not in _later:
        _later.append((name, waiting))
    if not any(isinstance(one, _Watch) for one in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


class _Watch(MetaPathFinder):
    """Sees the import of a module that something waits for; the others find it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if not any(one.module == fullname for _, one in _later):
            return None
        for finder in [one for one in sys.meta_path if not isinstance(one, _Watch)]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(Loader):
    """Lets the module's own loader do its work, then sets what waited."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        ready = [one for one in _later if one[1].module == module.__name__]
        _later[:] = [one for one in _later if one not in ready]
        for name, waiting in ready:
            _put(name, waiting.change, sys.modules)
        if not _later:
            sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, _Watch)]
