"""Bad input to the program: one clear sentence, a status that isn't 0, nothing harmed."""

import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from faults.harness import NOBODY, jumper

from jumper.session import program

pytestmark = pytest.mark.slow  # the same core, whichever CPython

HEADER = struct.Struct("<8sBBHIII")


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("good") / "good.jumper"
    script = "import time; time.sleep(1.5)"
    command = ["record", "--rate", "50", "-o", path, "--", sys.executable, "-S", "-c", script]
    assert jumper(*command).returncode == 0
    return path


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def chunks(data: bytes) -> list[tuple[int, int]]:
    found, offset = [], 0
    while offset < len(data):
        length = HEADER.unpack_from(data, offset)[4]
        found.append((offset, offset + HEADER.size + length))
        offset = found[-1][1]
    return found


def with_version(data: bytes, begin: int, end: int, version: int) -> bytes:
    chunk = bytearray(data[begin:end])
    chunk[8] = version
    checksum = crc32c(bytes(chunk[:20]) + bytes(chunk[24:]))
    chunk[20:24] = struct.pack("<I", checksum)
    return data[:begin] + bytes(chunk) + data[end:]


def check_sentence(done, *words: str, status: int | None = None) -> str:
    """One line on stderr that says what, on what and why."""
    assert done.returncode not in (0, None) if status is None else done.returncode == status, done
    assert done.returncode > 0, done
    assert done.stderr.count("\n") == 1, done.stderr
    for word in ("jumper: ", *words):
        assert word in done.stderr, done.stderr
    assert "terminate" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("verb", ["report", "dump"])
