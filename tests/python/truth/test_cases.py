"""Cases 33 and 59 (cases.md) in their parts about watching."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # the same core, whichever CPython

RUNNER = """
import json, os, sys, time
import jumper
with jumper.session(rate={rate}) as s:
    with s.cell("nothing") as ready: pass
    s.native.wait(ready.index, 20)
    for code in {cells!r}:
        with s.cell(code) as cell:
            exec(code)
        s.native.wait(cell.index, 20)
    t = s.native.status()
print(json.dumps([t.path, t.sampler_cpu_percent, t.gaps, t.sampler_restarts]))
"""


def run(read_back, cells: list[str], rate: float):
    done = subprocess.run(
        [sys.executable, "-c", RUNNER.format(rate=rate, cells=cells)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, ""), done.stderr
    path, cost_percent, gaps, restarts = json.loads(done.stdout)
    assert restarts == 0
    records, summaries = read_back(path)
    return records, summaries[1:], cost_percent, gaps


def check_33(read_back, processes: int) -> None:
    cells = [
        f"import subprocess\nfor _ in range({processes}): subprocess.run(['true'])",
        "import time; time.sleep(1)",
    ]
    records, (storm, sleep), _, gaps = run(read_back, cells, 100)
    late = sum("late" in one.get("flags", []) for one in records)
    for summary in (storm, sleep):
        # At least 90 of 100. What a machine that others keep busy left out is at least marked.
        starved = os.getloadavg()[0] > (os.cpu_count() or 1) and (late > 0 or gaps)
        assert summary["ticks"] / summary["cell"]["duration_s"] >= 90 or starved, summary
        assert summary["levels"]["process"]["processes"]["max"] >= 1
    assert storm["cell"]["outcome"] == "ok"
    forks = sleep["levels"]["process"]
    assert forks["cpu_time_s"] < 0.02


def test_33_a_process_vanishes_between_listing_and_reading(read_back):
    check_33(read_back, 300)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_33_two_thousand(read_back):
    check_33(read_back, 2000)


MEMORY = (
    "import mmap, threading, time\n"
    "held = mmap.mmap(-1, {mib} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
    "for at in range(0, len(held), 4096): held[at] = 1\n"
    "end = time.monotonic() + {seconds}\n"
    "def faults():\n"
    "    while time.monotonic() < end:\n"
    "        with mmap.mmap(-1, 16 << 20) as one:\n"
    "            for at in range(0, len(one), 4096): one[at] = 1\n"
    "thread = threading.Thread(target=faults); thread.start()\n"
    "time.sleep({seconds}); thread.join(); held.close()"
)
SLEEPERS = (
    "import os, time\n"
    "pids = []\n"
    "for _ in range({processes}):\n"
    "    pid = os.fork()\n"
    "    if pid == 0: time.sleep(600); os._exit(0)\n"
    "    pids.append(pid)\n"
    "time.sleep({seconds})\n"
    "for pid in pids: os.kill(pid, 9); os.waitpid(pid, 0)"
)
THREADS = (
    "import threading, time\n"
    "gate = threading.Event()\n"
    "threads = [threading.Thread(target=gate.wait) for _ in range({threads})]\n"
    "for one in threads: one.start()\n"
    "time.sleep({seconds}); gate.set()\n"
    "for one in threads: one.join()"
)
QUICK = {
    "memory": (MEMORY, {"mib": 256, "seconds": 2}),
    "sleeping processes": (SLEEPERS, {"processes": 100, "seconds": 10}),
    "threads": (THREADS, {"threads": 128, "seconds": 2}),
}
WHOLE = {
    "memory": (MEMORY, {"mib": 2048, "seconds": 15}),
    "sleeping processes": (SLEEPERS, {"processes": 400, "seconds": 15}),
    "threads": (THREADS, {"threads": 128, "seconds": 15}),
}


def check_59(read_back, code: str) -> None:
    """The sampler's own cost, which the recording shows, is at most 3 % of one core."""
    records, (summary,), cost_percent, _ = run(read_back, [code], 10)
    rows = [one for one in records if one["kind"] == "row"]
    inside = [one for one in rows if "edge" not in one["flags"]]
    used_ns = inside[-1]["sampler_cpu_ns"] - inside[0]["sampler_cpu_ns"]
    percent = 100 * used_ns / (inside[-1]["time_ns"] - inside[0]["time_ns"])
    assert percent <= 3, (percent, summary)
    assert cost_percent is not None
    assert all(one["duration_ns"] > 0 for one in rows)  # real times are stored


@pytest.mark.parametrize("kind", QUICK)
def test_59_the_cost_of_watching(read_back, kind):
    code, sizes = QUICK[kind]
    check_59(read_back, code.format(**sizes))


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kind", WHOLE)
def test_59_the_cost_of_watching_more(read_back, kind):
    code, sizes = WHOLE[kind]
    check_59(read_back, code.format(**sizes))


SLOWDOWN = """
import contextlib, sys, time
import jumper
session = jumper.session(rate=10) if sys.argv[1] == "on" else contextlib.nullcontext()
def work():
    total = 0
    for i in range(20_000_000): total += i
    return total
with session:
    begin = time.process_time()
    work()
    print(time.process_time() - begin)
"""


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_59_what_is_watched_is_no_slower():
    """CPU time, which other people's load leaves alone; the best of five, in turn."""
    times = {"on": [], "off": []}
    for _ in range(5):
        for how, found in times.items():
            done = subprocess.run(
                [sys.executable, "-c", SLOWDOWN, how],
                capture_output=True, text=True, check=True, env=os.environ,
            )  # fmt: skip
            found.append(float(done.stdout))
    assert min(times["on"]) <= 1.02 * min(times["off"])
