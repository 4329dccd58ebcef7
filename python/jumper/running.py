"""Cells in an engine, seen from the kernel: carried there, run, listened to, brought back.

One cell, as a rule (`Run.run`); or many, one after the other (`Run.open`, `Run.cell`, `Run.close`).

The kernel's variables change in one step at the end, or not at all: an engine that dies, is killed
or can't tell leaves them as they were.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from . import asking, protocol
from .engine import FOREVER, Engine, EngineDied, Interrupts, NotBroughtBack
from .relay import (
    END_OF_INPUT,
    Outcome,
    Relay,
    know_sources,
    known_exception,
    known_sources,
    put_traits,
)
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
    """Of cells of `shell`; `take` gives the process (see `spare`).

    Each of `run`, `open`, `cell` and `close` is called within a cell of the kernel's. What it
    raises beside a cell's own errors means that the engine is gone: NotStarted and jumper.Error
    when no engine came, EngineDied when it went too soon, NotBroughtBack, KeyboardInterrupt,
    TimeoutError. All variables are then as they were before `run` or `open`.
    """

    scope = "cell"  # what the user calls the time since then

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
        self.left: dict[str, str] | None = None  # what stays here, and why; until it is said
        self._shell = shell
        self._take = take
        self._wish = wish
        self._choice = choice
        self._reports = reports
        self._relay = Relay(shell)
        self._stops = _Stops()
        self._interrupted_s: list[float] = []
        self._interrupts: Interrupts
        self._around: protocol.Around | None = None
        self._engine: Engine | None = None
        self._carried: Any = None

    @property
    def is_open(self) -> bool:
        return self._engine is not None

    def run(self, cell: str) -> None:
        """Ends as the cell ended there: returns or raises."""
        with self._held():
            with self._using():
                code = self._relay.begin(cell)
                self._begin()
                self._serve(code, stays=False)
                (outcome,) = self._bring_back()
            self._finish()
            self._relay.raise_outcome(outcome)

    def open(self) -> None:
        """Carries the variables to an engine."""
        self.scope = "group"
        with self._held(), self._using():
            self._begin()

    def cell(self, code: str, number: int | None = None) -> None:
        """Runs one more cell there; ends as it ended, and the engine stays.

        None: it is the kernel's cell that runs now; else the one that was In [number].
        """
        self._relay.flush()
        code = code if number is None else self._relay.begin(code, number)
        with self._held():
            with self._using():
                outcome = self._serve(code, stays=True, number=number)
            self._relay.raise_outcome(outcome)

    def close(self) -> None:
        """Brings everything back, and the values of all cells."""
        with self._held():
            with self._using():
                outcomes = self._bring_back()
            self._finish()
            self._relay.keep(outcomes)

    def abandon(self) -> None:
        """Ends the engine; nothing comes back."""
        self._finish()

    @contextmanager
    def _held(self) -> Iterator[None]:
        with Interrupts() as self._interrupts:
            yield

    @contextmanager
    def _using(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._finish()
            told = self._told(error)
            if told is error:
                raise
            raise told from None

    def _told(self, error: BaseException) -> BaseException:
        """What the user gets for it, once the engine has ended."""
        if type(error) is EngineDied:
            return EngineDied(f"{error}; {self._unchanged}")
        if isinstance(error, KeyboardInterrupt):
            said = str(error) or f"the {self.scope} was interrupted before it ran"
            return _plain(KeyboardInterrupt, said)
        return error

    def _finish(self) -> None:
        """Nothing of it stays: a traceback that keeps this keeps no variables alive."""
        carried, self._carried = self._carried, None
        engine, self._engine = self._engine, None
        if carried is not None:
            carried.forget()
        if engine is not None:
            engine.finish()

    def _begin(self) -> None:
        begin_s = time.monotonic()
        from . import state  # with cloudpickle: not before a cell needs it

        carried = self._carried = state.Carried(self._shell, self._choice)
        engine = self._engine = self._take(self._wish.launcher)
        started_s = time.monotonic()
        head, descriptor = self._pack(carried)
        packed_s = time.monotonic()
        engine_came = self._meet(engine, descriptor)
        self._carry(engine, carried, head, descriptor)
        carried_s = time.monotonic()
        self.figures.start_s = started_s - begin_s + engine_came - packed_s
        self.figures.carry_s = packed_s - started_s + carried_s - engine_came
        self.left = dict(carried.left)

    def _pack(self, carried: Any) -> tuple[bytes, int]:
        self._interrupts.raises = True
        try:
            packed: tuple[bytes, int] = carried.pack()
        except Exception as error:  # noqa: BLE001  (no space; classes of the user's)
            raise NotBroughtBack(
                f"the {self.scope} has not run: the variables can't be carried: {_said(error)}; "
                f"{self._unchanged}"
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

    def _serve(self, code: str, *, stays: bool, number: int | None = None) -> Outcome:
        """How the cell has ended; its values and its exception come with the variables."""
        engine = self._open_engine()
        self._stops = _Stops()
        self._interrupted_s = []
        options = self._relay.options()
        if number is not None:
            options["execution_count"] = number
        engine.send(protocol.RUN, code, stays, options, self._relay.inputs())
        if self._wish.timeout_s is not None:
            self._plan_timeout(engine, time.monotonic() + self._wish.timeout_s)
        parts, exception = self._listen(engine, protocol.RAN)
        outcome = Outcome.of_parts(parts, known_exception(exception))
        if stays:
            outcome, self._stops = self._in_time(outcome), _Stops()
        return outcome

    def _open_engine(self) -> Engine:
        if self._engine is None:
            raise EngineDied("the engine has ended")
        return self._engine

    def _fetch(self, engine: Engine) -> None:
        """All that comes back is here then, loaded, and nothing of it put yet."""
        engine.send(protocol.BACK)
        while refused := self._taken_back(*self._listen(engine, protocol.DONE)):
            engine.send(protocol.AGAIN, refused)

    def _listen(self, engine: Engine, wanted: int) -> Any:
        """Until such a message is here: its content."""
        try:
            while True:
                kind, content = engine.receive(
                    self._show, self._stops.next_s, self._interrupts.descriptor
                )
                self._pass_interrupts(engine)
                self._stops.act()
                if kind == wanted:
                    return content
                if kind == protocol.MESSAGE:
                    self._publish(*content)
                elif kind == protocol.ASK:
                    self._answer(engine, *content)
                elif kind == protocol.AROUND:
                    self._around = protocol.Around(*content)
                elif kind == protocol.FAILED:
                    raise self._not_brought_back(content[0])
        except EngineDied:
            if self._stops.why:
                raise self._stopped() from None
            raise

    def _answer(self, engine: Engine, number: int, prompt: str, password: bool) -> None:
        with asking.until_end_of(engine.pidfd) as end:
            try:
                text = self._asked(prompt, password)
            except KeyboardInterrupt:
                if end.seen:
                    self._interrupts.take()
                else:
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
            return KeyboardInterrupt(f"the engine was ended; {self._unchanged}")
        return _plain(
            TimeoutError,
            f"the cell took longer than {self._wish.timeout_s:g} s and didn't end on an interrupt, "
            f"so its engine was ended; {self._unchanged}",
        )

    def _bring_back(self) -> list[Outcome]:
        """Of each cell. Whatever becomes of the engine now changes nothing."""
        engine, carried = self._open_engine(), self._carried
        self._fetch(engine)
        said = engine.end(
            self._show, lambda: self._pass_interrupts(engine), self._interrupts.descriptor
        )
        self.notes += [said] if said else []
        begin_s = time.monotonic()
        try:
            counts, *parts = carried.apply()
            left = iter(parts)
            outcomes = [Outcome.of_parts(*islice(left, count)) for count in counts]
        except Exception as error:  # noqa: BLE001
            raise self._not_brought_back(_said(error)) from None
        self.notes += carried.notes
        if carried.lost:
            lost = ", ".join(f"{name} ({why})" for name, why in carried.lost.items())
            self._note(f"made by the {self.scope}, and can't be brought here: {lost}")
        if self._around is not None:
            self._put_around(self._around)
        self.figures.return_s = time.monotonic() - begin_s
        if self._reports:
            self.notes.append(_report(self.figures, carried, self._choice))
        return [self._in_time(outcome) for outcome in outcomes]

    def _in_time(self, outcome: Outcome) -> Outcome:
        if self._stops.why == "timeout":
            return _too_late(outcome, self._wish.timeout_s or 0.0)
        return outcome

    def _taken_back(self, head: bytes, descriptor: int) -> dict[str, str]:
        try:
            refused: dict[str, str] = self._carried.take_back(head, descriptor)
        except Exception as error:  # noqa: BLE001  (loading runs code of the user's classes)
            raise self._not_brought_back(_said(error)) from None
        return refused

    def _not_brought_back(self, why: str) -> NotBroughtBack:
        return NotBroughtBack(
            f"what the {self.scope} has done can't be brought back: {why}; {self._unchanged}"
        )

    @property
    def _unchanged(self) -> str:
        return f"all variables are as they were before the {self.scope}"

    def _put_around(self, around: protocol.Around) -> None:
        from . import surroundings

        know_sources(self._shell, around.sources)
        self.notes += surroundings.put(around.surroundings)
        put_traits(self._shell, around.traits)
        self.notes += around.notes
        if around.threads:
            ended = ", ".join(around.threads)
            self._note(f"threads of the {self.scope} have ended with its engine: {ended}")

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


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
