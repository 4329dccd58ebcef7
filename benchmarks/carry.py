"""Variables there and back between two processes: ours by every transport, and scorep-jupyter's."""

import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import places
from carry_memory import held_bytes, most_until_output
from figures import Figure, Figures, Say, of_runs, round_to

sys.path.append(str(places.WORKERS))
from carry_values import VALUES

CELLS = ("unchanged", "one", "all")
QUICK = ("nothing", "arrays, 200 MB", "dict of str, 100 k")
FULL = tuple(name for name in VALUES if name != "dict of str, 100 k")
WORKERS_OF = ("2 GB and dict of 1 M", "8 dicts of 250 k")  # with more than one number of workers
FILES_OF = ("nothing", "arrays, 1 GB", "arrays, 2 GB", "2 GB and dict of 1 M")
PICKLERS_OF = ("dict of str, 100 k", "dict of str, 1 M", "list of lists, 1 M")
THEIRS_OF = (
    "nothing", "arrays, 200 MB", "arrays, 1 GB", "arrays, 2 GB", "dict of str, 1 M",
    "dict of str, 100 k", "2 GB and dict of 1 M",
)  # fmt: skip
TIMES_NEEDED = 4  # of its own size, in memory, and what a million objects take
OBJECT_BYTES = 2000
TIMEOUT_S = 900


@dataclass
class Case:
    """One way of carrying some values once the cell has changed so much of them."""

    kind: str
    way: dict[str, Any]
    values: str
    cell: str
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    steps_s: dict[str, float] = field(default_factory=dict)  # medians
    extra_bytes: int | None = None
    failure: str = ""

    @property
    def name(self) -> str:
        if self.kind == "theirs":
            mode = {"disk": "file", "memory": "FIFO"}[self.way["mode"]]
            return f"scorep-jupyter's way: {self.way['marshaller']}, {mode}"
        workers = f", {self.way['workers']} workers" if self.way["workers"] > 1 else ""
        return f"{self.way['transport']}, {self.way['pickler']}{workers}"

    @property
    def wall(self) -> float | None:
        return statistics.median(self.wall_s) if self.wall_s else None

    @property
    def cpu(self) -> float | None:
        return statistics.median(self.cpu_s) if self.cpu_s else None


def our_cases(names: tuple[str, ...], folder: Path) -> Iterator[Case]:
    from jumper.settings import BACKENDS as picklers  # noqa: N811
    from jumper.settings import TRANSPORTS as transports  # noqa: N811

    # The first of each is what is used where nobody chooses.
    for values, transport, pickler in itertools.product(names, transports, picklers):
        is_first = (transport, pickler) == (transports[0], picklers[0])
        if transport != "memfd" and (pickler != picklers[0] or values not in (*FILES_OF, *QUICK)):
            continue
        if pickler != picklers[0] and values not in PICKLERS_OF:
            continue
        for workers in (1, 2) if values in WORKERS_OF and is_first else (1,):
            way = {"pickler": pickler, "transport": transport, "workers": workers}
            for cell in VALUES[values].cells:
                if cell == "unchanged" or (workers == 1 and is_first):
                    yield Case("ours", way | {"directory": str(folder)}, values, cell)


def their_cases(names: tuple[str, ...], folder: Path) -> Iterator[Case]:
    for values, mode in itertools.product(names, ("disk", "memory")):
        if values not in THEIRS_OF:
            continue
        way = {"marshaller": "dill", "mode": mode, "directory": str(folder)}
        for cell in ("unchanged",) if names == QUICK else ("unchanged", "all"):
            if cell in VALUES[values].cells:
                yield Case("theirs", way, values, cell)


def memory_needed(case: Case) -> int:
    values = VALUES[case.values]
    return TIMES_NEEDED * values.array_bytes + values.objects * OBJECT_BYTES