class TestFiles:
    def test_missing(self, verb, tmp_path):
        done = jumper(verb, tmp_path / "x.jumper")
        check_sentence(done, f"'{tmp_path / 'x.jumper'}'", "No such file or directory")
        assert done.stdout == ""

    def test_a_directory(self, verb, tmp_path):
        check_sentence(jumper(verb, tmp_path), f"'{tmp_path}'", "directory")

    @pytest.mark.parametrize(
        "content",
        [b"hello\n", b"\0" * 5000, b"\x89PNG\r\n\x1a\n" + b"x" * 1000, b"JUMPER\n", b"{}" * 9],
    )
    def test_foreign(self, verb, tmp_path, content):
        path = tmp_path / "x.jumper"
        path.write_bytes(content)
        check_sentence(jumper(verb, path), str(path), "not a JUmPER recording")
        assert path.read_bytes() == content

    def test_empty(self, verb, tmp_path):
        path = tmp_path / "x.jumper"
        path.touch()
        check_sentence(jumper(verb, path), str(path), "empty")

    def test_of_another_user(self, verb, as_root, good, tmp_path):
        path = tmp_path / "x.jumper"
        shutil.copy(good, path)
        path.chmod(0o600)
        for one in path.parents:
            if one.stat().st_uid == 0 and one != Path("/"):
                one.chmod(one.stat().st_mode | 0o011)
        before = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        done = subprocess.run(
            [*before, program(), verb, str(path)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        check_sentence(done, str(path), "Permission denied")

    def test_a_pipe_that_nobody_writes_to(self, verb, tmp_path):
        path = tmp_path / "x.jumper"
        os.mkfifo(path)
        try:
            done = subprocess.run(
                [program(), verb, str(path)],
                capture_output=True, text=True, timeout=5, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            pytest.fail("it waits for ever")
        check_sentence(done, str(path))

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
    def test_a_device(self, verb, device):
        check_sentence(jumper(verb, device), device)

    def test_cut_anywhere(self, verb, good, tmp_path):
        """What is whole is shown; what is lost is said."""
        data = good.read_bytes()
        ends = {end for _, end in chunks(data)}
        path = tmp_path / "x.jumper"
        for cut in sorted({*range(1, 60, 7), *range(60, len(data), len(data) // 25), *ends}):
            path.write_bytes(data[:cut])
            done = jumper(verb, path)
            if cut in ends:
                assert done.returncode == 0, (cut, done)
                assert done.stderr == ""
            else:
                check_sentence(done, str(path), status=1)
            assert done.stdout or cut < chunks(data)[0][1] or verb == "report"

    def test_a_newer_one(self, verb, good, tmp_path):
        data = good.read_bytes()
        path = tmp_path / "x.jumper"
        for begin, end in reversed(chunks(data)):
            data = with_version(data, begin, end, 2)
        assert data != good.read_bytes()
        path.write_bytes(data)
        said = check_sentence(jumper(verb, path), str(path), "newer")
        assert "upgrade" in said

    def test_newer_parts(self, verb, good, tmp_path):
        data = good.read_bytes()
        path = tmp_path / "x.jumper"
        places = chunks(data)
        path.write_bytes(with_version(data, *places[len(places) // 2], 2))
        done = jumper(verb, path)
        assert done.returncode == 1
        assert "newer" in done.stderr
        assert done.stdout

    def test_the_checksum_of_the_helper_is_right(self, verb, good):
        data = good.read_bytes()
        for begin, end in chunks(data)[:5]:
            assert with_version(data, begin, end, 1) == data

    def test_one_byte_wrong(self, verb, good, tmp_path):
        data = bytearray(good.read_bytes())
        for begin, end in chunks(bytes(data))[1:-1:7]:
            broken = bytearray(data)
            broken[(begin + end) // 2] ^= 0x40
            path = tmp_path / "x.jumper"
            path.write_bytes(broken)
            done = jumper(verb, path)
            assert done.returncode == 1
            assert str(path) in done.stderr
            assert done.stdout


@pytest.mark.parametrize("rate", ["0", "-1", "x", "nan", "inf", "1e9", "0.05", ""])
@pytest.mark.parametrize("verb", [["record"], ["sample", "--count", "1"]])
def test_bad_rates(verb, rate, tmp_path):
    path = tmp_path / "x.jumper"
    options = ["-o", path, "--", "touch", tmp_path / "ran"] if verb == ["record"] else []
    done = jumper(*verb, "--rate", rate, *options)
    assert done.returncode == 2, done
    assert "--rate" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert not path.exists()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["report"],
        ["dump"],
        ["report", "--level", "x", "y"],
        ["sample", "--pid", "0"],
    ],
)
def test_bad_words(arguments):
    done = jumper(*arguments)
    assert done.returncode == 2
    assert done.stderr
    assert done.stdout == ""


def test_a_process_that_is_not_there():
    done = jumper("sample", "--pid", 2**22 + 1, "--count", 1)
    check_sentence(done, str(2**22 + 1), "no such process")


def test_a_recording_that_exists_is_refused(tmp_path):
    path = tmp_path / "x.jumper"
    path.write_text("mine")
    done = jumper("record", "-o", path, "--", "touch", tmp_path / "ran")
    check_sentence(done, str(path), "File exists", "-o")
    assert path.read_text() == "mine"
    assert not (tmp_path / "ran").exists()


def test_a_recording_where_none_can_be(tmp_path):
    done = jumper("record", "-o", tmp_path / "no/x.jumper", "--", "touch", tmp_path / "ran")
    check_sentence(done, str(tmp_path / "no/x.jumper"), "No such file or directory")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("words", [[], ["--"], ["--rate", "5"], ["-o", "x.jumper", "--"]])
def test_no_command(words, tmp_path):
    done = jumper("record", *words, cwd=tmp_path)
    check_sentence(done, "no command")
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_is_not_found(tmp_path):
    path = tmp_path / "x.jumper"
    for command in ("no-such-command", "/no/such/command"):
        done = jumper("record", "-o", path, "--", command)
        check_sentence(done, f"'{command}'", "No such file or directory", status=127)
        assert not path.exists()


def test_a_command_that_is_not_executable(tmp_path):
    path, command = tmp_path / "x.jumper", tmp_path / "command"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o644)
    for one in (command, tmp_path):
        done = jumper("record", "-o", path, "--", one)
        check_sentence(done, f"'{one}'", "Permission denied", status=126)
        assert not path.exists()
    command.chmod(0o755)
    command.write_text("#!/no/such/interpreter\n")
    assert jumper("record", "-o", path, "--", command).returncode in (126, 127)


def test_no_time_is_lost_with_a_device_as_output():
    begin = time.monotonic()
    done = jumper("record", "-o", "/dev/null", "--", "true")
    check_sentence(done, "/dev/null", "File exists")
    assert time.monotonic() - begin < 10
