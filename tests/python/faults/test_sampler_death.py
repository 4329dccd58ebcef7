"""P3: the sampler ends, at every moment; the kernel goes on, and so does another sampler."""

import random
import signal
import time
from contextlib import ExitStack
from itertools import pairwise

import pytest
from faults.harness import Kernel, Recording, await_that

LOST = "the sampler was lost"


@pytest.mark.fault("P3")
def test_another_goes_on_and_nothing_is_lost(kernel):
    kernel.do("answer = cell('1')")
    kernel.send("answer = cell('time.sleep(2.5)', 'long')")
    time.sleep(0.3)
    begin = time.monotonic()
    kernel.signal_sampler(signal.SIGKILL)
    index = kernel.take()
    kernel.do("answer = cell('3')")
    pid = kernel.await_sampler(kernel.sampler)
    assert time.monotonic() - begin < 20
    assert pid != kernel.sampler
    (warning,) = kernel.warnings() or ["told"]  # a cell's end has told it
    kernel.do("s.close()")
    err = kernel.end()
    assert err.count("\n") == 1
    assert "ended unexpectedly" in err + warning
    recording = Recording(kernel.path)
    recording.check_order()
    (gap,) = recording.of("gap")
    assert gap["reason"] == LOST
    assert 0.5e9 < gap["end_ns"] - gap["begin_ns"] < 2.1e9 + busy_ns(recording)
    assert {one["outcome"] for one in recording.cells} == {"ok"}
    assert [one["index"] for one in recording.cells] == list(range(1, len(recording.cells) + 1))
    (long,) = (one for one in recording.summaries if one["cell"]["index"] == index)
    assert [one["reason"] for one in long["gaps"]] == [LOST]
    assert long["levels"]["process"]["cpu_time_s"] is not None


def busy_ns(recording: Recording) -> float:
    """How late samples came at the worst: other people's load."""
    apart = [later["time_ns"] - one["time_ns"] for one, later in pairwise(recording.rows)]
    return 10 * sorted(apart)[-2]


@pytest.mark.fault("P3")
def test_a_lost_sampler_is_not_waited_for(kernel):
    """Edges stay as quick as they were."""
    kernel.signal_sampler(signal.SIGKILL)
    took = kernel.do(
        "begin = time.monotonic()\nfor _ in range(50): cell('pass')\n"
        "answer = time.monotonic() - begin"
    )
    assert took < 50 * 0.05
    kernel.await_sampler(kernel.sampler)
    kernel.do("s.close()")
    recording = Recording(kernel.path)
    assert len(recording.cells) == 52
    recording.check_order()


@pytest.mark.fault("P3")
def test_counters_go_on_over_the_gap(kernel):
    """What ended children had used, only the lost one knew; it stands in its last row."""
    kernel.do(
        "import subprocess\n"
        'cell(\'subprocess.run([sys.executable, "-S", "-c", "sum(range(10_000_000))"])\')\n'
        "time.sleep(0.2)"
    )
    kernel.signal_sampler(signal.SIGKILL)
    kernel.await_sampler(kernel.sampler)
    kernel.do("s.close()")
    Recording(kernel.path).check_order()


def rows_of(sampler: int, recording: Recording) -> int:
    """One that took no sample, or came to write nothing at all, leaves no gap behind it."""
    writer, rows = 0, 0
    for one in recording.records:
        if one["kind"] == "machine":
            writer = one["sampler_pid"]
        rows += one["kind"] == "row" and writer == sampler
    return rows


def kill_samplers(count: int, seed: int) -> None:
    moments = random.Random(seed)
    with ExitStack() as stack:
        kernels = [stack.enter_context(Kernel(rate=100)) for _ in range(count)]
        for one in kernels:
            one.send("for i in range(60): cell(f'time.sleep({0.02 + i % 3 * 0.01})')")
        left = sorted(((moments.random(), one) for one in kernels), key=lambda pair: pair[0])
        begin = time.monotonic()
        for moment, one in left:
            time.sleep(max(0, begin + moment - time.monotonic()))
            one.signal_sampler(signal.SIGKILL)
        for one in kernels:
            one.take()
            one.await_sampler(one.sampler)
            one.do("s.close()")
            one.end()
            recording = Recording(one.path)
            recording.check_order()
            assert recording.end == "closed"
            assert [cell["index"] for cell in recording.cells] == list(
                range(1, len(recording.cells) + 1)
            )
            assert len(recording.cells) >= 61
            assert {cell["outcome"] for cell in recording.cells} == {"ok"}
            assert LOST in recording.gap_reasons or not rows_of(one.sampler, recording)


@pytest.mark.fault("P3")
def test_killed_at_any_moment():
    for seed in range(2):
        kill_samplers(10, seed)


@pytest.mark.fault("P3")
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_killed_at_many_moments():
    for seed in range(100, 120):
        kill_samplers(10, seed)


