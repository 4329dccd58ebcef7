"""`%jumper plot --live`: a cell's curves while it runs, where the line stands, and nothing else."""

import itertools
import types
from datetime import datetime

import pytest
from notebook import JSON_TYPE, in_ipython

from jumper.live import Live
from jumper.magics import JumperMagics

WAIT = "import time\nend = time.monotonic() + 2.3\nwhile time.monotonic() < end: time.sleep(0.01)"


def kinds(run):
    """What came, in order; an update by its display's id, streams by their text."""
    found = []
    for message in run.messages:
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            found.append(content["text"].strip())
        elif kind in ("display_data", "update_display_data"):
            found.append((kind, content["transient"].get("display_id")))
    return found


def updates(run):
    return [one for one in run.messages if one["header"]["msg_type"] == "update_display_data"]


def test_the_plot_stays_in_its_place_and_ends_with_the_cell(shared_notebook):
    run = shared_notebook.run(
        f"print('before')\n%jumper plot --live\nprint('between')\n{WAIT}\nprint('behind')"
    )
    assert run.status == "ok", run.traceback
    order = kinds(run)
    place = next(i for i, one in enumerate(order) if one[0] == "display_data")
    name = order[place][1]
    assert order[:place] == ["before"]
    assert order[place + 1] == "between"
    behind = order.index("behind")
    assert 2 <= behind - place - 2 <= 5
    assert set(order[place + 2 : behind]) == {("update_display_data", name)}
    assert order[behind + 1] == ("update_display_data", name)
    assert name not in str(order[behind + 2 :])  # the summary follows
    sent = [datetime.fromisoformat(str(one["header"]["date"])) for one in updates(run)[:-1]]
    assert all((b - a).total_seconds() > 0.4 for a, b in itertools.pairwise(sent))


def test_images_come_first_and_the_page_last(shared_notebook):
    run = shared_notebook.run(f"%jumper plot --live\n{WAIT}")
    shown = [*run.displays[:1], *(one["content"]["data"] for one in updates(run))]
    assert all("<img" in one["text/html"] for one in shown)
    assert ["<iframe" in one["text/html"] for one in shown] == [False] * (len(shown) - 1) + [True]
    cells = [one[JSON_TYPE]["plot"]["cells"] for one in shown]  # none before the first sample
    assert all(cell["end_s"] is None for drawn in cells[:-1] for cell in drawn)
    assert 2.2 < cells[-1][0]["end_s"] < 20


def test_nothing_is_sent_between_cells(shared_notebook):
    shared_notebook.run("%jumper plot --live\nimport time; time.sleep(0.7)")
    before = len(shared_notebook.messages)
    run = shared_notebook.run(WAIT)
    later = shared_notebook.messages[before:]
    assert run.status == "ok"
    assert not [one for one in later if one["header"]["msg_type"] == "update_display_data"]


@pytest.mark.parametrize(
    ("code", "ename"), [("1 / 0", "ZeroDivisionError"), ("sum(range(150_000_000))", None)]
)
def test_the_last_image_comes_whatever_the_cell_does(shared_notebook, code, ename):
    """One that fails; one that keeps the lock all the time."""
    run = shared_notebook.run(f"%jumper plot --live\n{code}")
    assert run.ename == ename
    assert "<iframe" in updates(run)[-1]["content"]["data"]["text/html"]
    assert "jumper:" not in run.stderr


def test_an_interrupt_is_the_cells(shared_notebook):
    request = shared_notebook.send(
        "%jumper plot --live\nimport time\nprint('here')\ntime.sleep(60)"
    )
    shared_notebook.drain(lambda: "here" in shared_notebook.stdout_of(request))
    shared_notebook.interrupt()
    run = shared_notebook.take(request)
    assert run.ename == "KeyboardInterrupt"
    assert shared_notebook.run("1").result == "1"


def test_several_in_one_cell(shared_notebook):
    run = shared_notebook.run(
        f"%jumper plot --live --metrics cpu\n%jumper plot --live --metrics memory\n{WAIT}"
    )
    names = {one[1] for one in kinds(run) if one[0] == "display_data" and one[1]}
    assert len(names) == 2
    last = updates(run)[-2:]
    assert {one["content"]["transient"]["display_id"] for one in last} == names


def test_refusals(shared_notebook):
    run = shared_notebook.run("%jumper plot 3 --live")
    assert "--live draws the cell that it stands in" in run.stderr


def test_no_thread_is_left(shared_notebook):
    shared_notebook.run("%jumper plot --live\nimport time; time.sleep(0.7)")
    run = shared_notebook.run(
        "import threading, time\n"
        "end = time.monotonic() + 20\n"
        "while any('jumper' in t.name for t in threading.enumerate()):\n"
        "    assert time.monotonic() < end\n"
        "    time.sleep(0.01)"
    )
    assert run.status == "ok", run.traceback


QUIET = """
import threading, time
end = time.monotonic() + 5
while any("jumper" in one.name for one in threading.enumerate()) and time.monotonic() < end:
    time.sleep(0.01)
print([one.name for one in threading.enumerate() if "jumper" in one.name])
"""


@pytest.mark.parametrize(
    "how",
    [
        "get_ipython().run_line_magic('unload_ext', 'jumper')",
        # Measuring fails at the cell's end.
        (
            "from jumper import extension\none = extension._loaded[get_ipython()]\n"
            "def fail(*_): raise RuntimeError('made to fail')\none._finish = fail"
        ),
    ],
)
def test_it_ends_with_us(notebook, how):
    run = notebook.run(f"%jumper plot --live\n{how}")
    assert run.status == "ok", run.traceback
    assert notebook.run(QUIET).stdout.strip() == "[]"


def test_an_interrupt_at_the_end_leaves_no_plot_alive():
    """The hook is called again, and finds what is left to be done."""
    sent = []

    def publish(bundle, _metadata, **_place):
        sent.append(bundle)
        if len(sent) == 2:
            raise KeyboardInterrupt

    live = Live(publish, can_update=True)
    live.show(lambda: {"n": 1}, lambda: {"n": 2})
    magics = types.SimpleNamespace(live=live)
    with pytest.raises(KeyboardInterrupt):
        JumperMagics.finish_live(magics)
    assert magics.live is live
    assert JumperMagics.finish_live(magics) is None
    assert magics.live is None
    live._thread.join(5)
    assert not live._thread.is_alive()
    assert sent == [{"n": 1}, {"n": 2}, {"n": 2}]


def test_a_terminal_sees_it_once():
    answer = in_ipython(
        """
run("%load_ext jumper")
answer = run("%jumper plot --live\\nprint('here')\\nimport time; time.sleep(1.2)")[1]
"""
    )
    assert answer.index("here") < answer.index("CPU")
    assert answer.count("\ncore 0") == 1
