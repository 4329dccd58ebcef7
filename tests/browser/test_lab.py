"""What a user of JupyterLab sees under the cells."""

import json
import re
from pathlib import Path
from urllib.parse import quote

from leftovers import wait_until

JSON_TYPE = "application/vnd.jumper+json"
BUSY = """\
import time

end = time.process_time() + 1.5
data = b"x" * 300_000_000
while time.process_time() < end:
    sum(range(1000))
del data"""
POOL = """\
from multiprocessing import get_context

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))

with get_context("fork").Pool(2) as pool:
    pool.map(work, [1.5, 1.5])"""
PAYLOAD = """\
# <script>window.stolen = 1; alert(1)</script><img src=x onerror="window.stolen = 1">
"</td></table><b id=stolen>" + '<svg onload="alert(2)">'"""


def saved(lab, name):
    return json.loads((lab.root / name).read_text())


def summaries(lab, name):
    for cell in saved(lab, name)["cells"]:
        for output in cell["outputs"]:
            if "levels" in output.get("data", {}).get(JSON_TYPE, {}):
                yield output["data"]


def test_summaries_stand_under_the_cells_in_light_and_dark(
    lab, new_page, open_notebook, write_notebook, picture
):
    write_notebook("summary.ipynb", [BUSY, POOL, "%jumper history"])
    server = lab()
    page = new_page(viewport={"width": 1000, "height": 1000})
    notebook = open_notebook(page, server, "summary.ipynb")
    notebook.wait_idle()

    for number in range(3):
        notebook.run(number)

    busy, pool, history = (
        notebook.output(number).inner_text().replace("\u00a0", " ") for number in range(3)
    )
    assert re.search(r"In \[1\] · [\d.]+ s\n", busy)
    assert re.search(r"CPU\s+[\d.]+ % of \d+ core.* · 1\.[5-9]\d s CPU time", busy)
    assert re.search(r"memory\s+mean .* peak (≥ )?3\d\d MiB", busy)
    assert re.search(r"I/O\s+\S", busy)
    assert "tree" not in busy  # one process
    assert "In [2] · " in pool
    assert re.search(r"tree\s+at most 3 processes", pool)
    assert re.search(r" · [34]\.\d\d s CPU time", pool)
    assert "In [1]" in history
    assert "In [2]" in history
    assert "from multiprocessing import get_context" in history
    assert "def work" not in history  # the first line of the code only
    picture(page, "lab-light")
    notebook.picture_cells(picture, "summary", 2)
    notebook.picture_cells(picture, "history", 3, first=2)
    notebook.save()
    bundles = list(summaries(server, "summary.ipynb"))
    assert [bundle[JSON_TYPE]["cell"]["execution_count"] for bundle in bundles] == [1, 2]
    assert all("In [" in "".join(bundle["text/plain"]) for bundle in bundles)
    server.stop()

    dark = lab(dark=True)
    page = new_page(viewport={"width": 1000, "height": 1000}, color_scheme="dark")
    notebook = open_notebook(page, dark, "summary.ipynb")
    notebook.wait_idle()
    page.wait_for_function("document.body.dataset.jpThemeLight == 'false'")
    picture(page, "lab-dark")
    notebook.picture_cells(picture, "summary-dark", 2)


def test_a_reopened_untrusted_notebook_shows_the_same_table(
    lab, new_page, open_notebook, write_notebook, picture
):
    write_notebook("summary.ipynb", [BUSY, "%jumper history", "%jumper"])
    first = lab()
    notebook = open_notebook(new_page(), first, "summary.ipynb")
    notebook.wait_idle()
    for number in range(3):
        notebook.run(number)
    before = [notebook.output(number).inner_text() for number in range(3)]
    notebook.save()
    first.stop()

    page = new_page()
    notebook = open_notebook(page, lab(), "summary.ipynb")  # another home: nothing is trusted
    notebook.wait_idle()

    assert notebook.is_untrusted()
    for number, text in enumerate(before):
        table = notebook.output(number).locator("table")
        assert table.count() == 1
        assert notebook.output(number).inner_text() == text
        assert table.locator("xpath=..").evaluate("e => e.querySelectorAll('tr').length") >= 3
    bars = notebook.output(0).locator("td div[style]")
    widths = [bars.nth(i).evaluate("e => e.offsetWidth") for i in range(bars.count())]
    assert widths
    assert max(widths) > 20  # the sanitizer has left their styles
    picture(page, "lab-untrusted")


