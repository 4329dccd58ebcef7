"""`%jumper doctor`: the program examines this process. No IPython here."""

import os
import subprocess
import sys
from typing import Final

from .session import program

DOCTOR_S: Final = 60  # each of its checks has a limit of its own; all together 41 s


def examine(directory: str | None) -> str:
    """What the program says of this process, its Python and its folder. Can be interrupted."""
    path = program()
    if not path:
        raise ValueError("the program `jumper` is missing: reinstall jumper-hpc")
    command = [path, "doctor", "--pid", str(os.getpid())]
    if sys.executable:
        command += ["--python", sys.executable]
    environment = {**os.environ, "JUMPER_DIR": directory} if directory else None
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=DOCTOR_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"cannot run {path}: {error}") from None
    if not done.stdout:
        said = done.stderr.strip() or f"it said nothing (status {done.returncode})"
        raise ValueError(f"cannot run {path}: {said}")
    return done.stdout.rstrip("\n")
