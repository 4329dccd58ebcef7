"""While the kernel asks its user something for a cell elsewhere, that cell's process may end."""

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class End:
    seen = False


@contextmanager
def until_end_of(pidfd: int) -> Iterator[End]:
    """The process's end interrupts the main thread, which waits in code that knows nothing of it.

    On another thread, or without a pidfd, nothing does.
    """
    end = End()
    if pidfd < 0 or threading.current_thread() is not threading.main_thread():
        yield end
        return
    over = os.eventfd(0, os.EFD_CLOEXEC)

    def watch() -> None:
        waiting = select.poll()
        waiting.register(pidfd, select.POLLIN)
        waiting.register(over, select.POLLIN)
        if any(descriptor == pidfd for descriptor, _ in waiting.poll()):
            end.seen = True
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield end
    finally:
        os.eventfd_write(over, 1)
        watcher.join()
        os.close(over)
