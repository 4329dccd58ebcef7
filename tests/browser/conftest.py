"""A real JupyterLab of this environment, and the system's Chromium."""

import base64
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "build" / "screens"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A page in a sandbox would else be another process, of which playwright sets neither the
    # resolution nor the theme.
    "--disable-features=IsolateSandboxedIframes",
)
START_S = 90
ELSEWHERE = re.compile(
    r"^(?!(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|file:|data:|blob:|about:)"
)
# How many pixels of a picture are nearly of a colour: [red, green, blue] each.
COUNT_PIXELS = """async ([picture, colours, tolerance]) => {
  const image = new Image();
  image.src = picture;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const counts = colours.map(() => 0);
  for (let i = 0; i < data.length; i += 4) {
    colours.forEach((colour, k) => {
      if (colour.every((value, c) => Math.abs(value - data[i + c]) <= tolerance)) counts[k] += 1;
    });
  }
  return counts;
}"""
OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}
DARK = {"@jupyterlab/apputils-extension:themes": {"theme": "JupyterLab Dark"}}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Lab:
    """One server with a home of its own: nothing that another one trusted is trusted here."""

    def __init__(self, home, root, *, dark=False, app="lab"):
        self.root = root
        self.app = app
        self.port = free_port()
        self.token = secrets.token_hex(16)
        settings = home / "lab-settings"
        settings.mkdir(parents=True)
        is_lab = app == "lab"
        settings_of = "LabApp" if is_lab else "JupyterNotebookApp"
        overrides = OVERRIDES | (DARK if dark else {})
        (settings / "overrides.json").write_text(json.dumps(overrides))
        folders = {name: str(home / name.lower()) for name in ("HOME", "JUPYTER_RUNTIME_DIR")}
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("JUPYTER", "XDG_", "IPYTHON")) and "JUMPER" not in name
        }
        for folder in folders.values():
            Path(folder).mkdir()
        self.log = (home / "lab.log").open("w")
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                {"lab": "jupyterlab", "notebook": "notebook"}[app],
                "--no-browser",
                "--allow-root",
                "--ServerApp.ip=127.0.0.1",
                f"--ServerApp.port={self.port}",
                "--ServerApp.port_retries=0",
                f"--ServerApp.root_dir={root}",
                f"--IdentityProvider.token={self.token}",
                f"--{settings_of}.app_settings_dir={settings}",
                *(["--LabApp.news_url=", "--LabApp.extension_manager=readonly"] if is_lab else []),
            ],
            env=environment | folders,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def wait(self):
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(self.url("api"), timeout=5).close()
            except OSError:
                time.sleep(0.2)
            else:
                return self
        self.log.flush()
        raise AssertionError(f"JupyterLab did not start:\n{Path(self.log.name).read_text()}")

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}?token={self.token}"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)  # it ends its kernels first
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


