"""Vampir, started on a trace when the user wants it. It is the user's from then on."""

import os
import subprocess
from pathlib import Path
from typing import Final

from . import programs

NAME: Final = "vampir"
MISSING: Final = f"no {NAME} is on PATH that can be executed"


def open_trace(trace: Path) -> str:
    """Starts it in a session of its own, as nobody's child. Returns what is to be said."""
    path = programs.find(NAME)
    if path is None:
        return f"Vampir was not opened: {MISSING}"
    # The shell ends at once, so that Vampir is neither ended nor measured with this kernel.
    command = ["/bin/sh", "-c", '"$0" "$1" & ', path, str(trace)]
    try:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, programs.PATH: programs.path_without_here()},
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"Vampir was not opened: {error}"
    return f"Vampir opens {trace}"
