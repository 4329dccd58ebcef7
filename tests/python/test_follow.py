"""`jumper report --follow`: a cell that runs, or hangs, seen from another terminal."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from faults.harness import NOBODY, Kernel, Recording, alive, await_that, jumper
from follower import Follower, Hang, stop_and_go_on

from jumper.session import program


@pytest.fixture
def hang(tmp_path, monkeypatch) -> Hang:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return Hang(tmp_path)


@pytest.fixture
def kernel(hang):
    with Kernel() as one:
        one.await_sampler()
        one.do("import hang; m = hang.Model()")
        yield one


def run_hanging(kernel: Kernel, hang: Hang, call: str) -> None:
    """Begins a cell that hangs; returns when it does, but for some us."""
    kernel.send(f"cell({call!r})")
    await_that((hang.folder / "main").exists)


@pytest.mark.parametrize(
    ("call", "line", "holds"),
    [
        ("m.sleeps('main')", "sleeping", False),
        ("hang.waits('main')", "waiting", False),
        ("hang.computes('main')", "computing", True),
    ],
)
def test_a_hanging_cell_says_where(kernel, hang, monkeypatch, call, line, holds):
    kernel.do(f"os.chdir({str(hang.folder)!r}); hang.lock.acquire()")
    kernel.do("hang.in_thread(m.sleeps, 'one'); hang.in_thread(hang.waits, 'two')")
    kernel.do("from jumper import _native")
    stacks = lambda: kernel.do("answer = _native.stacks()")  # noqa: E731
    await_that(lambda: hang.sleeping in (text := stacks()) and hang.waiting in text)
    run_hanging(kernel, hang, call)
    with Follower("--stacks", kernel.path) as follower:
        follower.until(r"running for .*\n.*" + call.split("(")[0])
        threads = follower.stacks()
        (main,) = (one for one in threads if f"thread {kernel.pid} " in one)
        assert "· main thread" in main
        assert threads[main][0] == getattr(hang, line)
        assert threads[main][1] == "<string>:1 in <module>"
        assert ("holds the GIL" in main) is holds
        assert main == next(iter(threads))  # the GIL's holder, else the main thread
        others = [frames[0] for one, frames in threads.items() if one != main]
        assert sorted(others) == sorted([hang.sleeping, hang.waiting])
        assert not [one for one in threads if "changed" in one]
    kept = await_that(lambda: Recording(kernel.path, whole=False).of("stacks"))
    assert getattr(hang, line) in kept[-1]["text"]


def test_cells_of_a_notebook_are_named(notebook):
    notebook.run("1")
    request = notebook.send("import time\ndef fit():\n    time.sleep(1000)\nfit()")
    path = await_that(lambda: next(iter(Path(os.environ["XDG_STATE_HOME"]).rglob("*.jumper")), 0))
    with Follower("--stacks", path) as follower:
        follower.until(r"In \[2\] · running for .*\n  import time\n  def fit\(\):\n")
        follower.until(r"In \[2\]:3 in fit\n(?s:.*?)\n\n")  # the first ones may be of its begin
        threads = follower.stacks()
        main = next(iter(threads))
        assert "· main thread" in main
        assert threads[main][:2] == ["In [2]:3 in fit", "In [2]:4 in <module>"]
        assert "more of what runs the cell" in threads[main][2]
    notebook.interrupt()
    assert notebook.take(request).ename == "KeyboardInterrupt"


def test_a_forked_child_does_not_answer(kernel):
    child = kernel.do("answer = pid = os.fork()\nif not pid: time.sleep(1000)")
    with Follower("--stacks", kernel.path) as follower:
        assert f"thread {kernel.pid} " in next(iter(follower.stacks()))
    with stop_and_go_on(kernel.pid), Follower("--stacks", kernel.path, text=False) as follower:
        await_that(
            lambda: b"no stacks within 5 s" in os.read(follower.process.stderr.fileno(), 999)
        )
        assert "stacks at" not in follower.text
    os.kill(child, signal.SIGKILL)
    assert kernel.do("answer = os.waitpid(pid, 0)[1]") == signal.SIGKILL


def test_a_flood_of_requests_hurts_nobody(kernel):
    sampler = kernel.await_sampler()
    before = len(Recording(kernel.path, whole=False).rows)
    stacks = lambda: Recording(kernel.path, whole=False).of("stacks")  # noqa: E731
    rounds = 0
    while len(stacks()) < 3:
        for _ in range(500):
            os.kill(sampler, signal.SIGUSR1)
        rounds += 1
        assert rounds < 500
    kernel.do("answer = cell('x = 1')")
    recording = Recording(kernel.path, whole=False)
    assert len(recording.rows) > before
    times = [one["time_ns"] for one in recording.of("stacks")]
    assert all(b - a > 0.2e9 for a, b in itertools.pairwise(times))
    assert not recording.gap_reasons
    assert alive(sampler)


def test_a_sampler_that_ended_cannot_be_asked(kernel):
    """Another one goes on and is asked instead."""
    with Follower("--stacks", kernel.path) as follower:
        follower.stacks()
        kernel.signal_sampler(signal.SIGKILL)
        kernel.await_sampler(other_than=kernel.sampler)
    with Follower("--stacks", kernel.path) as follower:
        follower.stacks()


def test_a_copy_has_no_kernel(kernel, tmp_path):
    copy = shutil.copy(kernel.path, tmp_path / "copy.jumper")
    with Follower("--stacks", copy) as follower:
        follower.until("idle")
        kernel.kill()
        _, said = follower.end()
        assert "doesn't write this file" in said
        assert said.count("\n") == 1


def test_another_user_cannot_ask(kernel):
    if os.geteuid() != 0:
        pytest.skip("needs root: another user is tried")
    before = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    with Follower("--stacks", kernel.path, before=before) as follower:
        status, said = follower.end()
    assert (status, follower.text) == (1, "")
    assert "Permission denied" in said
    folder = Path(tempfile.mkdtemp())
    try:  # as if somebody had opened it to all
        folder.chmod(0o755)
        (folder / "open.jumper").hardlink_to(kernel.path)
        (folder / "open.jumper").chmod(0o644)
        with Follower("--stacks", folder / "open.jumper", before=before) as follower:
            follower.until("idle")
            kernel.end()
            status, said = follower.end()
        assert status == 0
        assert said == (
            "jumper: only the user whose kernel it is, and root, can ask for its stacks\n"
        )
        assert not Recording(kernel.path).of("stacks")
    finally:
        shutil.rmtree(folder)


def test_a_recorded_command_has_no_python(tmp_path):
    path = tmp_path / "x.jumper"
    command = [program(), "record", "-o", str(path), "--", "sleep", "1000"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as recorder:
        try:
            await_that(lambda: path.exists() and jumper("report", path).returncode == 0)
            with Follower("--stacks", path) as follower:
                follower.until(r"stacks at .*\nthis process runs no Python of ours\n")
        finally:
            recorder.terminate()


def test_blocks_come_when_there_is_something_new(kernel):
    with Follower(kernel.path) as follower:
        follower.until(r"a test · .*1 cell\nidle: the last cell was #1 · .*ok\n  pass\nCPU  ")
        kernel.do("cell('x = 1')")
        follower.until(r"idle: the last cell was #2 .*\n  x = 1\nCPU  ")
        kernel.send("cell('time.sleep(1.5)')")
        follower.until(r"#3 · running for 1\.")
        kernel.take()
        follower.until(r"idle: the last cell was #3 · 1\.\d+ s · ok")
        kernel.end()
        assert follower.end() == (0, "")
    assert follower.text.endswith("\n\nthe recording has ended: closed\n")
    blocks = follower.text.split("\n\n")
    assert len(blocks) == len(set(blocks))
    assert len([one for one in blocks if "idle" in one]) <= 3


def test_a_killed_kernel_is_the_end(kernel):
    with Follower(kernel.path) as follower:
        follower.until("idle")
        kernel.kill()
        assert follower.end() == (0, "")
    assert "the recording has ended: killed by signal 9 (SIGKILL)" in follower.text


def test_a_line_of_json_for_each_cell_that_ends(kernel):
    with Follower("--json", kernel.path) as follower:
        while not follower.text:  # until it looks on; what ended before isn't shown
            kernel.do("cell('x = 1')")
            follower.read_some(0.05)
        last = kernel.do("cell('x = 2'); answer = cell('y = 3')")
        follower.until(f'"index":{last}\\b')
        kernel.end()
        assert follower.end() == (0, "")
    found = [json.loads(line)["cell"] for line in follower.text.splitlines()]
    assert [one["index"] for one in found] == list(range(found[0]["index"], last + 1))
    assert len(found) >= 3
    assert found[0]["index"] > 1
    assert all(one["outcome"] == "ok" for one in found)


def test_it_leaves_with_its_reader(kernel):
    with Follower(kernel.path) as follower:
        follower.until("idle")
        follower.process.stdout.close()
        assert follower.process.wait(10) in (0, -signal.SIGPIPE)


def test_what_cannot_be_followed_is_said_once(kernel, tmp_path):
    (tmp_path / "text").write_text("no recording")
    for path, said in (
        (tmp_path / "none", "No such file"),
        (tmp_path / "text", "not a JUmPER recording"),
    ):
        done = jumper("report", "--follow", path)
        assert (done.returncode, done.stdout) == (1, "")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    kernel.do("cell('x = 1')")
    kernel.end()
    done = jumper("report", "--follow", kernel.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "#2 · " in done.stdout
    assert done.stdout.endswith("\nthe recording has ended: closed\n")
    done = jumper("report", "--follow", "--json", kernel.path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "jumper: the recording has ended: closed\n"
    assert jumper("report", "--stacks", kernel.path).returncode == 2
    assert jumper("report", "--follow", "--stacks", "--json", kernel.path).returncode == 2
