"""A kernel over ZeroMQ as a notebook's front end sees it, and IPython in a process of its own."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Self

import zmq
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpecManager

JSON_TYPE = "application/vnd.jumper+json"
TIMEOUT_S = 60


def write_kernelspecs(folder: Path) -> Path:
    """`jumper` as the wheel has it, `plain` the same without us; both for this interpreter."""
    template = Path(__file__).parents[2] / "share" / "kernelspec" / "kernel.json"
    spec = json.loads(template.read_text())
    spec["argv"][0] = sys.executable
    plain = [word for word in spec["argv"] if not word.startswith("--ext")]
    for name, argv in (("jumper", spec["argv"]), ("plain", plain)):
        (folder / name).mkdir(parents=True)
        (folder / name / "kernel.json").write_text(json.dumps(spec | {"argv": argv}))
    return folder


@dataclass
class Run:
    """What one execute request brought."""

    reply: dict
    messages: list[dict] = field(default_factory=list)

    @property
    def status(self) -> str:
        return self.reply["content"]["status"]

    @property
    def count(self) -> int:
        return self.reply["content"]["execution_count"]

    @property
    def ename(self) -> str | None:
        return self.reply["content"].get("ename")

    def contents(self, kind: str) -> list[dict]:
        return [one["content"] for one in self.messages if one["header"]["msg_type"] == kind]

    def stream(self, name: str) -> str:
        return "".join(one["text"] for one in self.contents("stream") if one["name"] == name)

    @property
    def stdout(self) -> str:
        return self.stream("stdout")

    @property
    def stderr(self) -> str:
        return self.stream("stderr")

    @property
    def displays(self) -> list[dict]:
        return [one["data"] for one in self.contents("display_data")]

    @property
    def bundles(self) -> list[dict]:
        """What we showed."""
        return [data for data in self.displays if JSON_TYPE in data]

    @property
    def result(self) -> str | None:
        found = self.contents("execute_result")
        return found[0]["data"]["text/plain"] if found else None

    @property
    def traceback(self) -> str:
        lines = [line for one in self.contents("error") for line in one["traceback"]]
        return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))

    def without_ours(self) -> list[tuple]:
        """What Plain must bring, too; neighbouring pieces of a stream are one."""
        kept: list[tuple] = []
        for message in self.messages:
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "stream":
                if kept and kept[-1][:2] == ("stream", content["name"]):
                    kept[-1] = (*kept[-1][:2], kept[-1][2] + content["text"])
                else:
                    kept.append(("stream", content["name"], content["text"]))
            elif kind in ("display_data", "execute_result") and JSON_TYPE not in content["data"]:
                kept.append((kind, content["data"]))
            elif kind == "error":
                kept.append((kind, content["ename"], content["evalue"]))
        return kept


class Notebook:
    """One kernel. `run` is a cell; `send` and `take` are its halves; more is the manager's."""

    def __init__(self, folder: Path, name="jumper", env=None, cwd=None, options=(), **manager):
        self.context = zmq.Context()
        specs = KernelSpecManager(kernel_dirs=[str(folder)], ensure_native_kernel=False)
        self.manager = KernelManager(
            kernel_name=name, kernel_spec_manager=specs, context=self.context, **manager
        )
        environment = {**os.environ, "IPYTHONDIR": str(folder / "ipython"), **(env or {})}
        self.manager.start_kernel(
            env=environment, cwd=cwd, extra_arguments=list(options), stderr=subprocess.DEVNULL
        )
        self.client = self.manager.client(context=self.context)
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT_S)
        self.messages: list[dict] = []

    @property
    def pid(self) -> int:
        return self.manager.provisioner.process.pid

    def send(self, code: str, **options) -> str:
        return self.client.execute(code, **options)

    def take(self, request: str, timeout_s: float = TIMEOUT_S) -> Run:
        """Reads until the request's reply and its idle status are there."""
        deadline = time.monotonic() + timeout_s
        while True:
            message = self.client.get_iopub_msg(timeout=max(0, deadline - time.monotonic()))
            self.messages.append(message)
            is_status = message["header"]["msg_type"] == "status"
            if (
                is_status
                and message["content"]["execution_state"] == "idle"
                and message["parent_header"].get("msg_id") == request
            ):
                break
        return Run(self.reply(request, deadline - time.monotonic()), self.of(request))

    def reply(self, request: str, timeout_s: float = TIMEOUT_S) -> dict:
        """Skips the replies to others (a slow kernel is asked for its name more than once)."""
        deadline = time.monotonic() + timeout_s
        while True:
            reply = self.client.get_shell_msg(timeout=max(0.1, deadline - time.monotonic()))
            if reply["parent_header"].get("msg_id") == request:
                return reply

    def of(self, request: str) -> list[dict]:
        return [m for m in self.messages if m["parent_header"].get("msg_id") == request]

    def stdout_of(self, request: str) -> str:
        return Run({}, self.of(request)).stdout

    def interrupt(self) -> None:
        """Stop. A cell that awaits notices when its loop wakes next, in Plain too: so wake it."""
        self.manager.interrupt_kernel()
        self.client.kernel_info()

    def drain(self, until, timeout_s: float = TIMEOUT_S) -> None:
        """Reads until `until()` is true."""
        deadline = time.monotonic() + timeout_s
        while not until():
            self.messages.append(
                self.client.get_iopub_msg(timeout=max(0, deadline - time.monotonic()))
            )

    def run(self, code: str, timeout_s: float = TIMEOUT_S, **options) -> Run:
        return self.take(self.send(code, **options), timeout_s)

    def complete(self, code: str) -> list[str]:
        return self.reply(self.client.complete(code))["content"]["matches"]

    def history(self) -> list[dict]:
        """The recorded cells, without the one that asks."""
        run = self.run("%jumper history", store_history=False)
        assert run.status == "ok", run.traceback
        return [one["cell"] for one in run.bundles[0][JSON_TYPE]][:-1]

    def expect_silence(self) -> None:
        """No message is on its way: a later request's idle status comes next."""
        request = self.client.kernel_info()
        try:
            while True:
                message = self.client.get_iopub_msg(timeout=TIMEOUT_S)
                self.messages.append(message)
                if message["parent_header"].get("msg_id") == request:
                    break
        except Empty:
            raise AssertionError("the kernel is gone") from None

    def close(self) -> None:
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=not self.manager.is_alive())
        self.manager.cleanup_resources()
        self.context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()


DRIVER = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
sys.stdout.flush()
def run(code, store_history=True, **options):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        result = shell.run_cell(code, store_history=store_history, **options)
    return result, out.getvalue(), err.getvalue()
def extension():
    from jumper.extension import _loaded
    return _loaded[shell]
def cells():
    return [(c.index, c.execution_count, c.outcome, c.running) for c in extension().session.cells()]
answer = {}
"""


def in_ipython(script: str, env=None, before: str = "", prefix=(), timeout_s: float = TIMEOUT_S):
    """Runs a script in a fresh process with a real shell; gives what it put into `answer`."""
    text = f"{before}\n{DRIVER}\n{script}\nprint('\\n@@@' + json.dumps(answer))"
    done = subprocess.run(
        [*prefix, sys.executable, "-c", text],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Error in callback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return json.loads(done.stdout.rpartition("\n@@@")[2])


def run_python(script: str, *, env=None, cwd=None, options=()):
    return subprocess.run(
        [sys.executable, *options, "-c", script],
        env={**os.environ, **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
