"""``%load_ext jumper_extension`` where that package isn't installed: our names are there already.

The finder is the last of ``sys.meta_path``, so an installed package of that name always wins.
No IPython here.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

NAME: Final = "jumper_extension"

_shells: dict[Any, tuple[Callable[[], None], Callable[[], None]]] = {}


def _load(shell: Any) -> None:
    if shell not in _shells:
        from . import load_ipython_extension

        load_ipython_extension(shell)
    if shell in _shells:  # else jumper has said why it can't be loaded
        _shells[shell][0]()


def _unload(shell: Any) -> None:
    if shell in _shells:
        _shells[shell][1]()


class _StandIn:
    """A loader; importlib.abc has a class for it that costs more than all the rest here."""

    def create_module(self, _: ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = "JUmPER in the place of jumper-extension, which isn't installed."
        vars(module).update(load_ipython_extension=_load, unload_ipython_extension=_unload)


class _Finder:
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        loader: Any = _StandIn()
        return ModuleSpec(NAME, loader) if fullname == NAME else None


_finder: Final = _Finder()


def is_ours(module: ModuleType | None) -> bool:
    return isinstance(getattr(getattr(module, "__spec__", None), "loader", None), _StandIn)


def install(shell: Any, on_load: Callable[[], None], on_unload: Callable[[], None]) -> None:
    """`on_load` is called by ``%load_ext jumper_extension`` in this shell."""
    _shells[shell] = on_load, on_unload
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


def uninstall(shell: Any) -> None:
    _shells.pop(shell, None)
    if is_ours(sys.modules.get(NAME)):
        shell.extension_manager.loaded.discard(NAME)
        if not _shells:
            del sys.modules[NAME]
    if not _shells and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
