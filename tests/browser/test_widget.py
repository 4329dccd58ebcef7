"""`%jumper plot --widget` in JupyterLab: a real kernel gives finer data of what is shown."""

import json
import re

import plot_data
import pytest
from test_box import BLUE, Box

from jumper.page import page as page_with

RECORD = """\
import time

end = time.monotonic() + 4
while time.monotonic() < end:  # 64 MiB, nothing, 64 MiB, ...
    held = bytearray(64 << 20)
    time.sleep(0.1)
    del held
    time.sleep(0.1)"""
SOURCES = ["%jumper set rate=400", RECORD, "%jumper plot 2 --widget"]
FORGET = """\
from jumper import extension

extension._loaded[get_ipython()].magics._relay.questions._plots.clear()"""


def open_plot(notebook):
    notebook.wait_idle()
    for number in range(3):
        notebook.run(number)
    box = Box(notebook.output(2).first).wait()
    box.frame.locator("html[data-listening]").wait_for(state="attached")
    return box


def wait_finer(box, count):
    box.frame.locator(f"html[data-finer='{count}']").wait_for(state="attached")


def rows(page, box, tmp_path):
    """Of the buckets that are shown: begin, end, the highest memory."""
    with page.expect_download() as download:
        box.frame.get_by_label("Download what is shown").select_option("csv")
    file = tmp_path / "shown.csv"
    download.value.save_as(file)
    head, *lines = file.read_text().splitlines()
    column = head.split(",").index("process.memory.memory.max [B]")
    cells = [line.split(",") for line in lines]
    return [(float(one[0]), float(one[1]), float(one[column])) for one in cells]


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_nearer_there_are_finer_data(
    app, lab, new_page, open_notebook, write_notebook, picture, count_pixels, tmp_path
):
    write_notebook("widget.ipynb", [*SOURCES, FORGET])
    server = lab(app=app)
    page = new_page(viewport={"width": 1100, "height": 900})
    notebook = open_notebook(page, server, "widget.ipynb")
    box = open_plot(notebook)
    assert box.frame.locator("html[data-finer]").count() == 0  # nothing was asked for yet
    before = rows(page, box, tmp_path)
    assert 400 < len(before) <= 620
    box.iframe.scroll_into_view_if_needed()

    box.drag(page, 0.3, 0.6)
    wait_finer(box, 1)
    nearer = rows(page, box, tmp_path)
    box.drag(page, 0.4, 0.7)
    wait_finer(box, 2)

    nearest = rows(page, box, tmp_path)
    begin, end = nearest[0][0], nearest[-1][1]
    coarse = [one for one in before if begin < one[1] and one[0] < end]
    assert len(coarse) < 70
    assert len(nearer) > 240
    assert len(nearest) > 100  # each sample
    highs = [high for _, _, high in nearest]
    assert max(highs) <= max(high for _, _, high in coarse)
    assert max(highs) - min(highs) > 50 * 2**20
    assert count_pixels(box.iframe.screenshot(), BLUE)[0] > 500
    picture(page, f"widget-{app}-zoomed")
    box.frame.get_by_label("Show all of the time (double click, 0)").click()
    assert rows(page, box, tmp_path) == before

    notebook.run(3)  # the kernel forgets the plot
    box.iframe.scroll_into_view_if_needed()
    box.drag(page, 0.7, 0.8)
    box.frame.get_by_text("No finer data: the kernel doesn't know this plot").wait_for()
    picture(page, f"widget-{app}-refused")


