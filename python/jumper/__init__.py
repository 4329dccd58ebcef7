"""Performance of Jupyter notebooks: every cell measured, with no magic.

In a notebook or IPython: ``%load_ext jumper``, then ``%jumper help``. In a plain script::

    with jumper.session() as s, s.cell("training") as c:
        ...
    print(c.summary().text)
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["Error", "__version__", "load_ipython_extension", "session", "unload_ipython_extension"]

try:
    from ._native import Error, __version__
    from .session import session
except Exception as failure:  # noqa: BLE001
    # A notebook says it under its first cell (see `extension`); a script when it uses a name.
    _failure = failure

    def __getattr__(name: str) -> Any:
        if name in __all__:
            raise ImportError(f"jumper.{name} is not usable: {_failure}") from _failure
        raise AttributeError(f"module 'jumper' has no attribute {name!r}")


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Never raises: IPython would say it in the server's log, where nobody looks."""
    try:
        from .extension import load  # a script needs no IPython

        load(shell)
    except Exception as error:  # noqa: BLE001
        _say_under_next_cell(shell, f"jumper: nothing is measured: {type(error).__name__}: {error}")


def unload_ipython_extension(shell: "InteractiveShell") -> None:
    if f"{__name__}.extension" in sys.modules:
        from .extension import unload

        unload(shell)


def _say_under_next_cell(shell: "InteractiveShell", sentence: str) -> None:
    def say(_: object) -> None:
        shell.events.unregister("post_run_cell", say)
        print(sentence, file=sys.stderr)

    shell.events.register("post_run_cell", say)
