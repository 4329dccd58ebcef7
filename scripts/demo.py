"""Runs examples/monte_carlo.ipynb on the kernel "JUmPER" without a browser and says what it said.

1. The kernel of this very environment is started; notebook and kernel talk over ZeroMQ.
2. All cells run in order; then one runs again, and the history after it.
3. What each summary said is printed and held against what the cell did.
4. The notebook, its HTML, the plot, the recording and a page of the whole run stay in build/demo.
"""

import base64
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "examples" / "monte_carlo.ipynb"
OUTPUT = ROOT / "build" / "demo"
JSON_TYPE = "application/vnd.jumper+json"
READ: Any = nbformat.read  # untyped
WRITE: Any = nbformat.write
EXPORTER: Any = HTMLExporter
CDNS = ("jquery_url", "mathjax_url", "mermaid_js_url", "require_js_url")  # the page is offline
CORES = len(os.sched_getaffinity(0))
TOLERANCE_PERCENT = 10.0


class Wanted(NamedTuple):
    """A cell of the notebook by its id, and how many processes it keeps busy."""

    cell: str
    processes: int


class DemoError(Exception):
    """One sentence for whoever runs the demo."""


def client_for(notebook: Any) -> NotebookClient:
    folder = Path(sys.prefix, "share", "jupyter", "kernels")
    if not (folder / "jumper" / "kernel.json").is_file():
        raise DemoError(
            f"{folder} has no kernel 'jumper': install jumper-hpc into this environment"
        )
    specs = KernelSpecManager(kernel_dirs=[str(folder)], ensure_native_kernel=False)
    manager = AsyncKernelManager(kernel_name="jumper", kernel_spec_manager=specs)
    resources = {"metadata": {"path": str(NOTEBOOK.parent)}}
    # Kernels warn of TCP without encryption, which nobody can change here.
    quiet = ["--log-level=ERROR"]
    return NotebookClient(
        notebook, km=manager, timeout=300, resources=resources, extra_arguments=quiet
    )


def environment() -> dict[str, str]:
    """Ours, without what would change the settings; the recording lies beside the results."""
    kept = {name: value for name, value in os.environ.items() if "JUMPER" not in name.upper()}
    return kept | {"JUMPER_DIR": str(OUTPUT / "recordings"), "JPY_SESSION_NAME": NOTEBOOK.name}


def run_again(client: NotebookClient, name: str) -> None:
    notebook = client.nb
    index = next(i for i, cell in enumerate(notebook.cells) if cell["id"] == name)
    client.execute_cell(notebook.cells[index], index)


def execute(client: NotebookClient) -> dict[str, list[Any]]:
    """Runs everything; the bundles that each cell showed, by its id, run after run."""
    shown: dict[str, list[Any]] = {}
    # The manager is ours, so nobody else ends its kernel.
    with client.setup_kernel(env=environment(), cleanup_kc=True):
        order = [cell["id"] for cell in client.nb.cells if cell["cell_type"] == "code"]
        for name in [*order, "half", "history"]:
            run_again(client, name)
            cell = next(cell for cell in client.nb.cells if cell["id"] == name)
            report(cell)
            shown.setdefault(name, []).extend(bundles(cell))
    return shown


def bundles(cell: Any) -> list[Any]:
    return [data for data in (out.get("data", {}) for out in cell["outputs"]) if JSON_TYPE in data]


def report(cell: Any) -> None:
    first_line = cell["source"].splitlines()[0]
    print(f"\n\N{BLACK RIGHT-POINTING TRIANGLE} In [{cell['execution_count']}]  {first_line}")
    for output in cell["outputs"]:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        print("  " + text.rstrip().replace("\n", "\n  "))
    sys.stdout.flush()


