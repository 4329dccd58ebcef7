"""The spare engine that waits for the next `%%jumper run` is in no figures until it is taken."""

import json

import pytest
from notebook import JSON_TYPE, Notebook

STARTED_S = 0.2  # of CPU time that a spare has used at least when a test goes on
SLACK_S = 0.1  # clocks of 10 ms, and what a process uses for its end
ENGINES = "__import__('jumper.extension').extension._loaded[get_ipython()].magics.elsewhere.engines"
SETUP = f"""
import json, os, psutil, time
engines = {ENGINES}
kernel = psutil.Process()
def used(process):
    return sum(process.cpu_times()[:2])
def started():
    spare = psutil.Process(engines.spare_pid)
    while used(spare) < {STARTED_S}:
        time.sleep(0.01)
    return spare
def told(spare):
    print(json.dumps({{"kernel_s": used(kernel), "spare_s": used(spare), "pid": spare.pid,
          "kernel_bytes": kernel.memory_info().rss, "spare_bytes": spare.memory_info().rss}}))
"""


@pytest.fixture
def ready(open_notebook) -> Notebook:
    notebook = open_notebook()
    assert notebook.run(SETUP).status == "ok"
    return notebook


def run(notebook: Notebook, code: str) -> dict:
    done = notebook.run(code)
    assert done.status == "ok", done.traceback
    return json.loads(done.stdout) if done.stdout else {}


def figures(notebook: Notebook) -> dict:
    """Of the last cell that isn't a question."""
    return notebook.run("%jumper summary -1").bundles[0][JSON_TYPE]["levels"]["process"]


def test_a_spare_is_in_no_figures_while_it_waits(ready):
    assert ready.run("%%jumper run\n1").result == "1"
    said = run(ready, "before_s = used(kernel); spare = started(); told(spare)")
    cell = figures(ready)
    own_s = said["kernel_s"] - float(ready.run("before_s").result)
    assert said["spare_s"] >= STARTED_S
    assert cell["cpu_time_s"] < own_s + SLACK_S
    assert cell["processes"]["max"] == 1
    assert cell["memory_bytes"]["max"] < said["kernel_bytes"] + said["spare_bytes"] / 2


def test_a_spare_that_is_waited_for_in_a_cell_adds_nothing(ready):
    ready.run("%%jumper run\n1")
    run(ready, "spare = started()")
    said = run(ready, "before_s = used(kernel); engines.close(); told(kernel)")
    cell = figures(ready)
    own_s = said["kernel_s"] - float(ready.run("before_s").result)
    assert cell["cpu_time_s"] < own_s + SLACK_S
    assert cell["processes"]["max"] == 1


def test_a_spare_counts_from_when_it_is_taken(ready):
    ready.run("%%jumper run\n1")
    before = run(ready, "spare = started(); told(spare)")
    burn = "begin_s = time.process_time()\nwhile time.process_time() < begin_s + 0.3: pass"
    there = f"import json, os, time\n{burn}\nprint(json.dumps([os.getpid(), time.process_time()]))"
    pid, engine_s = run(ready, f"%%jumper run\n{there}")
    cell = figures(ready)
    after = run(ready, "told(kernel)")
    assert pid == before["pid"]
    own_s = after["kernel_s"] - before["kernel_s"]
    assert 0.3 <= cell["cpu_time_s"] < own_s + engine_s - before["spare_s"] + SLACK_S
    assert cell["processes"]["max"] == 2


def test_a_spare_that_was_killed_adds_nothing_and_is_waited_for(ready):
    ready.run("%%jumper run\n1")
    before = run(ready, "spare = started(); told(spare)")
    run(
        ready,
        "spare.kill()\nwhile spare.status() != psutil.STATUS_ZOMBIE: time.sleep(0.01)",
    )
    cells = [figures(ready)]
    assert run(ready, "print(json.dumps(psutil.pid_exists(spare.pid)))") is False
    assert ready.run("engines.spare_pid is None").result == "True"
    cells += [figures(ready)]
    after = run(ready, "told(kernel)")
    used_s = sum(one["cpu_time_s"] for one in cells)
    assert used_s < after["kernel_s"] - before["kernel_s"] + SLACK_S
    assert all(one["processes"]["max"] == 1 for one in cells)
