"""Where things lie, and the environment in which everything is measured."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKERS = Path(__file__).resolve().parent / "workers"
FOREIGN = ("JUMPER_", "SCOREP_", "scorep_", "JPY_", "XDG_STATE_HOME", "IPYTHONDIR")


def environment(folder: Path) -> dict[str, str]:
    """The user's, without settings for us; recordings and IPython's files go below `folder`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    ours = {
        "XDG_STATE_HOME": str(folder / "state"),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PATH": str(folder / "jupyter"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    return kept | ours


def command(worker: str, *arguments: object) -> list[str]:
    return [sys.executable, str(WORKERS / f"{worker}.py"), *map(str, arguments)]


def run(worker: str, *arguments: object, folder: Path, timeout_s: float = 300) -> str:
    """What a worker, a fresh Python process, prints."""
    done = subprocess.run(
        command(worker, *arguments),
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
        timeout=timeout_s,
        check=True,
    )
    return done.stdout
