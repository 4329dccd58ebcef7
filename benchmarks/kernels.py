"""Kernels over ZeroMQ: `jumper` as our kernelspec starts it, `plain` the same without us."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import places
import zmq
from figures import process_cpu_ns
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpecManager

TIMEOUT_S = 60


def write_kernelspecs(folder: Path) -> Path:
    """Below `folder`, for the interpreter that runs us."""
    template = places.ROOT / "share" / "kernelspec" / "kernel.json"
    spec = json.loads(template.read_text())
    spec["argv"][0] = sys.executable
    plain = [word for word in spec["argv"] if not word.startswith("--ext")]
    if plain == spec["argv"]:
        raise RuntimeError(f"{template.name} doesn't load the extension")
    # Kernels of the same kind under two names: what they differ by is noise.
    for name, argv in (("jumper", spec["argv"]), ("plain", plain), ("again", plain)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "kernel.json").write_text(json.dumps(spec | {"argv": argv}))
    return folder


class Kernel:
    """One kernel and its only client, which reads the sockets itself.

    No event loop of Python's stands between the message and the clock.
    """

    def __init__(self, name: str, folder: Path) -> None:
        specs = write_kernelspecs(folder / "kernels")
        self._context = zmq.Context()
        self._manager = KernelManager(
            kernel_name=name,
            kernel_spec_manager=KernelSpecManager(
                kernel_dirs=[str(specs)], ensure_native_kernel=False
            ),
            context=self._context,
        )
        self._manager.start_kernel(env=places.environment(folder), stderr=subprocess.DEVNULL)
        self._client = self._manager.client(context=self._context)
        self._client.start_channels()
        self._client.wait_for_ready(timeout=TIMEOUT_S)
        provisioner: Any = self._manager.provisioner
        self.pid: int = provisioner.process.pid

    def run(self, code: str) -> tuple[float, list[dict[str, Any]]]:
        """Seconds from the execute request to its idle status, and what came on IOPub."""
        begin_s = time.perf_counter()
        request = self._client.execute(code)
        found = []
        while True:
            message = self._receive(self._client.iopub_channel)
            if message["parent_header"].get("msg_id") != request:
                continue
            found.append(message)
            if message["content"].get("execution_state") == "idle":
                end_s = time.perf_counter()
                break
        while True:
            reply = self._receive(self._client.shell_channel)
            if reply["parent_header"].get("msg_id") == request:
                break
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"{code!r} failed in the kernel: {reply['content']}")
        return end_s - begin_s, found

    def _receive(self, channel: Any) -> dict[str, Any]:
        if not channel.socket.poll(TIMEOUT_S * 1000):
            raise TimeoutError("the kernel doesn't answer")
        _, parts = self._client.session.feed_identities(channel.socket.recv_multipart())
        message: dict[str, Any] = self._client.session.deserialize(parts)
        return message

    def cpu_ns(self) -> int:
        return process_cpu_ns(self.pid)

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=not self._manager.is_alive())
        self._manager.cleanup_resources()
        self._context.destroy(linger=0)


@contextmanager
def kernel(name: str, folder: Path) -> Iterator[Kernel]:
    one = Kernel(name, folder)
    try:
        yield one
    finally:
        one.close()
