"""Children of every kind in any order: nothing counted twice, nothing seen forgotten."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # the same core, whichever CPython

MIX = """
import json, os, random, resource, signal, sys, time
sys.path.insert(0, {folder!r})
from children import Child, burn, own_cpu_s, run_python
import jumper

chance = random.Random({seed})
alive = []

def some():
    return chance.uniform(0.005, 0.08)

def step():
    kind = chance.randrange(8)
    if kind == 0:
        burn(some())
    elif kind == 1:
        child = Child(lambda s=some(): burn(s)); child.hear(); child.end()
    elif kind == 2:
        alive.append(Child(lambda s=some(): burn(s))); alive[-1].hear()
    elif kind == 3 and alive:
        alive.pop(chance.randrange(len(alive))).end()
    elif kind == 4 and alive:
        child = alive.pop(chance.randrange(len(alive)))
        os.kill(child.pid, signal.SIGKILL); os.waitpid(child.pid, 0)
    elif kind == 5:
        run_python(some())
    elif kind == 6:
        def work(s=some()):
            child = Child(lambda: burn(s)); child.hear(); child.end(); burn(s)
        child = Child(work); child.hear(); child.end()
    elif kind == 7:
        time.sleep(some())

with jumper.session(rate=chance.choice([2, 10, 50, 200])) as s:
    with s.cell("nothing") as ready: pass
    s.native.wait(ready.index, 20)
    with s.cell("mix") as cell:
        begin = own_cpu_s()
        time.sleep(0.05)
        for _ in range(chance.randrange(5, 25)): step()
        truth = own_cpu_s() - begin + sum(child.cpu_now_s() for child in alive)
    s.native.wait(cell.index, 20)
    path = s.path
print(json.dumps([truth, len(alive), path]))
for child in alive: child.end()
"""


def check_mix(seed: int, read_back, check_invariants) -> None:
    script = MIX.format(folder=str(Path(__file__).parent), seed=seed)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), seed
    truth, _, path = json.loads(done.stdout)
    records, summaries = read_back(path)
    check_invariants(records, summaries)
    seen = summaries[1]["levels"]["process"]["cpu_time_s"]
    # Grandchildren that were waited for by somebody else count in steps of 10 ms.
    assert abs(seen - truth) <= max(0.01 * truth, 0.02), (seed, summaries[1])


def test_a_mix_of_children(read_back, check_invariants):
    for seed in range(4):
        check_mix(seed, read_back, check_invariants)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_many_mixes_of_children(read_back, check_invariants):
    for _ in range(100):
        check_mix(random.randrange(1 << 30), read_back, check_invariants)
