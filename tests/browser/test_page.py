"""The page of a plot by itself, opened from a file."""

import json
import re
from xml.etree import ElementTree as ET

import plot_data
import pytest

from jumper.page import page as page_with

BLUE, AMBER = "#3b82f6", "#f59e0b"
SIZE = {"width": 960, "height": 540}
PAYLOAD = "</script><img src=x onerror=alert(1)><!-- \u2028"
CSP_TEST = """() => {
  const script = document.createElement("script");
  script.textContent = "window.stolen = 1";
  document.body.append(script);
  return [window.stolen, document.querySelectorAll("img").length];
}"""


class Shown:
    def __init__(self, page):
        self.page = page
        self.page.locator("html.drawn").wait_for(state="attached")

    def chart(self, number=0):
        return self.page.locator(".panel .u-over").nth(number)

    def head(self, number=0):
        return self.page.locator(".panel .head").nth(number)

    def time(self):
        return self.page.locator(".time").inner_text()

    def point(self, share, number=0):
        box = self.chart(number).bounding_box()
        return box["x"] + share * box["width"], box["y"] + box["height"] / 2

    def drag(self, begin, end):
        self.page.mouse.move(*self.point(begin))
        self.page.mouse.down()
        self.page.mouse.move(*self.point((begin + end) / 2))
        self.page.mouse.move(*self.point(end))
        self.page.mouse.up()
        self.page.keyboard.press("Escape")


@pytest.fixture
def show(new_page, tmp_path):
    """`show(data, **options of the browser)`: the page of these data, drawn."""

    def open_page(data=None, **options):
        file = tmp_path / "plot.html"
        file.write_text(page_with(json.dumps(data or plot_data.plot())), encoding="utf-8")
        page = new_page(**({"viewport": SIZE, "offline": True} | options))
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto(file.as_uri())
        return Shown(page)

    return open_page


def test_three_panels_share_one_axis_of_time(show, picture, count_pixels):
    shown = show()

    assert [shown.head(i).locator("select").input_value() for i in range(3)] == [
        "cpu",
        "memory",
        "io",
    ]
    assert "mean 44.7 % · peak 95.5 %" in shown.head(0).inner_text()
    assert "capacity 16.0 GiB" in shown.head(1).inner_text()
    assert re.search(r"0 s to 1:00:00 · \d\d:\d\d:20 to", shown.time())
    assert shown.page.locator(".lane").inner_text().split("\n")[0] == "In [1] · 26:20"
    for number, colour in enumerate((BLUE, BLUE, AMBER)):
        assert count_pixels(shown.chart(number).screenshot(), colour)[0] > 500
    said = shown.page.locator("#said")
    said.get_by_text("Shown: In [1], In [2]").wait_for()
    assert "CPU of level process; CPU: mean 44.7 %, peak 95.5 %" in said.inner_text()
    picture(shown.page, "page-light")
    dark = show(color_scheme="dark")
    png = dark.chart().screenshot()
    assert count_pixels(png, BLUE)[0] > 500
    assert count_pixels(png, "#ffffff")[0] == 0
    picture(dark.page, "page-dark")


def test_a_gap_is_a_gap(show, count_pixels):
    shown = show()
    shown.drag(1450 / 3600, 1610 / 3600)
    box = shown.chart().bounding_box()
    clip = {**box, "x": box["x"] + 0.4 * box["width"], "width": 0.15 * box["width"]}

    png = shown.page.screenshot(clip=clip)

    assert count_pixels(png, BLUE, tolerance=20) == [0]
    assert count_pixels(png, "#b0b0b0")[0] > 100  # hatched
    shown.page.mouse.move(*shown.point(0.5))
    assert "no data: the sampler was stopped" in shown.time()
    assert shown.head(0).locator(".value").inner_text() == "\u2013"


def test_dragging_zooms_and_a_double_click_shows_all_again(show, picture):
    shown = show()
    shown.drag(0.25, 0.5)
    assert re.match(r"1[45]:\d\d(\.\d)? to (29|30):\d\d", shown.time())
    picture(shown.page, "page-zoomed")
    shown.page.mouse.dblclick(*shown.point(0.5))
    shown.page.keyboard.press("Escape")
    assert shown.time().startswith("0 s to 1:00:00")


def test_keys_move_zoom_and_reset(show):
    shown = show()
    press = shown.page.keyboard.press
    shown.page.locator(".charts").focus()
    press("+")
    assert shown.time().startswith("12:00 to 48:00")
    press("ArrowRight")
    assert shown.time().startswith("19:12 to 55:12")
    press("ArrowLeft")
    press("-")
    assert shown.time().startswith("0 s to 1:00:00")
    press("]")
    assert re.match(r"1:1\d to 29:\d\d", shown.time())  # the first cell
    press("]")
    assert re.match(r"30:5\d to 55:4\d", shown.time())
    press("Home")
    assert shown.time().startswith("0 s to 1:00:00")
    shown.page.mouse.move(*shown.point(0.3))
    assert "In [1]" in shown.time()
    press("Escape")
    assert shown.time().startswith("0 s to 1:00:00")
    press("?")
    assert shown.page.get_by_role("dialog").is_visible()
    press("Escape")
    assert not shown.page.get_by_role("dialog").is_visible()


