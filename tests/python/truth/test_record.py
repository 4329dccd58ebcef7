"""The same truths under `jumper record`, whose cell is the whole command."""

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # the same core, whichever CPython

RUN = str(Path(__file__).with_name("run.py"))
OWN_S = 0.01  # of `jumper record` itself, which is in what its parent waits for


@pytest.mark.parametrize(
    "name",
    ["one_process", "many_threads", "pool_fork", "grandchildren_of_ended_children", "killed_child"],
)
def test_cpu(record, name):
    """Truth is what the system accounts to who waits for it all."""
    done, used_s = record(sys.executable, RUN, name)
    done.check("cpu_time_s", done.process["cpu_time_s"], used_s, OWN_S)
    assert done.truth["cpu_time_s"] <= done.process["cpu_time_s"]


@pytest.mark.parametrize(
    "name", ["written_through_the_cache", "children_that_write", "children_between_ticks_io"]
)
def test_io(record, name):
    done, _ = record(sys.executable, RUN, name)
    metric = "io_write_bytes"
    done.check(metric, done.process[metric], done.truth[metric], 65_536)


def test_children_that_ended_before_any_tick(record):
    command = f"for i in 1 2 3 4 5; do '{sys.executable}' -S -c 'sum(range(2_000_000))'; done"
    done, used_s = record("sh", "-c", command, rate=1)
    done.check("cpu_time_s", done.process["cpu_time_s"], used_s, OWN_S)


def test_a_command_that_uses_nothing(record):
    done, _ = record("sleep", "0.5")
    assert done.process["cpu_time_s"] < 0.02
    assert 0.5 <= done.summary["cell"]["duration_s"] < 5
