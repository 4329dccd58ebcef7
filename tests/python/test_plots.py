"""Plots: the same figures as the summaries, peaks and gaps kept, the magic and its refusals."""

import json
import math
import os
import random
import time
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notebook import JSON_TYPE

import jumper
from jumper import _native, plotting

WORK = "sum(i * i for i in range(400_000))"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A real recording: computing, memory, files, idleness; the time between is short."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("recorded")
        patch.setenv("JUMPER_DIR", str(folder))
        with jumper.session(label="real") as session:
            with session.cell("compute"):
                end = time.monotonic() + 1.2
                while time.monotonic() < end:
                    exec(WORK)
            with session.cell("memory"):
                held = bytearray(b"x" * 80_000_000)
                time.sleep(0.5)
                del held
                time.sleep(0.4)
            with session.cell("files"):
                for _ in range(5):
                    time.sleep(0.15)  # first: the sample at the begin doesn't hold the cell up
                    (folder / "file").write_bytes(b"x" * 5_000_000)
                    (folder / "file").read_bytes()
            path = session.path
    return _native.Report.open(path)


def of_cell(plot, metric, level, cell):
    """The highest value of a metric's first track within a cell; None: nothing is known."""
    panel = next(one for one in plot["metrics"] if one["id"] == metric)["panels"].get(level)
    if panel is None:
        return None
    track = panel["tracks"][0]
    edges = plot["edges_s"]
    inside = [
        value
        for value, begin, end in zip(
            track.get("max", track["mean"]), edges, edges[1:], strict=False
        )
        if value is not None and cell["begin_s"] <= (begin + end) / 2 <= cell["end_s"]
    ]
    return max(inside, default=None)


@pytest.mark.parametrize("most", [20, 600])
def test_a_cells_peak_is_that_of_its_summary(recorded, most):
    plot = json.loads(recorded.plot(most_buckets=most).json)
    assert len(plot["cells"]) == 3
    for cell in plot["cells"]:
        summary = json.loads(recorded.summary(cell["index"], "all").json)
        for level, figures in summary["levels"].items():
            if level not in plot["levels"] or figures is None:
                continue
            for metric, key in (("cpu", "cpu_percent"), ("memory", "memory_bytes")):
                expected = figures[key]["max"]
                found = of_cell(plot, metric, level, cell)
                # A summary without counters at both edges says nothing of the rates between.
                if expected is not None:
                    assert found is not None, (cell["index"], level, metric)
                    assert found == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_what_was_read_and_written_is_in_the_rates(recorded):
    plot = json.loads(recorded.plot([3]).json)
    widths = np.diff(plot["edges_s"])
    io = next(one for one in plot["metrics"] if one["id"] == "io")["panels"]["process"]
    for track in io["tracks"]:
        gained = sum(
            rate * width
            for rate, width in zip(track["mean"], widths, strict=True)
            if rate is not None
        )
        assert gained == pytest.approx(25_000_000, rel=0.1)


def test_all_three_forms_say_the_same(recorded):
    plot = recorded.plot([1, 2])
    assert plot.text.startswith("real · #1 and #2 · ")
    assert "CPU" in plot.text
    assert "▁" in plot.text
    assert plot.svg.startswith("<svg")
    assert "#1 and #2" in plot.svg
    assert json.loads(plot.json)["label"] == "real"


def naive(times, values, begin, end, buckets, longest):
    """By NumPy, one bucket after the other."""
    weights = np.append(np.diff(times), 0)
    weights = np.where((weights < 1) | (weights > longest), 1, weights)
    edges = [begin + (end - begin) * i // buckets for i in range(buckets + 1)]
    for i in range(buckets):
        last = i + 1 == buckets
        inside = (times >= edges[i]) & ((times <= end) if last else (times < edges[i + 1]))
        known = inside & ~np.isnan(values)
        some = values[known]
        if not len(some):
            yield (math.nan,) * 5
            continue
        mean = np.average(some, weights=weights[known])
        yield (some.min(), some.max(), some[0], some[-1], mean)


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(st.integers(0, 1000), max_size=400),
    seed=st.integers(0, 2**32 - 1),
    unknown=st.sampled_from([0.0, 0.1, 0.9, 1.0]),
    buckets=st.integers(1, 50),
    window=st.tuples(st.floats(-0.2, 1.2), st.floats(0, 1.2)),
    longest=st.sampled_from([100, 10**9]),
)
def test_reduction_keeps_every_peak_and_every_gap(steps, seed, unknown, buckets, window, longest):
    chance = np.random.default_rng(seed)
    times = np.cumsum(np.array(steps, dtype=np.int64))
    values = chance.normal(size=len(times)) * 1e3
    values[chance.random(len(times)) < unknown] = math.nan
    length = int(times[-1]) if len(times) else 100
    begin = int(window[0] * length)
    end = begin + int(window[1] * length)
    found = _native.Reduction(times, values, longest).reduce(begin, end, buckets)
    expected = list(naive(times, values, begin, end, buckets, longest))
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=1e-9, atol=1e-9)
    if end > begin:
        inside = values[(times >= begin) & (times <= end)]
        known = inside[~np.isnan(inside)]
        highest = [one[1] for one in found if not math.isnan(one[1])]
        assert max(highest, default=None) == (known.max() if len(known) else None)