@pytest.mark.fault("P3")
def test_it_gives_up_after_a_while(start_kernel, tmp_path):
    """A program that ends at once: started again after 1, 2, 4 … seconds, never in a hurry."""
    starts = tmp_path / "starts"
    program = tmp_path / "jumper"
    program.write_text(f"#!/bin/sh\necho x >>'{starts}'\n")
    program.chmod(0o755)
    starts.touch()
    kernel = start_kernel(program=str(program))
    assert kernel.do("answer = cell('1')") == 1
    await_that(lambda: starts.read_text().count("x") == 2)
    state = kernel.status()
    assert state["sampler_restarts"] <= 2
    assert state["cells"] == 1
    (summary,) = kernel.do("answer = [json.loads(s.summary().json)]")
    assert summary["cell"]["outcome"] == "ok"
    kernel.do("s.close()")
    assert kernel.end().count("ended unexpectedly") <= 2


@pytest.mark.fault("P3")
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_it_gives_up_for_the_hour(start_kernel, tmp_path):
    starts = tmp_path / "starts"
    program = tmp_path / "jumper"
    program.write_text(f"#!/bin/sh\necho x >>'{starts}'\n")
    program.chmod(0o755)
    kernel = start_kernel(program=str(program))
    await_that(lambda: "five times" in (kernel.status()["lost"] or ""), 90)
    assert starts.read_text().count("x") == 6
    time.sleep(3)
    assert starts.read_text().count("x") == 6
    kernel.do("s.close()")
    assert "no more samples are taken" in kernel.end()


class TestStopped:
    """P4: stopped, then going on."""

    @pytest.mark.fault("P4")
    def test_cells_do_not_wait_and_nothing_is_made_up(self, kernel):
        kernel.signal_sampler(signal.SIGSTOP)
        times = kernel.do(
            "times = []\n"
            "for i in range(20):\n"
            "    begin = time.monotonic(); cell('pass'); times.append(time.monotonic() - begin)\n"
            "    time.sleep(0.1)\n"
            "answer = times"
        )
        assert sorted(times)[len(times) // 2] < 0.02
        waited = kernel.do(
            "begin = time.monotonic(); done = s.native.wait(21); "
            "answer = [done, time.monotonic() - begin]"
        )
        assert waited[0] is False
        assert 0.04 < waited[1] < 0.5  # 50 ms, and what a busy machine adds
        summary = kernel.do("answer = json.loads(s.summary().json)")
        assert summary["cell"]["outcome"] == "ok"
        assert summary["sample_age_s"] > 1
        kernel.do("time.sleep(1)")
        kernel.signal_sampler(signal.SIGCONT)
        assert kernel.do("answer = s.native.wait(21, 20)")
        kernel.do("time.sleep(0.5); s.close()")
        assert kernel.end() == ""
        recording = Recording(kernel.path)
        recording.check_order()
        gaps = recording.of("gap")
        assert gaps[0]["reason"] == "the sampler was stopped or starved"
        assert gaps[0]["end_ns"] - gaps[0]["begin_ns"] > 2.9e9
        assert len(recording.cells) == 21
        self.check_no_burst(recording, gaps[0]["end_ns"])

    @staticmethod
    def check_no_burst(recording: Recording, from_ns: int) -> None:
        """At 50 Hz: no more ticks than the schedule has, and none made up for the gap."""
        ticks = [one for one in recording.rows if "edge" not in one["flags"]]
        after = [one["time_ns"] for one in ticks if from_ns <= one["time_ns"] < from_ns + 4e8]
        assert 1 <= len(after) <= 0.4 * 50 + 2

    @pytest.mark.fault("P4")
    def test_stopped_for_ever_then_closed(self, kernel):
        """Closing takes 2 s at most, and leaves nobody behind."""
        kernel.signal_sampler(signal.SIGSTOP)
        kernel.do("answer = cell('1')")
        took = kernel.do("begin = time.monotonic(); s.close(); answer = time.monotonic() - begin")
        assert took < 4
        kernel.await_no_sampler()

    @pytest.mark.fault("P4")
    def test_stopped_when_the_kernel_dies(self, kernel):
        kernel.signal_sampler(signal.SIGSTOP)
        kernel.kill()
        kernel.signal_sampler(signal.SIGCONT)
        kernel.await_no_sampler()
        assert Recording(kernel.path).end == "killed by signal 9 (SIGKILL)"

    @pytest.mark.fault("P4")
    def test_many_marks_for_a_stopped_one(self, kernel):
        """More than the socket takes, with code that fills it, too."""
        kernel.signal_sampler(signal.SIGSTOP)
        kernel.do("for i in range(600): cell('pass', f'{i:06}' + 'x' * (i % 7 * 6000))")
        kernel.signal_sampler(signal.SIGCONT)
        assert kernel.do("answer = s.native.wait(601, 20)")
        kernel.do("s.close()")
        recording = Recording(kernel.path)
        begun = recording.of("cell_begin")
        assert [one["index"] for one in begun] == list(range(1, 602))
        assert [one["source"] for one in begun[1:]] == [
            f"{i:06}" + "x" * (i % 7 * 6000) for i in range(600)
        ]
        assert {one["outcome"] for one in recording.cells} == {"ok"}
