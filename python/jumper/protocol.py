"""What kernel and engine say to each other over their channel: kinds of messages, in pickles.

    engine                                   kernel
    HELLO     who it is                  ->
                                         <-  SETUP     what its shell shares with the kernel's
                                         <-  STATE     the head; with the segment's descriptor
    PIPE      with the end from which the cell's descriptor 1 or 2 is read; the stream's name
                                         ->
    LOADED    {name: why it can't be}    ->  (then STATE again, without those names)
                                         <-  RUN       a cell; whether more may follow
    MESSAGE   what the cell shows        ->  any number, from any thread and forked child
    ASK       number, prompt, password   ->
                                         <-  ANSWER    number, text
    RAN       how it ended               ->  (then RUN again, or)
                                         <-  BACK      no more cells
    AROUND    what else has changed      ->
    DONE      the head; with the segment's descriptor, sealed
    FAILED    why there is no DONE       ->
                                         <-  AGAIN     {part: why it can't be loaded}: DONE again
                                         <-  END       whether a launcher waits

Both are the same user's, and the cell is that user's code: what comes is trusted as far as that.
"""

import os
import pickle
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

CHANNEL: Final = "JUMPER_ENGINE_CHANNEL"  # fd:NUMBER or unix:PATH
TOKEN: Final = "JUMPER_ENGINE_TOKEN"  # noqa: S105  (the name of a variable)
WAIT: Final = "JUMPER_ENGINE_WAIT_S"  # how long a spare waits for SETUP
IMPORTS: Final = "JUMPER_ENGINE_IMPORTS"  # what a spare imports ahead

HELLO: Final = 1
LOADED: Final = 2
MESSAGE: Final = 3
ASK: Final = 4
AROUND: Final = 5
DONE: Final = 6
FAILED: Final = 7
PIPE: Final = 8
RAN: Final = 9
SETUP: Final = 16
STATE: Final = 17
RUN: Final = 18
ANSWER: Final = 19
END: Final = 20
AGAIN: Final = 21
BACK: Final = 22


class Sends(Protocol):
    def send(
        self, kind: int, payload: bytes, timeout_s: float | None = None, descriptor: int = -1
    ) -> None: ...


def send(channel: Sends, kind: int, *content: Any) -> None:
    channel.send(kind, pickle.dumps(content, pickle.HIGHEST_PROTOCOL))


def read(payload: bytes) -> Any:
    """The content, a tuple."""
    return pickle.loads(payload)  # noqa: S301  (of a process of the same user: see above)


class Hello(NamedTuple):
    """Who an engine is. Where two of the last three differ, neither can use what is the other's."""

    pid: int
    group: int
    python: str
    machine: str
    namespace: str

    def refused(self, kernel: "Hello") -> str | None:
        """Why this one can't be the engine of that kernel."""
        if self.machine != kernel.machine:
            return "it runs on another machine, and variables are carried in shared memory"
        if self.namespace != kernel.namespace:
            return "it runs in another pid namespace (a container), where it can't be watched"
        if self.python != kernel.python:
            return f"it runs on {self.python}, the kernel on {kernel.python}"
        return None


class Around(NamedTuple):
    """What the cells have changed beside variables."""

    surroundings: Any  # surroundings.Differences
    sources: dict[str, tuple[int, str]]  # of cells in the cell: see relay.know_sources
    traits: dict[str, Any]  # relay.TRAITS
    threads: list[str]  # which would go on in a kernel
    notes: list[str]  # for the user, each a sentence


def hello() -> Hello:
    """Of this process."""
    name, version = sys.implementation.name, ".".join(map(str, sys.version_info[:3]))
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    return Hello(
        os.getpid(),
        os.getpgrp(),
        f"{name} {version}",
        _or_empty(lambda: boot.read_text().strip()),
        _or_empty(namespace.readlink),
    )


def _or_empty(read_it: Any) -> str:
    try:
        return str(read_it())
    except OSError:
        return ""