def test_reduction_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="a time for each value"):
        _native.Reduction(np.zeros(2, np.int64), np.zeros(3))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--metrics", "cpus"], "no metric 'cpus'. Did you mean cpu"),
        (["--metrics"], "needs names"),
        (["--metrics=memry,cpu"], "Did you mean memory"),
        (["--level", "nod"], "Did you mean node"),
        (["--between=x"], "There are show, cut"),
        (["--colour"], "no option of plot"),
        (["-o"], "needs the name of a file"),
        (["-o", "plot.png"], "no kind of file that plot writes"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        plotting.parse(arguments)


def test_what_has_no_value_says_why(recorded):
    with pytest.raises(ValueError, match="metric 'gpu_power' has no value here"):
        recorded.plot(metrics=["gpu_power"])


def test_completion():
    assert "--metrics" in plotting.completions([""])
    assert "memory" in plotting.completions(["--metrics", "cpu,me"])
    assert "--level=node" in plotting.completions(["--level=n"])
    assert "node" in plotting.completions(["--level", ""])


def test_the_bundle_is_one_chart(recorded):
    bundle = plotting.bundle(lambda most: recorded.plot(most_buckets=most))
    shown = bundle["text/html"]
    assert shown.count("<img") == shown.count("<iframe") == 1
    assert "data:image/svg+xml;base64," in shown
    assert 'sandbox="allow-scripts allow-downloads"' in shown


def test_a_notebook_grows_little(recorded):
    """However much there is to draw: fewer slices of time are."""
    asked = []
    noisy = recorded.plot()
    large = json.loads(noisy.json)
    random.seed(1)
    cores = [
        {"name": f"core {i}", "mean": [random.random() for _ in range(200)]} for i in range(128)
    ]
    large["metrics"].append(
        {"id": "x", "title": "x", "unit": "", "panels": {"node": {"tracks": cores}}}
    )

    def draw(most):
        asked.append(most)
        return types.SimpleNamespace(
            text=noisy.text,
            svg=noisy.svg,
            json=json.dumps(large if most > 250 else json.loads(noisy.json)),
        )

    html = plotting.bundle(draw)["text/html"]
    assert asked == [600, 400, 250]
    assert len(html) <= plotting.MOST_BYTES


def test_a_file_is_written_with_the_users_umask(recorded, tmp_path):
    plot = recorded.plot([1])
    before = os.umask(0o027)
    try:
        said = plotting.write(plot, tmp_path / "plot.svg", force=False)
    finally:
        os.umask(before)
    assert str(tmp_path / "plot.svg") in said
    assert (tmp_path / "plot.svg").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "plot.svg").read_text() == plot.svg
    with pytest.raises(_native.Error, match="No such file or directory"):
        plotting.write(plot, tmp_path / "missing" / "plot.svg", force=False)
    with pytest.raises(_native.Error, match="--force replaces it"):
        plotting.write(plot, tmp_path / "plot.svg", force=False)
    plotting.write(plot, tmp_path / "plot.svg", force=True)


def test_an_html_file_is_the_page(recorded, tmp_path):
    plotting.write(recorded.plot([1]), tmp_path / "plot.html", force=False)
    assert (tmp_path / "plot.html").read_text().startswith("<!doctype html>")


def test_plot_in_a_notebook(shared_notebook, tmp_path):
    shared_notebook.run(f"for _ in range(30): {WORK}")
    count = shared_notebook.run(f"for _ in range(10): {WORK}").count
    (bundle,) = shared_notebook.run("%jumper plot").bundles
    assert set(bundle) == {"text/plain", "text/html", JSON_TYPE}
    assert f"In [{count}]" in bundle["text/plain"]
    assert "<script" not in bundle["text/html"].partition("<iframe")[0]
    assert bundle[JSON_TYPE]["plot"]["metrics"]["cpu"]["unit"] == "%"
    file = tmp_path / "two.svg"
    (written,) = shared_notebook.run(
        f"%jumper plot {count - 1}-{count} --metrics cpu,io -o {file}"
    ).displays
    assert str(file) in written["text/plain"]
    assert f"In [{count - 1}] and In [{count}]" in file.read_text()
    refused = shared_notebook.run("%jumper plot --metrics memroy")
    assert "Did you mean memory" in refused.stderr
