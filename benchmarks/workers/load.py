"""Times one thing in this fresh process: load.py extension|import|session|psutil.

Prints two numbers, elapsed and CPU milliseconds, on the last line.
"""

import sys
import time
from collections.abc import Callable


def timed(step: Callable[[], object]) -> None:
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    step()
    end_s, end_cpu_s = time.perf_counter(), time.process_time()
    print(f"\n{(end_s - begin_s) * 1e3} {(end_cpu_s - begin_cpu_s) * 1e3}", flush=True)


def load_extension() -> None:
    from ipykernel.inprocess.ipkernel import InProcessInteractiveShell  # noqa: F401
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()

    def load() -> None:
        import jumper  # noqa: F401

        shell.run_line_magic("load_ext", "jumper")

    timed(load)
    if shell.find_line_magic("jumper") is None:
        raise SystemExit("the extension didn't load")


def load_package() -> None:
    def load() -> None:
        import jumper  # noqa: F401

    timed(load)


def start_session() -> None:
    import jumper

    sessions = []
    timed(lambda: sessions.append(jumper.session()))
    sessions[0].close()


def load_psutil() -> None:
    def load() -> None:
        import psutil  # noqa: F401

    timed(load)


if __name__ == "__main__":
    {
        "extension": load_extension,
        "import": load_package,
        "session": start_session,
        "psutil": load_psutil,
    }[sys.argv[1]]()
