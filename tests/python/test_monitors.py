"""`%jumper monitor`: figures of the user's own, and what becomes of monitors that go wrong."""

import json
import os
import re
import signal
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from leftovers import wait_until
from notebook import JSON_TYPE

from jumper import _native, monitoring
from jumper.session import program, start
from jumper.settings import Settings

GOOD = """
    import itertools, json, time
    print(json.dumps({"metrics": [
        {"name": "loss", "unit": "nats"},
        {"name": "read", "unit": "bytes", "kind": "counter", "level": "process"}]}), flush=True)
    for i in itertools.count():
        print(json.dumps({"values": {"loss": -0.3, "read": 1000 * i}}), flush=True)
        time.sleep(0.02)
"""
BEGIN = """
    import json, os, signal, sys, time
    def say(**line):
        print(json.dumps(line), flush=True)
    say(metrics=[{"name": "x", "kind": "counter"}])
    say(values={"x": 1})
"""
HOSTS = Path(__file__).parents[1] / "data" / "hosts" / "made"


@pytest.fixture
def native():
    box = SimpleNamespace(session=start("a test", Settings({"JUMPER_SAMPLING_RATE": "50"})))
    yield box
    box.session.close()
    del box.session  # pytest holds on to the box, and would to its descriptors


def write(path: Path, code: str) -> list[str]:
    path.write_text(textwrap.dedent(code))
    return [sys.executable, str(path)]


def add(native, path: Path, code: str, name: str = "train", rate: str = "50"):
    words = ["--name", name, "--rate", rate, *write(path, code)]
    return monitoring.add(native.session, monitoring.parse(words, {}))


def reason_of(native, name: str = "train") -> str:
    def reasons():
        return [
            one.reason
            for one in _native.monitors(native.session)
            if one.name == name and one.reason
        ]

    assert wait_until(reasons, 20)
    return reasons()[0]


def missing(native) -> dict[str, str]:
    return dict(native.session.status().missing)


def children_of_monitor(path: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if str(path) in process.cmdline()[1:]:
                found.append(process)
        except psutil.Error:
            continue
    return found


def cell(native, seconds: float) -> int:
    index = native.session.begin(b"x")
    time.sleep(seconds)  # the cell's own work
    native.session.end(index, "ok")
    assert native.session.wait(index, 10)
    return index


def summary(native, index: int) -> dict:
    return json.loads(native.session.summary(index, "all").json)


def test_values_are_exact_in_summary_export_and_plot(native, tmp_path):
    [(name, state)] = add(native, tmp_path / "good.py", GOOD)
    assert name == "train"
    assert state.startswith("measures (")
    index = cell(native, 0.5)
    said = summary(native, index)
    loss = said["levels"]["node"]["devices"]["train"]["loss"]
    assert loss == {"mean": -0.3, "max": -0.3, "min": -0.3}
    gained = said["levels"]["process"]["devices"]["train"]["read"]
    assert gained % 1000 == 0
    assert gained > 5000
    assert said["units"] == {"node.train.loss": "nats", "process.train.read": "bytes"}
    assert said["devices"]["train"]["driver"] == "monitor"
    assert "train" in native.session.summary(index, "node").text
    assert "loss -0.3 nats" in native.session.summary(index, "node").text

    table = native.session.table([index], "all")
    names = [column for column, _ in table.columns]
    column = table.array(names.index("node.train.loss"))
    assert column.dtype == float
    assert np.all(column == -0.3)
    reads = table.array(names.index("process.train.read"))
    assert np.all(reads % 1000 == 0)
    assert reads[-1] - reads[0] == gained
    assert "process.train.read_per_s" in names

    plot = json.loads(native.session.plot([index], level="node", metrics=["train.loss"]).json)
    [metric] = [one for one in plot["metrics"] if one["id"] == "train.loss"]
    assert metric["unit"] == "nats"
    [track] = metric["panels"]["node"]["tracks"]
    assert {one for one in track["mean"] if one is not None} == {-0.3}


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("sys.exit(3)", "it exited with status 3"),
        ("raise ValueError('no such step')", "it exited with status 1: ValueError: no such step"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "it was killed by signal 9 (SIGKILL)"),
        ("pass", "it ended"),
        ("print('hello', flush=True)", "it printed a line that is no JSON object: hello"),
        ('print(\'{"values": {"x": NaN}}\', flush=True)', "no JSON object"),
        ("say(values={'x': -5})", "-5 for the counter x"),
        ("say(values={'y': 5})", "a value of y, which it hasn't named"),
        ("say(metrics=[{'name': 'y'}])", "other metrics than before"),
        ("print('x' * 70000, flush=True)", "a line of more than 64 KiB"),
        ("while True: say(values={'x': 1})", "in a second"),
        ("time.sleep(1000)", "it printed nothing for 5 s"),
    ],
)
def test_one_that_goes_wrong_is_cut_off_with_the_reason(native, tmp_path, then, words):
    path = tmp_path / "bad.py"
    code = textwrap.dedent(BEGIN) + f"time.sleep(0.3)\n{then}\n"
    if words != "it ended" and "exited" not in words:
        code += "time.sleep(1000)\n"
    add(native, path, code)
    assert words in reason_of(native)
    assert wait_until(lambda: words in missing(native).get("node.train", ""))
    assert any(words in one for one in native.session.take_warnings())
    assert wait_until(lambda: not children_of_monitor(path))
    index = cell(native, 0.1)
    said = summary(native, index)
    assert said["levels"]["node"]["devices"]["train"]["x"] is None
    assert said["unknown"]["node.train.x"].startswith("vanished: ")


