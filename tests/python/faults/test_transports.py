"""X7: kernels over ipc and with encryption are measured as any other, and listen to no more."""

import json
from pathlib import Path

import psutil
import pytest
import zmq
from notebook import Notebook, write_kernelspecs

pytestmark = pytest.mark.slow  # the same core, whichever CPython

CURVE = {"transport_encryption": "required"}


def inodes(pid: int) -> set[str]:
    found = set()
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(one.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def listening(pid: int) -> list[str]:
    """What strangers could connect to: TCP in state LISTEN, and Unix sockets with a name."""
    mine, found = inodes(pid), []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in mine and fields[3] == "0A":
                found.append(table)
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        accepts = int(fields[3], 16) & 0x10000
        if fields[6] in mine and accepts and len(fields) > 7:
            found.append("abstract" if fields[7].startswith("@") else "unix")
    for table in ("udp", "udp6", "raw", "packet"):
        lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        found += [table for line in lines if mine & set(line.split())]
    return sorted(found)


def start(folder: Path, name: str, transport: dict) -> Notebook:
    return Notebook(folder, name, **transport)


@pytest.fixture
def kernels(tmp_path):
    """Both kernelspecs, declared to support encryption where it is asked for."""
    folder = write_kernelspecs(tmp_path / "kernels")
    for name in ("jumper", "plain"):
        path = folder / name / "kernel.json"
        spec = json.loads(path.read_text())
        spec["metadata"] = {**spec.get("metadata", {}), "supported_encryption": "curve"}
        path.write_text(json.dumps(spec))
    return folder


@pytest.mark.fault("X7")
@pytest.mark.parametrize(
    "transport", [{}, {"transport": "ipc"}, CURVE], ids=["tcp", "ipc", "curve"]
)
def test_cells_are_measured_and_nobody_else_listens(kernels, transport):
    if transport is CURVE and not zmq.has("curve"):
        pytest.skip("this ZeroMQ has no encryption")
    found = {}
    for name in ("jumper", "plain"):
        with start(kernels, name, transport) as notebook:
            run = notebook.run("sum(range(10**6))")
            assert run.result == "499999500000"
            found[name] = listening(notebook.pid)
            if name == "jumper":
                pid = notebook.run(
                    "from jumper.extension import _loaded\n"
                    "list(_loaded.values())[0].session.status().sampler_pid"
                ).result
                assert psutil.pid_exists(int(pid))
                assert listening(int(pid)) == []
                assert inodes(int(pid)) - inodes(notebook.pid)  # its end of a pair without a name
                cells = notebook.history()
                assert [cell["outcome"] for cell in cells] == ["ok", "ok"]
    assert found["jumper"] == found["plain"]
    assert len(found["plain"]) >= 5
