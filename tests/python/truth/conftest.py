"""One workload, measured in a process of its own, against its truth."""

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from jumper.session import program

RUN = Path(__file__).with_name("run.py")
BOUND_WORDS = ("lower bound", "upper bound", "incomplete")


def jumper(*arguments, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [program(), *arguments], capture_output=True, text=True, timeout=100, check=False, **options
    )


@dataclass
class Measured:
    truth: dict
    summary: dict  # of `jumper report`, when all was written
    records: list[dict]

    @property
    def process(self) -> dict:
        return self.summary["levels"]["process"]

    def cell(self, kind: str) -> dict:
        (found,) = (
            one
            for one in self.records
            if one["kind"] == kind and one["index"] == self.summary["cell"]["index"]
        )
        return found

    def edges_s(self) -> float:
        """How long after the marks the sampler came.

        What others than the kernel did by then can't be told from what they did before.
        """
        edges = (self.cell("cell_begin"), self.cell("cell_end"))
        return sum(edge["sample_ns"] - edge["time_ns"] for edge in edges) / 1e9

    def is_bound(self, metric: str) -> bool:
        """Whether the summary says that the figure is not exact."""
        notes = self.summary.get("notes", {})
        said = [notes.get(name, "") for name in (f"process.{metric}", "process")]
        return any(one.startswith(BOUND_WORDS) for one in said)

    def check(self, metric: str, value, truth, noise: float, *, bound: bool = False) -> None:
        """Within 1 % (or the noise), or, where that is all one can know, a marked bound."""
        context = f"{metric}: {value}, in truth {truth}; {json.dumps(self.summary)}"
        assert value is not None, context
        if abs(value - truth) <= max(0.01 * truth, noise):
            return
        assert bound, context
        assert value < truth, context
        assert self.is_bound(metric), f"not marked as a bound: {context}"


def check_invariants(records: list[dict], summaries: list[dict]) -> None:
    rows = [one for one in records if one["kind"] == "row"]
    (schema,) = (one for one in records if one["kind"] == "schema")
    counters = [one["name"] for one in schema["columns"] if one["kind"] == "counter"]
    assert "process.cpu_time_ns" in counters
    assert "process.root_cpu_time_ns" in counters
    for earlier, later in pairwise(rows):
        assert earlier["time_ns"] < later["time_ns"]
        for name in counters:
            before, after = earlier["values"][name], later["values"][name]
            assert before is None or after is None or before <= after, name
    for row in rows:
        total, root = (row["values"][f"process.{a}cpu_time_ns"] for a in ("", "root_"))
        assert total >= root
    for summary in summaries:
        for level in summary["levels"].values():
            for percent in level["cpu_percent"].values():
                assert percent is None or 0 <= percent <= 100


def read_back(path: str) -> tuple[list[dict], list[dict]]:
    """What `dump` and `report` say of a finished recording."""
    dumped, reported = jumper("dump", "--json", path), jumper("report", "--json", path)
    for done in (dumped, reported):
        assert (done.returncode, done.stderr) == (0, "")
    records = [json.loads(line) for line in dumped.stdout.splitlines()]
    summaries = [json.loads(line) for line in reported.stdout.splitlines()]
    return records, summaries


@pytest.fixture(name="check_invariants")
def _check_invariants():
    return check_invariants


@pytest.fixture(name="read_back")
def _read_back():
    return read_back


@pytest.fixture
def measure(tmp_path):
    def measure_one(name: str, rate: float = 10) -> Measured:
        done = subprocess.run(
            [sys.executable, str(RUN), name, str(rate)],
            start_new_session=True,  # as kernels are started
            capture_output=True,
            text=True,
            timeout=100,
            cwd=tmp_path,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        found = json.loads(done.stdout)
        records, summaries = read_back(found["path"])
        check_invariants(records, [*summaries, found["said"]])
        summary = summaries[1]  # the first one is before it, others lie in it
        return Measured(found["truth"], summary, records)

    return measure_one


def children_cpu_s() -> float:
    """In microseconds' steps; os.times() counts each part in steps of 10 ms."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.fixture
def record(tmp_path):
    """The same under `jumper record`, whose cell is the whole process."""

    def record_one(*command: str, rate: float = 10) -> tuple[Measured, float]:
        path = tmp_path / "run.jumper"
        before = children_cpu_s()
        with subprocess.Popen(
            [program(), "record", "--rate", str(rate), "-o", str(path), "--", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        ) as process:
            out, err = process.communicate(timeout=100)
        used = children_cpu_s() - before
        assert (process.returncode, err) == (0, "")
        records, (summary,) = read_back(str(path))
        check_invariants(records, [summary])
        truth = json.loads(out)["truth"] if out else {}
        return Measured(truth, summary, records), used

    return record_one
