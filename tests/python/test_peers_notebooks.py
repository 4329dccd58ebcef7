"""Notebooks as people have written them for the peers run from the first cell to the last."""

import json
import pickle
import re

import nbformat
import pytest
from nbclient import NotebookClient
from notebook import JSON_TYPE, TIMEOUT_S, write_kernelspecs

from jumper import peers

WORK = """from random import random
from time import time
from multiprocessing import Pool
def throw_dart(iterations):
    return sum(random() ** 2 + random() ** 2 <= 1 for _ in range(iterations))
def compute_pi(iterations, process_count):
    start = time()
    with Pool(processes=process_count) as pool:
        hits = pool.map(throw_dart, [iterations // process_count] * process_count)
    while time() - start < 1.1:
        pass
    print("Pi approximation:", 4 * sum(hits) / iterations)"""
BUSY = "import time; end = time.monotonic() + .6\nwhile time.monotonic() < end: pass"

MONITORING = (
    "%env JUMPER_REPORT_FREQUENCY=1",
    "%env JUMPER_REPORTS_MIN=1",
    WORK,
    "# on 1 CPU\ncompute_pi(10**5, 1)",
    "# on 2 CPUs\ncompute_pi(10**5, 2)",
    "%%display_graph_for_all",
    "%%display_code_history",
    "%%display_code_for_index 0",
    "%%display_code_for_index 1",
    "%%display_graph_for_index 0",
    "%%display_graph_for_last",
    "%%perfdata_to_variable myvar",
    "myvar",
    "%%perfdata_to_json myfile",
)
QUICK_START = (
    "%load_ext jumper_extension\n",
    "%perfmonitor_start 1\n",
    "import time\nvalues = [i ** 2 for i in range(100_000)]\ntime.sleep(1.1)\nsum(values[:10_000])",
    "%perfmonitor_perfreport\n",
    "%perfmonitor_plot --metrics cpu_summary,memory\n",
    "%perfmonitor_stop",
)
EXPORT = (
    "%load_ext jumper_extension",
    "%perfmonitor_start",
    f"# work\n{BUSY}",
    "%perfmonitor_plot",
    "%export_session session_example.zip",
)
IMPORT = (
    "%load_ext jumper_extension",
    "%import_session session_example.zip",
    "%perfmonitor_plot",
    "%show_cell_history",
    "%perfmonitor_resources",
)
PICKLE = (
    "%load_ext jumper_extension",
    "%perfmonitor_start 0.1",
    BUSY,
    "%perfmonitor_plot --metrics cpu_summary,memory --save-jpeg performance_analysis.jpg",
    "%perfmonitor_plot --metrics cpu_summary --level user --pickle analysis_data.pkl",
    """import pickle
with open("analysis_data.pkl", "rb") as f:
    analysis = pickle.load(f)
print(f"Pickle keys: {list(analysis.keys())}")""",
    "%perfmonitor_stop",
)
METRICS = (
    "%reload_ext jumper_extension",
    "%perfmonitor_start 2",
    "%perfmonitor_enable_perfreports",
    "%perfmonitor_resources",
    "%perfmonitor_plot --live --level process",
    BUSY,
    "%perfmonitor_plot",
    "with open('large_data.bin', 'wb') as f:\n    f.write(bytes(1 << 20))",
    "%perfmonitor_plot --live 1.0 60",
    "%perfmonitor_plot --live --metrics cpu_summary,io_read,io_write",
    "%perfmonitor_plot --live --metrics gpu_util_summary,gpu_mem_summary",
    "%perfmonitor_disable_perfreports",
)
README = (
    "%load_ext jumper_extension",
    "%perfmonitor_help",
    "%perfmonitor_fast_setup",
    BUSY,
    BUSY,
    "%perfmonitor_perfreport --cell 0:5 --level user",
    "%perfmonitor_plot --metrics cpu_summary --level user --cell 2:5",
    "%perfmonitor_plot --cell -3:-1",
    "%show_cell_history",
    "%perfmonitor_enable_perfreports --interval 1 --level system --text",
    "%perfmonitor_disable_perfreports",
    "%perfmonitor_export_perfdata my_performance.csv --level system",
    "%perfmonitor_export_cell_history my_cells.json",
    "%perfmonitor_export_perfdata",
    "%perfmonitor_export_cell_history",
    "perfdata_df.merge(cell_history_df, on='cell_index')['raw_cell'].iloc[0]",
    "%perfmonitor_load_perfdata my_performance.csv",
    "%perfmonitor_load_cell_history my_cells.json",
    "len(loaded_perfdata_df) > 0 and list(loaded_cell_history_df.columns)[:2]",
    "%perfmonitor_stop",
    "%export_session my_dir",
    "%import_session my_dir",
)
NOTEBOOKS = {
    "the paper's monitoring": MONITORING,
    "quick start": QUICK_START,
    "session": EXPORT,
    "pickle": PICKLE,
    "metrics": METRICS,
    "read me": README,
}


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Runs the cells as a batch does: the first error would end it."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    write_kernelspecs(tmp_path / "jupyter" / "kernels")
    folder = tmp_path / "work"
    folder.mkdir()

    def run(cells) -> list:
        notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
        client = NotebookClient(
            notebook,
            timeout=2 * TIMEOUT_S,
            kernel_name="jumper",
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute()
        return notebook.cells

    run.folder = folder
    return run


def bundles(cell) -> list[dict]:
    return [one["data"] for one in cell.outputs if JSON_TYPE in one.get("data", {})]


def text(cell) -> str:
    return "\n".join(
        one.get("text", "") + str(one.get("data", {}).get("text/plain", "")) for one in cell.outputs
    )


def outputs(cells, start: str) -> list:
    return [one for one in cells if one.source.startswith(start)]


def test_every_name_of_what_was_watched_is_used_here():
    used = {
        name
        for cells in (*NOTEBOOKS.values(), IMPORT)
        for cell in cells
        for name in re.findall(r"^%%?(\w+)", cell, re.MULTILINE)
    }
    known = {name for name, one in peers.NAMES.items() if one.of != "scorep-jupyter"}
    modes = {name for name in known if re.search("mode|write|perfmonitor$", name)}
    assert known - modes <= used


def test_the_papers_example(execute):
    cells = execute(MONITORING)
    (drawn,) = bundles(outputs(cells, "%%display_graph_for_all")[0])
    assert [one["execution_count"] for one in drawn[JSON_TYPE]["plot"]["cells"]][-2:] == [4, 5]
    shown = [text(one) for one in outputs(cells, "%%display_code_for_index")]
    assert all(one.startswith("Cell timestamp: ") for one in shown)
    perfdata = json.loads((execute.folder / "myfile_perfdata.json").read_text())
    code = json.loads((execute.folder / "myfile_code.json").read_text())
    assert len(perfdata) == len(code) >= 2
    assert code[-1][1].startswith("# on 2 CPUs")
    assert not any("jumper:" in text(one) for one in cells)


@pytest.mark.parametrize("name", ["quick start", "metrics", "read me"])
def test_their_demos(execute, name):
    cells = execute(NOTEBOOKS[name])
    for start in ("%perfmonitor_perfreport", "%perfmonitor_plot", "%show_cell_history"):
        assert all(one.outputs for one in outputs(cells, start))
    assert not any(one.get("name") == "stderr" for cell in cells for one in cell.outputs)


def test_their_sessions_go_from_one_kernel_to_another(execute):
    execute(EXPORT)
    cells = execute(IMPORT)
    (plot,) = bundles(outputs(cells, "%perfmonitor_plot")[0])
    assert plot[JSON_TYPE]["plot"]["metrics"]["cpu"]
    assert "# work" in text(outputs(cells, "%show_cell_history")[0])


def test_their_pickled_plot(execute):
    cells = execute(PICKLE)
    assert "'figure_dict', 'metrics', 'processed_data'" in text(cells[5])
    analysis = pickle.loads((execute.folder / "analysis_data.pkl").read_bytes())
    assert analysis["level"] == "user"