def test_the_keyboard_is_the_notebooks_again_when_the_pointer_leaves_a_page(
    lab, new_page, open_notebook, write_notebook
):
    write_notebook("keys.ipynb", ["1", "%jumper history"])
    page = new_page()
    notebook = open_notebook(page, lab(), "keys.ipynb")
    notebook.wait_idle()
    for number in range(2):
        notebook.run(number)
    frame = notebook.output(1).frame_locator("iframe")
    frame.locator("th").first.click()
    body = frame.locator("body")
    assert body.evaluate("document.hasFocus()")
    page.locator(".jp-mod-dirty").wait_for()
    notebook.output(0).hover()
    assert wait_until(lambda: not body.evaluate("document.hasFocus()"))
    page.keyboard.press("Control+s")
    page.locator(".jp-mod-dirty").wait_for(state="detached")


def test_markup_in_code_stays_text(lab, new_page, open_notebook, write_notebook, picture):
    write_notebook("payload.ipynb", [PAYLOAD, "%jumper history", "%jumper code -2"])
    server = lab()
    page = new_page()
    notebook = open_notebook(page, server, "payload.ipynb")
    notebook.wait_idle()
    for number in range(3):
        notebook.run(number)

    history = notebook.output(1)
    assert "<script>window.stolen" in history.inner_text()
    assert "onload" in notebook.output(2).inner_text()
    assert "<script>window.stolen" in history.frame_locator("iframe").locator("body").inner_text()
    for number in (1, 2):
        elements = "script, img, svg, #stolen"
        assert notebook.output(number).locator(elements).count() == 0
    assert page.evaluate("window.stolen") is None
    assert page.dialogs == []
    picture(page, "lab-payload")


NAMED = """\
import ctypes, os, time
for name in (b"<script>x=1", b"<img src=x>", b'" onclick="x'):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
        end = time.process_time() + 1.2
        while time.process_time() < end:
            pass
        os._exit(0)
for _ in range(3):
    os.wait()"""


def test_names_that_are_markup_run_nothing_in_a_trusted_notebook(
    lab, new_page, open_notebook, write_notebook
):
    """Of the notebook, of processes, in code and in a magic's words; run, saved, opened again."""
    from payloads import PAYLOADS

    name = "<img src=x onerror=window.stolen=1>.ipynb"
    sources = [NAMED, *(f"# {one}" for one in PAYLOADS if one.isprintable())]
    asks = ["%jumper history", "%jumper report 1", "%jumper status", "%jumper code 2"]
    sources_and_asks = [*sources, *asks]
    write_notebook(name, sources_and_asks)
    server = lab()
    page = new_page()
    notebook = open_notebook(page, server, quote(name))
    notebook.wait_idle()
    count = len(sources) + len(asks)
    page.keyboard.press("Escape")
    for number in range(count):
        notebook.run(number)
        if number == 0:  # later it is out of sight
            assert "<script>x=1" in notebook.output(0).inner_text()
    notebook.save()
    for _ in range(2):
        assert not notebook.is_untrusted()
        for number in range(count):
            outputs = notebook.output(number)
            assert outputs.locator("script, img, svg, a, #stolen").count() == 0
            own = 1 if sources_and_asks[number] == "%jumper history" else 0  # the page of it
            assert outputs.locator("iframe, style").count() <= 2 * own
        for handler in ("onmouseover", "onclick", "onerror", "onload"):
            assert page.locator(f".jp-OutputArea-output [{handler}]").count() == 0
        assert page.evaluate("window.stolen") is None
        assert page.dialogs == []
        page = new_page()
        notebook = open_notebook(page, server, quote(name))
        notebook.wait_idle()


def test_an_exported_page_shows_the_summaries_offline(
    lab, new_page, open_notebook, write_notebook, export_html, picture, tmp_path
):
    """What `make demo` leaves as HTML, here of a notebook that was run in JupyterLab."""
    write_notebook("summary.ipynb", [BUSY, "%jumper history"])
    server = lab()
    notebook = open_notebook(new_page(), server, "summary.ipynb")
    notebook.wait_idle()
    for number in range(2):
        notebook.run(number)
    shown = notebook.output(0).inner_text()
    notebook.save()
    server.stop()
    html = tmp_path / "summary.html"
    export_html(server.root / "summary.ipynb", html)

    page = new_page(offline=True)
    page.goto(html.as_uri())

    output = page.locator(".jp-OutputArea-output", has=page.locator("table")).first
    assert output.inner_text().split() == shown.split()
    picture(page, "exported")
    demo = Path(__file__).resolve().parents[2] / "build" / "demo" / "monte_carlo.html"
    if demo.is_file():
        page.goto(demo.as_uri())
        text = page.locator("body").inner_text().replace("\u00a0", " ")
        assert "In [3] · " in text
        assert re.search(r"at most \d+ processes", text)
        picture(page, "demo", full_page=True)
