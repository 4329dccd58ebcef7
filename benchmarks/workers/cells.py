"""Calls both hooks around so many empty cells, nothing else: cells.py CELLS. For callgrind.

Valgrind can't follow how the sampler is started, so there is none here: marks aren't sent.
"""

import importlib
import sys
import time

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell


def main() -> None:
    # `jumper.session` is the function of this name, too.
    importlib.import_module("jumper.session").__dict__["program"] = lambda: ""
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jumper")
    for number in range(1, int(sys.argv[1]) + 1):
        info = ExecutionInfo(
            raw_cell="pass", store_history=True, silent=False, shell_futures=True, cell_id=None
        )
        result = ExecutionResult(info)
        result.execution_count = number
        shell.events.trigger("pre_run_cell", info)
        shell.events.trigger("post_run_cell", result)
        time.sleep(0.002)
    shell.run_line_magic("unload_ext", "jumper")


if __name__ == "__main__":
    main()
