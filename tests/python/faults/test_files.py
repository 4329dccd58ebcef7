"""S7, P13, X2: files that are deleted, moved, replaced, thinned and cleaned up under a kernel."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from faults.harness import NOBODY, Kernel, Recording, alive, await_that, jumper, recordings

pytestmark = pytest.mark.slow  # the same core, whichever CPython


def await_path(kernel: Kernel, other_than: str | None = None) -> Path:
    """Where the recording is once the sampler has noticed."""
    code = "answer = s.path"
    return Path(await_that(lambda: (p := kernel.do(code)) != other_than and p))


def files_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def check_whole(kernel: Kernel, path: Path, cells: int) -> Recording:
    kernel.do("s.close()")
    err = kernel.end()
    recording = Recording(path)
    recording.check_order()
    assert recording.end == "closed"
    assert [cell["index"] for cell in recording.cells] == list(range(1, cells + 1))
    assert err.count("\n") <= 1, err
    return recording


@pytest.mark.fault("S7")
def test_deleted(kernel):
    """It goes on under the same name, and nothing of it is lost."""
    path = Path(kernel.path)
    kernel.do("cell('before = 1')")
    path.unlink()
    await_that(path.exists)
    await_that(lambda: kernel.status()["gaps"])
    (warning,) = kernel.warnings()
    kernel.do("cell('after = 1')")
    assert warning == (
        f"the recording '{path}' was deleted or replaced: all of it is in '{path}', and goes on "
        "there"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    recording = check_whole(kernel, path, 3)
    assert recording.gap_reasons == {"the recording was replaced"}
    (gap,) = recording.of("gap")
    assert gap["begin_ns"] == gap["end_ns"]
    rows = recording.rows
    longest_ns = max(b["time_ns"] - a["time_ns"] for a, b in itertools.pairwise(rows))
    assert longest_ns < 500_000_000, "no hole in the samples"
    assert files_in(path.parent) == [path.name]


@pytest.mark.fault("S7")
def test_the_summary_goes_on_where_the_recording_does(kernel):
    """A cell that began in the file that is gone."""
    path = Path(kernel.path)
    kernel.do(
        "c = s.cell('long'); c.__enter__(); "
        "os.unlink(s.path); deadline = time.monotonic() + 20\n"
        "while not (os.path.exists(s.path) and s.native.status().gaps): time.sleep(0.02)\n"
        "c.__exit__(None, None, None)"
    )
    summary = json.loads(kernel.do("answer = c.summary().json"))
    assert summary["levels"]["process"]["cpu_time_s"] > 0
    assert summary["ticks"] > 5
    check_whole(kernel, path, 2)


@pytest.mark.fault("S7")
def test_replaced_by_a_foreign_file(kernel):
    """The foreign file stays as it is; ours gets a name beside it."""
    path = Path(kernel.path)
    foreign = path.with_name("foreign")
    foreign.write_text("not yours")
    foreign.rename(path)
    other = await_path(kernel, kernel.path)
    assert other == path.with_name(path.stem + "-2.jumper")
    kernel.do("cell('after = 1')")
    check_whole(kernel, other, 2)
    assert path.read_text() == "not yours"


@pytest.mark.fault("S7")
def test_its_folder_is_gone(kernel):
    path = Path(kernel.path)
    path.unlink()
    path.parent.rmdir()
    await_that(path.exists)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    check_whole(kernel, path, 1)


@pytest.mark.fault("S7")
def test_renamed(kernel):
    """It is the same file: it goes on in it, and the kernel knows the name."""
    path = Path(kernel.path)
    moved = path.with_name("mine.jumper")
    path.rename(moved)
    assert await_path(kernel, kernel.path) == moved
    (warning,) = kernel.warnings()
    kernel.do("cell('after = 1')")
    assert f"was renamed: it goes on in '{moved}'" in warning
    recording = check_whole(kernel, moved, 2)
    assert recording.of("gap") == []
    assert files_in(path.parent) == ["mine.jumper"]


@pytest.mark.fault("S7")
def test_deleted_and_closed_at_once(kernel):
    """Too soon for the look of each second."""
    path = Path(kernel.path)
    kernel.do("os.unlink(s.path); s.close()")
    kernel.end()
    recording = Recording(path)
    assert recording.end == "closed"
    assert len(recording.cells) == 1


@pytest.mark.fault("S7")
def test_no_other_file_can_be_made(kernel, as_root):
    """It goes on where it is, without a name; when there is a place again it gets one."""
    path = Path(kernel.path)
    path.unlink()
    path.parent.chmod(0o777)  # others may write there: not a place for it
    warnings = await_that(kernel.warnings)
    assert len(warnings) == 1
    assert "was deleted, and there can't be another one" in warnings[0]
    assert "others may write to it" in warnings[0]
    index = kernel.do("answer = cell('after = 1')")
    assert kernel.do(f"answer = s.native.wait({index}, 20)")
    assert files_in(path.parent) == []
    path.parent.chmod(0o700)
    await_that(path.exists)
    check_whole(kernel, path, 2)


@pytest.mark.fault("S7")
def test_the_sampler_dies_while_it_has_no_name(kernel, as_root):
    path = Path(kernel.path)
    path.unlink()
    path.parent.chmod(0o777)
    await_that(kernel.warnings)
    kernel.signal_sampler(signal.SIGKILL)
    path.parent.chmod(0o700)
    kernel.await_sampler(kernel.sampler)
    await_that(path.exists)
    kernel.do("s.close()")
    kernel.end()
    recording = Recording(path)
    recording.check_order()
    assert len(recording.cells) == 2


@pytest.mark.fault("S7")
def test_deleted_and_replaced_in_a_loop(kernel):
    path = Path(kernel.path)
    for number in range(4):
        kernel.do(f"cell('n = {number}')")
        gaps = len(kernel.status()["gaps"])
        path.unlink()
        if number % 2:
            path.write_text("foreign")
        await_that(lambda seen=gaps: len(kernel.status()["gaps"]) > seen)
        path = Path(kernel.do("answer = s.path"))
    kernel.do("s.close()")
    kernel.end()
    recording = Recording(path)
    recording.check_order()
    assert len(recording.cells) == 5
    assert recording.end == "closed"


# ---- thinning ----

MOST = 200_000


def comparable(summary: dict) -> dict:
    """What thinning must not change."""
    kept = {"duration_s": summary["cell"]["duration_s"], "outcome": summary["cell"]["outcome"]}
    for level, figures in summary["levels"].items():
        if not figures:
            continue
        for name in (
            "cpu_time_s",
            "io_read_bytes",
            "io_write_bytes",
            "io_read_ops",
            "io_write_ops",
            "storage_read_bytes",
            "storage_write_bytes",
            "page_faults",
        ):
            kept[f"{level}.{name}"] = figures.get(name)
        memory = figures["memory_bytes"] or {}
        for name in ("begin", "end", "peak", "max"):
            kept[f"{level}.{name}"] = memory.get(name)
    return kept


def thins(kernel: Kernel, inode: int) -> bool:
    return Path(kernel.path).stat().st_ino != inode


def test_thinned_while_it_is_written(start_kernel):
    """Totals and peaks are what they were; kernel and readers by name go on in the copy."""
    kernel = start_kernel(rate=200, most_bytes=MOST)
    kernel.await_sampler()
    inode = Path(kernel.path).stat().st_ino
    kernel.do("before = {}")
    watched = subprocess.Popen(
        [sys.executable, "-c", FOLLOW, kernel.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    cells = 0
    while not thins(kernel, inode):
        index = kernel.do("answer = cell('x = bytearray(8 << 20); time.sleep(0.2); del x')")
        assert kernel.do(f"answer = s.native.wait({index}, 20)")
        code = f"before[{index}] = json.loads(s.native.summary({index}, 'all').json)"
        kernel.do(code)
        cells += 1
        assert cells < 200, Path(kernel.path).stat().st_size
    before = {int(k): v for k, v in kernel.do("answer = before").items()}
    index = kernel.do("answer = cell('later = 1')")
    assert kernel.do(f"answer = s.native.wait({index}, 20)")
    live = kernel.do(f"answer = json.loads(s.native.summary({index}, 'all').json)")
    assert live["levels"]["process"]["cpu_time_s"] is not None
    told, _ = watched.communicate(b"\n", timeout=60)
    assert int(told) > cells, "a reader by name sees what came later"
    assert Path(kernel.path).stat().st_size < MOST
    assert Path(kernel.path).stat().st_mode & 0o777 == 0o600
    assert kernel.warnings() == []
    kernel.do("s.close()")
    assert kernel.end() == ""
    recording = Recording(kernel.path)
    recording.check_order()
    assert recording.end == "closed"
    assert recording.gap_reasons <= {"the sampler was stopped or starved"}
    after = {one["cell"]["index"]: one for one in recording.summaries}
    assert len(after) == cells + 2
    for index, summary in before.items():
        assert comparable(after[index]) == comparable(summary), index
    assert "older samples are thinned to one in" in recording.text
    assert files_in(Path(kernel.path).parent) == [Path(kernel.path).name]


FOLLOW = """
import sys
from jumper import _native
sys.stdin.readline()
print(len(_native.Report.open(sys.argv[1]).cells()))
"""


@pytest.mark.parametrize("place", ["thin", "thin-sync", "thin-rename", "thin-told"])
def test_killed_while_it_thins(dev_program, place):
    """The old file or the new one is whole, the next sampler goes on, and nothing is left."""
    environment = {"JUMPER_FAILPOINTS": f"{place}=kill@1"}
    with Kernel(program=dev_program, env=environment, rate=200, most_bytes=MOST) as kernel:
        kernel.await_sampler()
        kernel.do("del os.environ['JUMPER_FAILPOINTS']")  # the next sampler does better
        cells = 1
        while kernel.do("answer = s.native.status().sampler_restarts") == 0:
            kernel.do("cell('time.sleep(0.2)')")
            cells += 1
            assert cells < 300
        whole = Recording(kernel.path, whole=False)
        assert len(whole.cells) >= cells - 3
        assert kernel.do("answer = len(s.native.cells())") == cells
        kernel.await_sampler(kernel.sampler)
        kernel.do("s.close()")
        kernel.end()
        recording = Recording(kernel.path, whole=False)
        recording.check_order()
        assert recording.end == "closed"
        assert [cell["index"] for cell in recording.cells] == list(range(1, cells + 2))
        assert files_in(Path(kernel.path).parent) == [Path(kernel.path).name]


# ---- how long files are kept ----


def made(folder: Path, name: str, *, days: float = 0, content: bytes = b"") -> Path:
    path = folder / name
    path.write_bytes(content)
    path.chmod(0o600)
    when = time.time() - days * 86400
    os.utime(path, (when, when))
    return path


@pytest.fixture
def finished(tmp_path) -> bytes:
    """The bytes of a recording that has an end."""
    path = tmp_path / "finished.jumper"
    assert jumper("record", "-o", path, "--", "true").returncode == 0
    return path.read_bytes()


@pytest.fixture
def folder(state_home) -> Path:
    (state_home / "jumper").mkdir(parents=True, mode=0o700)
    return state_home / "jumper"


def name(number: int) -> str:
    return f"20250101T0000{number:02}-{number + 1}-{number:08x}.jumper"


def test_old_recordings_are_deleted(folder, finished, start_kernel):
    old = made(folder, name(1), days=31, content=finished)
    young = made(folder, name(2), days=29, content=finished)
    named = made(folder, "precious.jumper", days=400, content=finished)
    other = made(folder, "notes.txt", days=400, content=b"mine")
    foreign = made(folder, name(3), days=400, content=b"not a recording, whatever its name")
    kernel = start_kernel()
    await_that(lambda: not old.exists())
    kernel.await_sampler()
    for kept in (young, named, other, foreign, Path(kernel.path)):
        assert kept.exists(), kept
    status = kernel.do("t = s.native.status(); answer = [t.keep_days, t.keep_bytes, t.kept]")
    assert status == [30, 2 << 30, 3]  # the foreign one has such a name, too


def test_the_oldest_go_first_when_it_is_too_much(folder, finished, start_kernel):
    files = [made(folder, name(n), days=9 - n, content=finished) for n in range(6)]
    keep = 3 * len(finished) + 2000
    kernel = start_kernel(env={"JUMPER_KEEP_BYTES": str(keep)})
    await_that(lambda: not files[2].exists())
    kernel.await_sampler()
    left = [one.exists() for one in files]
    assert left[-1], "no more than needed"
    assert left == sorted(left)


def test_what_runs_is_never_deleted(folder, start_kernel):
    """Neither a live one nor what may be another machine's."""
    env = {"JUMPER_KEEP_DAYS": "0", "JUMPER_KEEP_BYTES": "0"}
    first = start_kernel(env=env)
    first.await_sampler()
    os.utime(first.path, (1, 1))
    unfinished = made(folder, name(7), days=0.5, content=Path(first.path).read_bytes())
    dead = made(folder, name(8), days=0.5, content=b"\xf1JUMPER\n damaged")
    second = start_kernel(env=env)
    second.await_sampler()
    first.do("cell('1')")
    assert Path(first.path).exists()
    assert unfinished.exists()
    assert dead.exists()
    path = Path(first.path)
    first.do("s.close()")
    first.end()
    third = start_kernel(env=env)
    await_that(lambda: not path.exists())
    assert Path(second.path).exists()
    assert Path(third.path).exists()


