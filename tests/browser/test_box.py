"""A plot's image with its page laid over it, in the front ends."""

from pathlib import Path

import pytest

BLUE, GREEN, DARK = "#3b82f6", "#10b981", "#111111"
# The image is plain green here, so that it is known from the page.
DRAW = f"""\
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import plot_data
from IPython.display import display
from jumper import page

svg = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="480" viewBox="0 0 800 480">'
    '<rect width="800" height="480" fill="#10b981"/></svg>'
)
document = page.page(json.dumps(plot_data.plot(cores=8)))
html = page.bundle_html(svg, "CPU, memory and I/O", document, 500)
display({{"text/plain": "CPU, memory and I/O", "text/html": html}}, raw=True)"""


class Box:
    """The box of the first cell's output, and the page within."""

    def __init__(self, output):
        self.output = output
        self.frame = output.frame_locator("iframe")
        self.iframe = output.locator("iframe")
        self.image = output.locator("img")

    def wait(self):
        self.frame.locator("html.drawn").wait_for(state="attached")
        self.iframe.scroll_into_view_if_needed()
        return self

    def drag(self, page, begin, end):
        over = self.frame.locator(".u-over").first.bounding_box()
        y = over["y"] + over["height"] / 2
        page.mouse.move(over["x"] + begin * over["width"], y)
        page.mouse.down()
        page.mouse.move(over["x"] + (begin + end) / 2 * over["width"], y)
        page.mouse.move(over["x"] + end * over["width"], y)
        page.mouse.up()


def open_box(notebook):
    notebook.wait_idle()
    notebook.run(0)
    return Box(notebook.output(0).first).wait()


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_one_chart_shows_and_can_be_worked_with(
    app, lab, new_page, open_notebook, write_notebook, picture, count_pixels
):
    write_notebook("plot.ipynb", [DRAW, "x = 1"])
    page = new_page(viewport={"width": 1100, "height": 900})
    notebook = open_notebook(page, lab(app=app), "plot.ipynb")
    box = open_box(notebook)

    assert "mean 44.7 %" in box.frame.locator(".head").first.inner_text()
    blue, green = count_pixels(box.iframe.screenshot(), BLUE, GREEN)
    assert blue > 1000
    assert green == 0  # the image lies under the page
    picture(page, f"box-{app}")
    box.drag(page, 0.25, 0.5)
    assert box.frame.locator(".time").inner_text().startswith(("15:", "14:", "22:"))
    box.frame.get_by_label("Metric").nth(1).select_option("cpu_cores")
    box.frame.get_by_label("Level").select_option("node")
    assert "of 8 above 50 %" in box.frame.locator(".head").nth(1).inner_text()
    assert count_pixels(box.iframe.screenshot(), BLUE)[0] > 5000
    picture(page, f"box-{app}-zoomed")


def test_it_is_dark_where_the_notebook_is(
    lab, new_page, open_notebook, write_notebook, picture, count_pixels
):
    write_notebook("plot.ipynb", [DRAW])
    page = new_page(viewport={"width": 1100, "height": 900})  # the system is light
    notebook = open_notebook(page, lab(dark=True), "plot.ipynb")
    page.wait_for_function("document.body.dataset.jpThemeLight == 'false'")
    box = open_box(notebook)

    blue, dark, white = count_pixels(box.iframe.screenshot(), BLUE, DARK, "#ffffff", tolerance=20)

    assert blue > 1000
    assert dark > 50_000
    assert white < 500
    picture(page, "box-lab-dark")


def test_where_it_is_not_trusted_the_image_stays(
    lab, new_page, open_notebook, write_notebook, picture, count_pixels
):
    write_notebook("plot.ipynb", [DRAW, "x = 1"])
    first = lab()
    notebook = open_notebook(new_page(), first, "plot.ipynb")
    open_box(notebook)
    notebook.save()
    first.stop()
    size = (first.root / "plot.ipynb").stat().st_size
    assert size < 120_000
    page = new_page(viewport={"width": 1100, "height": 800})

    notebook = open_notebook(page, lab(), "plot.ipynb")

    notebook.wait_idle()
    assert notebook.is_untrusted()
    box = Box(notebook.output(0).first)
    assert box.iframe.count() == 0
    assert box.output.inner_text().strip() == ""  # no style sheet's text
    assert count_pixels(box.image.screenshot(), GREEN)[0] > 300_000
    assert box.output.bounding_box()["height"] < 520
    picture(page, "box-untrusted")


def test_an_exported_page_has_it_too(
    lab, new_page, open_notebook, write_notebook, export_html, picture, count_pixels, tmp_path
):
    write_notebook("plot.ipynb", [DRAW])
    server = lab()
    notebook = open_notebook(new_page(), server, "plot.ipynb")
    open_box(notebook)
    notebook.save()
    server.stop()
    html = tmp_path / "plot.html"
    export_html(server.root / "plot.ipynb", html)

    page = new_page(offline=True, viewport={"width": 1100, "height": 900})
    page.goto(html.as_uri())
    box = Box(page.locator(".jp-OutputArea-output").first).wait()
    before = box.output.bounding_box()
    blue, green = count_pixels(box.iframe.screenshot(), BLUE, GREEN)
    assert blue > 1000
    assert green == 0
    box.drag(page, 0.25, 0.5)
    assert (
        box.frame.locator(".time").inner_text().startswith("22:")
    )  # the cursor stands at its middle
    picture(page, "box-exported")

    html.write_text(html.read_text().replace('sandbox="allow-scripts', 'sandbox="'))
    page.reload()
    box = Box(page.locator(".jp-OutputArea-output").first)
    assert box.output.bounding_box() == before  # nothing moves when the page draws
    assert count_pixels(box.iframe.screenshot(), GREEN)[0] > 300_000
    picture(page, "box-no-scripts")
