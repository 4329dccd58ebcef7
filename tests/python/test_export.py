"""`%jumper export` and `save`: the same numbers in every form, and files whole or not at all."""

import csv
import json
import math
import os
import shutil
import stat
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from notebook import in_ipython

from jumper.session import program

NAMES = {"csv", "json", "npz", "parquet", "arrow", "feather"}
WORK = "import time; x = sum(i * i for i in range(2_000_000)); y = bytearray(30_000_000)"
SETUP = f"""
run("%load_ext jumper")
for _ in range(2):
    run({WORK!r} + "; time.sleep(.4)")
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> tuple[Path, dict]:
    """One export in all forms, with the summaries of its cells."""
    folder = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.chdir(folder)
        answer = in_ipython(f"""{SETUP}
for level in ("process", "all"):
    for ending in {sorted(NAMES)!r}:
        result = run(f"%jumper export #1-#2 --level {{level}} -o {{level}}.{{ending}}")
        assert result[0].success, result
    assert run(f"%jumper export #1-#2 --level {{level}} --to frame")[0].success
    shell.user_ns["frame"].drop(columns="time").to_pickle(level + ".pickle")
answer["attrs"] = shell.user_ns["frame"].attrs["jumper"]
answer["time"] = [str(one) for one in shell.user_ns["frame"]["time"]]
session = extension().session
answer["summaries"] = [json.loads(session.summary(index, "all").json) for index in (1, 2)]
answer["plot"] = json.loads(session.plot([1, 2]).json)
answer["code"] = session.code(1).decode()
""")
    return folder, answer


def columns_of(folder: Path, level: str, ending: str) -> dict[str, list[float | None]]:
    """By name, unknown as None."""
    path = folder / f"{level}.{ending}"
    if ending == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            names, *rows = csv.reader(file)
        by_column = zip(*rows, strict=True)
        return {
            name: [json.loads(one) if one else None for one in column]
            for name, column in zip(names, by_column, strict=True)
        }
    if ending == "json":
        return json.loads(path.read_text(encoding="utf-8"))["data"]
    if ending == "parquet":
        return pq.read_table(path).to_pydict()
    if ending in ("arrow", "feather"):
        with pa.ipc.open_file(path) as file:
            return file.read_all().to_pydict()
    if ending == "npz":
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name].tolist() for name in file.files if name != "jumper_head"}
    else:
        found = {name: column.tolist() for name, column in pd.read_pickle(path).items()}
    return {
        name: [None if isinstance(one, float) and math.isnan(one) else one for one in column]
        for name, column in found.items()
    }


@pytest.mark.parametrize("level", ["process", "all"])
@pytest.mark.parametrize("ending", sorted(NAMES - {"json"} | {"pickle"}))
def test_every_form_has_the_same_numbers(exported, level, ending):
    folder, _ = exported
    truth = columns_of(folder, level, "json")
    assert columns_of(folder, level, ending) == truth
    assert len(truth["cell_index" if level == "all" else "cpu_time_ns"]) > 8
    assert any(None in column for column in truth.values())


@pytest.mark.parametrize("name", ["process", "node"])
def test_the_numbers_are_those_of_the_summary(exported, name):
    folder, answer = exported
    table = columns_of(folder, "all", "json")
    for index, summary in zip((1, 2), answer["summaries"], strict=True):
        rows = [row for row, cell in enumerate(table["cell_index"]) if cell == index]
        figures = summary["levels"][name]

        def column(metric: str, rows=rows) -> list[float]:
            values = [table[f"{name}.{metric}"][row] for row in rows]
            return [one for one in values if one is not None]

        assert max(column("cpu_percent")) == figures["cpu_percent"]["max"]
        assert min(column("cpu_percent")) == figures["cpu_percent"]["min"]
        assert max(column("threads")) == figures["threads"]["max"]
        assert max(column("memory_bytes")) == figures["memory_bytes"]["max"]
        # And the two edges; a tick may lie between an edge and its sample.
        assert summary["ticks"] + 2 <= len(rows) <= summary["ticks"] + 4
        assert summary["cell"]["execution_count"] in {table["execution_count"][row] for row in rows}
        times = [table["time_unix_ns"][row] for row in rows]
        assert times == sorted(times)
        begin = pd.Timestamp(summary["cell"]["begin"])
        assert abs(pd.Timestamp(times[0], tz="UTC") - begin) < pd.Timedelta("60ms")


@pytest.mark.parametrize("level", ["process", "node"])
@pytest.mark.parametrize(("metric", "figure"), [("cpu", "cpu_percent"), ("memory", "memory_bytes")])
def test_the_plot_has_the_same_peaks(exported, level, metric, figure):
    _, answer = exported
    panels = next(one for one in answer["plot"]["metrics"] if one["id"] == metric)["panels"]
    track = panels[level]["tracks"][0]
    peaks = [one for one in track.get("max", track["mean"]) if one is not None]
    most = max(one["levels"][level][figure]["max"] for one in answer["summaries"])
    assert max(peaks) == pytest.approx(most, rel=1e-4)  # five digits


def test_the_json_says_what_it_holds(exported):
    folder, answer = exported
    table = json.loads((folder / "process.json").read_text(encoding="utf-8"))
    assert table["version"] == 1
    assert table["level"] == "process"
    assert [one["name"] for one in table["columns"]] == list(table["data"])
    units = {one["name"]: one["unit"] for one in table["columns"]}
    assert units["memory_bytes"] == "B"
    assert units["io_read_bytes_per_s"] == "B/s"
    assert units["cpu_percent"] == "%"
    assert [one["code"] for one in table["cells"]] == [answer["code"]] * 2
    assert table["cells"][0]["summary"] == answer["summaries"][0]
    assert table["gaps"] == []
    for column in table["missing"]:
        assert column["reason"].split(":")[0] in ("not yet", "not permitted", "not supported")
    assert {one["column"] for one in table["missing"]} >= {"net_receive_bytes"}


def test_the_others_carry_it_along(exported):
    folder, answer = exported
    heads = [
        pq.read_schema(folder / "all.parquet").metadata[b"jumper"],
        pa.ipc.open_file(folder / "all.arrow").schema.metadata[b"jumper"],
        str(np.load(folder / "all.npz")["jumper_head"]),
    ]
    truth = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    del truth["data"]
    for head in heads:
        assert json.loads(head) == truth
    assert answer["attrs"]["missing"] == truth["missing"]
    assert answer["attrs"]["units"]["process.memory_bytes"] == "B"


def test_the_frame_has_utc_times(exported):
    folder, answer = exported
    times = columns_of(folder, "all", "json")["time_unix_ns"]
    assert [pd.Timestamp(one).value for one in answer["time"]] == times
    assert answer["time"][0].endswith("+00:00")


def test_csv_is_rfc_4180(exported):
    folder, _ = exported
    raw = (folder / "process.csv").read_bytes()
    assert raw.endswith(b"\r\n")
    assert raw.count(b"\n") == raw.count(b"\r\n")
    frame = pd.read_csv(folder / "process.csv")
    assert frame["cell_index"].tolist() == columns_of(folder, "process", "json")["cell_index"]


ASKED = f"""{SETUP}
def ask(line):
    result, out, err = run("%jumper " + line)
    return err if result.error_in_exec else out
