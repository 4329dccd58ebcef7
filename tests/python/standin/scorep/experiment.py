"""The directory: at the begin as Score-P makes it, at the end its anchors."""

import atexit
import ctypes
import os
import time
from pathlib import Path

from . import log

TRUE = ("true", "yes", "on", "1")
GATE_S = 60


def begin() -> None:
    if log.does("nothing"):
        return
    path = Path(os.environ.get("SCOREP_EXPERIMENT_DIRECTORY") or f"scorep-standin-{os.getpid()}")
    path = path.absolute()
    if path.exists():
        path.rename(f"{path}-{time.time_ns()}")
    path.mkdir()
    (path / "scorep.cfg").write_text("standin\n")
    anchors = []
    if os.environ.get("SCOREP_ENABLE_TRACING", "false").lower() in TRUE:
        (path / "traces").mkdir()
        (path / "traces" / "0.evt").write_bytes(b"events")
        anchors.append("traces.otf2")
    if os.environ.get("SCOREP_ENABLE_PROFILING", "true").lower() in TRUE:
        anchors.append("profile.cubex")
    atexit.register(_end, os.getpid(), path, anchors)


def _end(pid: int, path: Path, anchors: list[str]) -> None:
    if os.getpid() != pid or log.does("torso"):
        return
    if log.does("memory-at-end"):
        ctypes.PyDLL(None).standin_out_of_memory()
    if log.does("late") and _is_parent():
        return
    for name in anchors:
        (path / name).write_bytes(b"anchor")
    if log.does("late"):
        os._exit(0)


def _is_parent() -> bool:
    """The child waits for the gate, in a session of its own."""
    if os.fork():
        return True
    os.setsid()
    os.closerange(0, 64)
    until = time.monotonic() + GATE_S
    while not Path(os.environ["STANDIN_GATE"]).exists() and time.monotonic() < until:
        time.sleep(0.01)
    return False