def memory_at_hand() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def run(case: Case, folder: Path, rounds: int) -> None:
    """The first round, whose memory is looked at, isn't timed; for theirs it is the only one."""
    told = json.dumps({one: getattr(case, one) for one in ("kind", "way", "values", "cell")})
    with subprocess.Popen(
        places.command("carry", told),
        env=places.environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        try:
            steps = [one_round(process, case, number) for number in range(rounds)]
        finally:
            assert process.stdin is not None
            process.stdin.close()
    case.steps_s = {name: statistics.median(one[name] for one in steps) for name in steps[-1]}


def one_round(process: "subprocess.Popen[str]", case: Case, number: int) -> dict[str, float]:
    pids = ask(process)["ready"]
    if number == 0:
        before = held_bytes(pids)
        assert process.stdin is not None
        process.stdin.write("go\n")
        case.extra_bytes = most_until_output(process, pids) - before
        answer = read(process)
    else:
        answer = ask(process)
    if number > 0 or case.kind == "theirs":
        case.wall_s.append(answer["wall_s"])
        case.cpu_s.append(answer["cpu_s"])
    steps: dict[str, float] = answer["steps"]
    return steps


def ask(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdin is not None
    process.stdin.write("go\n")
    return read(process)


def read(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the worker has ended with {process.wait(TIMEOUT_S)}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def measure(folder: Path, rounds: int, quick: bool, say: Say) -> tuple[Figures, list[Case]]:
    names = QUICK if quick else FULL
    cases = [*our_cases(names, folder), *their_cases(names, folder)]
    for number, case in enumerate(cases):
        say(f"carry {number + 1} of {len(cases)}: {case.values}, {case.cell}: {case.name}")
        if memory_needed(case) > memory_at_hand():
            case.failure = f"needs {round_to(memory_needed(case) / 1e9)} GB of memory"
            continue
        try:
            run(case, folder, 1 if case.kind == "theirs" else 1 + rounds)
        except Exception as error:  # noqa: BLE001  (the others go on)
            case.failure = f"{type(error).__name__}: {error}"
    return figures_of(cases), cases


# ---- the rows of the main table ----


def figures_of(cases: list[Case]) -> Figures:
    found: Figures = {}
    for row, values in (("arrays", "arrays, 2 GB"), ("objects", "2 GB and dict of 1 M")):
        peer = usual(cases, "theirs", values, "unchanged")
        for cell in CELLS:
            ours = usual(cases, "ours", values, cell)
            if ours is None or not ours.wall_s:
                continue
            seconds = f"carry.{row}_s" if cell == "unchanged" else f"carry.{row}_{cell}_s"
            found[seconds] = of_runs(ours.wall_s, note=beside(ours, peer))
            if row == "arrays" and ours.extra_bytes is not None:
                found[f"carry.arrays_{cell}_memory"] = memory(ours)
    return found


def usual(cases: list[Case], kind: str, values: str, cell: str) -> Case | None:
    """The case of the default way, which comes first."""
    return next((c for c in cases if (c.kind, c.values, c.cell) == (kind, values, cell)), None)


def beside(ours: Case, peer: Case | None) -> str:
    steps = ", ".join(f"{name} {round_to(s)}" for name, s in ours.steps_s.items() if name != "run")
    said = f"CPU {round_to(ours.cpu or 0)} s; {steps}"
    if ours.cell == "unchanged" and peer is not None and peer.wall and ours.wall:
        said += (
            f"; {peer.name}, only there: {round_to(peer.wall)} s = "
            f"{round_to(peer.wall / ours.wall)} x ours"
        )
    return said


def memory(case: Case) -> Figure:
    values = VALUES[case.values]
    changed = {"unchanged": 0, "one": values.one_bytes, "all": values.array_bytes}[case.cell]
    extra = case.extra_bytes or 0
    return Figure(
        (extra - changed) / values.array_bytes,
        note=f"{round_to(extra / 1e9)} GB, of it {round_to(changed / 1e9)} GB for what changed",
    )


# ---- a table of its own ----

HEADINGS = ("values", "changed", "way", "wall s", "CPU s", "extra MB", "x ours")


def lines(cases: list[Case]) -> list[list[str]]:
    found = [list(HEADINGS)]
    for case in sorted(cases, key=lambda c: (list(VALUES).index(c.values), CELLS.index(c.cell))):
        ours = usual(cases, "ours", case.values, case.cell)
        ratio = case.wall / ours.wall if case.wall and ours and ours.wall else None
        figures = [
            case.wall,
            case.cpu,
            None if case.extra_bytes is None else case.extra_bytes / 1e6,
            ratio,
        ]
        shown = [round_to(one) if one is not None else "" for one in figures]
        changed = case.cell.replace("unchanged", "nothing").replace("one", "one of them")
        found.append([case.values, changed, case.name, *shown])
        if case.failure:
            found[-1][3] = f"not run: {case.failure}"
    found.append(["", "", "pull", "not built", "", "", ""])
    return found


def as_json(cases: list[Case]) -> list[dict[str, Any]]:
    return [asdict(case) | {"name": case.name} for case in cases]