"""


def test_files_are_written_whole_and_replaced_only_by_force(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "null.csv").symlink_to("/dev/null")
    os.mkfifo(tmp_path / "pipe.csv")
    answer = in_ipython(f"""{ASKED}
import os
os.umask(0o027)
answer = [ask(line) for line in (
    "export -o new.csv", "export -o there.csv", "export -o folder.csv --force",
    "export -o missing/x.csv", "export -o x.xls", "export -o x", "export --to a -o b.csv", "export",
    "export -o", "export 77 -o x.csv", "export --depth 3", "export --level gpu --to a",
    "export -o there.csv --force", "export -o pipe.csv --force", "export -o null.csv --force")]
""")
    said = [one.removeprefix("UsageError: %jumper: ").strip() for one in answer]
    assert "new.csv" in said[0]
    assert said[1] == (
        f"cannot write '{tmp_path}/there.csv': it is there already; --force replaces it"
    )
    assert "it is there, and no regular file" in said[2]
    assert said[3].startswith(f"cannot write '{tmp_path}/missing/x.csv': No such file")
    assert said[4].startswith("cannot export to 'x.xls': its ending names no format; the endings")
    assert said[5].startswith("cannot export to 'x'")
    assert said[6].startswith("export needs one target: --to NAME")
    assert said[7] == said[6]
    assert said[8].startswith("-o needs a value")
    assert said[9].startswith("there is no measured cell In [77]")
    assert said[10] == "--depth is no option of export: it knows --level, --to, -o, --force"
    assert said[11].startswith("level=gpu is refused")
    assert (tmp_path / "there.csv").read_text().startswith("cell_index,")
    assert "no regular file" in said[13]
    assert "no regular file" in said[14]
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o640
    assert {one.name for one in tmp_path.iterdir()} >= {"new.csv", "there.csv", "folder.csv"}
    assert not list(tmp_path.glob(".*.part"))


def test_what_fails_midway_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = in_ipython(f"""{ASKED}
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
answer = [ask("export -o small." + ending) for ending in {sorted(NAMES)!r}] + [ask("save s.jumper")]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
""")
    for one in answer:
        assert "File too large (errno 27)" in one
    assert not list(tmp_path.glob("*small*")) + list(tmp_path.glob(".jumper-*"))


def test_a_variable_says_what_it_replaces():
    answer = in_ipython(f"""{ASKED}