@pytest.fixture
def lab(tmp_path):
    """`lab(dark=True)` starts a server on the one folder that a test has for notebooks.

    `lab(app="notebook")` is Notebook 7.
    """
    running = []
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()

    def start(**options):
        running.append(Lab(tmp_path / f"home{len(running)}", notebooks, **options))
        return running[-1].wait()

    yield start
    for one in running:
        one.stop()


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("no chromium is installed (scripts/apt-packages-browser.txt)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium):
    """Pages of fresh browser profiles; a dialog that opens by itself is dismissed and kept.

    No page asks anything of another machine: the test fails where one does.
    """
    contexts, requests = [], []

    def refuse(route):
        requests.append(route.request.url)
        route.abort()

    def make(**options):
        look = {"viewport": {"width": 1100, "height": 1000}, "device_scale_factor": 2}
        contexts.append(chromium.new_context(**(look | options)))
        contexts[-1].route(ELSEWHERE, refuse)
        page = contexts[-1].new_page()
        page.dialogs = []
        page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
        return page

    yield make
    for context in contexts:
        context.close()
    assert requests == []


@pytest.fixture
def export_html():
    """A notebook's file as nbconvert's page, without what its template asks of CDNs."""

    def export(path, target):
        from nbconvert import HTMLExporter

        names = ("jquery_url", "mathjax_url", "mermaid_js_url", "require_js_url")
        exporter = HTMLExporter(**dict.fromkeys(names, ""))
        executed = nbformat.read(path, as_version=4)
        target.write_text(exporter.from_notebook_node(executed)[0], encoding="utf-8")

    return export


@pytest.fixture
def count_pixels(chromium):
    """`count_pixels(png, "#3b82f6", …)`: how many pixels have nearly each of these colours."""
    page = chromium.new_page()

    def count(png, *colours, tolerance=40):
        picture = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        wanted = [list(bytes.fromhex(colour[1:])) for colour in colours]
        return page.evaluate(COUNT_PIXELS, [picture, wanted, tolerance])

    yield count
    page.close()


@pytest.fixture
def write_notebook(tmp_path):
    def write(name, sources):
        notebook = nbformat.v4.new_notebook()
        notebook.metadata["kernelspec"] = {
            "name": "jumper",
            "display_name": "JUmPER",
            "language": "python",
        }
        for number, source in enumerate(sources):
            notebook.cells.append(nbformat.v4.new_code_cell(source, id=f"cell-{number}"))
        nbformat.write(notebook, tmp_path / "notebooks" / name)

    return write


class OpenNotebook:
    """A notebook in JupyterLab or Notebook 7, as a user sees it."""

    def __init__(self, page, lab, name):
        self.page = page
        self.app = lab.app
        page.goto(lab.url(f"lab/tree/{name}" if lab.app == "lab" else f"notebooks/{name}"))
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        self.panel.wait_for(timeout=60_000)

    def wait_idle(self, timeout_s=60):
        idle = self.page.get_by_text("JUmPER | Idle")
        if self.app == "notebook":
            self.page.locator(".jp-KernelName", has_text="JUmPER").wait_for(timeout=60_000)
            idle = self.page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")
        idle.first.wait_for(timeout=1000 * timeout_s)

    def cell(self, number):
        return self.panel.locator(".jp-CodeCell").nth(number)

    def run(self, number, timeout_s=60):
        """Runs one cell and waits until its prompt has a number again."""
        self.start(number)
        prompt = self.cell(number).locator(".jp-InputPrompt")
        self.page.wait_for_function(
            "prompt => /\\[\\d+\\]/.test(prompt.textContent)",
            arg=prompt.element_handle(),
            timeout=1000 * timeout_s,
        )
        self.wait_idle()

    def start(self, number):
        self.cell(number).locator(".jp-InputArea-editor").click()
        self.page.keyboard.press("Control+Enter")

    def text(self, number):
        """Of all outputs of a cell."""
        return self.cell(number).locator(".jp-OutputArea").first.inner_text()

    def output(self, number):
        return self.cell(number).locator(".jp-OutputArea-output")

    def save(self):
        """Returns when the file is written: the dot on the tab is gone."""
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+s")
        self.page.locator(".jp-mod-dirty").wait_for(state="detached")

    def is_untrusted(self):
        return (
            self.page.locator(
                ".jp-StatusItem-trust svg[data-icon='ui-components:not-trusted']"
            ).count()
            > 0
        )

    def picture_cells(self, picture, name, last, *, first=0):
        """The cells from `first` to before `last`, cut to what is in them."""
        boxes = [self.cell(number).bounding_box() for number in range(first, last)]
        top, bottom = boxes[0]["y"], boxes[-1]["y"] + boxes[-1]["height"]
        clip = {"x": boxes[0]["x"], "y": top, "width": boxes[0]["width"], "height": bottom - top}
        picture(self.page, name, clip=clip)


@pytest.fixture
def open_notebook():
    return OpenNotebook


@pytest.fixture
def picture():
    """Pictures of what the tests saw lie in build/screens."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def take(page_or_locator, name, **options):
        page_or_locator.screenshot(path=PICTURES / f"{name}.png", **options)

    return take