def test_a_project_s_folder_is_not_cleaned(tmp_path, finished, start_kernel):
    """0755, as the user's own folders are."""
    project = tmp_path / "project"
    project.mkdir(mode=0o755)
    old = made(project, name(1), days=400, content=finished)
    kernel = start_kernel(env={"JUMPER_DIR": str(project), "JUMPER_KEEP_DAYS": "0"})
    kernel.await_sampler()
    kernel.do("s.close()")  # the errand is over then
    kernel.end()
    assert old.exists()
    assert Path(kernel.path).exists()


@pytest.mark.fault("X2")
def test_links_and_pipes_are_left_alone(as_root, folder, finished, tmp_path, start_kernel):
    """X2: planted by another user, or by a mistake of ours."""
    victim = made(tmp_path, "victim", days=400, content=finished)
    (folder / name(1)).symlink_to(victim)
    os.link(made(tmp_path, "linked", days=400, content=finished), folder / name(2))
    os.mkfifo(folder / name(3))
    theirs = made(folder, name(4), days=400, content=finished)
    os.chown(theirs, NOBODY, NOBODY)
    part = folder / (f".{boot()[:8]}-{namespace():x}-99999999-{1:016x}.part")
    part.symlink_to(victim)
    kernel = start_kernel(env={"JUMPER_KEEP_DAYS": "0"})
    kernel.await_sampler()
    kernel.do("s.close()")
    kernel.end()
    assert {name(1), name(2), name(3), name(4), part.name} < set(files_in(folder))
    assert victim.read_bytes() == finished


