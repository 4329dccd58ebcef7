"""A custom monitor that is a Python class, in a process of its own: docs/monitors.md.

Started by its path and by nothing of ours imported, so that it runs with whatever the class needs.
Standard input holds a pickle: the notebook's ``sys.path``, and the class by its name or by value.
What it prints is the protocol; what the class prints goes to standard error, whose last line is the
reason when it fails.
"""

import importlib
import inspect
import json
import math
import os
import pickle
import sys
import time
import traceback
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TextIO


def find(name: str) -> Any:
    """``MODULE:CLASS``, or ``MODULE`` alone where it has one class that is a monitor."""
    module_name, _, class_name = name.partition(":")
    module = importlib.import_module(module_name)
    if class_name:
        return getattr(module, class_name)
    found = [
        one
        for one in vars(module).values()
        if inspect.isclass(one)
        and one.__module__ == module_name
        and hasattr(one, "metrics")
        and hasattr(one, "sample")
    ]
    if len(found) != 1:
        raise LookupError(
            f"module {module_name} has {len(found)} classes with metrics() and sample(): "
            f"write {module_name}:CLASS"
        )
    return found[0]


def number(value: Any) -> float | int | None:
    """JSON has no NaN: what isn't finite isn't known."""
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    real = float(value)
    return real if math.isfinite(real) else None


def say(out: TextIO, line: dict[str, Any]) -> None:
    out.write(json.dumps(line, allow_nan=False) + "\n")
    out.flush()


def run(kind: Any, out: TextIO, rate_hz: float) -> None:
    monitor = kind()
    metrics = [
        dict(one) if isinstance(one, Mapping) else {"name": one} for one in monitor.metrics()
    ]
    say(out, {"metrics": metrics})
    due_s = time.monotonic()
    while True:
        values = {name: number(value) for name, value in monitor.sample().items()}
        say(out, {"values": values, "t_ns": time.monotonic_ns()})
        now_s = time.monotonic()
        due_s = max(due_s + 1 / rate_hz, now_s)
        time.sleep(due_s - now_s)


def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Without the colours that kernels ask for: the last line is shown to people."""
    sys.stderr.write("".join(traceback.format_exception(kind, error, trace)))


def main() -> None:
    sys.excepthook = tell
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with sys.stdin.buffer as stdin:
        wish = pickle.load(stdin)  # noqa: S301 — the kernel's own
    sys.path[:] = wish["path"]
    kind = find(wish["name"]) if "name" in wish else pickle.loads(wish["class"])  # noqa: S301
    try:
        run(kind, out, float(os.environ.get("JUMPER_MONITOR_RATE", "1")))
    except BrokenPipeError:  # nobody reads it any more
        os._exit(0)


if __name__ == "__main__":
    main()
