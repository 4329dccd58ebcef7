"""The examples run from the first cell to the last, on the real kernel, with small sizes."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LAUNCHERS = ("coverage", "viztracer", "strace", "perf")


def code_cells(path: Path) -> dict[str, dict]:
    cells = json.loads(path.read_text())["cells"]
    return {cell["id"]: cell for cell in cells if cell["cell_type"] == "code"}


def is_there(name: str) -> bool:
    return bool(shutil.which(name) or importlib.util.find_spec(name))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_an_example_is_stored_without_outputs(path):
    for cell in code_cells(path).values():
        assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.slow
def test_gpt_trains_plain_watched_and_in_engines(open_notebook, tmp_path):
    small = {"GPT_SECONDS": "0.01", "GPT_WIDTH": "8", "GPT_ROUNDS": "1"}
    folder = tmp_path / "folder"
    folder.mkdir()
    notebook = open_notebook(env=small, cwd=folder)
    said = {}
    for name, cell in code_cells(EXAMPLES / "gpt.ipynb").items():
        done = notebook.run("".join(cell["source"]), timeout_s=200)
        assert done.status == "ok", (name, done.traceback, done.stderr)
        said[name] = done.stdout
    rows = re.findall(r"^(\w+) +[\d.]+ s +-?[\d.]+% +[\d.]+ s$", said["table"], re.MULTILINE)
    launchers = [name for name in LAUNCHERS if is_there(name)]
    assert rows[: 3 + len(launchers)] == ["plain", "watched", "engine", *launchers], said["table"]
    assert "the paper" in said["table"]
    steps, done = re.search(
        r"(\d+) steps a round; loss [\d.]+, after (\d+)", said["table"]
    ).groups()
    # The first step, ten to see how long one takes, and every way's: none is lost on its way back.
    assert int(done) == 11 + int(steps) * (1 + len(rows))
    assert list(folder.iterdir()) == []
