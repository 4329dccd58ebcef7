"""C2, S1, P3 at each step: the n-th call fails once or for ever, or the sampler dies in it."""

import errno
import os
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from faults.harness import Kernel, Recording, await_that, jumper

pytestmark = pytest.mark.slow  # the same core, whichever CPython


def start(stack: ExitStack, dev_program: str, failpoints: str, **options) -> Kernel:
    environment = {"JUMPER_FAILPOINTS": failpoints}
    return stack.enter_context(Kernel(program=dev_program, env=environment, **options))


def kill_at_writes(dev_program: str, passes: range) -> None:
    """Each sampler, the later ones too, dies in its n-th write: no cell is lost, all is read."""
    with ExitStack() as stack:
        kernels = [start(stack, dev_program, f"write=kill@{n}") for n in passes]
        for one in kernels:
            one.send("for i in range(20): cell('time.sleep(0.01)')")
        for one in kernels:
            one.take()
        time.sleep(1.2)  # the second sampler has begun, and died in its turn
        for one in kernels:
            cells = one.do("answer = [[c.index, c.outcome] for c in s.native.cells()]")
            assert cells == [[i + 1, "ok"] for i in range(20)]
            one.do("s.close()")
            one.end()
            recording = Recording(one.path, whole=False)
            recording.check_order()
            indices = [cell["index"] for cell in recording.cells]
            assert indices == list(range(1, len(indices) + 1))


@pytest.mark.fault("P3")
@pytest.mark.parametrize("first", [1, 9, 17, 25])
def test_killed_at_the_nth_write(dev_program, first):
    kill_at_writes(dev_program, range(first, first + 8))


@pytest.mark.fault("P3")
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_killed_at_each_write(dev_program):
    for first in range(33, 303, 10):
        kill_at_writes(dev_program, range(first, first + 10))


def check_full(kernel: Kernel) -> Recording:
    """Nothing was lost that memory could hold."""
    cells = kernel.do("answer = [[c.index, c.outcome] for c in s.native.cells()]")
    assert cells == [[i + 1, "ok"] for i in range(10)]
    return cells


@pytest.mark.fault("S1")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_the_nth_write_fails_once(dev_program, code):
    """It goes on in memory, and is whole in the file when the session is closed."""
    with ExitStack() as stack:
        passes = (*range(1, 9), 12, 20, 40)
        kernels = [start(stack, dev_program, f"write={code}@{n}") for n in passes]
        for one in kernels:
            one.send("for i in range(10): cell('time.sleep(0.05)')")
        for one in kernels:
            one.take()
            check_full(one)
            err = one.end()
            assert err.count("goes on in memory") == 1, err
            assert err.count("\n") == 1
            recording = Recording(one.path)
            recording.check_order()
            assert recording.end == "closed"
            assert [cell["outcome"] for cell in recording.cells] == ["ok"] * 10
            assert len(recording.rows) > 20


@pytest.mark.fault("S1")
def test_the_disk_stays_full(dev_program):
    """Every write fails, memory's too: cells live in the kernel, and the gap is known."""
    with ExitStack() as stack:
        kernels = [
            start(stack, dev_program, f"write={errno.ENOSPC}@{n}+") for n in (1, 2, 5, 9, 30)
        ]
        for one in kernels:
            one.send("for i in range(10): cell('time.sleep(0.05)')")
        for one in kernels:
            one.take()
            check_full(one)
            assert one.end().count("\n") <= 1
            Recording(one.path, whole=False).check_order()


@pytest.mark.fault("S1")
def test_a_full_disk_that_gets_room_again(mounts, start_kernel, tmp_path):
    """A real one: a small tmpfs that only the kernel and its sampler see."""
    folder = tmp_path / "small"
    folder.mkdir()
    script = f'mount -t tmpfs -o size=128k,mode=700 tmpfs "{folder}" && exec "$@"'
    kernel = start_kernel(
        before=["unshare", "-m", "sh", "-c", script, "sh"],
        env={"JUMPER_DIR": str(folder)},
        rate=200,
    )
    kernel.do(
        f"fill = open({str(folder / 'fill')!r}, 'wb', buffering=0)\n"
        "try:\n    while True: fill.write(b'x' * 4096)\nexcept OSError: pass"
    )
    await_that(lambda: "in memory" in kernel.status()["where"])
    assert kernel.do("answer = cell('time.sleep(0.2)')") == 1
    assert kernel.do("answer = s.native.wait(1, 20)")
    summary = kernel.do("answer = json.loads(s.summary().json)")
    assert summary["cell"]["outcome"] == "ok"
    assert summary["gaps"] == []
    kernel.do(f"os.truncate({str(folder / 'fill')!r}, 0)")
    await_that(lambda: "in memory" not in kernel.status()["where"])
    kernel.do("cell('2'); s.close()")
    copy = tmp_path / "copy.jumper"
    kernel.do(f"import shutil; shutil.copy({kernel.path!r}, {str(copy)!r})")
    err = kernel.end()
    assert err.count("goes on in memory") == 1
    assert "No space left on device" in err
    recording = Recording(copy)
    recording.check_order()
    assert recording.of("gap") == []
    assert [cell["outcome"] for cell in recording.cells] == ["ok", "ok"]
    assert recording.end == "closed"


@pytest.mark.fault("S3")
@pytest.mark.parametrize("place", ["socketpair", "spawn", "pidfd", "memfd"])
@pytest.mark.parametrize("how", ["@1", "@1+", "@2+"])
def test_what_starts_a_sampler_fails(dev_program, tmp_path, place, how):
    """In the kernel's side, here that of `jumper record`: the command runs, its status counts."""
    path = tmp_path / "run.jumper"
    environment = {"JUMPER_FAILPOINTS": f"{place}={errno.EMFILE}{how}"}
    done = jumper(
        "record", "-o", path, "--", sys.executable, "-S", "-c", "import time; time.sleep(0.3)",
        path=dev_program, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.count("\n") <= 1
    if place in ("socketpair", "spawn") and how != "@2+":
        assert "jumper: cells are kept without samples: cannot" in done.stderr
    else:
        assert done.stderr == ""
        recording = Recording(path)
        assert [cell["outcome"] for cell in recording.cells] == ["ok"]
        assert len(recording.rows) > 3


def test_a_program_that_is_missing(start_kernel):
    kernel = start_kernel(program="/nowhere/jumper")
    assert kernel.sampler is None
    assert kernel.do("answer = cell('1 + 1')") == 1
    assert "/nowhere/jumper" in kernel.status()["lost"]
    summary = kernel.do("answer = json.loads(s.summary().json)")
    assert summary["cell"]["outcome"] == "ok"
    assert summary["levels"]["process"]["cpu_time_s"] is not None
    kernel.do("s.close()")
    err = kernel.end()
    assert err.count("\n") == 1
    assert "cells are kept without samples: cannot start '/nowhere/jumper'" in err


@pytest.mark.fault("P12")
def test_limits_of_the_user(start_kernel):
    """P12: what the user's code forbids itself isn't the sampler's doom."""
    kernel = start_kernel()
    kernel.await_sampler()
    kernel.do(
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "for i in range(5): cell('time.sleep(0.05)')"
    )
    assert kernel.do("answer = s.native.wait(6, 20)")
    kernel.do("s.close()")
    recording = Recording(kernel.path)
    assert [cell["outcome"] for cell in recording.cells] == ["ok"] * 6


def test_subprocess_of_the_program_without_a_kernel(dev_program):
    """`sample` prints what it can, whatever fails once."""
    done = subprocess.run(
        [dev_program, "sample", "--count", "3", "--rate", "50", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 3