def test_the_rate_is_what_the_program_hears(native, tmp_path):
    code = """
        import os, time
        print('{"metrics": [{"name": "rate"}]}', flush=True)
        while True:
            print('{"values": {"rate": %s}}' % os.environ["JUMPER_MONITOR_RATE"], flush=True)
            time.sleep(0.05)
    """
    add(native, tmp_path / "rate.py", code, rate="12.5")
    assert [one.rate_hz for one in _native.monitors(native.session)] == [12.5]
    said = summary(native, cell(native, 0.3))
    assert said["levels"]["node"]["devices"]["train"]["rate"]["max"] == 12.5


def test_duplicate_names_are_refused(native, tmp_path):
    code = """
        import time
        print('{"metrics": [{"name": "x"}, {"name": "x"}]}', flush=True)
        time.sleep(1000)
    """
    [(_, said)] = add(native, tmp_path / "twice.py", code)
    assert "it printed metric x twice" in said


def test_a_program_that_is_not_there(native):
    with pytest.raises(ValueError, match="there is no program 'no_such_program'"):
        monitoring.parse(["no_such_program"], {})


def test_one_that_was_cut_off_can_be_added_again(native, tmp_path):
    add(native, tmp_path / "bad.py", textwrap.dedent(BEGIN) + "sys.exit(3)\n")
    assert reason_of(native) == "it exited with status 3"
    [(_, state)] = add(native, tmp_path / "good.py", GOOD)
    assert state.startswith("measures (")
    assert "node.train" not in missing(native)
    with pytest.raises(_native.Error, match="there is one of that name"):
        add(native, tmp_path / "good.py", GOOD)


def test_removing_ends_it(native, tmp_path):
    path = tmp_path / "good.py"
    add(native, path, GOOD)
    assert children_of_monitor(path)
    assert _native.remove_monitor(native.session, "train")
    assert wait_until(lambda: not children_of_monitor(path))
    assert not _native.remove_monitor(native.session, "train")
    assert not _native.monitors(native.session)


def test_a_monitor_goes_on_when_the_sampler_is_killed(native, tmp_path):
    path = tmp_path / "good.py"
    add(native, path, GOOD)
    before = {one.pid for one in children_of_monitor(path)}
    old = native.session.status().sampler_pid
    os.kill(old, signal.SIGKILL)
    assert wait_until(lambda: native.session.status().sampler_pid not in (None, old), 20)
    assert wait_until(
        lambda: [one.state for one in _native.monitors(native.session)] == ["measures"], 20
    )
    assert not before & {one.pid for one in children_of_monitor(path)}
    index = cell(native, 0.3)
    assert summary(native, index)["levels"]["node"]["devices"]["train"]["loss"]["mean"] == -0.3


def test_a_monitor_is_not_in_the_cells_process_tree(native, tmp_path):
    add(native, tmp_path / "good.py", GOOD)
    index = cell(native, 0.2)
    assert summary(native, index)["levels"]["process"]["processes"]["max"] == 1


def test_nor_is_one_that_a_sample_met_while_it_was_started(native, tmp_path):
    """Between its two clones a monitor's process has a child of the kernel as its parent."""
    native.session.set_rate(1000.0)
    native.session.begin(b"ticks")  # at that rate
    for number in range(60):
        name = f"train{number % 4}"
        _native.remove_monitor(native.session, name)
        _native.add_monitor(
            native.session,
            name,
            command=[b"sleep", b"60"],
            about="",
            directory=b"/",
            payload=b"",
            rate_hz=1.0,
        )
    index = cell(native, 0.1)
    assert summary(native, index)["levels"]["process"]["processes"]["max"] == 1


def test_the_session_ends_its_monitors(native, tmp_path):
    path = tmp_path / "good.py"
    add(native, path, GOOD)
    native.session.close()
    assert wait_until(lambda: not children_of_monitor(path))


