"""Each pickler and each transport carries the same; what goes which way is seen from outside."""

import os
from pathlib import Path

import pytest
from state_pair import Pair

from jumper import _native, state
from jumper.settings import TRANSPORTS

SETUP = """
import numpy as np
x = np.zeros(100_000); v = x[3:6]; l = [x]; d = {'l': l}
"""
CELL = "x[4] = 5; l.append(d); new = x[:2]"


def has_come(pair):
    return (
        pair["v"][1] == 5
        and pair["l"][0] is pair["x"]
        and pair["l"][1] is pair["d"]
        and pair["new"].base is pair["x"]
    )


@pytest.mark.parametrize("pickler", ["cloudpickle", "pickle", "dill"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_data_goes_and_comes(pickler, transport, tmp_path):
    with Pair(pickler=pickler, transport=transport, directory=str(tmp_path)) as pair:
        pair.here(SETUP)
        pair.there(CELL)
        assert has_come(pair)
        assert pair.notes == []
        assert pair.left == pair.lost == {}
    assert list(tmp_path.iterdir()) == []


def test_pickle_leaves_what_the_notebook_defines():
    with Pair(pickler="pickle") as pair:
        pair.here("def f(): pass\nclass Q: pass\nq = Q(); k = [q, 1]; n = 1; from math import sin")
        before = pair["k"][0]
        pair.there("n = sin(0) + len(k); k.append(2)")
        assert pair["n"] == 2
        assert pair["k"][0] is before
        assert pair["k"][1:] == [1, 2]
        assert set(pair.left) == {"f", "Q", "q"}
        assert "pickler=cloudpickle" in pair.left["f"]


def test_dill_takes_what_cloudpickle_refuses():
    with Pair(pickler="dill") as pair:
        pair.here("import threading; lock = threading.Lock(); g = (i for i in range(3))")
        before = pair["lock"]
        pair.there("with lock: n = 5\nother = threading.Lock()")
        assert pair["n"] == 5
        assert pair["lock"] is before
        assert pair["other"].acquire()
        assert set(pair.left) == {"g"}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_transport_is_what_it_says(transport, tmp_path):
    with Pair(transport=transport, directory=str(tmp_path)) as pair:
        pair.here(SETUP)
        carried = state.Carried(pair.shell, pair.choice)
        _, descriptor = carried.pack()
        try:
            target = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        finally:
            os.close(descriptor)
    if transport == "memfd":
        assert target.startswith("/memfd:")
    else:
        assert target.startswith(str(tmp_path))
        assert target.endswith("(deleted)")


def test_what_does_not_fit_into_memory_goes_through_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr(_native, "room_bytes", lambda: 100_000)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Pair() as pair:
        pair.here(SETUP)
        pair.there(CELL)
        assert has_come(pair)
        (note,) = pair.notes
    assert note.startswith(f"variables were carried through a file in {tmp_path}: there is no room")


def test_a_file_lies_where_there_is_room_when_nothing_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Pair(transport="file") as pair:
        pair.here(SETUP)
        pair.there(CELL)
        assert has_come(pair)


def test_a_directory_that_is_not_there_is_named():
    with Pair(transport="file", directory="/nowhere/at/all") as pair:
        pair.here(SETUP)
        with pytest.raises(_native.Error, match="/nowhere/at/all"):
            pair.there(CELL)
        assert pair["x"][4] == 0


@pytest.mark.slow
def test_memory_is_that_of_the_arrays(tmp_path):
    """The segment is all that is taken beside them: no copy on the way."""
    import resource

    with Pair() as pair:
        pair.here("import numpy as np; x = np.ones(25_000_000)")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        carried = state.Carried(pair.shell, pair.choice)
        _, descriptor = carried.pack()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = os.fstat(descriptor).st_size
        os.close(descriptor)
    assert size < 1.01 * 200e6
    assert (after - before) * 1024 < 0.1 * 200e6  # memfd pages that were written aren't mapped
