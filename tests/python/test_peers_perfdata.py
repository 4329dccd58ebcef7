"""Our tables in the peers' shapes where they hold what this machine hasn't: cards, lost samples."""

import json
import os

import pytest

from jumper import peer_views, perfdata
from jumper.peer_cells import PeerCell, in_range, only_asks

GB = 2**30
SECOND_NS = 10**9


class Table:
    """As `_native.Table`; `columns` by name, None is unknown."""

    def __init__(self, columns: dict, figures: dict, missing=()) -> None:
        self._columns = list(columns.values())
        self.columns = [(name, None in values) for name, values in columns.items()]
        self.rows = len(self._columns[0])
        cell = {"index": 7, "summary": {"levels": {"process": figures}}}
        self.head = json.dumps({"cells": [cell], "missing": list(missing)})

    def values(self, place: int) -> list:
        return list(self._columns[place])


class Recorded:
    def __init__(self, table: Table) -> None:
        self._table = table

    def table(self, indices, level="process") -> Table:
        return self._table


CELL = PeerCell(0, 7, "fit()", 1000.0, 3.0)
CORES = sorted(os.sched_getaffinity(0))


def of_all(**more) -> dict:
    columns = {
        "cell_index": [7] * 4,
        "time_unix_ns": [int((1000 + second) * SECOND_NS) for second in range(4)],
        "since_cell_begin_ns": [-1, *(second * SECOND_NS for second in (1, 2, 3))],
    }
    for core in CORES:
        columns[f"node.core{core}.cpu_percent"] = [None, 10, 20, 30]
    columns["node.core9999.cpu_percent"] = [None, 99, 99, 99]  # not this process's
    counters = ("io_read_ops", "io_write_ops", "storage_read_bytes", "storage_write_bytes")
    for name in counters:
        columns[f"process.{name}"] = [1000, 1010, 1020, 1040]
    columns["process.memory_bytes"] = [GB, GB, 2 * GB, 3 * GB]
    return columns | more


def paper(columns: dict, figures=None, missing=()) -> tuple[list, dict]:
    cells, reasons = perfdata.paper_history(
        Recorded(Table(columns, figures or {}, missing)), [CELL]
    )
    return cells[0], reasons


def test_the_first_sample_has_no_use_of_cores_and_is_left_out():
    (cpu, memory, *_), mean, *_ = paper(of_all())[0]
    assert cpu == [[10, 20, 30]] * len(CORES) + [[10, 20, 30]] * 3
    assert mean == [10, 20, 30]
    assert memory == [1, 2, 3]


def test_counters_begin_with_the_cell():
    """The kernel has read its own at the very begin: 60 in all, of which 40 were sampled."""
    node = paper(of_all(), {"io_read_ops": 60})[0][0]
    assert node[2] == [30, 40, 60]
    assert node[3] == [10, 20, 40]
    assert node[4] == [one / 2**20 for one in (10, 20, 40)]


def test_cards_have_their_use_and_the_share_of_their_memory():
    cards = {}
    for card in ("gpu0", "drm0"):
        cards[f"node.{card}.utilization_percent"] = [0, 50, 60, None]
        cards[f"node.{card}.memory_bytes"] = [0, GB, 2 * GB, 2 * GB]
        cards[f"node.{card}.capacity_memory_bytes"] = [8 * GB] * 4
    slices = {"node.gpu0_mig1.utilization_percent": [1, 1, 1, 1]}
    entry, reasons = paper(of_all(**cards, **slices))
    gpu, memory = entry[0][6:]
    assert gpu == [[50, 60, None]] * 5
    assert memory == [[12.5, 25, 25]] * 5
    assert entry[7:] == [[50, 60, None], [12.5, 25, 25]]
    assert "node.gpu0.utilization_percent" in reasons


def test_without_cards_their_lists_are_empty_as_theirs():
    entry, _ = paper(of_all())
    assert entry[0][6:] == [[[], [], []], [[], [], []]]
    assert entry[7:] == [[], []]


def test_what_was_not_measured_is_none_with_its_reason():
    why = "not permitted: /proc/7/io can't be read"
    columns = of_all(**{"process.io_read_ops": [None] * 4})
    missing = [{"column": "process.io_read_ops", "rows": 4, "reason": why}]
    entry, reasons = paper(columns, missing=missing)
    assert entry[0][2] == [None, None, None]
    assert reasons["process.io_read_ops"] == why
    columns.pop("process.io_read_ops")
    assert paper(columns)[0][0][2] == [None, None, None]


def test_the_extensions_table_with_cards():
    columns = {
        "cell_index": [7, 7],
        "time_unix_ns": [1000 * SECOND_NS, 1001 * SECOND_NS],
        "cpu_percent": [None, 40],
        "core0.cpu_percent": [None, 20],
        "core1.cpu_percent": [None, 60],
        "memory_bytes": [GB, GB],
        "gpu0.utilization_percent": [10, 20],
        "gpu0.memory_utilization_percent": [1, None],
        "gpu0.memory_bytes": [GB, GB],
        "gpu1.utilization_percent": [30, 40],
        "gpu1.memory_bytes": [3 * GB, GB],
    }
    samples = perfdata.of_level(Recorded(Table(columns, {})), [CELL], "node", 400.0)
    found = samples.columns
    assert found["time"] == [600, 601]
    assert found["cpu_util_avg"] == [None, 40]
    assert (found["cpu_util_min"], found["cpu_util_max"]) == ([None, 20], [None, 60])
    assert (found["gpu_util_avg"], found["gpu_util_max"]) == ([20, 30], [30, 40])
    assert (found["gpu_mem_0"], found["gpu_mem_avg"]) == ([1, 1], [2, 1])
    assert found["gpu_band_1"] == [None, None]
    assert found["cell_index"] == [0, 0]
    assert samples.missing["gpu_band_1"] == "not supported: it is not recorded here"
    assert list(found)[-5:] == [
        "io_read_count",
        "io_write_count",
        "io_read",
        "io_write",
        "cell_index",
    ]


def test_a_report_weights_its_mean_by_time():
    columns = {
        "time": [0.0, 1.0, 10.0],
        "cpu_util_avg": [None, 100.0, 10.0],
        "memory": [1.0, 1.0, 1.0],
        "cell_index": [0, 0, 0],
    }
    bundle = peer_views.report([CELL], perfdata.Samples(columns, {}), None, "process")
    assert "mean 19.0 %, 10.0 % to 100.0 %" in bundle["text/plain"]
    assert "GPU" not in bundle["text/plain"]


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        ("%perfmonitor_plot", True),
        ("# now\n%perfmonitor_plot\n%jumper history", True),
        ("%%display_graph_for_all\nanything", True),
        ("%%finalize_multicellmode", False),
        ("%%execute_with_scorep\nx", False),
        ("%%jumper run\nx", False),
        ("%perfmonitor_start\nx = 1", False),
        ("x = 1", False),
        ("%time x", False),
        ("", False),
        ("# only", False),
    ],
)
def test_which_cells_only_ask(code, asks):
    assert only_asks(code) is asks


@pytest.mark.parametrize("text", ["", ":", "1:2:3", "a", "1 2", "9" * 30, "--1"])
def test_ranges_are_read_or_refused(text):
    cells = [CELL._replace(number=number) for number in range(3)]
    if text == ":":
        assert in_range(cells, text) == cells
        return
    with pytest.raises(ValueError, match="names no cells"):
        in_range(cells, text)
