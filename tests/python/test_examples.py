"""The examples run from the first cell to the last, on the real kernel, with small sizes."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from notebook import write_kernelspecs

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LAUNCHERS = ("coverage", "viztracer", "strace", "perf")


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Gives each code cell's text output by its id."""

    def run(name: str, **environment: str) -> dict[str, str]:
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        notebook = nbformat.read(EXAMPLES / name, as_version=4)
        specs = KernelSpecManager(
            kernel_dirs=[str(write_kernelspecs(tmp_path / "kernels"))], ensure_native_kernel=False
        )
        manager = AsyncKernelManager(kernel_name="jumper", kernel_spec_manager=specs)
        client = NotebookClient(
            notebook, km=manager, timeout=200, resources={"metadata": {"path": str(tmp_path)}}
        )
        client.execute()
        return {
            cell["id"]: "".join(
                one.get("text", "") for one in cell["outputs"] if one["output_type"] == "stream"
            )
            for cell in notebook.cells
            if cell["cell_type"] == "code"
        }

    return run


def is_there(name: str) -> bool:
    return bool(shutil.which(name) or importlib.util.find_spec(name))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_an_example_is_stored_without_outputs(path):
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.slow
def test_gpt_trains_plain_watched_and_in_engines(execute):
    said = execute("gpt.ipynb", GPT_SECONDS="0.01", GPT_WIDTH="8", GPT_ROUNDS="1")
    rows = re.findall(r"^(\w+) +[\d.]+ s +-?[\d.]+% +[\d.]+ s$", said["table"], re.MULTILINE)
    launchers = [name for name in LAUNCHERS if is_there(name)]
    assert rows[: 3 + len(launchers)] == ["plain", "watched", "engine", *launchers]
    assert "the paper" in said["table"]
    steps, done = re.search(
        r"(\d+) steps a round; loss [\d.]+, after (\d+)", said["table"]
    ).groups()
    # The first step, ten to see how long one takes, and every way's: none is lost on its way back.
    assert int(done) == 11 + int(steps) * (1 + len(rows))
