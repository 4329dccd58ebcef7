"""What the docs show: the real magics in JupyterLab, and the page of a run; looked at closely."""

import subprocess

import pytest
from test_box import BLUE, GREEN, Box

import jumper
from jumper.session import program

AMBER, RED = "#f59e0b", "#ef4444"
LOAD = """\
# Reads rows, twice over
import pathlib

def load(rounds):
    rows = []
    for _ in range(rounds):
        rows.append(bytes(bytearray(24 << 20)))
        sum(i * i for i in range(1_500_000))
        pathlib.Path("rows.bin").write_bytes(rows[-1])
        pathlib.Path("rows.bin").read_bytes()
    return len(rows)

load(8)"""
FIT = """\
# The same with two processes
from multiprocessing import get_context

def fit(seed):
    return sum(i * seed % 7 for i in range(14_000_000))

with get_context("fork").Pool(2) as pool:
    pool.map(fit, [3, 5])"""
SOURCES = [
    LOAD,
    FIT,
    "%jumper plot #1-#2",
    "%jumper history",
    "%jumper compare #1 #2",
    "%jumper total",
]


def test_the_questions_in_a_notebook(
    lab, new_page, open_notebook, write_notebook, picture, count_pixels
):
    write_notebook("fit.ipynb", SOURCES)
    page = new_page(viewport={"width": 1150, "height": 1250})
    notebook = open_notebook(page, lab(), "fit.ipynb")
    notebook.wait_idle()
    for number in range(3):
        notebook.run(number)
    plot = Box(notebook.output(2).first).wait()
    words = plot.frame.locator("body").inner_text()
    for word in ("In [1]", "In [2]", "CPU", "Memory", "I/O", "of 2 cores", "peak"):
        assert word in words, words
    blue, green, red = count_pixels(plot.iframe.screenshot(), BLUE, GREEN, RED)
    assert min(blue, green, red) > 300, (blue, green, red)
    notebook.picture_cells(picture, "gallery-plot", 3, first=2)

    for number in range(3, 6):
        notebook.run(number)
    history = notebook.output(3).first
    rows = history.frame_locator("iframe").locator("tbody tr")
    rows.nth(3).wait_for()
    assert "load(rounds)" not in rows.first.inner_text()  # its first line is the comment
    assert "Reads rows" in rows.first.inner_text()
    assert count_pixels(history.screenshot(), BLUE, AMBER)[1] > 300
    compared = notebook.output(4).first.inner_text()
    for word in ("duration", "CPU", "memory", "load(8)", "pool.map"):
        assert word in compared, compared
    total = notebook.output(5).first
    assert "core-hours" in total.inner_text()
    name = total.locator("th", has_text="memory").bounding_box()
    assert name["height"] < 1.6 * total.locator("th", has_text="I/O").bounding_box()["height"]
    for name, number in (("history", 3), ("compare", 4), ("total", 5)):
        notebook.cell(number).scroll_into_view_if_needed()
        notebook.picture_cells(picture, f"gallery-{name}", number + 1, first=number)
    assert page.dialogs == []


STEP = "sum(i * i for i in range(6_000_000))"
GROUP = [
    "%jumper group begin train",
    f"# load\nrows = {STEP}",
    f"# fit\nimport time; time.sleep(0.5); {STEP}",
    f"# score\nassert {STEP} < 0",
    "%jumper group end",
    "%jumper plot train",
    "%jumper history",
]


def test_a_group_has_a_band_for_each_of_its_cells(
    lab, new_page, open_notebook, write_notebook, picture, count_pixels
):
    write_notebook("train.ipynb", GROUP)
    page = new_page(viewport={"width": 1150, "height": 1250})
    notebook = open_notebook(page, lab(), "train.ipynb")
    notebook.wait_idle()
    for number in range(len(GROUP)):
        notebook.run(number)
    plot = Box(notebook.output(5).first).wait()
    words = plot.frame.locator("body").inner_text()
    for word in ("g1 train", "In [2]", "In [3]", "In [4]"):
        assert word in words, words
    assert "In [5]" not in words
    title = notebook.output(5).first.locator("img").first.get_attribute("alt")
    assert "g1 train" in title
    assert count_pixels(plot.iframe.screenshot(), BLUE)[0] > 300
    assert "g1 train" in notebook.output(4).first.inner_text()
    notebook.picture_cells(picture, "gallery-group", 6, first=4)
    rows = notebook.output(6).first.frame_locator("iframe").locator("tbody tr")
    rows.nth(7).wait_for()
    assert rows.nth(1).inner_text().startswith("g1")
    assert "train" in rows.nth(1).inner_text()
    assert "g1 train" in rows.nth(2).inner_text()
    notebook.picture_cells(picture, "gallery-group-history", 7, first=6)
    assert page.dialogs == []


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """`recorded(cells)`: a recording of a script with so many cells."""

    def record(cells):
        monkeypatch.setenv("JUMPER_DIR", str(tmp_path / "recordings"))
        with jumper.session(label="grid.py", rate=50) as session:
            for number in range(cells):
                with session.cell(f"step({number})  # one of the grid"):
                    sum(i * i for i in range(400_000 * (2 + number % 3)))
            return session.path

    return record


def test_two_hundred_cells(
    recorded, lab, new_page, open_notebook, write_notebook, picture, count_pixels
):
    path = recorded(200)
    write_notebook("many.ipynb", [f"%jumper open {path} plot all", f"%jumper open {path} history"])
    page = new_page(viewport={"width": 1100, "height": 1000})
    notebook = open_notebook(page, lab(), "many.ipynb")
    notebook.wait_idle()
    notebook.run(0)
    notebook.run(1)
    plot = Box(notebook.output(0).first).wait()
    assert "200 cells" in plot.frame.locator("[aria-live]").first.text_content()
    assert count_pixels(plot.iframe.screenshot(), BLUE)[0] > 300
    picture(notebook.cell(0), "gallery-200-cells")
    history = notebook.output(1).first.frame_locator("iframe")
    history.get_by_label("Search the history").fill("step(17)")
    history.locator("tbody tr").nth(1).wait_for(state="detached")
    assert "step(17)" in history.locator("tbody tr").inner_text()
    assert notebook.output(1).first.bounding_box()["height"] < 600


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_run(recorded, new_page, picture, count_pixels, tmp_path, scheme):
    target = tmp_path / "run.html"
    subprocess.run([program(), "report", recorded(6), "-o", target], check=True, timeout=60)
    page = new_page(viewport={"width": 1150, "height": 1250}, color_scheme=scheme)
    page.goto(target.as_uri())
    for frame in page.locator("iframe").all():
        frame.content_frame.locator("html.drawn").wait_for(state="attached")
    plot = page.locator("iframe").first
    dark, white = count_pixels(plot.screenshot(), "#111111", "#ffffff", tolerance=20)
    assert (dark > white) == (scheme == "dark")
    assert count_pixels(plot.screenshot(), BLUE, GREEN)[1] > 100
    assert "step(5)" in page.locator("details").last.text_content()
    page.locator("summary").last.click()
    page.locator("details[open] table").wait_for()
    picture(page, f"gallery-run-{scheme}", full_page=True)
