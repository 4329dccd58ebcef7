"""Memory against smaps_rollup and the high-water mark."""

import pytest

pytestmark = pytest.mark.slow  # the same core, whichever CPython

MIB = 1 << 20
NOISE = 1.5 * MIB  # what comes and goes while the truth is read


def test_touched_and_freed_between_two_ticks(measure):
    done = measure("touched_and_freed_between_ticks", rate=0.2)
    memory = done.process["memory_bytes"]
    done.check("peak", memory["peak"], done.truth["peak"], NOISE)
    assert not memory["peak_lower_bound"]
    assert memory["max"] < 200 * MIB


def test_the_peak_of_a_child_between_two_ticks(measure):
    done = measure("a_child_s_peak_between_ticks", rate=0.2)
    memory = done.process["memory_bytes"]
    assert memory["peak"] >= done.truth["peak_at_least"]
    assert memory["peak_lower_bound"]


def test_held_and_released(measure):
    done = measure("held_and_released")
    memory = done.process["memory_bytes"]
    for name in ("begin", "max", "end"):
        done.check(name, memory[name], done.truth[name], NOISE)
    done.check("peak", memory["peak"], done.truth["peak"], NOISE)
    assert memory["min"] <= memory["end"] <= memory["mean"] <= memory["max"] <= memory["peak"]


def test_held_from_before(measure):
    done = measure("held_from_before")
    for name, truth in done.truth.items():
        done.check(name, done.process["memory_bytes"][name], truth, NOISE)
    assert not done.process["memory_bytes"]["upper_bound"]


def test_shared_by_forks(measure):
    done = measure("shared_by_forks")
    memory = done.process["memory_bytes"]
    done.check("end", memory["end"], done.truth["end"], NOISE)
    assert memory["end"] < done.truth["below"]
    assert done.process["processes"]["max"] == 5


def test_private_in_forks(measure):
    done = measure("private_in_forks")
    done.check("end", done.process["memory_bytes"]["end"], done.truth["end"], NOISE)


def test_copied_on_write(measure):
    done = measure("copied_on_write")
    done.check("end", done.process["memory_bytes"]["end"], done.truth["end"], NOISE)


def test_reserved_and_not_touched(measure):
    done = measure("reserved_and_not_touched")
    for name, truth in done.truth.items():
        done.check(name, done.process["memory_bytes"][name], truth, NOISE)


def test_processes_and_threads(measure):
    done = measure("processes_and_threads")
    assert done.process["processes"]["max"] == done.truth["processes"]
    assert done.process["threads"]["max"] == done.truth["threads"]
