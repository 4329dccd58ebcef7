"""Plots that are drawn anew while their cell runs: ``%jumper plot --live``.

A thread of Python's draws them, since only it can publish: so a cell that keeps the GIL sees its
plot when it lets go. Every plot stands where it was first shown; only its content changes.
"""

import contextvars
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

Bundle = dict[str, Any]
Draw = Callable[[], Bundle]

LEAST_S: Final = 0.5  # between two images
MOST_S: Final = 10.0
SHARE_OF_TIME: Final = 0.05  # of this thread, for drawing
SHARE_OF_CELL: Final = 0.005  # of the cell's time: an hour needs no image twice a second
PATIENCE_S: Final = 1.0  # with a front end that takes no message, at the cell's end


class Live:
    """The plots of one cell, from the first on until `finish`.

    `publish` is a display publisher's method. Where what was shown can't change (`can_update`: a
    terminal), each plot comes once, at the end. Nothing is sent after `finish`.
    """

    def __init__(
        self, publish: Callable[..., None], *, can_update: bool, least_s: float = LEAST_S
    ) -> None:
        self._publish = publish
        self._can_update = can_update
        self._least_s = least_s
        self._draws: dict[str, tuple[Draw, Draw]] = {}
        self._begin_s = time.monotonic()
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.error: Exception | None = None

    def show(self, draw: Draw, draw_last: Draw) -> None:
        """Shows what `draw` gives, again and again; at the end what `draw_last` gives."""
        name = uuid.uuid4().hex
        if self._can_update:
            self._publish(draw(), {}, transient={"display_id": name})
        self._draws[name] = (draw, draw_last)
        if self._can_update and self._thread is None:
            # The cell's context: by it ipykernel knows under which cell a message belongs.
            run = contextvars.copy_context().run
            self._thread = threading.Thread(
                target=run, args=(self._run,), name="jumper live plot", daemon=True
            )
            self._thread.start()

    def finish(self) -> None:
        """The cell has ended: the last images. Raises what drawing them raises."""
        self._ended.set()
        if not self._sending.acquire(timeout=PATIENCE_S):
            return
        try:
            for name, (_, draw_last) in self._draws.items():
                place = {"transient": {"display_id": name}, "update": True}
                self._publish(draw_last(), {}, **(place if self._can_update else {}))
        finally:
            self._sending.release()

    def stop(self) -> None:
        """No more images, and no last ones: the interpreter ends."""
        self._ended.set()

    def _run(self) -> None:
        wait_s = self._least_s
        while not self._ended.wait(wait_s):
            begin_s = time.monotonic()
            try:
                for name, (draw, _) in list(self._draws.items()):
                    self._send(name, draw())
            except Exception as error:  # noqa: BLE001  (told at the cell's end)
                self.error = error
                return
            now_s = time.monotonic()
            wait_s = max(
                self._least_s,
                (now_s - begin_s) / SHARE_OF_TIME,
                min(MOST_S, SHARE_OF_CELL * (now_s - self._begin_s)),
            )

    def _send(self, name: str, bundle: Bundle) -> None:
        with self._sending:
            if not self._ended.is_set():
                self._publish(bundle, {}, transient={"display_id": name}, update=True)