import math
shell.user_ns["mine"] = 5
shell.user_ns["math"] = math
answer["said"] = [ask("export 2 --to " + name) for name in (
    "frame", "mine", "math", "list", "größe", "2x", "class", "a.b", "_", "In")]
answer["rows"] = len(shell.user_ns["größe"])
""")
    said = answer["said"]
    assert "frame: a pandas DataFrame" in said[0]
    assert "replaced" not in said[0]
    assert "mine was a variable of type int" in said[1]
    assert "math was the module math" in said[2]
    assert "list was Python's own" in said[3]
    assert answer["rows"] > 2
    for one in said[5:8]:
        assert "is refused: a variable's name is needed" in one
    for one in said[8:]:
        assert "is refused: that name is IPython's own" in one


BLOCK = "import sys\nfor name in {!r}: sys.modules[name] = None\n"


@pytest.mark.parametrize(
    ("absent", "what"),
    [
        (["pandas"], "a dict of NumPy arrays (pandas can't be imported)"),
        (["pandas", "numpy"], "a dict of lists (neither pandas nor NumPy can be imported)"),
    ],
)
def test_without_pandas_or_numpy(absent, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = in_ipython(
        f"""{ASKED}
answer["said"] = ask("export 2 --to data") + ask("export 2 -o data.json")
data = shell.user_ns["data"]
answer["data"] = {{name: list(map(int, column)) for name, column in data.items()
                  if name in ("cpu_time_ns", "memory_bytes", "time_unix_ns")}}
answer["unknown"] = repr(list(data["cpu_percent"])[0])
answer["npz"] = ask("export -o x.npz")
answer["parquet"] = ask("export -o x.parquet")
""",
        before=BLOCK.format([*absent, "pyarrow"]),
    )
    assert what in answer["said"]
    truth = json.loads((tmp_path / "data.json").read_text())["data"]
    for name, column in answer["data"].items():
        assert column == truth[name]
    assert answer["unknown"] in ("None", "np.float64(nan)", "nan")
    assert ("an .npz file needs NumPy: pip install numpy" in answer["npz"]) == ("numpy" in absent)
    assert "this format needs pyarrow: pip install pyarrow; or choose" in answer["parquet"]


def test_arrays_outlive_the_session():
    answer = in_ipython(
        f"""{ASKED}
import gc
ask("export 2 --to data")
array = shell.user_ns.pop("data")["memory_bytes"]
before = array.tolist()
run("%unload_ext jumper")
gc.collect()
answer = before == array.tolist() and len(before) > 2
""",
        before=BLOCK.format(["pandas"]),
    )
    assert answer


def test_a_saved_recording_opens_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = in_ipython(f"""{ASKED}
answer["said"] = ask("save 'a copy.jumper'")
answer["again"] = ask("save 'a copy.jumper'")
answer["none"] = ask("save")
session = extension().session
answer["summary"] = json.loads(session.summary(1, "all").json)
answer["opened"] = [ask("open 'a copy.jumper' " + question) for question in (
    "", "summary #1", "history", "code #1", "compare #1 #2", "total", "export #1 --to opened",
    "export #1-2 -o opened.csv", "save x")]
