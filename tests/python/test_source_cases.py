"""Cases from people who do this job (cases.md), their parts about shares, limits and levels."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cgroups import Group
from faults.harness import await_that
from notebook import JSON_TYPE

from jumper.session import program

GIB = 1 << 30
BURN = """
import multiprocessing as mp, time
def burn(s):
    t = time.process_time()
    while time.process_time() - t < s: sum(range(1000))
if __name__ == "__main__":
    with mp.get_context("fork").Pool({0}) as p: p.map(burn, [{1}] * {0}, chunksize=1)
"""


def record(folder, code, **options) -> tuple[dict, str]:
    """The summary of one command, as JSON and as text of all levels."""
    path = folder / "run.jumper"
    command = [program(), "record", "-o", str(path), "--", sys.executable, "-c", code]
    subprocess.run(command, check=True, timeout=100, **options)
    shown = [
        subprocess.run(
            [program(), "report", *more, str(path)], check=True, capture_output=True, text=True
        ).stdout
        for more in (["--json"], ["--level", "all"])
    ]
    (line,) = shown[0].splitlines()
    return json.loads(line), shown[1]


@pytest.fixture
def group():
    try:
        group = Group(cores=1, memory_bytes=4 * GIB)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield group
    group.remove()


def test_01_cpu_and_memory_are_of_the_share_one_has(group, tmp_path):
    summary, text = record(tmp_path, BURN.format(4, 0.7), preexec_fn=group.enter)
    levels = summary["levels"]
    for level in ("process", "job"):
        assert levels[level]["capacity"]["cores"] == 1
        assert levels[level]["capacity"]["memory_bytes"] == 4 * GIB
        # Of one core, not of two; the quota holds the sampler up, too, at the edges.
        assert levels[level]["cpu_percent"]["mean"] == pytest.approx(
            levels[level]["cpu_time_s"] / summary["cell"]["duration_s"] * 100, rel=0.15
        )
        assert levels[level]["cpu_percent"]["max"] <= 100
        assert "cgroup" in levels[level]["capacity"]["source"]
    assert levels["node"]["capacity"]["cores"] == os.cpu_count()
    assert levels["node"]["capacity"]["memory_bytes"] > 4 * GIB
    assert levels["process"]["cpu_time_s"] == pytest.approx(2.8, rel=0.2)
    assert levels["job"]["cpu_time_s"] >= levels["process"]["cpu_time_s"] * 0.9
    assert "of 1 core" in text
    assert "of 4.00 GiB" in text
    throttled_s = levels["job"].get("throttled_ns", 0) / 1e9  # 0 is left out
    much = throttled_s > 0.02 * summary["cell"]["duration_s"]
    assert ("by the CPU quota" in text) == much


def test_01_each_level_is_another(group, tmp_path):
    code = "data = bytearray(300 << 20); import time; time.sleep(1.2)"
    summary, _ = record(tmp_path, code, preexec_fn=group.enter)
    memory = {name: level["memory_bytes"]["max"] for name, level in summary["levels"].items()}
    assert list(memory) == ["process", "user", "job", "node"]
    assert 300 << 20 < memory["process"] < 360 << 20
    assert memory["process"] < memory["user"]  # this test itself belongs to the user
    assert 300 << 20 < memory["job"] < memory["node"]
    processes = {name: level["processes"]["max"] for name, level in summary["levels"].items()}
    assert processes["process"] == 2  # `jumper record` and the command
    assert 1 < processes["user"] <= processes["node"]


def test_01_no_job_is_null_with_a_reason(tmp_path):
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = {line.split(":", 2)[2] for line in lines}
    if own != {"/"}:
        pytest.skip(f"these tests run in a control group themselves: {own}")
    summary, text = record(tmp_path, "sum(range(10**6))")
    assert summary["levels"]["job"] is None
    assert summary["unknown"]["job"].startswith("not supported: ")
    assert summary["unknown"]["job"].removeprefix("not supported: ") in text


@pytest.mark.skipif(os.cpu_count() < 2, reason="one core is all there is")
def test_11_the_denominator_is_the_affinity(tmp_path):
    core = max(os.sched_getaffinity(0))
    summary, text = record(
        tmp_path, BURN.format(8, 0.25), preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )
    process = summary["levels"]["process"]
    assert process["capacity"]["cores"] == 1
    assert process["cpu_percent"]["mean"] == pytest.approx(
        process["cpu_time_s"] / summary["cell"]["duration_s"] * 100, rel=0.15
    )
    if process["cpu_percent"]["mean"] > 90:  # nobody else takes the core
        assert text.count("8 busy processes on 1 usable core") == 1
    assert sum(one["cpu_time_s"] for one in summary["consumers"]) == pytest.approx(
        process["cpu_time_s"], rel=0.1
    )


HIDDEN = """
import os, subprocess, sys
child = "import time as t\\nb = t.process_time()\\nwhile t.process_time() - b < 0.7: sum(range(9))"
for one in [subprocess.Popen([sys.executable, "-c", child]) for _ in range(2)]: one.wait()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a /proc that hides")
def test_35_procfs_is_closed(tmp_path):
    """Other users' processes don't appear: process and user are right, node from its counters."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("no Python that another user may run")
    path = tmp_path / "run.jumper"
    own = shutil.copy(program(), tmp_path / "jumper")  # nobody may not enter the environment
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and parent.stat().st_mode & 0o777 == 0o700:
            parent.chmod(0o711)
    inner = (
        "mount -t proc -o hidepid=2 proc /proc && setpriv --reuid 65534 --regid 65534"
        ' --clear-groups "$@"; exit $?'  # the shell stays: the one that is hidden
    )
    command = [str(own), "record", "-o", str(path), "--", python, "-c", HIDDEN]
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount", "sh", "-c", inner, "sh", *command],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if "unshare" in done.stderr:
        pytest.skip(f"no namespace here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    report = subprocess.run(
        [program(), "report", "--json", str(path)], check=True, capture_output=True, text=True
    )
    summary = json.loads(report.stdout)
    process, user, node = (summary["levels"][name] for name in ("process", "user", "node"))
    assert process["cpu_time_s"] == pytest.approx(1.5, abs=0.3)
    assert process["processes"]["max"] == 4  # `jumper record`, the command, two children
    assert user["cpu_time_s"] >= process["cpu_time_s"] * 0.95
    assert node["cpu_time_s"] >= process["cpu_time_s"] * 0.9
    assert node["processes"]["max"] is None
    assert "hidepid" in summary["unknown"]["node.processes"]
    assert done.stderr.count("\n") <= 1  # where the recording is; no warning at each tick


FAKE_DRIVER = Path(__file__).parents[2] / "build" / "dev" / "fake_nvml" / "today"


@pytest.fixture
def four_cards(tmp_path):
    """The scripted driver with cards that have 10, 20, 30 and 40 GiB in use."""
    if not FAKE_DRIVER.exists():
        pytest.skip("needs the scripted driver: `make test-native` builds it")
    script = tmp_path / "script"
    lines = ["cards = 4"]
    for card in range(4):
        lines.append(f"gpu{card}.name = a card")
        lines.append(
            f"gpu{card}.uuid = GPU-{card}{card}{card}{card}0000-aaaa-bbbb-cccc-ddddeeeeffff"
        )
        lines.append(f"gpu{card}.memory = {80 << 30} {10 * (card + 1) << 30} 0")
    script.write_text("\n".join(lines) + "\n")
    return {"LD_LIBRARY_PATH": str(FAKE_DRIVER), "JUMPER_FAKE_NVML": str(script)}


@pytest.mark.slow
def test_13_the_cards_are_those_that_the_notebook_has_chosen(open_notebook, four_cards):
    """It sets the variable itself, when the sampler runs already."""
    notebook = open_notebook(env=four_cards)

    def used_gib() -> dict[str, float]:
        notebook.run("import os, time; time.sleep(0.2)")
        shown = notebook.run("%jumper summary --level all").bundles[0][JSON_TYPE]
        memory = {
            name: figures["memory_bytes"]
            for name, figures in shown["levels"]["node"]["devices"].items()
            if name.startswith("gpu")
        }
        return {name: one["mean"] / GIB for name, one in memory.items() if one}

    everything = {"gpu0": 10, "gpu1": 20, "gpu2": 30, "gpu3": 40}
    await_that(lambda: used_gib() == everything)
    notebook.run('os.environ["CUDA_VISIBLE_DEVICES"] = "3,1"')
    await_that(lambda: used_gib() == {"gpu1": 20, "gpu3": 40})
    notebook.run('os.environ["CUDA_VISIBLE_DEVICES"] = "GPU-2222"')
    await_that(lambda: used_gib() == {"gpu2": 30})
    notebook.run('del os.environ["CUDA_VISIBLE_DEVICES"]')
    await_that(lambda: used_gib() == everything)