@pytest.mark.fault("X2")
def test_what_a_folder_of_another_holds_is_left_alone(as_root, tmp_path, finished):
    """The program as a user who isn't root, in a folder that isn't its own."""
    tmp_path.chmod(0o755)
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    old = made(folder, name(1), days=400, content=finished)
    path = folder / "mine.jumper"
    for one in tmp_path.parents:
        if one.stat().st_uid == 0 and one != Path("/"):
            one.chmod(one.stat().st_mode & 0o7777 | 0o011)
    before = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    done = subprocess.run(
        [*before, *record_command(path)],
        env={**os.environ, "JUMPER_KEEP_DAYS": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert old.exists()
    assert path.exists()


def record_command(path: Path) -> list[str]:
    from jumper.session import program

    return [program(), "record", "-o", str(path), "--", "true"]


def boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text()


def namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def test_half_written_copies_of_the_dead_are_removed(folder, start_kernel):
    here = f".{boot()[:8]}-{namespace():x}-"
    dead = made(folder, f"{here}99999999-{1:016x}.part", content=b"half")
    elsewhere = made(folder, f".0123abcd-1-1-{2:016x}.part", content=b"half")
    long_ago = made(folder, f".0123abcd-1-1-{3:016x}.part", days=2, content=b"half")
    running = start_kernel()
    await_that(lambda: not dead.exists() and not long_ago.exists())
    assert elsewhere.exists(), "it may be another machine's"
    running.await_sampler()


# ---- P13 ----


def restarts(folder: Path, times: int) -> None:
    """Eight kernels at once, and one that is started again and again beside them."""
    with ExitStack() as stack:
        env = {"JPY_SESSION_NAME": "same.ipynb"}
        kernels = [stack.enter_context(Kernel(env=env)) for _ in range(8)]
        for _ in range(times):
            with Kernel(env=env) as one:
                one.do("cell('1'); s.close()")
                assert one.end() == ""
                assert Path(one.path).exists()
            one.await_no_sampler()
        for number, one in enumerate(kernels):
            one.do(f"for i in range({number + 1}): cell('i')")
        for number, one in enumerate(kernels):
            one.do("s.close()")
            assert one.end() == ""
            recording = Recording(one.path)
            assert [cell["index"] for cell in recording.cells] == list(range(1, number + 2))
            assert not alive(one.sampler)
    names = {one.name for one in recordings()}
    assert len(names) == 8 + times
    assert set(files_in(folder)) == names


@pytest.mark.fault("P13")
def test_many_kernels_and_restarts_in_one_folder(folder):
    restarts(folder, 10)


@pytest.mark.fault("P13")
@pytest.mark.long
@pytest.mark.timeout(600)
def test_fifty_restarts_beside_eight_kernels(folder):
    restarts(folder, 50)