def test_a_notebook_without_its_kernel_shows_the_plot(
    lab, new_page, open_notebook, write_notebook, picture
):
    write_notebook("widget.ipynb", SOURCES)
    server = lab()
    page = new_page(viewport={"width": 1100, "height": 900})
    notebook = open_notebook(page, server, "widget.ipynb")
    open_plot(notebook)
    notebook.save()
    saved = (server.root / "widget.ipynb").read_text()
    assert len(saved) < 120_000
    assert "widgets" not in json.loads(saved)["metadata"]
    assert "widget-view" not in saved

    page = new_page(viewport={"width": 1100, "height": 900})
    notebook = open_notebook(page, server, "widget.ipynb")  # the kernel is still there
    notebook.wait_idle()
    box = Box(notebook.output(2).first).wait()
    box.frame.locator("html[data-listening]").wait_for(state="attached")
    box.drag(page, 0.3, 0.6)
    wait_finer(box, 1)

    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Shut Down Kernel", exact=True).click()
    page.get_by_text("No Kernel").first.wait_for()
    page = new_page(viewport={"width": 1100, "height": 900})
    notebook = open_notebook(page, server, "widget.ipynb")
    box = Box(notebook.output(2).first).wait()
    box.drag(page, 0.3, 0.6)
    page.mouse.move(0, 0)
    assert re.search(r"mean [\d.]+ %", box.frame.locator(".head").first.inner_text())
    assert box.frame.locator("html[data-listening]").count() == 0
    assert page.get_by_text("Error displaying widget").count() == 0
    picture(page, "widget-without-kernel")


ANSWERS = [
    {"packed": None},
    {"packed": [1, 2]},
    {"edges_s": [0, "1"]},
    {"edges_s": [0, 1e9], "metrics": []},
    {"edges_s": "same", "metrics": None},
    {"edges_s": "same", "metrics": [{"id": "cpu", "panels": {"process": {"tracks": 3}}}]},
    {"error": "<img src=x onerror=alert(1)>"},
]
PARENT = """\
<iframe class="jumper-page" sandbox="allow-scripts" style="width:900px;height:600px"></iframe>
<script>
const answers = ANSWERS, channel = "a/b", frame = document.querySelector("iframe");
window.asked = [];
addEventListener("message", async ({ data, source }) => {
  if (data.kind === "ready") source.postMessage({ kind: "listening", channel }, "*");
  if (data.kind !== "finer") return;
  window.asked.push(data);
  const answer = { kind: "finer", channel, id: data.id, ...answers[window.asked.length - 1] };
  if (answer.edges_s) {
    if (answer.edges_s === "same") answer.edges_s = [data.begin_s, data.end_s];
    const stream = new Blob([JSON.stringify(answer)]).stream();
    const packed = stream.pipeThrough(new CompressionStream("deflate"));
    answer.packed = await new Response(packed).arrayBuffer();
  }
  source.postMessage({ ...answer, id: data.id - 1 }, "*");
  source.postMessage({ ...answer, channel: "a/c" }, "*");
  source.postMessage(answer, "*");
});
frame.srcdoc = SRCDOC;
</script>"""


def test_answers_that_are_none_change_nothing(new_page, tmp_path):
    data = plot_data.plot() | {"channel": "a/b"}
    document = json.dumps(page_with(json.dumps(data))).replace("</", "<\\/")
    html = PARENT.replace("ANSWERS", json.dumps(ANSWERS)).replace("SRCDOC", document)
    (tmp_path / "parent.html").write_text(html)
    page = new_page(offline=True)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto((tmp_path / "parent.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("html[data-listening]").wait_for(state="attached")
    notice = frame.locator(".notice", has_text="No finer data")
    frame.get_by_label("Nearer").click()  # 360 buckets: enough
    for number in range(len(ANSWERS)):
        frame.get_by_label("Nearer").click()
        page.wait_for_function(f"window.asked.length === {number + 1}")
        notice.wait_for()
        assert "mean" in frame.locator(".head").first.inner_text()
    assert frame.locator("html[data-finer]").count() == 0
    assert "<img src=x" in notice.inner_text()
    assert frame.locator("img").count() == 0
    asked = page.evaluate("window.asked")
    assert all(0 <= one["begin_s"] < one["end_s"] <= 3600 for one in asked)
    assert [one["id"] for one in asked] == list(range(1, len(ANSWERS) + 1))
    assert page.dialogs == []
