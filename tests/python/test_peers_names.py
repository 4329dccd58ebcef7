"""The names of notebooks written for the peers: what each does, in a real kernel."""

import ast
import csv
import json
import pickle
import statistics
from pathlib import Path

import pytest
from notebook import JSON_TYPE, Notebook, in_ipython

from jumper import peers
from jumper.imported import PERFDATA

WORK = "import time; end = time.monotonic() + .55\nwhile time.monotonic() < end: sum(range(1000))"
CORES = "len(__import__('os').sched_getaffinity(0))"


@pytest.fixture
def folder(tmp_path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


def work_twice(notebook: Notebook) -> Notebook:
    assert notebook.run(WORK).status == "ok"
    assert notebook.run(f"# second\n{WORK}").status == "ok"
    return notebook


@pytest.fixture
def notebook(open_notebook, folder) -> Notebook:
    """For a test that changes more than variables."""
    return work_twice(open_notebook(cwd=folder))


@pytest.fixture(scope="module")
def worked(shared_notebook) -> Notebook:
    return work_twice(shared_notebook)


@pytest.fixture
def asked(worked, folder) -> Notebook:
    """One kernel for the tests that only ask: its entries 1 and 2 are the paper's 0 and 1."""
    worked.run(f"import os; os.chdir({str(folder)!r})", silent=True)
    return worked


def shown(notebook: Notebook, code: str) -> str:
    """The text of what it shows."""
    done = notebook.run(code)
    assert done.status == "ok", done.traceback + done.stderr
    return "\n".join([done.stdout, *(one["text/plain"] for one in done.displays)])


def value(notebook: Notebook, expression: str):
    """Asked for without a cell."""
    asks = {"value": f"__import__('json').dumps({expression})"}
    done = notebook.run("", silent=True, user_expressions=asks)
    answer = done.reply["content"]["user_expressions"]["value"]
    assert answer["status"] == "ok", answer
    return json.loads(ast.literal_eval(answer["data"]["text/plain"]))


def refused(notebook: Notebook, code: str) -> str:
    done = notebook.run(code)
    assert (done.status, done.ename) == ("error", "UsageError"), done.stdout
    return done.stderr


def entries(bundle: dict) -> list[int]:
    return [one["index"] for one in bundle[JSON_TYPE]["plot"]["cells"]]


# ---- the paper's ----


def test_the_papers_history_counts_from_0_over_cells_with_a_sample(asked):
    (bundle,) = asked.run("%%display_code_history").bundles
    lines = bundle["text/plain"].splitlines()
    assert [line.split()[0] for line in lines] == ["0", "1"]
    assert "# second" in lines[1]
    assert [one["number"] for one in bundle[JSON_TYPE]] == [0, 1]
    assert [one["cell"]["index"] for one in bundle[JSON_TYPE]] == [1, 2]
    assert "iframe" in bundle["text/html"]


def test_a_cell_without_a_sample_has_no_number(notebook):
    for _ in range(5):
        notebook.run("x = 1")
    notebook.run(WORK)
    ticks = [one["ticks"] for one in notebook.run("%jumper history").bundles[0][JSON_TYPE]]
    sampled = [index for index, count in enumerate(ticks[:8], 1) if count]
    assert {1, 2, 8} <= set(sampled)
    (bundle,) = notebook.run("%display_graph_for_all").bundles
    assert entries(bundle) == sampled


def test_cells_that_only_ask_have_no_number_of_the_papers(notebook):
    """Drawing takes long enough for a sample, at 100 Hz surely."""
    notebook.run("%jumper set rate=100")
    for _ in range(3):
        shown(notebook, "%%display_graph_for_all")
    assert len(shown(notebook, "%display_code_history").strip().splitlines()) == 2
    (bundle,) = notebook.run("%%display_graph_for_last").bundles
    assert entries(bundle) == [2]


def test_the_code_of_an_index_with_its_time(asked):
    text = shown(asked, "%%display_code_for_index 1")
    assert text.startswith("Cell timestamp: 20")
    assert f"# second\n{WORK}" in text


def test_graphs_of_the_last_of_an_index_of_all(asked):
    drawn = {
        code: asked.run(code).bundles[0]
        for code in (
            "%%display_graph_for_last",
            "%%display_graph_for_index 0",
            "%%display_graph_for_all",
        )
    }
    assert [entries(one) for one in drawn.values()] == [[2], [1], [1, 2]]
    assert all("data:image/svg+xml" in one["text/html"] for one in drawn.values())


@pytest.mark.parametrize(
    "name", ["display_graph_for_index", "display_code_for_index"], ids=lambda name: name
)
def test_an_index_that_isnt_there_is_said_and_the_notebook_goes_on(asked, name):
    assert "there is no cell 7: the cells with a sample are 0 to 1" in shown(asked, f"%%{name} 7")
    assert "write" in refused(asked, f"%%{name}")
    assert "'two' is no index" in refused(asked, f"%{name} two")


def test_without_a_sample_every_name_of_the_papers_answers(open_notebook, folder):
    notebook = open_notebook(cwd=folder)
    for name in ("graph_for_last", "graph_for_all", "graph_for_index 0", "code_for_index 0"):
        assert "no cell has a sample yet" in shown(notebook, f"%%display_{name}")
    shown(notebook, "%%display_code_history")
    shown(notebook, "%%perfdata_to_variable empty")
    assert value(notebook, "empty") == []


def test_perfdata_has_the_papers_shape(asked):
    said = shown(asked, "%%perfdata_to_variable myvar")
    assert "2 cells with samples" in said
    cells = value(asked, "myvar")
    assert len(cells) == 2
    cores = value(asked, CORES)
    for cell in cells:
        assert len(cell) == 9  # one node, and the means over all
        node, *means = cell
        cpu, memory, read_ops, write_ops, read, written, gpu, gpu_memory = node
        assert len(cpu) == cores + 3
        lengths = {len(one) for one in (*cpu, memory, read_ops, write_ops, read, written)}
        assert len(lengths) == 1
        assert lengths.pop() >= 2
        for row, mean in enumerate(cpu[-3]):
            used = [core[row] for core in cpu[:-3]]
            assert mean == pytest.approx(statistics.fmean(used))
            assert (cpu[-2][row], cpu[-1][row]) == (max(used), min(used))
        assert 0.01 < max(memory) < 10
        assert means == [
            cpu[-3],
            memory,
            read_ops,
            write_ops,
            read,
            written,
            gpu[-3],
            gpu_memory[-3],
        ]


def test_perfdata_counts_what_this_cell_read_and_wrote(notebook):
    """Theirs counts since the process began, only of the kernel's own process."""
    code = (
        "import os, time\nwith open('data', 'wb') as file:\n    file.write(bytes(8 << 20))\n"
        "    os.fsync(file.fileno())\ntime.sleep(.4)"
    )
    assert notebook.run(code).status == "ok"
    shown(notebook, "%%perfdata_to_variable v")
    assert value(notebook, "[max(one[0][5]) for one in v]")[-1] >= 8
    notebook.run(WORK)
    shown(notebook, "%%perfdata_to_variable v")
    assert value(notebook, "max(v[-1][0][5])") < 8


def test_perfdata_as_two_files(asked, folder):
    asked.run("%%perfdata_to_json myfile")
    asked.run("%perfdata_to_variable v")
    perfdata = json.loads((folder / "myfile_perfdata.json").read_text())
    assert perfdata == value(asked, "v")
    code = json.loads((folder / "myfile_code.json").read_text())
    assert [one[1] for one in code] == [WORK, f"# second\n{WORK}"]
    assert all(one[0].startswith("20") and " " in one[0] for one in code)
    assert asked.run("%%perfdata_to_json myfile").status == "ok"  # again, as theirs


def test_a_variable_must_have_a_name(asked):
    assert "name of a variable" in refused(asked, "%%perfdata_to_variable")
    assert "1x" in refused(asked, "%%perfdata_to_variable 1x")
    assert "begin of a file's name" in refused(asked, "%perfdata_to_json")
    assert "No such file" in refused(asked, "%perfdata_to_json nowhere/x")


# ---- jumper-extension's ----


def frame(notebook: Notebook, name: str) -> dict:
    return json.loads(value(notebook, f"{name}.to_json()"))


def test_start_sets_the_rate_and_stop_takes_it_back(notebook):
    assert "2 Hz (perfmonitor_start)" in shown(notebook, "%perfmonitor_start 0.5")
    assert "2 Hz" in shown(notebook, "%jumper")
    text = shown(notebook, "%perfmonitor_stop")
    assert "10 Hz" in text
    assert "measured on" in text
    assert "10 Hz" in shown(notebook, "%jumper")


def test_stop_goes_back_to_what_was_chosen_before(notebook):
    shown(notebook, "%jumper set rate=20 summary=always")
    shown(notebook, "%perfmonitor_fast_setup")
    shown(notebook, "%perfmonitor_start 1")
    shown(notebook, "%perfmonitor_stop")
    text = shown(notebook, "%jumper set")
    assert "rate=20" in text
    assert "summary=always" in text
    assert "min_reports=auto" in text


def test_start_takes_any_period_and_says_what_it_made_of_it(notebook):
    assert "0.1 Hz" in shown(notebook, "%perfmonitor_start 60")
    assert "out of 0.1 to 1000 Hz" in shown(notebook, "%perfmonitor_start 0.00001")
    assert "several nodes come" in shown(notebook, "%perfmonitor_start 1 --monitor slurm_multinode")
    assert "missing" in shown(notebook, "%perfmonitor_start --check-sanity")
    for wrong in ("often", "0", "-1", "nan", "1 2", "--monitor mine", "--depth 3"):
        assert "%perfmonitor_start" in refused(notebook, f"%perfmonitor_start {wrong}")


def test_nothing_is_lost_or_hidden_after_stop(notebook, folder):
    """Theirs then answers that no session is active."""
    shown(notebook, "%perfmonitor_start 0.05")
    notebook.run(WORK)
    shown(notebook, "%perfmonitor_stop")
    notebook.run(f"# after\n{WORK}")
    assert "# after" in shown(notebook, "%show_cell_history")
    assert len(notebook.run("%perfmonitor_plot").bundles) == 1
    assert "CPU" in shown(notebook, "%perfmonitor_perfreport")
    assert "rows" in shown(notebook, "%perfmonitor_export_perfdata --file all.csv")
    with (folder / "all.csv").open(newline="") as file:
        cells = {row["cell_index"] for row in csv.DictReader(file)}
    assert {"0", "1", "3", "5"} <= cells


def test_a_report_of_the_last_cell_with_a_sample(asked):
    (bundle,) = asked.run("%perfmonitor_perfreport").bundles
    assert bundle[JSON_TYPE]["cell"]["index"] == 2
    printed = asked.run("%perfmonitor_perfreport --level system --text")
    assert "CPU" in printed.stdout
    assert not printed.bundles


def test_a_report_of_several_cells(asked):
    (bundle,) = asked.run("%perfmonitor_perfreport --cell 0:1 --level process").bundles
    report = bundle[JSON_TYPE]["report"]
    assert report["cells"] == [0, 1]
    assert 1.1 <= report["duration_s"] < 20
    cpu = report["figures"]["CPU"]
    assert 0 < cpu["mean"] <= cpu["max"] <= 100
    assert report["figures"]["GPU"] is None or report["figures"]["GPU"]["mean"] >= 0
    assert "I/O" in bundle["text/plain"]


@pytest.mark.parametrize(
    ("cells", "meant"),
    [("0", [0]), ("0:1", [0, 1]), (":1", [0, 1]), ("1:", [1, 2]), ("-3:-2", [0, 1])],
)
def test_ranges_of_cells(notebook, cells, meant):
    """`-3:-2` is documented there, and refused."""
    notebook.run(WORK)
    (bundle,) = notebook.run(f"%perfmonitor_plot --cell {cells}").bundles
    assert entries(bundle) == [one + 1 for one in meant]


def test_ranges_that_are_none(asked):
    assert "there is no range 500:900" in shown(asked, "%perfmonitor_plot --cell 500:900")
    assert "there is no range 1:0" in shown(asked, "%perfmonitor_perfreport --cell 1:0")
    for wrong in ("a", "1-2", "--cell 1 2"):
        refused(asked, f"%perfmonitor_plot --cell {wrong}")


def test_reports_under_cells_on_and_off(notebook):
    work = WORK.replace(".55", ".3")
    assert notebook.run(work).bundles == []
    shown(notebook, "%perfmonitor_enable_perfreports --level system --interval 0.05 --text")
    (bundle,) = notebook.run(work).bundles
    assert bundle[JSON_TYPE]["ticks"] >= 3
    shown(notebook, "%jumper set rate=200")
    assert len(notebook.run("%perfmonitor_plot").bundles) == 1  # the curves alone
    assert "level node" in bundle["text/plain"]
    shown(notebook, "%perfmonitor_disable_perfreports")
    assert notebook.run(work).bundles == []
    shown(notebook, "%perfmonitor_fast_setup")
    assert len(notebook.run(work).bundles) == 1
    shown(notebook, "%perfmonitor_stop")
    assert notebook.run(work).bundles == []


def test_their_metrics_are_our_curves(asked):
    (bundle,) = asked.run("%perfmonitor_plot --metrics cpu_summary,memory --level system").bundles
    assert set(bundle[JSON_TYPE]["plot"]["metrics"]) == {"cpu", "memory"}
    assert bundle[JSON_TYPE]["plot"]["level"] == "node"
    assert "there is no metric" in refused(asked, "%perfmonitor_plot --metrics warp")
    assert "has no curve" in shown(asked, "%perfmonitor_plot --metrics gpu_band")
    done = asked.run("%perfmonitor_plot --metrics memory,net_nothing")
    assert done.ename == "UsageError"


def test_a_metric_without_a_value_is_said_beside_the_others(asked):
    done = asked.run("%perfmonitor_plot --metrics cpu_summary,gpu_mem_summary --level process")
    assert done.status == "ok"
    (bundle,) = done.bundles
    assert "cpu" in bundle[JSON_TYPE]["plot"]["metrics"]
    if "gpu_memory" not in bundle[JSON_TYPE]["plot"]["metrics"]:
        assert "gpu_memory" in done.displays[1]["text/plain"]


def test_a_plot_is_saved_as_picture_and_pickle(asked, folder):
    asked.run("%perfmonitor_plot --metrics cpu_summary,memory --save-jpeg analysis.jpg")
    assert (folder / "analysis.svg").read_text().startswith("<svg")
    code = "%perfmonitor_plot --metrics cpu_summary --level system --pickle analysis_data.pkl"
    assert "analysis_data.pkl" in shown(asked, code)
    analysis = pickle.loads((folder / "analysis_data.pkl").read_bytes())
    assert list(analysis) == [
        "figure_dict",
        "metrics",
        "processed_data",
        "cell_range",
        "level",
        "show_idle",
        "metric_subsets",
    ]
    (trace,) = analysis["figure_dict"]["data"]
    assert len(trace["x"]) == len(trace["y"])
    assert any(one is not None for one in trace["y"])
    assert analysis["cell_range"][0] == 0
    assert "memory" in analysis["processed_data"].columns


def test_live_curves_go_on_while_other_cells_run(notebook):
    assert "no number of seconds" in refused(notebook, "%perfmonitor_plot --live often")
    assert "--live takes" in refused(notebook, "%perfmonitor_plot --live 1 2 3")
    asked = notebook.send("%perfmonitor_plot --live 0.1 60 --metrics cpu_summary")
    assert notebook.take(asked).status == "ok"

    def updates():
        return [
            one
            for one in notebook.of(asked)
            if one["header"]["msg_type"] == "update_display_data"
            and 6 in entries(one["content"]["data"])  # the cell after it
        ]

    request = notebook.send("import time; time.sleep(1)")
    notebook.drain(lambda: len(updates()) >= 2)
    notebook.take(request)
    shown(notebook, "%perfmonitor_stop")
    count = len(notebook.of(asked))
    notebook.run("time.sleep(.5)")
    assert len(notebook.of(asked)) == count


def test_perfdata_as_a_frame(asked):
    cores = value(asked, CORES)
    for level in ("system", "process"):
        said = shown(asked, f"%perfmonitor_export_perfdata --level {level} --name {level}_df")
        assert f"{level}_df" in said
    names = value(asked, "list(system_df.columns)")
    assert names[0] == "time"
    assert names[-5:] == ["io_read_count", "io_write_count", "io_read", "io_write", "cell_index"]
    assert {f"cpu_util_{one}" for one in (*range(cores), "avg", "min", "max")} <= set(names)
    assert value(asked, "bool(system_df['cpu_util_0'].max() <= 100)")
    assert value(asked, "bool(process_df['cpu_util_avg'].max() > 0)")
    assert value(asked, "bool(process_df['cpu_util_0'].isna().all())")
    missing = value(asked, "process_df.attrs['jumper']['missing']")
    assert "for the node only" in missing["cpu_util_0"]
    assert value(asked, "float(process_df['memory'].max())") > 0.01
    spans = "cell_history_df.set_index('cell_index')"
    shown(asked, "%perfmonitor_export_cell_history")
    inside = value(
        asked,
        f"process_df.apply(lambda r: bool({spans}.start_time[r.cell_index] - .2 <= r.time <= "
        f"{spans}.end_time[r.cell_index] + .2), axis=1).tolist()",
    )
    assert all(inside)


def test_perfdata_as_a_file_both_ways(asked, folder):
    """The README names the file without --file, which theirs then doesn't write."""
    shown(asked, "%perfmonitor_export_perfdata mine.csv --level system")
    shown(asked, "%perfmonitor_export_perfdata --file mine.json --level system")
    shown(asked, "%perfmonitor_export_perfdata --file plain")
    assert (folder / "plain.csv").exists()
    records = json.loads((folder / "mine.json").read_text())
    with (folder / "mine.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 4
    assert list(rows[0]) == list(records[0])
    for name in ("mine.csv", "mine.json"):
        shown(asked, f"%perfmonitor_load_perfdata {name}")
        assert value(asked, "len(loaded_perfdata_df)") >= len(rows)
        kinds = value(asked, "{n: str(t) for n, t in loaded_perfdata_df.dtypes.items()}")
        assert kinds["cell_index"] == "Int64"
        assert kinds["memory"] == "float64"
    assert "it must be" not in shown(asked, "%perfmonitor_load_perfdata --file mine.csv")
    assert ".csv or .json" in refused(asked, "%perfmonitor_export_perfdata --file mine.xlsx")


def test_the_cell_history_as_a_frame_and_as_files(asked, folder):
    shown(asked, "%perfmonitor_export_cell_history --name mine")
    assert value(asked, "list(mine.columns)") == [
        "cell_index",
        "raw_cell",
        "start_time",
        "end_time",
        "duration",
        "wallclock_start_time",
        "wallclock_end_time",
        "cell_magics",
    ]
    assert value(asked, "mine.raw_cell.tolist()[:2]") == [WORK, f"# second\n{WORK}"]
    assert value(asked, "mine.cell_index.tolist()[:2]") == [0, 1]
    assert value(asked, "mine.cell_magics.tolist()[0]") == []
    for name in ("cells.json", "cells.csv"):
        shown(asked, f"%perfmonitor_export_cell_history {name}")
        shown(asked, f"%perfmonitor_load_cell_history {name}")
        assert value(asked, "loaded_cell_history_df.raw_cell.tolist()[0]") == WORK
        assert value(asked, "loaded_cell_history_df.duration.tolist()[0] > .5")
    start = value(asked, "float(mine.start_time[0])")
    assert start < value(asked, "__import__('time').perf_counter()") < start + 600


def test_without_pandas_files_are_written_and_frames_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = in_ipython(f"""
sys.modules["pandas"] = None
run("%load_ext jumper"); run({WORK!r})
names = ("perfdata", "perfdata --file p.csv", "cell_history c.json", "cell_history")
answer = [run("%perfmonitor_export_" + one)[1:] for one in names]
answer.append(run("%export_session mine")[1:])
""")
    frames = [answer[0], answer[3]]
    assert all("a DataFrame needs pandas" in out + err for out, err in frames)
    assert all(err == "" for _, err in (answer[1], answer[2], answer[4]))
    assert {one.name for one in tmp_path.iterdir()} >= {"p.csv", "c.json", "mine"}


def test_loading_refuses_what_is_no_such_file(asked, folder):
    asked.run("globals().pop('loaded_perfdata_df', None)", silent=True)
    (folder / "wrong.csv").write_text("time,memory\n1,2\n")
    (folder / "broken.csv").write_text("time,memory\n1\n")
    (folder / "words.csv").write_text((",".join(PERFDATA) + "\n") + "a" + "," * 8 + "\n")
    (folder / "broken.json").write_text("[" * 100_000)
    for name, why in {
        "wrong.csv": "no column io_read_count",
        "broken.csv": "line 2 has 1 fields",
        "words.csv": "column time holds something that is no number",
        "broken.json": "cannot read",
        "none.csv": "No such file",
        ".": "ending",
        "": "name of a CSV",
    }.items():
        assert why in refused(asked, f"%perfmonitor_load_perfdata {name}")
    assert not value(asked, "'loaded_perfdata_df' in globals()")


def test_resources(asked):
    text = shown(asked, "%perfmonitor_resources")
    cores = value(asked, "sorted(__import__('os').sched_getaffinity(0))")
    assert f"{len(cores)} of" in text
    assert ", ".join(map(str, cores)) in text
    assert "GB (system)" in text


def test_their_help_lists_every_name_of_theirs(asked):
    text = shown(asked, "%perfmonitor_help")
    for name, one in peers.NAMES.items():
        assert (f"%{name}" in text) == (one.of == "jumper-extension")


@pytest.mark.parametrize("name", peers.NAMES)
def test_every_name_has_help_and_takes_two_signs(asked, name):
    helped = asked.run(f"%{name}?", store_history=False)
    (page,) = helped.reply["content"]["payload"]
    assert "Docstring:" in page["data"]["text/plain"]
    assert "<no docstring>" not in page["data"]["text/plain"]


@pytest.mark.parametrize(
    ("line", "matches"),
    [
        ("%perfmonitor_plot --le", ["--level"]),
        ("%perfmonitor_plot --level s", ["slurm", "system"]),
        ("%perfmonitor_plot --metrics cpu_summary,io_re", ["io_read", "io_read_count"]),
        ("%perfmonitor_perfreport --", ["--cell", "--level", "--text"]),
        ("%perfmonitor_start --monitor n", ["native_c"]),
        ("%marshalling_settings MO", ["MODE="]),
        ("%marshalling_settings MODE=", ["disk", "memory"]),
        ("%%marshalling_settings\nMARSHALLER=p", ["parallel_marshall", "pickle"]),
        ("%perfmonitor_export_perfdata --f", ["--file"]),
    ],
)
def test_completion(asked, line, matches):
    assert sorted(asked.complete(line)) == matches


def test_what_stands_below_a_name_is_not_run_and_that_is_said(asked):
    assert "was not run" in shown(asked, "%%display_code_history\nz = 1")
    assert not value(asked, "'z' in globals()")
