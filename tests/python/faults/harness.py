"""What the fault tests share: a kernel to do harm to, and its recording read back."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from jumper.session import program

KERNEL = Path(__file__).with_name("kernel.py")
DEV_PROGRAM = Path(__file__).parents[3] / "build" / "dev" / "jumper"
LEAVE_S = 5
PATIENCE_S = 30  # for what must come, on a busy machine
NOBODY = 65534


def await_that(condition: Callable[[], Any], timeout_s: float = PATIENCE_S, what: str = "") -> Any:
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, what or f"not within {timeout_s} s"
        time.sleep(0.005)
    return found


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def descriptors(pid: int) -> dict[int, str]:
    """What its numbers mean; some are gone before they are looked at."""
    found = {}
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[int(one.name)] = str(one.readlink())
    return found


def jumper(*arguments: Any, path: str | None = None, **options: Any):
    """The program, to its end."""
    return subprocess.run(
        [path or program(), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


class Kernel:
    """A process with a session. `do` runs code in it (`s`, `cell(code)`) and gives `answer`."""

    def __init__(self, *, env: dict | None = None, before: list[str] | None = None, **options):
        environment = {**os.environ, **(env or {})}
        environment = {name: value for name, value in environment.items() if value is not None}
        self.process = subprocess.Popen(
            [*(before or []), sys.executable, str(KERNEL), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self.pid = self.process.pid
        self.path, self.sampler = self.take()

    def send(self, code: str) -> None:
        self.process.stdin.write(json.dumps(code).encode() + b"\n")
        self.process.stdin.flush()

    def take(self, timeout_s: float = 60) -> Any:
        assert select.select([self.process.stdout], [], [], timeout_s)[0], "the kernel hangs"
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode()
        return json.loads(line)

    def do(self, code: str, timeout_s: float = 60) -> Any:
        self.send(code)
        return self.take(timeout_s)

    def status(self) -> dict:
        names = "sampler_pid sampler_restarts lost where path gaps missing cells rate_hz"
        pairs = ", ".join(f"'{name}': t.{name}" for name in names.split())
        return self.do(f"t = s.native.status(); answer = {{{pairs}}}")

    def warnings(self) -> list[str]:
        return self.do("answer = s.native.take_warnings()")

    def await_sampler(self, other_than: int | None = None, timeout_s: float = PATIENCE_S) -> int:
        """The pid of a sampler that has written samples, so that marks find it at work."""
        code = "answer = s.native.status().sampler_pid"
        pid = await_that(lambda: (p := self.do(code)) != other_than and p, timeout_s)
        index = self.do("answer = cell('pass')")
        assert self.do(f"answer = s.native.wait({index}, {timeout_s})")
        return pid

    def signal_sampler(self, number: int, sampler: int | None = None) -> None:
        os.kill(sampler or self.sampler, number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> str:
        """Lets it come to its end; what it said on stderr."""
        _, err = self.process.communicate(timeout=60)
        return err.decode()

    def await_no_sampler(self) -> None:
        await_that(lambda: not alive(self.sampler), LEAVE_S, "the sampler is still there")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()


class Recording:
    """What the program says of a file."""

    def __init__(self, path: str | Path, *, whole: bool = True):
        dumped, reported = jumper("dump", "--json", path), jumper("report", "--json", path)
        self.text = jumper("report", path).stdout
        for done in (dumped, reported):
            assert not whole or (done.returncode, done.stderr) == (0, ""), done
            assert done.returncode in (0, 1), done
            assert "Error" not in done.stderr
        self.records = [json.loads(line) for line in dumped.stdout.splitlines()]
        self.summaries = [json.loads(line) for line in reported.stdout.splitlines()]

    def of(self, kind: str) -> list[dict]:
        return [one for one in self.records if one["kind"] == kind]

    @property
    def rows(self) -> list[dict]:
        return self.of("row")

    @property
    def cells(self) -> list[dict]:
        return [one["cell"] for one in self.summaries]

    @property
    def gap_reasons(self) -> set[str]:
        return {one["reason"] for one in self.of("gap")}

    @property
    def end(self) -> str | None:
        found = self.of("end")
        assert len(found) <= 1
        return found[0]["cause"] if found else None

    def check_order(self) -> None:
        """Time goes on, counters never fall, every row has its columns' names."""
        last: dict[str, int] = {}
        time_ns = 0
        for row in self.rows:
            assert row["time_ns"] > time_ns
            time_ns = row["time_ns"]
            for name, value in row["values"].items():
                assert "." in name, "a row before its schema"
                if value is None or not name.startswith("process.") or "time_ns" not in name:
                    continue
                if name != "process.pss_time_ns":
                    assert value >= last.get(name, 0), name
                    last[name] = value


def recordings() -> list[Path]:
    return sorted(Path(os.environ["XDG_STATE_HOME"], "jumper").glob("*.jumper"))
