"""One cell in an engine, seen from the kernel: carried there, run, listened to, brought back.

The kernel's variables change in one step at the end, or not at all: an engine that dies, is killed
or can't tell leaves them as they were.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from . import protocol
from .engine import FOREVER, Engine, EngineDied, Interrupts, NotBroughtBack
from .relay import END_OF_INPUT, Outcome, Relay, know_sources, known_sources, put_traits
from .views import size

MANY: Final = 3  # interrupts …
MANY_S: Final = 5.0  # … within this time end the engine
STOP_S: Final = 5.0  # what a cell has after its time for an end of its own
KILL_S: Final = 2.0  # from SIGTERM to SIGKILL


@dataclass(frozen=True)
class Wish:
    """What stands behind `%%jumper run`."""

    launcher: tuple[str, ...] = ()
    timeout_s: float | None = None


@dataclass
class Figures:
    """What an engine costs beside the cell's own time."""

    start_s: float | None = None
    carry_s: float | None = None
    return_s: float | None = None

    def plus(self, other: "Figures") -> "Figures":
        """Of two runs in one cell."""
        sums = (
            (one or 0.0) + (two or 0.0) if (one, two) != (None, None) else None
            for one, two in zip(self.as_tuple(), other.as_tuple(), strict=True)
        )
        return Figures(*sums)

    def as_tuple(self) -> tuple[float | None, float | None, float | None]:
        return self.start_s, self.carry_s, self.return_s


@dataclass
class _Stops:
    """When the engine is stopped, by what, and why."""

    why: str = ""
    plan: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    @property
    def next_s(self) -> float:
        return self.plan[0][0] if self.plan else FOREVER

    def act(self) -> None:
        while self.plan and time.monotonic() >= self.next_s:
            self.plan.pop(0)[1]()


