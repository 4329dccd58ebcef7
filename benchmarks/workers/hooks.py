"""CPU time of both hooks around an empty cell, in IPython's own thread: hooks.py CELLS PAUSE_S.

The hooks that are called are the extension's; between cells there is a pause, as users make it, so
caches are cold. By turns, psutil's calls for the counters that the hooks read. Prints JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
from IPython.core.interactiveshell import InteractiveShell


def main() -> None:
    cells, pause_s = int(sys.argv[1]), float(sys.argv[2])
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jumper")
    spent: list[int] = []

    def timed(hook: Callable[[Any], None]) -> Callable[[Any], None]:
        def call(argument: object) -> None:
            begin_ns = time.thread_time_ns()
            hook(argument)
            spent.append(time.thread_time_ns() - begin_ns)

        return call

    for event in ("pre_run_cell", "post_run_cell"):
        hooks = shell.events.callbacks[event]
        for hook in list(hooks):
            if getattr(hook, "__module__", "").startswith("jumper"):
                shell.events.unregister(event, hook)
                shell.events.register(event, timed(hook))
    ours, peer = [], []
    process = psutil.Process()
    for _ in range(cells):
        spent.clear()
        shell.run_cell("pass", store_history=True)
        if len(spent) != 2:
            raise SystemExit(f"{len(spent)} hooks of jumper ran around a cell, not 2")
        ours.append(sum(spent) / 1e3)
        time.sleep(pause_s)
        begin_ns = time.thread_time_ns()
        for _ in range(2):  # both edges
            process.cpu_times()
            process.io_counters()
            process.memory_info()
        peer.append((time.thread_time_ns() - begin_ns) / 1e3)
        time.sleep(pause_s)
    shell.run_line_magic("unload_ext", "jumper")
    print("\n" + json.dumps({"ours": ours, "peer": peer}))


if __name__ == "__main__":
    main()
