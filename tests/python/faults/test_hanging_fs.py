"""S8: a file system that hangs or fails as NFS does. No cell waits for it, nothing is lost."""

import errno
import itertools
import json
import os
import threading
import time
from pathlib import Path

import pytest
from faults.hanging_fs import HangingFs
from faults.harness import Kernel, Recording, await_that

pytestmark = pytest.mark.slow  # the same core, whichever CPython

# What the extension does at each cell with a summary; how long the slowest took.
CELLS = (
    "took = []\n"
    "for i in range({0}):\n"
    "    begin = time.monotonic()\n"
    "    c = cell('pass'); s.native.wait(c); s.native.summary(c)\n"
    "    took.append(time.monotonic() - begin); time.sleep(0.05)\n"
    "answer = max(took)"
)


@pytest.fixture
def hanging_fs(as_root, tmp_path):
    if not Path("/dev/fuse").exists():
        pytest.skip("needs /dev/fuse")
    try:
        fs = HangingFs(tmp_path / "mount", tmp_path / "backing")
    except OSError as error:
        pytest.skip(f"no mount of a file system of our own: {error}")
    with fs:
        yield fs


@pytest.fixture
def kernel(hanging_fs, start_kernel) -> Kernel:
    one = start_kernel(env={"JUMPER_DIR": str(hanging_fs.mount / "recordings")}, rate=10)
    assert Path(one.path).parent == hanging_fs.mount / "recordings"
    one.await_sampler()
    return one


def check_all_is_there(kernel: Kernel, cells: int) -> str:
    """And what the kernel said."""
    kernel.do("s.close()")
    err = kernel.end()
    recording = Recording(kernel.path)
    recording.check_order()
    assert recording.end == "closed"
    assert [cell["index"] for cell in recording.cells] == list(range(1, cells + 1))
    assert recording.of("gap") == []
    rows = recording.rows
    longest_ns = max(b["time_ns"] - a["time_ns"] for a, b in itertools.pairwise(rows))
    assert longest_ns < 1_000_000_000
    return err


def hangs(fs: HangingFs, kernel: Kernel, seconds: float) -> None:
    count = int(seconds / 0.15)
    fs.hang()
    slowest_s = kernel.do(CELLS.format(count))
    assert slowest_s < 0.5, "a cell waited for the file system"
    time.sleep(seconds / 4)
    kernel.do("cell('1')")
    fs.go_on()
    index = kernel.do("answer = cell('1')")
    assert kernel.do(f"answer = s.native.wait({index}, 20)")
    shown = json.loads(kernel.do(f"answer = s.native.summary({index}).json"))
    assert shown["levels"]["process"]["cpu_time_s"] is not None
    err = check_all_is_there(kernel, count + 3)
    assert err.count("doesn't answer: what is measured is kept in memory") == 1
    assert err.count("\n") == 1


@pytest.mark.fault("S8")
def test_it_hangs_for_a_moment(hanging_fs, kernel):
    hangs(hanging_fs, kernel, 2)


@pytest.mark.fault("S8")
@pytest.mark.long
@pytest.mark.timeout(200)
def test_it_hangs_for_half_a_minute(hanging_fs, kernel):
    hangs(hanging_fs, kernel, 30)


@pytest.mark.fault("S8")
def test_it_hangs_when_the_session_is_closed(hanging_fs, kernel):
    hanging_fs.hang()
    kernel.do("cell('pass'); time.sleep(0.3)")
    took_s = kernel.do("t = time.monotonic(); s.close(); answer = time.monotonic() - t")
    assert took_s < 2.5
    # A process can't end in the middle of a write that its server has taken up.
    threading.Timer(0.5, hanging_fs.go_on).start()
    kernel.end()
    kernel.await_no_sampler()


@pytest.mark.fault("S8")
@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE])
def test_its_writes_fail(hanging_fs, kernel, code):
    hanging_fs.fail_writes(code)
    kernel.do(CELLS.format(5))
    await_that(lambda: "in memory" in kernel.status()["where"])
    hanging_fs.fail_writes(0)
    err = check_all_is_there(kernel, 6)
    assert err.count("goes on in memory") == 1
    assert os.strerror(code) in err


@pytest.mark.fault("S8")
def test_deleted_on_it(hanging_fs, kernel):
    Path(kernel.path).unlink()
    await_that(lambda: kernel.status()["gaps"])
    kernel.do("cell('1'); s.close()")
    kernel.end()
    recording = Recording(kernel.path)
    assert len(recording.cells) == 2
    assert recording.gap_reasons == {"the recording was replaced"}