def test_lustre_and_mountstats_come_with_it(native):
    for name, tree, metric, total in (
        ("lustre", "lustre", "read_bytes", 8388612 + 300),
        ("mountstats", "nfs", "nfs_read_bytes", 5096 + 4),
    ):
        words = [program(), "monitor", name, "--root", str(HOSTS / tree)]
        wish = monitoring.parse(["--name", name, "--rate", "20", *words], {})
        [(_, state)] = monitoring.add(native.session, wish)
        assert state.startswith("measures (")
        table = native.session.table([cell(native, 0.2)], "node")
        names = [column for column, _ in table.columns]
        values = table.array(names.index(f"{name}.{metric}"))
        assert np.all(values == total)
        assert json.loads(table.head)["columns"][names.index(f"{name}.{metric}")]["unit"] == "bytes"


def test_what_is_not_there_says_so(native, tmp_path):
    words = [program(), "monitor", "lustre", "--root", str(tmp_path)]
    monitoring.add(native.session, monitoring.parse(["--name", "lustre", *words], {}))
    assert "no Lustre file system is mounted here" in reason_of(native, "lustre")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add"], "monitor add needs a command"),
        (["add", "--rate", "fast", "ls"], "--rate fast is refused"),
        (["add", "--rate", "0", "ls"], "--rate 0 is refused"),
        (["add", "--name", "A B", "ls"], "can't name a monitor"),
        (["add", "--name", "gpu0", "ls"], "our own devices"),
        (["add", "--what", "ls"], "--what is no option of monitor add"),
        (["add", "Empty"], "it has no method metrics"),
        (["remove"], "monitor remove needs the name"),
        (["remove", "x"], "there is no monitor 'x': there are none"),
        (["start"], "monitor knows add and remove"),
    ],
)
def test_what_makes_no_sense_is_refused(native, words, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        monitoring.answer(native.session, words, {"Empty": type("Empty", (), {})})


CLASS = """
class Counting:
    def __init__(self):
        self.n = 0
    def metrics(self):
        return [{"name": "n", "kind": "counter"}, "half"]
    def sample(self):
        print("noise")
        self.n += 1
        return {"n": self.n, "half": float("nan") if self.n == 1 else 0.5}
"""


def test_a_class_of_the_notebook_and_of_a_module(open_notebook, tmp_path):
    (tmp_path / "mine.py").write_text(CLASS)
    with open_notebook(cwd=tmp_path, env={"JUMPER_SAMPLING_RATE": "50"}) as notebook:
        notebook.run(CLASS)
        for words, name in (("Counting", "counting"), ("mine:Counting", "of_module")):
            run = notebook.run(f"%jumper monitor add --name {name} --rate 50 {words}")
            assert run.status == "ok", run.traceback
            assert "measures (class" in run.displays[0]["text/plain"]
        notebook.run("import time; time.sleep(0.5)")
        run = notebook.run("%jumper summary --level node")
        devices = run.bundles[0][JSON_TYPE]["levels"]["node"]["devices"]
        for name in ("counting", "of_module"):
            assert devices[name]["n"] > 5
            assert devices[name]["half"]["mean"] == 0.5
        run = notebook.run("%jumper monitor remove counting")
        assert run.status == "ok"
        assert "of_module" in notebook.run("%jumper monitor").displays[0]["text/plain"]


def test_a_class_that_raises_and_the_papers_name(open_notebook, tmp_path):
    (tmp_path / "mine.py").write_text(CLASS)
    with open_notebook(cwd=tmp_path, env={"JUMPER_SAMPLING_RATE": "50"}) as notebook:
        notebook.run("class Bad:\n def metrics(self): return ['x']\n def sample(self): 1 / 0")
        notebook.run("%jumper monitor add Bad")
        notebook.run("import time; time.sleep(0.3)")
        status = notebook.run("%jumper").displays[0]["text/plain"]
        assert "node.bad: vanished: it exited with status 1: ZeroDivisionError" in status
        said = lambda code: notebook.run(code).displays[0]["text/plain"]  # noqa: E731
        assert "measures (class mine" in said("%%set_perfmonitor\nmine")
        assert "come later" in said("%%set_perfmonitor\nslurm")
        assert "mine" in said("%set_perfmonitor")
        assert "local" in said("%%set_perfmonitor\nlocal")
        assert "mine" not in said("%jumper monitor")
        run = notebook.run("%%set_perfmonitor\nno_such_module")
        assert run.ename == "UsageError"


def test_monitors_end_with_a_kernel_that_is_killed(open_notebook, tmp_path):
    path = tmp_path / "good.py"
    command = " ".join(write(path, GOOD))
    with open_notebook() as notebook:
        run = notebook.run(f"%jumper monitor add --name train {command}")
        assert run.status == "ok", run.traceback
        assert children_of_monitor(path)
        os.kill(notebook.pid, signal.SIGKILL)
        assert wait_until(lambda: not children_of_monitor(path), 2)
