"""P13, P14: several at once in one folder, restarts."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from faults.harness import Kernel, Recording, alive, await_that, recordings

from jumper.session import program


def test_two_sessions_of_one_process(start_kernel):
    kernel = start_kernel()
    other = kernel.do(
        "import jumper\n"
        "two = jumper.session(rate=100)\n"
        "with s.cell('of both'):\n"
        "    with two.cell('of two'): time.sleep(0.2)\n"
        "cell('pass', 'of one')\n"
        "answer = two.path\n"
        "two.close(); cell('pass', 'one goes on'); s.close()"
    )
    assert kernel.end() == ""
    assert other != kernel.path
    sources = [one["source"] for one in Recording(kernel.path).of("cell_begin")]
    assert sources == ["of both", "of one", "one goes on"]
    assert [one["source"] for one in Recording(other).of("cell_begin")] == ["of two"]


@pytest.mark.fault("P13")
def test_eight_kernels_in_one_folder():
    with ExitStack() as stack:
        kernels = [stack.enter_context(Kernel()) for _ in range(8)]
        assert len({one.path for one in kernels}) == 8
        for number, one in enumerate(kernels):
            one.send(f"for i in range(5): cell('time.sleep(0.02)', 'of {number}')")
        for one in kernels:
            one.take()
        for one in kernels[::2]:
            one.kill()
        for one in kernels[1::2]:
            one.end()
        for number, one in enumerate(kernels):
            one.await_no_sampler()
            recording = Recording(one.path)
            assert [cell["source"] for cell in recording.of("cell_begin")] == [f"of {number}"] * 5
    assert [str(one) for one in recordings()] == sorted(one.path for one in kernels)


def test_eight_commands_in_one_folder(tmp_path):
    """`jumper record` at the same time, each in a file of its own."""
    running = [
        subprocess.Popen(
            [program(), "record", "--", sys.executable, "-S", "-c", f"raise SystemExit({i})"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(8)
    ]
    said = [one.communicate(timeout=60)[1] for one in running]
    assert [one.returncode for one in running] == list(range(8))
    paths = [line.split("recorded in ")[1].strip() for line in said]
    assert sorted(paths) == [str(one) for one in recordings()]
    for number, path in enumerate(paths):
        (cell,) = Recording(path).cells
        assert cell["outcome"] == ("error" if number else "ok")


@pytest.mark.fault("P13")
def test_fifty_restarts(tmp_path):
    """Sessions one after the other: nothing stays behind, no name is used twice."""
    script = (
        "import jumper, os\nbefore = len(os.listdir('/proc/self/fd'))\nfor i in range(50):\n"
        "    with jumper.session() as s:\n        with s.cell(str(i)): pass\n"
        "del s\n"
        "print(len(os.listdir('/proc/self/fd')) - before, len(os.listdir('/proc/self/task')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["0", "1"]
    paths = recordings()
    assert len(paths) == 50
    numbers = set()
    for path in paths[::10]:
        recording = Recording(path)
        assert recording.end == "closed"
        numbers.add(recording.of("cell_begin")[0]["source"])
    assert len(numbers) == 5


@pytest.mark.fault("P14")
def test_a_kernel_that_ends_while_a_cell_runs(start_kernel):
    """No hang of more than 2 s."""
    kernel = start_kernel()
    kernel.await_sampler()
    kernel.send("cell('time.sleep(60)')")
    time.sleep(0.2)
    kernel.process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    kernel.end()
    assert time.monotonic() - begin < 10
    kernel.await_no_sampler()
    recording = Recording(kernel.path)
    assert recording.cells[-1]["outcome"] == "interrupted"


PIPED = """
import jumper
s = jumper.session()
c = s.cell("x")
c.__enter__()
print("out", flush=True)
{end}
"""


@pytest.mark.fault("P6")
@pytest.mark.parametrize("end", ["", "c.__exit__(None, None, None)", "import os; os._exit(0)"])
def test_47_a_pipe_ends_with_the_script(tmp_path, end):
    """`python script.py | cat`: nothing of ours holds the pipe, closed or not."""
    script = tmp_path / "script.py"
    script.write_text(PIPED.format(end=end))
    begin = time.monotonic()
    done = subprocess.run(
        f"'{sys.executable}' '{script}' 2>&1 | cat",
        shell=True, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == "out\n"
    assert time.monotonic() - begin < 20  # the interpreter's start on a busy machine


@pytest.mark.fault("P6")
def test_47_a_pipe_ends_with_the_command(tmp_path):
    command = [program(), "record", "-o", str(tmp_path / "a.jumper"), "--", "echo", "out"]
    done = subprocess.run(
        f"{' '.join(command)} | cat",
        shell=True, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("out\n", "")


@pytest.mark.fault("P6")
def test_47_killed_in_a_pipe(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PIPED.format(end="import time; time.sleep(60)"))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"out\n"
        process.kill()
        begin = time.monotonic()
        assert process.stdout.read() == b""
        assert time.monotonic() - begin < 5


@pytest.mark.fault("P6")
def test_the_server_goes_first(tmp_path):
    """P6: the kernel's parent dies, then the kernel: nothing is left."""
    server = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', sys.argv[1]])\ntime.sleep(60)"
    )
    child = (
        "import json, jumper, os, time; s = jumper.session(); c = s.cell('x'); c.__enter__()\n"
        "print(json.dumps([os.getpid(), s.native.status().sampler_pid]), flush=True)\n"
        "time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", server, child], stdout=subprocess.PIPE)
    kernel, sampler = json.loads(parent.stdout.readline())
    parent.kill()
    parent.wait()
    os.kill(kernel, 0)
    os.kill(sampler, 0)
    os.kill(kernel, signal.SIGKILL)
    await_that(lambda: not alive(sampler), 5)
    (path,) = recordings()
    recording = Recording(path)
    assert recording.end.startswith(("killed by signal 9", "unknown"))
    assert recording.cells[-1]["outcome"] == "died"
    parent.stdout.close()
