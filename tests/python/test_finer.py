"""Finer data for a plot's page: windows of a real recording, hostile questions, the comm."""

import json
import math
import sys
import time
import zlib
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from notebook import JSON_TYPE

import jumper
from jumper import _native, finer, plotting

MOST_STATE_BYTES = 5000
TEN_SECONDS = '{"edges_s":[0,10]}'


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMPER_DIR", str(tmp_path_factory.mktemp("recorded")))
        with jumper.session(rate=200, label="real") as session:
            with session.cell("compute"):
                end = time.monotonic() + 1.5
                while time.monotonic() < end:
                    sum(range(10_000))
            path = session.path
    return _native.Report.open(path)


@pytest.fixture
def asked(recorded):
    """The questions, the channel of one plot of 20 buckets, and its data."""
    questions = finer.Questions()
    draw = partial(plotting.draw, recorded, [1], plotting.parse(["all"]), "process")
    channel, asked = questions.add(draw)
    return questions, channel, json.loads(asked.whole(20).json)


def track(data, metric="memory"):
    panels = next(one for one in data["metrics"] if one["id"] == metric)["panels"]
    (found,) = panels["process"]["tracks"]
    return found


def question(channel, begin_s=0.2, end_s=0.4, number=1):
    return {"kind": "finer", "channel": channel, "id": number, "begin_s": begin_s, "end_s": end_s}


def test_a_window_has_more_buckets_and_the_same_peaks(asked):
    questions, channel, whole = asked
    begin, end = 5, 15
    edges = whole["edges_s"]

    reply, (packed,) = questions.answer(question(channel, edges[begin], edges[end], 7))

    assert reply == {"kind": "finer", "id": 7}
    data = json.loads(zlib.decompress(packed))
    assert data["begin_wall_s"] == whole["begin_wall_s"]
    assert data["cells"] == whole["cells"]
    assert data["edges_s"][0] == pytest.approx(edges[begin], abs=2e-6)
    assert data["edges_s"][-1] == pytest.approx(edges[end], abs=2e-6)
    assert len(data["edges_s"]) > 50
    for metric in ("cpu", "memory"):
        coarse, fine = track(whole, metric), track(data, metric)
        assert max(fine.get("max", fine["mean"])) == max(
            coarse.get("max", coarse["mean"])[begin:end]
        )


def test_a_window_goes_to_the_ends(asked):
    questions, channel, whole = asked
    _, (packed,) = questions.answer(question(channel, 0, whole["edges_s"][-1]))
    assert json.loads(zlib.decompress(packed))["edges_s"][-1] == whole["edges_s"][-1]


WINDOWS = [
    (0.4, 0.2),
    (0.3, 0.3),
    (-1, 0.5),
    (0, 1e9),
    (math.nan, 0.5),
    (0, math.inf),
    (-math.inf, math.inf),
    ("0", "1"),
    (None, 1),
    (False, True),
    ([0], {}),
    (0, 10**400),
]


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_a_window_that_is_none_is_refused(asked, window):
    questions, channel, _ = asked
    reply, buffers = questions.answer(question(channel, *window, 5))
    text = "the window is no part of the plot's time"
    assert reply == {"kind": "finer", "id": 5, "error": text}
    assert buffers == []


STRANGE = [
    None,
    [],
    "finer",
    {},
    {"kind": "finer"},
    {"id": 3},
    question("another"),
    question(["x"]),
]


@pytest.mark.parametrize("strange", [*STRANGE, {"kind": "execute", "code": "1/0"}], ids=repr)
def test_what_is_no_question_of_a_plots_page_is_refused(asked, strange):
    reply, buffers = asked[0].answer(strange)
    json.dumps(reply)
    assert "the kernel doesn't know this plot" in reply["error"]
    assert buffers == []


