"""S1 with the system's own calls: strace makes the n-th one of the sampler fail."""

import contextlib
import re
import shutil
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults.harness import Kernel, Recording, await_that, jumper

from jumper.session import program

pytestmark = pytest.mark.slow  # the same core, whichever CPython

CELLS = 4
# What is called, and how it fails. Of what is called while the program is loaded, too, only the
# cells are asked for; of writing, that all is whole in the end.
WRITING = [
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("pwrite64", "EDQUOT"),
    ("pwrite64", "EINTR"),
    ("ftruncate", "EIO"),
    ("pwrite64,memfd_create", "ENOMEM"),  # and nothing to go on in
]
STARTING = [
    ("openat", "EMFILE"),
    ("openat", "EIO"),
    ("mmap", "ENOMEM"),
    ("clone3,clone", "EAGAIN"),
]


@pytest.fixture(autouse=True)
def strace():
    if shutil.which("strace") is None:
        pytest.skip("strace isn't installed")


@dataclass
class Fault:
    call: str
    error: str
    when: str
    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / f"{self.call}-{self.error}-{self.when}"

    def program(self) -> str:
        """Stands for `jumper`; the tracer is another process, so the sampler keeps its number."""
        script = self.log.with_suffix(".sh")
        script.write_text(
            f'#!/bin/sh\nexec strace -D -f -A -o "{self.log}" -e trace={self.call} '
            f'-e "inject={self.call}:error={self.error}:when={self.when}" "{program()}" "$@"\n'
        )
        script.chmod(0o700)
        return str(script)

    def happened(self) -> bool:
        return "(INJECTED)" in self.log.read_text()

    def check_ends(self) -> None:
        """However it ended: not by a mistake of ours."""
        killed = set(re.findall(r"\+\+\+ killed by (SIG\w+)", self.log.read_text()))
        assert killed <= {"SIGTERM", "SIGKILL", "SIGALRM"}, (self, killed)


def run(faults: list[Fault]) -> list[tuple[Fault, Kernel, str]]:
    """A session under each, all at once; its kernel has come to its end."""
    with ExitStack() as stack:
        kernels = [stack.enter_context(Kernel(program=one.program(), rate=100)) for one in faults]
        for kernel in kernels:
            kernel.send(f"for i in range({CELLS}): cell('time.sleep(0.05)')")
        for kernel in kernels:
            kernel.take()
            cells = kernel.do("answer = [[c.index, c.outcome] for c in s.native.cells()]")
            assert cells == [[i + 1, "ok"] for i in range(CELLS)]
        done = []
        for fault, kernel in zip(faults, kernels, strict=True):
            err = kernel.end()
            assert err.count("\n") <= 3, (fault, err)
            fault.check_ends()
            done.append((fault, kernel, err))
        return done


def check_writing(faults: list[Fault]) -> bool:
    """True when something has failed in each."""
    for fault, kernel, err in run(faults):
        for_ever = fault.when.endswith("+")
        # What couldn't be cut off behind sealed rows repeats them: only `dump` shows that.
        uncut = fault.call == "ftruncate"
        recording = Recording(kernel.path, whole=not for_ever and not uncut)
        if not uncut:
            recording.check_order()
        if for_ever:
            continue
        assert recording.end == "closed", fault
        assert [cell["outcome"] for cell in recording.cells] == ["ok"] * CELLS, fault
        if "memfd" in fault.call:  # what couldn't be kept anywhere is a gap, if it was rows
            assert recording.gap_reasons <= {"the samples could not be written"}, fault
            continue
        assert recording.gap_reasons == set(), fault
        quiet = fault.error == "EINTR" or fault.call == "ftruncate" or not fault.happened()
        assert err.count("goes on in memory") == (0 if quiet else 1), (fault, err)
    return all(fault.happened() for fault in faults)


def check_starting(faults: list[Fault]) -> bool:
    for _, kernel, _ in run(faults):
        done = jumper("report", kernel.path)
        assert done.returncode in (0, 1), done
        assert "Error" not in done.stderr
        if done.returncode == 0:
            with contextlib.suppress(AssertionError):
                Recording(kernel.path)
    return all(fault.happened() for fault in faults)


def each(tmp_path: Path, kinds: list, whens: list[str]) -> list[Fault]:
    return [
        Fault(call, error, when, tmp_path)
        for call, error in kinds
        for when in whens
        if not (error == "EINTR" and when.endswith("+"))
    ]


@pytest.mark.fault("S1")
@pytest.mark.parametrize("kind", WRITING, ids="-".join)
def test_a_write_of_the_sampler_s_fails(tmp_path, kind):
    first = 1 if kind[0] == "ftruncate" else 2  # that is called less often
    assert check_writing(each(tmp_path, [kind], [f"{first}", f"{first + 1}+"]))


@pytest.mark.fault("S1", "S4")
@pytest.mark.parametrize("kind", STARTING, ids="-".join)
def test_a_call_at_the_sampler_s_start_fails(tmp_path, kind):
    check_starting(each(tmp_path, [kind], ["2", "20", "40+"]))


def calls_of_the_loader(call: str) -> int:
    """Before the first line of ours; that it crashes without memory is the C library's doing."""
    command = ["strace", "-f", "-e", f"trace={call}", program(), "--version"]
    traced = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return sum(line.startswith(f"{call}(") for line in traced.splitlines())


def step(check, kind: tuple[str, str], tmp_path: Path, begin: float) -> None:
    """Each one, until one more wouldn't be reached any more."""
    skipped = calls_of_the_loader("mmap") if kind[0] == "mmap" else 0
    for first in range(skipped + 1, 400, 2):
        whens = [f"{first + n}{plus}" for n in range(2) for plus in ("", "+")]
        if not check(each(tmp_path, [kind], whens)):
            break
    assert first > skipped + 1, "nothing has failed"
    assert time.monotonic() - begin < 1400


@pytest.mark.fault("S1")
@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kind", WRITING, ids="-".join)
def test_each_write_of_the_sampler_s_fails(tmp_path, kind):
    step(check_writing, kind, tmp_path, time.monotonic())


@pytest.mark.fault("S1", "S4")
@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kind", STARTING, ids="-".join)
def test_each_call_at_the_sampler_s_start_fails(tmp_path, kind):
    step(check_starting, kind, tmp_path, time.monotonic())


@pytest.mark.fault("S1")
@pytest.mark.parametrize("most", [1, 5000])
def test_a_limit_of_the_size_of_files(start_kernel, most):
    """EFBIG, and before it a short write; the signal for it must not end the sampler.

    The limit counts for files in memory, too: cells are kept in the kernel, and rows are lost.
    """
    kernel = start_kernel(before=["prlimit", f"--fsize={most}:{most}", "--"], rate=200)
    kernel.do(f"for i in range({CELLS}): cell('time.sleep(0.1)')")
    await_that(lambda: "File too large" in kernel.status()["where"])
    assert kernel.status()["sampler_restarts"] == 0
    cells = kernel.do("answer = [[c.index, c.outcome] for c in s.native.cells()]")
    assert cells == [[i + 1, "ok"] for i in range(CELLS)]
    kernel.do("s.close()")
    err = kernel.end()
    assert err.count("File too large") == 1, err
    if most > 1:
        Recording(kernel.path, whole=False).check_order()
