"""`%export_session` and `%import_session`: ours, jumper-extension's, and what is neither."""

import contextlib
import csv
import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notebook import JSON_TYPE, Notebook
from test_peers_names import WORK, refused, shown, value

from jumper import frames, session_files
from jumper._native import Error

COLUMNS = [
    *("time", "cpu_util_0", "cpu_util_1", "cpu_util_avg", "cpu_util_min", "cpu_util_max"),
    *("memory", "io_read_count", "io_write_count", "io_read", "io_write", "cell_index"),
]
HISTORY = [
    *("cell_index", "raw_cell", "start_time", "end_time", "duration"),
    *("wallclock_start_time", "wallclock_end_time", "cell_magics"),
]
WALL_S = 1_764_000_000.0
CODE = 'print("a, b")\n# "quoted"'


def csv_of(names: list[str], rows: list[list]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([names, *rows])
    return file.getvalue()


def their_files() -> dict[str, str]:
    """As jumper-extension 0.4.1 documents and writes a session of one node without GPUs."""
    samples = []
    for tick in range(40):
        time_s = 100.0 + tick
        cell = 0 if 101 <= time_s <= 110 else 1 if 112 <= time_s <= 135 else ""
        cpu = [20.0, 60.0] if cell == 0 else [90.0, 100.0]
        figures = [sum(cpu) / 2, min(cpu), max(cpu), 1.5 + tick / 100, 3.0, 4.0, 1e6, 2e6]
        samples.append([time_s, *cpu, *figures, cell])
    cells = [
        [0, CODE, 101.0, 110.0, 9.0, WALL_S + 101, WALL_S + 110, "[]"],
        [1, "fit()", 112.0, 135.0, 23.0, WALL_S + 112, WALL_S + 135, "[]"],
        [2, "%perfmonitor_plot", 136.0, 136.1, 0.1, WALL_S + 136, WALL_S + 136.1, "['x']"],
    ]
    monitor = {
        "interval": 1.0,
        "start_time": 100.0,
        "stop_time": None,
        "wallclock_start_time": WALL_S + 100,
        "wallclock_stop_time": None,
        "num_cpus": 2,
        "num_system_cpus": 64,
        "num_gpus": 1,
        "gpu_memory": 79.65,
        "gpu_name": "a card",
        "memory_limits": {"user": 503.1, "process": 503.1, "system": 503.1},
        "cpu_handles": [4, 5],
        "pid": 4711,
        "uid": 1000,
        "slurm_job": "0",
        "os": "posix",
        "python": "3.12.1",
    }
    manifest = {
        "version": "1.0",
        "app": {"name": "JUmPER", "version": "unknown"},
        "monitor": monitor,
        "levels": ["user", "process", "system"],
        "schemas": {"perf": {"process": COLUMNS, "system": COLUMNS}, "cell_history": HISTORY},
        "visualizer": {"default_metric_subsets": ["cpu"], "figsize": [5, 3], "io_window": None},
        "reporter": {"level": "process", "format": "text", "thresholds": {"memory_ratio": 0.8}},
        "time_origin": "perf_counter",
        "timezone": "UTC",
    }
    return {
        "manifest.json": json.dumps(manifest, indent=2),
        "perf_process.csv": csv_of(COLUMNS, samples),
        "perf_system.csv": csv_of(COLUMNS, samples),
        "cell_history.csv": csv_of(HISTORY, cells),
    }


def write_folder(folder: Path, files: dict[str, str | bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    return folder


def write_zip(path: Path, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def notebook(open_notebook, tmp_path) -> Notebook:
    return open_notebook(cwd=tmp_path)


# ---- theirs, imported ----


@pytest.mark.parametrize("write", [write_folder, write_zip])
def test_a_session_of_theirs_answers_every_question(notebook, tmp_path, write):
    write(tmp_path / "theirs.zip", their_files())
    assert "tables" in shown(notebook, "%import_session theirs.zip")
    (bundle,) = notebook.run("%perfmonitor_plot").bundles
    plot = bundle[JSON_TYPE]["plot"]
    assert [one["index"] for one in plot["cells"]] == [0, 1, 2]
    assert plot["metrics"]["cpu"]["tracks"]["CPU"]["max"] == 95
    assert "iframe" in bundle["text/html"]
    (history,) = notebook.run("%show_cell_history").bundles
    assert CODE.splitlines()[0] in history["text/plain"]
    assert "2025-11" in history["text/plain"]
    text = shown(notebook, "%perfmonitor_resources")
    assert "2 of 64" in text
    assert "503.10 GB (process)" in text
    assert "a card, 79.65 GB" in text
    report = notebook.run("%perfmonitor_perfreport --cell 0:1").bundles[0][JSON_TYPE]["report"]
    assert report["duration_s"] == pytest.approx(32)
    assert report["figures"]["CPU"]["max"] == 95
    assert 40 < report["figures"]["CPU"]["mean"] < 95
    last = notebook.run("%perfmonitor_perfreport --level system").bundles[0][JSON_TYPE]["report"]
    assert last["cells"] == [1]
    assert "no samples of level user" in shown(notebook, "%perfmonitor_perfreport --level user")


def test_curves_of_theirs_by_cell_and_metric(notebook, tmp_path):
    write_folder(tmp_path / "theirs", their_files())
    shown(notebook, "%import_session theirs")
    code = "%perfmonitor_plot --cell 0 --metrics memory,io_read --level system"
    plot = notebook.run(code).bundles[0][JSON_TYPE]["plot"]
    assert [one["index"] for one in plot["cells"]] == [0]
    assert set(plot["metrics"]) == {"memory", "storage"}
    memory = plot["metrics"]["memory"]["tracks"]["memory"]
    assert memory["min"] == pytest.approx(1.51 * 2**30, rel=1e-3)


def test_exports_are_of_the_imported_session_until_start(notebook, tmp_path):
    write_folder(tmp_path / "theirs", their_files())
    notebook.run("x = 1")
    shown(notebook, "%import_session theirs")
    shown(notebook, "%perfmonitor_export_perfdata --level process")
    assert value(notebook, "len(perfdata_df)") == 10 + 24 + 1
    shown(notebook, "%perfmonitor_export_cell_history")
    assert value(notebook, "cell_history_df.raw_cell.tolist()[1]") == "fit()"
    assert value(notebook, "cell_history_df.start_time.tolist()[1]") == pytest.approx(112, abs=1e-4)
    shown(notebook, "%export_session again.zip")
    shown(notebook, "%perfmonitor_start")
    assert "x = 1" in shown(notebook, "%show_cell_history")
    shown(notebook, "%import_session again.zip")
    assert "fit()" in shown(notebook, "%show_cell_history")
    assert "2 of 64" in shown(notebook, "%perfmonitor_resources")


# ---- ours, there and back ----


@pytest.mark.parametrize("target", ["mine", "mine.zip", ""])
def test_a_session_of_ours_comes_back_whole(open_notebook, tmp_path, target):
    notebook = open_notebook(cwd=tmp_path)
    notebook.run(WORK)
    (known,) = notebook.run("%jumper summary #1").bundles
    text = shown(notebook, f"%export_session {target}")
    assert "recording.jumper" in text
    path = target or next(tmp_path.glob("jumper-session-*")).name
    other = open_notebook(cwd=tmp_path)
    assert "a recording" in shown(other, f"%import_session {path}")
    assert WORK.splitlines()[1] in shown(other, "%show_cell_history")
    (summary,) = other.run("%perfmonitor_perfreport").bundles
    assert summary[JSON_TYPE]["cell"] == known[JSON_TYPE]["cell"]
    assert summary[JSON_TYPE]["levels"]["process"] == known[JSON_TYPE]["levels"]["process"]
    (plot,) = other.run("%perfmonitor_plot --cell 0 --metrics cpu").bundles
    assert plot[JSON_TYPE]["plot"]["metrics"]["cpu"]["tracks"]["CPU"]["max"] > 0
    pid = notebook.pid
    manifest = json.loads(read_member(tmp_path / path, "manifest.json"))
    assert manifest["monitor"]["pid"] == pid
    other.run("%perfmonitor_export_perfdata")
    assert value(other, "int(perfdata_df.cell_index.max())") <= 1


def read_member(path: Path, name: str) -> bytes:
    if path.is_dir():
        return (path / name).read_bytes()
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def test_what_is_exported_is_laid_out_as_theirs(notebook, tmp_path):
    """Read without anything of ours."""
    notebook.run(WORK)
    notebook.run("z = 1")
    shown(notebook, "%export_session mine")
    manifest = json.loads((tmp_path / "mine" / "manifest.json").read_text())
    theirs = json.loads(their_files()["manifest.json"])
    assert manifest.keys() == theirs.keys() | {"jumper"}
    assert manifest["monitor"].keys() == theirs["monitor"].keys()
    assert {"process", "system"} <= set(manifest["levels"])
    for level, names in manifest["schemas"]["perf"].items():
        with (tmp_path / "mine" / f"perf_{level}.csv").open(newline="") as file:
            assert next(csv.reader(file)) == names
    with (tmp_path / "mine" / "cell_history.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert [one["raw_cell"] for one in cells] == [WORK, "z = 1"]
    assert list(cells[0]) == HISTORY
    monitor = manifest["monitor"]
    clock = monitor["wallclock_start_time"] - monitor["start_time"]
    begin_s = float(cells[0]["wallclock_start_time"]) - float(cells[0]["start_time"])
    assert clock == pytest.approx(begin_s, abs=0.01)


def test_a_session_of_ours_without_the_recording_is_one_of_theirs(notebook, tmp_path):
    notebook.run(WORK)
    shown(notebook, "%export_session mine")
    (tmp_path / "mine" / "recording.jumper").unlink()
    assert "tables" in shown(notebook, "%import_session mine")
    (plot,) = notebook.run("%perfmonitor_plot --cell 0").bundles
    assert plot[JSON_TYPE]["plot"]["metrics"]["cpu"]["tracks"]["CPU"]["max"] > 0
    (report,) = notebook.run("%perfmonitor_perfreport --cell 0").bundles
    assert report[JSON_TYPE]["report"]["figures"]["CPU"]["max"] > 0


def test_export_works_after_stop_and_twice(notebook, tmp_path):
    notebook.run(WORK)
    shown(notebook, "%perfmonitor_stop")
    for _ in range(2):
        shown(notebook, "%export_session mine.zip")
        shown(notebook, "%export_session mine")
    assert "a recording" in shown(notebook, "%import_session mine.zip")
    assert not list(tmp_path.glob(".jumper-*"))


def test_what_cant_be_written_is_an_error(notebook, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot make the folder" in refused(notebook, "%export_session file/x")
    assert "cannot write" in refused(notebook, "%export_session nowhere/x.zip")
    assert "does not know" in refused(notebook, "%export_session a b")
    assert "it needs a folder" in refused(notebook, "%import_session")


# ---- what is neither ----


def broken_cells(**changes) -> dict[str, str]:
    files = their_files()
    rows = list(csv.reader(io.StringIO(files["cell_history.csv"])))
    for name, content in changes.items():
        rows[1][HISTORY.index(name)] = content
    return files | {"cell_history.csv": csv_of(rows[0], rows[1:])}


def with_manifest(**changes) -> dict[str, str]:
    files = their_files()
    return files | {"manifest.json": json.dumps(json.loads(files["manifest.json"]) | changes)}


HOSTILE = {
    "no manifest": ({"perf_process.csv": "time\n1\n"}, "no manifest.json"),
    "no JSON": ({"manifest.json": "{"}, "manifest.json is broken"),
    "deep JSON": ({"manifest.json": "[" * 100_000}, "manifest.json is broken"),
    "no text": ({"manifest.json": b"\xff\xfe\x00"}, "manifest.json is broken"),
    "a list": ({"manifest.json": "[]"}, "holds no object"),
    "another version": (with_manifest(version="2.0"), "its version is '2.0'"),
    "a version of no kind": (with_manifest(version={"a": 1}), "its version is"),
    "huge manifest": (
        {"manifest.json": json.dumps({"version": "1.0", "x": "y" * (2 << 20)})},
        "larger than 1 MiB",
    ),
    "nothing else": ({"manifest.json": '{"version": "1.0"}'}, "neither samples nor cells"),
    "no recording": (
        with_manifest(jumper={"first_entry": 1, "last_entry": 1})
        | {"recording.jumper": b"JUMP" * 9},
        "",
    ),
    "no entry": (
        with_manifest(jumper={"first_entry": "../.."}) | {"recording.jumper": b""},
        "is no entry",
    ),
    "jumper is no object": (with_manifest(jumper=[1]), "holds no object"),
    "short row": (
        their_files() | {"perf_process.csv": csv_of(COLUMNS, [[1]])},
        "line 2 has 1 fields, the first line 12",
    ),
    "words": (
        their_files() | {"perf_process.csv": csv_of(COLUMNS, [["x"] * 12])},
        "holds something that is no number",
    ),
    "infinite": (
        their_files() | {"perf_process.csv": csv_of(COLUMNS, [["inf"] * 12])},
        "holds something that is no number",
    ),
    "columns twice": (
        their_files() | {"perf_process.csv": csv_of([*COLUMNS, "time"], [])},
        "each once",
    ),
    "open quote": (their_files() | {"cell_history.csv": 'cell_index\n"1'}, "cell_history.csv"),
    "many columns": (
        their_files() | {"perf_process.csv": ",".join(map(str, range(9000)))},
        "more than 5000 columns",
    ),
    "columns are missing": (
        their_files() | {"cell_history.csv": "cell_index\n1\n"},
        "no column raw_cell",
    ),
    "no number": (broken_cells(cell_index=""), "no number or no time"),
    "half a number": (broken_cells(cell_index="0.5"), "no whole number"),
    "other numbers": (broken_cells(cell_index="7"), "aren't numbered 0, 1, 2"),
    "backwards": (broken_cells(duration="-1"), "no number or no time"),
    "zero bytes": (their_files() | {"cell_history.csv": b"\0\0\0"}, "cell_history.csv"),
}


@pytest.mark.parametrize("write", [write_folder, write_zip])
@pytest.mark.parametrize("case", HOSTILE)
def test_a_broken_session_is_refused_by_name(tmp_path, case, write):
    files, why = HOSTILE[case]
    path = write(tmp_path / "bad.zip", files)
    with pytest.raises(Error) as refusal:
        session_files.load(str(path))
    assert why in str(refusal.value)


@pytest.mark.parametrize("name", ["../manifest.json", "/etc/manifest.json", "a/../../x", "..\\x"])
def test_a_zip_that_leads_out_of_itself_is_refused(tmp_path, name):
    path = write_zip(tmp_path / "bad.zip", their_files() | {name: "{}"})
    with pytest.raises(Error, match="outside of it"):
        session_files.load(str(path))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bad.zip"]


def test_a_link_in_a_folder_is_not_followed(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text(their_files()["perf_process.csv"])
    folder = write_folder(tmp_path / "bad", their_files())
    for name in ("perf_process.csv", "manifest.json", "recording.jumper"):
        write_folder(folder, their_files())
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(secret)
        with pytest.raises(Error, match="is a link"):
            session_files.load(str(folder))
        (folder / name).unlink()


def test_a_pipe_in_a_folder_keeps_nobody_waiting(tmp_path):
    folder = write_folder(tmp_path / "bad", their_files())
    (folder / "perf_user.csv").unlink(missing_ok=True)
    os.mkfifo(folder / "perf_user.csv")
    with pytest.raises(Error, match="no regular file"):
        session_files.load(str(folder))


def test_a_zip_that_unpacks_to_more_than_it_should(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "MOST_BYTES", 1 << 20)
    bomb = their_files() | {"perf_process.csv": b"0" * (64 << 20)}
    path = write_zip(tmp_path / "bad.zip", bomb)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(Error, match=r"perf_process\.csv is larger than 1 MiB"):
        session_files.load(str(path))


def test_a_zip_with_a_name_twice_or_with_too_many_is_refused(tmp_path):
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("manifest.json", "{}")
    with pytest.raises(Error, match="twice"):
        session_files.load(str(path))
    write_zip(path, {f"{one}": "" for one in range(1500)})
    with pytest.raises(Error, match="more than 1000 files"):
        session_files.load(str(path))


def test_a_zip_cut_anywhere_is_refused(tmp_path):
    data = write_zip(tmp_path / "whole.zip", their_files()).read_bytes()
    path = tmp_path / "cut.zip"
    for length in range(0, len(data), 97):
        path.write_bytes(data[:length])
        with pytest.raises(Error, match="cannot import"):
            session_files.load(str(path))


def test_a_zip_with_any_byte_changed_is_read_or_refused(tmp_path):
    data = write_zip(tmp_path / "whole.zip", their_files()).read_bytes()
    path = tmp_path / "changed.zip"
    for place in range(0, len(data), 41):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            session_files.load(str(path))
        except Error:
            continue


@settings(deadline=None)
@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_a_table_or_refused(data, is_json):
    try:
        columns = frames.parse(data, "x", ("a",), is_json=is_json)
    except Error as error:
        assert "cannot read 'x'" in str(error)  # noqa: PT017
    else:
        assert len({len(one) for one in columns.values()}) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON)
def test_any_json_is_a_table_or_refused(whole):
    with contextlib.suppress(Error):
        columns = frames.parse(json.dumps(whole).encode(), "x", ("a",), is_json=True)
        assert len({len(one) for one in columns.values()}) == 1


def test_a_refused_import_changes_nothing(notebook, tmp_path):
    notebook.run("x = 1")
    (tmp_path / "note.txt").write_text("no zip")
    assert "neither a folder nor a zip" in refused(notebook, "%import_session note.txt")
    assert "cannot import" in refused(notebook, "%import_session nowhere")
    assert "x = 1" in shown(notebook, "%show_cell_history")


def test_foreign_numbers_of_a_manifest_are_shown_or_unknown(notebook, tmp_path):
    monitor = {
        "num_cpus": "many",
        "num_system_cpus": 1e300,
        "num_gpus": 2,
        "gpu_name": ["<script>"],
        "gpu_memory": None,
        "memory_limits": [1],
        "cpu_handles": "all",
    }
    write_folder(tmp_path / "odd", with_manifest(monitor=monitor))
    shown(notebook, "%import_session odd")
    done = notebook.run("%perfmonitor_resources")
    assert done.status == "ok"
    assert "unknown of unknown" in done.displays[0]["text/plain"]
    assert "<script>" not in done.displays[0]["text/html"]
