"""S9: the wall clock is set during a run; and clocks that began elsewhere."""

import json
import shutil
import subprocess
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from faults.harness import Recording, await_that, jumper

pytestmark = pytest.mark.slow  # the same core, whichever CPython

HOURS = [0, -3, 5, 0]
LABELS = [0, 0, 5, 5]  # set back, the clock leaves them in order
SHIM = Path(__file__).with_name("wall_clock.cpp")


@pytest.fixture(scope="module")
def shim(tmp_path_factory) -> Path:
    """Reaches the kernel and the sampler: both ask the C library for the time."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no compiler for the clock that is set")
    library = tmp_path_factory.mktemp("shim") / "wall_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SHIM], check=True)
    return library


def set_clock(path: Path, hours: int) -> None:
    new = path.with_suffix(".new")
    new.write_text(str(hours * 3600))
    new.rename(path)


def wall_offset_ns(kernel) -> int:
    lines = jumper("dump", "--json", kernel.path).stdout.splitlines()
    found = [one for one in map(json.loads, lines) if one["kind"] == "machine"]
    return found[-1]["wall_offset_ns"]


@pytest.mark.fault("S9")
def test_the_wall_clock_is_set_during_a_run(start_kernel, shim, tmp_path):
    """Order and durations stay; labels follow it forwards."""
    ahead = tmp_path / "ahead"
    set_clock(ahead, HOURS[0])
    kernel = start_kernel(env={"LD_PRELOAD": str(shim), "WALL_CLOCK_AHEAD": str(ahead)})
    kernel.await_sampler()
    first_ns = wall_offset_ns(kernel)
    for hours in HOURS:
        set_clock(ahead, hours)
        wanted_ns = first_ns + hours * 3600 * 10**9
        await_that(
            lambda wanted_ns=wanted_ns: abs(wall_offset_ns(kernel) - wanted_ns) < 10**9,
            what="it wasn't noticed",
        )
        kernel.do("cell('time.sleep(0.2)')")
    walls = kernel.do("answer = [c.begin_wall_ns for c in s.native.cells()][1:]")
    kernel.do("s.close()")
    assert kernel.end() == ""
    recording = Recording(kernel.path)
    recording.check_order()
    assert recording.gap_reasons <= {"the sampler was stopped or starved"}
    for wall_ns, hours in zip(walls, LABELS, strict=True):
        assert wall_ns / 1e9 == pytest.approx(time.time() + hours * 3600, abs=60)
    for cell, hours in zip(recording.cells[1:], LABELS, strict=True):
        assert 0.2 <= cell["duration_s"] < 10
        begin = datetime.fromisoformat(cell["begin"]).timestamp()
        assert begin == pytest.approx(time.time() + hours * 3600, abs=60)
    begins = [one["time_ns"] for one in recording.of("cell_begin")]
    assert all(before < after for before, after in pairwise(begins))


@pytest.mark.fault("S9")
@pytest.mark.parametrize("offset_s", [100_000, 86_400 * 365])
def test_clocks_of_a_time_namespace(as_root, start_kernel, offset_s):
    """Monotonic and boot time begin elsewhere (time_namespaces(7)): times and CPU are right."""
    command = ["unshare", "--time", f"--boottime={offset_s}", f"--monotonic={offset_s}"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no time namespace")
    kernel = start_kernel(before=[*command, "--fork", "--kill-child"])
    kernel.await_sampler()
    here_s = time.monotonic()
    kernel.do("cell('t = time.process_time()\\nwhile time.process_time() < t + 0.3: pass')")
    kernel.do("s.close()")
    assert kernel.end() == ""
    recording = Recording(kernel.path)
    recording.check_order()
    assert recording.gap_reasons == set()
    assert recording.rows[-1]["time_ns"] / 1e9 - here_s == pytest.approx(offset_s, abs=60)
    process = recording.summaries[-1]["levels"]["process"]
    assert process["cpu_time_s"] == pytest.approx(0.3, abs=0.1)
    assert recording.end == "closed"