def test_a_shifted_drag_and_a_sideways_wheel_move_in_time(show):
    shown = show()
    shown.drag(0.25, 0.5)
    before = shown.time()
    shown.page.keyboard.down("Shift")
    shown.drag(0.6, 0.2)
    shown.page.keyboard.up("Shift")
    moved = shown.time()
    assert re.match(r"21:\d\d", moved)
    shown.page.mouse.move(*shown.point(0.5))
    shown.page.mouse.wheel(-10_000, 0)
    shown.page.keyboard.press("Escape")
    assert shown.time().startswith("0 s to 15:")
    assert before != moved


def test_the_cursor_has_the_values_of_all_panels(show, picture):
    shown = show()
    shown.page.mouse.move(*shown.point(700 / 3600, number=2))
    assert re.match(r"11:\d\d · \d\d:\d\d:\d\d · In \[1\]", shown.time())
    for number, pattern in enumerate((r"79\.\d % \(", r"GiB \(", r"read 1\.\d\d MiB/s \(")):
        assert re.search(pattern, shown.head(number).inner_text().replace("\n", " "))
    assert shown.page.locator(".u-cursor-x").count() == 3
    picture(shown.page, "page-cursor")


def test_metric_and_level_are_chosen_from_lists(show, picture, count_pixels):
    shown = show()
    page = shown.page
    shown.head(1).get_by_label("Metric").select_option("cpu_cores")
    assert "level node" in shown.head(1).inner_text()
    assert "of 16 above 50 %" in shown.head(1).inner_text()
    assert count_pixels(shown.chart(1).screenshot(), BLUE)[0] > 20_000
    page.get_by_label("Level").select_option("node")
    assert "level node" not in shown.head(1).inner_text()
    page.get_by_label("Remove I/O").click()
    assert page.locator(".panel").count() == 2
    page.get_by_label("Add a panel").select_option("memory")
    assert page.locator(".panel").count() == 3
    picture(page, "page-cores")


def test_time_between_cells_is_cut_out(show, picture):
    shown = show()
    shown.page.get_by_label("between cells").uncheck()
    assert shown.time().startswith("2:00 to 55:00")
    width = shown.chart().bounding_box()["width"]
    cells = [shown.page.locator(".cell").nth(k).bounding_box()["width"] for k in (0, 1)]
    assert sum(cells) > 0.97 * width
    picture(shown.page, "page-cut")
    shown.page.get_by_label("between cells").check()
    assert shown.time().startswith("0 s to 1:00:00")


def test_what_is_shown_can_be_taken_along(show, count_pixels, picture, tmp_path):
    shown = show()
    shown.drag(0.25, 0.5)
    files = {}
    for kind in ("csv", "svg", "png"):
        with shown.page.expect_download() as download:
            shown.page.get_by_label("Download what is shown").select_option(kind)
        assert download.value.suggested_filename == f"jumper-plot.{kind}"
        files[kind] = tmp_path / f"shown.{kind}"
        download.value.save_as(files[kind])
    head, *rows = files["csv"].read_text().splitlines()
    assert head.startswith("begin_s,end_s,begin,cell,process.cpu.CPU.mean [%],")
    assert 145 < len(rows) < 155  # of 600
    assert any(
        row.startswith("1500,1506,") and row.endswith(",,,,,,,,,,,") for row in rows
    )  # the gap
    drawn = ET.parse(files["svg"])
    texts = [text for one in drawn.iter() for text in one.itertext()]
    assert {"In [1]", "CPU", "capacity 16.0 GiB", "20:00"} <= set(texts)
    assert min(count_pixels(files["png"].read_bytes(), BLUE, AMBER)) > 1000


def test_a_narrow_window_and_many_cells_still_work(show, picture, count_pixels):
    cells = [(18.0 * i, 18.0 * i + 14) for i in range(200)]
    shown = show(plot_data.plot(cells=cells))
    assert shown.page.locator(".cell").count() == 200
    shown.page.locator(".cell").nth(99).click()
    assert shown.page.locator(".cell", has_text="In [100]").count() == 1
    shown.page.keyboard.press("Home")
    picture(shown.page, "page-200-cells")
    shown.page.get_by_label("between cells").uncheck()
    picture(shown.page, "page-200-cells-cut")
    narrow = show(viewport={"width": 320, "height": 640})
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert count_pixels(narrow.chart().screenshot(), BLUE)[0] > 200
    picture(narrow.page, "page-narrow")


def test_markup_in_the_data_stays_text(show, picture):
    data = plot_data.plot(code=PAYLOAD)
    data["label"] = data["gaps"][0]["reason"] = data["metrics"][0]["title"] = PAYLOAD
    data["metrics"][0]["note"] = data["cells"][0]["label"] = PAYLOAD
    for track in data["metrics"][3]["panels"]["process"]["tracks"]:
        track["name"] = PAYLOAD
    shown = show(data)
    assert PAYLOAD[:20] in shown.head(0).inner_text()
    shown.page.mouse.move(*shown.point(1530 / 3600))
    assert PAYLOAD[:20] in shown.time()
    assert shown.page.evaluate(CSP_TEST) == [None, 0]  # the policy lets no other script run
    assert shown.page.dialogs == []
    picture(shown.page, "page-payload")