answer["rows"] = len(shell.user_ns["opened"])
""")
    assert "a copy.jumper" in answer["said"]
    assert "it is there already; --force replaces it" in answer["again"]
    assert "save needs the path of the copy" in answer["none"]
    opened = answer["opened"]
    assert "closed: this is a copy, saved while the recording went on" in opened[0]
    assert all("UsageError" not in one for one in opened[:-1])
    assert "there is no question about a recording 'save'" in opened[-1]
    assert answer["rows"] > 2
    assert (tmp_path / "opened.csv").read_text().startswith("cell_index,")
    shutil.move("a copy.jumper", tmp_path / "moved.jumper")
    done = subprocess.run(
        [program(), "report", "--json", "moved.jumper"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, *_ = (json.loads(line) for line in done.stdout.splitlines())
    assert first == answer["summary"]


def test_cells_without_a_number_and_odd_code(tmp_path, monkeypatch):
    """Case 19 and case 53: silent and empty cells leave no rows, names and text survive."""
    folder = tmp_path / "ein 'Ordner' größer"
    folder.mkdir()
    monkeypatch.chdir(folder)
    code = 'größe = "\\U0001F600"; "\\ud800"; Δt = 1'
    in_ipython(
        f"""
run("%load_ext jumper")
run("")
run("def (:")
run("import time; time.sleep(1)", store_history=False)
run({code!r})
run("%jumper export all -o größe.json")
run("%jumper export all -o größe.csv")
""",
        env={"LC_ALL": "C"},
    )
    table = json.loads((folder / "größe.json").read_text(encoding="utf-8"))
    cells = [one["summary"]["cell"] for one in table["cells"]]
    assert [one["outcome"] for one in cells][:1] == ["error"]
    assert cells[0]["duration_s"] < 0.05
    assert table["cells"][-1]["code"] == code
    assert set(table["data"]["cell_index"]) <= {one["index"] for one in table["cells"]}
    assert (folder / "größe.csv").read_text(encoding="utf-8").startswith("cell_index,")


def test_the_verbs_in_a_real_kernel(shared_notebook, tmp_path):
    """Case 21: no front end, no stdin; what is shown is one display each."""
    shared_notebook.run("%jumper set summary=never")
    shared_notebook.run(WORK)
    for line in (
        "export -1 --to samples",
        f"export -1 -o {tmp_path}/x.json",
        f"save {tmp_path}/x.jumper",
        "total",
        "compare -1 -1",
    ):
        run = shared_notebook.run(f"%jumper {line}")
        assert run.status == "ok", run.traceback
        assert len(run.displays) == 1
        assert run.stdout == run.stderr == ""
    assert shared_notebook.run("len(samples) > 1").result == "True"


def test_edges_of_the_file_system(tmp_path, monkeypatch):
    from jumper import Error
    from jumper.exporting import save

    target = tmp_path / "x.csv"
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    save(str(link), lambda file: file.write(b"one"), force=False)
    assert link.is_symlink()
    assert target.read_bytes() == b"one"

    def taken(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", taken)
    with pytest.raises(Error, match="it is there already"):
        save(str(target), lambda file: file.write(b"two"), force=False)
    assert target.read_bytes() == b"one"
    save(str(tmp_path / "y.csv"), lambda file: file.write(b"two"), force=False)
    assert (tmp_path / "y.csv").read_bytes() == b"two"
    monkeypatch.undo()

    def comes_between(file):
        (tmp_path / "z.csv").write_bytes(b"theirs")
        file.write(b"ours")

    with pytest.raises(Error, match="it is there already"):
        save(str(tmp_path / "z.csv"), comes_between, force=False)
    assert (tmp_path / "z.csv").read_bytes() == b"theirs"

    def interrupted(file):
        file.write(b"ours")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save(str(tmp_path / "k.csv"), interrupted, force=False)
    assert not (tmp_path / "k.csv").exists()
    assert not list(tmp_path.glob(".*"))
    assert (tmp_path / "x.csv").read_bytes() == b"one"