class Run:
    """Of one cell of `shell`; `engines` gives the process (see `spare`)."""

    def __init__(
        self,
        shell: Any,
        take: Callable[[Sequence[str]], Engine],
        wish: Wish,
        choice: Any,
        *,
        reports: bool = False,
    ) -> None:
        self.figures = Figures()
        self.notes: list[str] = []  # for the user, each a sentence
        self.left: dict[str, str] = {}
        self._shell = shell
        self._take = take
        self._wish = wish
        self._choice = choice
        self._reports = reports
        self._relay = Relay(shell)
        self._stops = _Stops()
        self._interrupted_s: list[float] = []
        self._interrupts = Interrupts()
        self._around: protocol.Around | None = None

    def run(self, cell: str) -> None:
        """Ends as the cell ended there: returns or raises.

        Raises NotStarted and jumper.Error when no engine came, EngineDied when it went too soon,
        NotBroughtBack, KeyboardInterrupt, TimeoutError.
        """
        with self._interrupts:
            outcome = self._elsewhere(self._relay.begin(cell))
            self._relay.raise_outcome(outcome)

    def _elsewhere(self, code: str) -> Outcome:
        begin_s = time.monotonic()
        from . import state  # with cloudpickle: not before a cell needs it

        carried = state.Carried(self._shell, self._choice)
        engine = self._take(self._wish.launcher)
        try:
            started_s = time.monotonic()
            head, descriptor = self._pack(carried)
            packed_s = time.monotonic()
            engine_came = self._meet(engine, descriptor)
            self._carry(engine, carried, head, descriptor)
            carried_s = time.monotonic()
            self.figures.start_s = started_s - begin_s + engine_came - packed_s
            self.figures.carry_s = packed_s - started_s + carried_s - engine_came
            self.left = dict(carried.left)
            self._serve(engine, carried, code)
            return self._bring_back(engine, carried)
        except EngineDied as error:
            raise EngineDied(f"{error}; {UNCHANGED}") from None
        except KeyboardInterrupt as error:
            said = str(error) or "the cell was interrupted before it ran"
            raise _plain(KeyboardInterrupt, said) from None
        finally:
            carried.forget()
            engine.finish()

    def _pack(self, carried: Any) -> tuple[bytes, int]:
        self._interrupts.raises = True
        try:
            packed: tuple[bytes, int] = carried.pack()
        except Exception as error:  # noqa: BLE001  (no space; classes of the user's)
            raise NotBroughtBack(
                f"the cell has not run: the variables can't be carried: {_said(error)}; {UNCHANGED}"
            ) from None
        finally:
            self._interrupts.raises = False
        return packed

    def _meet(self, engine: Engine, descriptor: int) -> float:
        try:
            engine.meet(self._show, self._was_interrupted, self._interrupts.descriptor)
        except BaseException:
            if descriptor >= 0:
                _close(descriptor)
            raise
        return time.monotonic()

    def _carry(self, engine: Engine, carried: Any, head: bytes, descriptor: int) -> None:
        from . import surroundings

        sources = known_sources(self._shell)
        try:
            engine.send(
                protocol.SETUP,
                self._relay.setup(),
                surroundings.take(),
                sources,
                (engine.environment, engine.directory),
            )
        except BaseException:
            if descriptor >= 0:
                _close(descriptor)
            raise
        engine.send_state(head, descriptor)
        while refused := self._loaded(engine):
            carried.hold_back(refused)
            engine.send_state(*self._pack(carried))

    def _loaded(self, engine: Engine) -> dict[str, str]:
        while True:
            kind, content = engine.receive(self._show, FOREVER, self._interrupts.descriptor)
            if self._was_interrupted():
                raise KeyboardInterrupt
            if kind == protocol.LOADED:
                refused: dict[str, str] = content[0]
                return refused
            if kind == protocol.MESSAGE:  # of an extension, of a module
                self._publish(*content)

    # ---- while the cell runs ----

    def _serve(self, engine: Engine, carried: Any, code: str) -> None:
        engine.send(protocol.RUN, code, self._relay.options(), self._relay.inputs())
        if self._wish.timeout_s is not None:
            self._plan_timeout(engine, time.monotonic() + self._wish.timeout_s)
        try:
            self._listen(engine, carried)
        except EngineDied:
            if self._stops.why:
                raise self._stopped() from None
            raise

    def _listen(self, engine: Engine, carried: Any) -> None:
        """Until all that comes back is here, loaded, and nothing of it put yet."""
        while True:
            kind, content = engine.receive(
                self._show, self._stops.next_s, self._interrupts.descriptor
            )
            self._pass_interrupts(engine)
            self._stops.act()
            if kind == protocol.MESSAGE:
                self._publish(*content)
            elif kind == protocol.ASK:
                self._answer(engine, *content)
            elif kind == protocol.AROUND:
                self._around = protocol.Around(*content)
            elif kind == protocol.DONE:
                refused = _taken_back(carried, *content)
                if not refused:
                    return
                engine.send(protocol.AGAIN, refused)
            elif kind == protocol.FAILED:
                raise _not_brought_back(content[0])

    def _answer(self, engine: Engine, number: int, prompt: str, password: bool) -> None:
        try:
            text = self._asked(prompt, password)
        except KeyboardInterrupt:
            self._pass_interrupts(engine)
            return
        engine.send(protocol.ANSWER, number, text)

    def _asked(self, prompt: str, password: bool) -> str:
        self._interrupts.raises = True
        try:
            return self._relay.answer(prompt, password)
        except Exception as error:  # noqa: BLE001  (a front end that can't ask)
            self._note(f"nobody could be asked: {error!r}")
            return END_OF_INPUT
        finally:
            self._interrupts.raises = False

    def _publish(self, kind: str, message: dict[str, Any], buffers: list[bytes]) -> None:
        try:
            self._relay.publish(kind, message, buffers)
        except Exception as error:  # noqa: BLE001  (the user's streams and hooks)
            self._note(f"what the cell has sent can't be shown: {error!r}")

    def _show(self, name: str, text: str) -> None:
        self._publish("stream", {"content": {"name": name, "text": text}, "metadata": {}}, [])

    # ---- its end ----

    def _was_interrupted(self) -> bool:
        return self._interrupts.take() > 0

    def _pass_interrupts(self, engine: Engine) -> None:
        for _ in range(self._interrupts.take()):
            now_s = time.monotonic()
            self._interrupted_s = [one for one in self._interrupted_s if one > now_s - MANY_S] + [
                now_s
            ]
            if len(self._interrupted_s) < MANY:
                engine.interrupt()
            elif not self._stops.why or self._stops.why == "timeout":
                self._stops.why = "interrupts"
                self._show(
                    "stderr",
                    f"jumper: {MANY} interrupts within {MANY_S:g} s: the engine is ended\n",
                )
                self._stops.plan = [(now_s, engine.terminate), (now_s + KILL_S, engine.kill)]

    def _plan_timeout(self, engine: Engine, at_s: float) -> None:
        def interrupt() -> None:
            self._stops.why = "timeout"
            engine.interrupt()

        self._stops.plan = [
            (at_s, interrupt),
            (at_s + STOP_S, engine.terminate),
            (at_s + STOP_S + KILL_S, engine.kill),
        ]

    def _stopped(self) -> BaseException:
        if self._stops.why == "interrupts":
            return KeyboardInterrupt(f"the engine was ended; {UNCHANGED}")
        return _plain(
            TimeoutError,
            f"the cell took longer than {self._wish.timeout_s:g} s and didn't end on an interrupt, "
            f"so its engine was ended; {UNCHANGED}",
        )

    def _bring_back(self, engine: Engine, carried: Any) -> Outcome:
        """Whatever becomes of the engine now changes nothing."""
        said = engine.end(
            self._show, lambda: self._pass_interrupts(engine), self._interrupts.descriptor
        )
        self.notes += [said] if said else []
        begin_s = time.monotonic()
        try:
            outcome = Outcome.of_parts(*carried.apply())
        except Exception as error:  # noqa: BLE001
            raise _not_brought_back(_said(error)) from None
        self.notes += carried.notes
        if carried.lost:
            lost = ", ".join(f"{name} ({why})" for name, why in carried.lost.items())
            self._note(f"made by the cell, and can't be brought here: {lost}")
        if self._around is not None:
            self._put_around(self._around)
        self.figures.return_s = time.monotonic() - begin_s
        if self._reports:
            self.notes.append(_report(self.figures, carried, self._choice))
        if self._stops.why == "timeout":
            return _too_late(outcome, self._wish.timeout_s or 0.0)
        return outcome

    def _put_around(self, around: protocol.Around) -> None:
        from . import surroundings

        know_sources(self._shell, around.sources)
        self.notes += surroundings.put(around.surroundings)
        put_traits(self._shell, around.traits)
        self.notes += around.notes
        if around.threads:
            ended = ", ".join(around.threads)
            self._note(f"threads of the cell have ended with its engine: {ended}")

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


