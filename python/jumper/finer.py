"""``%jumper plot --widget``: finer data of a plot's page, while the kernel is idle.

The page is the one of `%jumper plot`, so a notebook without a kernel shows the same. It asks over a
model of anywidget's that has no view, one for each kernel: what it holds is its program
(`widget.js`) and a name, so nothing of a plot is stored twice. Questions come from a web page: they
are taken as text of a stranger's.
"""

import contextlib
import json
import math
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ._native import Error, Plot

MOST_PLOTS: Final = 200
MOST_BUCKETS: Final = 600  # of an answer
MOST_ID: Final = 1 << 53
ROUNDED_S: Final = 1e-6  # times travel as microseconds
Reply = tuple[dict[str, Any], list[bytes]]
Draw = Callable[..., Plot]  # takes the most buckets, and a window of the plot's time or none


@dataclass
class Asked:
    """A plot that may be asked about; of which time is known when it is drawn."""

    draw: Draw
    begin_s: float = 0.0
    end_s: float = 0.0

    def whole(self, most_buckets: int) -> Plot:
        plot = self.draw(most_buckets)
        edges = json.loads(plot.json)["edges_s"]
        if edges:
            self.begin_s, self.end_s = edges[0], edges[-1]
        return plot


class Questions:
    """The plots that may be asked about, and the answers. No front end in here."""

    def __init__(self) -> None:
        self.channel = uuid.uuid4().hex
        self._plots: OrderedDict[str, Asked] = OrderedDict()

    def add(self, draw: Draw) -> tuple[str, Asked]:
        """The plot's channel, and what draws it."""
        channel = f"{self.channel}/{uuid.uuid4().hex}"
        asked = self._plots[channel] = Asked(draw)
        while len(self._plots) > MOST_PLOTS:
            self._plots.popitem(last=False)
        return channel, asked

    def answer(self, question: object) -> Reply:
        """What to send: the question's number, and with it the deflated data or an error's text."""
        of = question if isinstance(question, dict) else {}
        reply = {"kind": "finer", "id": _number(of)}
        try:
            data = self._data(of)
        except (ValueError, Error) as error:
            return {**reply, "error": str(error)}, []
        except Exception as error:  # noqa: BLE001  (nothing may reach the user's session)
            return {**reply, "error": f"{type(error).__name__}: {error}"}, []
        return reply, [zlib.compress(data.encode())]

    def _data(self, of: dict[Any, Any]) -> str:
        asked = self._plot(of)
        data = asked.draw(MOST_BUCKETS, _window(of, asked)).json
        if not data:  # a child of the kernel's
            raise ValueError("this process has no recording")
        return data

    def _plot(self, of: dict[Any, Any]) -> Asked:
        channel = of.get("channel")
        asked = self._plots.get(channel) if isinstance(channel, str) else None
        if of.get("kind") != "finer" or asked is None:
            raise ValueError("the kernel doesn't know this plot any more: run its cell again")
        return asked


def _number(of: dict[Any, Any]) -> int:
    number = of.get("id")
    return number if type(number) is int and 0 < number < MOST_ID else 0


def _window(of: dict[Any, Any], asked: Asked) -> tuple[float, float]:
    begin_s, end_s = (_seconds(of.get(name)) for name in ("begin_s", "end_s"))
    first_s, last_s = asked.begin_s - ROUNDED_S, asked.end_s + ROUNDED_S
    if not first_s <= begin_s < end_s <= last_s:  # NaN isn't, either
        raise ValueError("the window is no part of the plot's time")
    return begin_s, end_s


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            return float(value)
    return math.nan


class Relay:
    """The model in the front end that brings questions and answers. Needs anywidget."""

    def __init__(self) -> None:
        """Raises ValueError where anywidget isn't installed."""
        try:
            import anywidget
            import traitlets
        except ImportError as error:
            raise ValueError(
                f"--widget needs anywidget, which can't be imported ({error}): "
                "pip install jumper-hpc[widgets]"
            ) from None
        self.questions = Questions()
        program = Path(__file__).with_name("widget.js").read_text(encoding="utf-8")
        name = traitlets.Unicode(self.questions.channel).tag(sync=True)
        members = {"_esm": program, "channel": name, "__module__": __name__}
        self._model: Any = type("Model", (anywidget.AnyWidget,), members)()
        self._model.on_msg(self._hear)

    def _hear(self, model: Any, question: object, _buffers: object) -> None:
        with contextlib.suppress(Exception):  # of a connection that is gone
            reply, buffers = self.questions.answer(question)
            model.send(reply, buffers)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._model.close()