@pytest.mark.parametrize("number", ["1", -1, 2**60, True, 1.5, None])
def test_a_number_that_is_none_comes_back_as_0(asked, number):
    questions, channel, _ = asked
    assert questions.answer(question(channel, number=number))[0] == {"kind": "finer", "id": 0}


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
json_values = scalars | st.lists(scalars, max_size=3)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.fixed_dictionaries({}, optional=dict.fromkeys(question(""), json_values)))
def test_no_question_raises(values):
    questions = finer.Questions()

    def draw(most_buckets, window=None):
        if window is not None:
            assert 0 <= window[0] < window[1] <= 10 + finer.ROUNDED_S
            assert most_buckets == finer.MOST_BUCKETS
        return SimpleNamespace(json=TEN_SECONDS)

    channel, asked = questions.add(draw)
    asked.whole(20)
    for of in (values, {"channel": channel, "kind": "finer"} | values, values.get("id")):
        reply, buffers = questions.answer(of)
        assert ("error" in reply) != bool(buffers)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (_native.Error(5, "cannot read the recording"), "cannot read the recording"),
        (MemoryError("no"), "MemoryError: no"),
        (None, "no recording"),
    ],
)
def test_what_cannot_be_read_is_said(error, text):
    def draw(_, window=None):
        if error and window:
            raise error
        return SimpleNamespace(json="" if window else TEN_SECONDS)

    questions = finer.Questions()
    channel, asked = questions.add(draw)
    asked.whole(20)
    reply, buffers = questions.answer(question(channel))
    assert text in reply["error"]
    assert buffers == []


def test_only_so_many_plots_are_remembered(monkeypatch):
    monkeypatch.setattr(finer, "MOST_PLOTS", 2)
    questions = finer.Questions()
    channels = [questions.add(lambda *_: 1 / 0)[0] for _ in range(3)]
    assert all(one.startswith(questions.channel + "/") for one in channels)
    assert "run its cell again" in questions.answer(question(channels[0]))[0]["error"]
    assert "no part of the plot's time" in questions.answer(question(channels[1]))[0]["error"]


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ValueError, match=r"pip install jumper-hpc\[widgets\]"):
        finer.Relay()


def test_a_notebook_gets_the_same_plot_and_finer_data(notebook):
    notebook.run("%jumper set rate=100")
    notebook.run("import time; time.sleep(1.2)")
    plain, run = notebook.run("%jumper plot -1"), notebook.run("%jumper plot 2 --widget")
    assert run.status == "ok", run.stderr
    assert set(plain.bundles[0]) == set(run.bundles[0]) == {"text/plain", "text/html", JSON_TYPE}
    assert len(run.bundles[0]["text/html"]) < 120_000
    opened = run.contents("comm_open")
    (ours,) = [one for one in opened if "channel" in one["data"]["state"]]
    assert len(json.dumps([one["data"] for one in opened])) < MOST_STATE_BYTES
    code = "from jumper import extension; m = extension._loaded[get_ipython()].magics; "
    code += "print(*m._relay.questions._plots)"
    channel = notebook.run(code).stdout.strip()
    assert channel.startswith(ours["data"]["state"]["channel"] + "/")

    answers = [ask(notebook, ours["comm_id"], question(channel, *w)) for w in ((0.2, 0.4), (2, 1))]

    data = json.loads(zlib.decompress(answers[0]["buffers"][0]))
    assert len(data["edges_s"]) > 15
    assert answers[1]["content"]["data"]["content"]["error"].startswith("the window is no part")
    again = notebook.run("%jumper plot 2 --widget")
    assert again.contents("comm_open") == []  # one model for all plots
    assert [one["outcome"] for one in notebook.history()].count("error") == 0
    refused = notebook.run("%jumper plot 2 --widget -o plot.svg")
    assert "no -o" in refused.stderr
    (closed,) = notebook.run("%unload_ext jumper").contents("comm_close")
    assert closed["comm_id"] == ours["comm_id"]


def ask(notebook, comm, content):
    """Sends what a front end sends; the widget's answer."""
    body = {"comm_id": comm, "data": {"method": "custom", "content": content}}
    message = notebook.client.session.msg("comm_msg", body)
    notebook.client.shell_channel.send(message)

    def answers():
        return [
            one
            for one in notebook.of(message["header"]["msg_id"])
            if one["header"]["msg_type"] == "comm_msg"
        ]

    notebook.drain(answers)
    return answers()[0]