UNCHANGED: Final = "all variables are as they were before the cell"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _report(figures: Figures, carried: Any, choice: Any) -> str:
    """What was carried, how, and how fast."""
    by = f"{choice.pickler}, {choice.transport}"
    workers = carried.shares[1:]
    if workers:
        size_bytes = sum(share.written_bytes for share in workers)
        longest_s = max(share.seconds for share in workers)
        processes = f"{len(workers)} other process{'es' * (len(workers) > 1)}"
        by += f", {size(size_bytes)} of it by {processes} in {longest_s:.3g} s"
    there, back = size(carried.there_bytes), size(carried.back_bytes)
    carry_s, return_s = figures.carry_s or 0.0, figures.return_s or 0.0
    return f"carried {there} there in {carry_s:.3g} s ({by}), {back} back in {return_s:.3g} s"


def _taken_back(carried: Any, head: bytes, descriptor: int) -> dict[str, str]:
    try:
        refused: dict[str, str] = carried.take_back(head, descriptor)
    except Exception as error:  # noqa: BLE001  (loading runs code of the user's classes)
        raise _not_brought_back(_said(error)) from None
    return refused


def _not_brought_back(why: str) -> NotBroughtBack:
    return NotBroughtBack(f"what the cell has done can't be brought back: {why}; {UNCHANGED}")


def _plain(kind: type[BaseException], said: str) -> BaseException:
    """Shown without our own lines."""
    rendered = {"_render_traceback_": lambda self: [f"{kind.__name__}: {self}"]}
    made: BaseException = type(kind.__name__, (kind,), rendered)(said)
    return made


def _too_late(outcome: Outcome, timeout_s: float) -> Outcome:
    """What an interrupted cell has done stays done, as after any interrupt."""
    if outcome.status != "interrupted":
        return outcome
    said = f"the cell was interrupted after {timeout_s:g} s"
    outcome.status, outcome.ename, outcome.evalue = "error", "TimeoutError", said
    outcome.exception = TimeoutError(said)
    outcome.traceback = [*(outcome.traceback or []), f"TimeoutError: {said}"]
    return outcome


def _close(descriptor: int) -> None:
    import os

    if descriptor >= 0:
        os.close(descriptor)