def check_share(shown: dict[str, list[Any]], wanted: Wanted) -> None:
    """Says whether the cell's first summary shows the CPU that its processes can have used."""
    if not shown[wanted.cell]:
        raise DemoError(f"no summary stands under the cell {wanted.cell!r}")
    mean, node = (
        shown[wanted.cell][0][JSON_TYPE]["levels"].get(level, {}).get("cpu_percent", {}).get("mean")
        for level in ("process", "node")
    )
    if mean is None:
        raise DemoError(f"the summary of the cell {wanted.cell!r} knows no CPU use")
    expected = 100 * wanted.processes / CORES
    if abs(mean - expected) <= TOLERANCE_PERCENT:
        word = "as expected"
    elif mean < expected and node is not None and node > mean + TOLERANCE_PERCENT:
        word = f"less, for others were busy too: {node:.1f} % of the node"
    else:
        word = "NOT as expected"
    print(
        f"{wanted.processes} of {CORES} cores: {expected:.0f} % of the CPU expected, "
        f"{mean:.1f} % measured: {word}"
    )


def check_history(shown: dict[str, list[Any]]) -> None:
    """The same cell, run again, is one more entry of the second history."""
    if len(shown["history"]) != 2:
        raise DemoError("`%jumper history` showed nothing")
    entries = [
        {entry["cell"]["index"] for entry in history[JSON_TYPE]} for history in shown["history"]
    ]
    runs = {
        bundle[JSON_TYPE]["cell"]["index"] for name in ("half", "all") for bundle in shown[name]
    }
    if len(runs) != 3 or not runs <= entries[1] or not runs & entries[0] < runs:
        raise DemoError(f"the history should list the cells {sorted(runs)}: {sorted(entries[1])}")
    print(f"run again, the same cell is one more entry: {len(entries[0])}, then {len(entries[1])}")


def check_plot(shown: dict[str, list[Any]]) -> None:
    """The plot of both cells: its picture is saved, and its figures are the summaries'."""
    if not shown["plot"]:
        raise DemoError("`%jumper plot` showed nothing")
    plot = shown["plot"][0]
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', plot["text/html"])
    if not found:
        raise DemoError("there is no picture in the plot")
    (OUTPUT / "plot.svg").write_bytes(base64.b64decode(found[1]))
    drawn = plot[JSON_TYPE]["plot"]["metrics"]["cpu"]["tracks"]["CPU"]["max"]
    told = max(
        shown[cell][0][JSON_TYPE]["levels"]["process"]["cpu_percent"]["max"]
        for cell in ("half", "all")
    )
    if abs(drawn - told) > 0.01 * told:
        raise DemoError(f"the plot says {drawn} % at most, the summaries {told} %")
    print(f"the highest CPU use in the plot is that of the summaries: {told:.1f} %")


def write_report() -> None:
    recording = next((OUTPUT / "recordings").glob("*.jumper"))
    program = Path(sys.prefix, "bin", "jumper")
    page = OUTPUT / "report.html"
    # It says how the run ended: the sampler writes that when the kernel is gone.
    follow: list[str | Path] = [program, "report", "--follow", recording]
    subprocess.run(follow, check=True, stdout=subprocess.DEVNULL, timeout=60)
    subprocess.run(
        [program, "report", recording, "-o", page], check=True, stdout=subprocess.DEVNULL
    )


def save(notebook: Any) -> None:
    WRITE(notebook, OUTPUT / NOTEBOOK.name)
    page, _ = EXPORTER(**dict.fromkeys(CDNS, "")).from_notebook_node(notebook)
    (OUTPUT / NOTEBOOK.name).with_suffix(".html").write_text(page, encoding="utf-8")


def main() -> None:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    notebook = READ(NOTEBOOK, as_version=4)
    shown = execute(client_for(notebook))
    save(notebook)
    print()
    check_share(shown, Wanted("half", max(1, CORES // 2)))
    check_share(shown, Wanted("all", CORES))
    check_plot(shown)
    check_history(shown)
    write_report()
    print("\nexecuted notebook, its HTML, the plot, the recording and a page of the whole run:")
    for path in sorted(path for path in OUTPUT.rglob("*") if path.is_file()):
        print(f"  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    try:
        main()
    except DemoError as failure:
        sys.exit(f"demo: {failure}")
    except RuntimeError as failure:  # the kernel's start and end
        sys.exit(f"demo: {failure}")
    except subprocess.CalledProcessError as failure:
        sys.exit(f"demo: {failure}")
    except CellExecutionError as failure:
        sys.exit(f"demo: a cell of {NOTEBOOK.name} failed:\n{failure}")
