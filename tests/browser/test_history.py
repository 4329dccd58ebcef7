"""The page of the history: by itself, and over the table in JupyterLab."""

import json

import pytest

from jumper.page import page as page_with

PAYLOAD = "</script><img src=x onerror=alert(1)><!-- \u2028"
CODES = (
    "import numpy as np\nrng = np.random.default_rng(7)\n",
    '# the matrix is "large"\nA = rng.normal(size=(8000, 8000))\n',
    "def solve(A, b):\n    '''least squares'''\n    return np.linalg.lstsq(A, b)[0]  # slow\n",
    "for step in range(200):\n    x = x - 0.1 * gradient(x)\n    if done(x):\n        break\n",
    "%timeit -n 1 solve(A, b)\n",
    PAYLOAD,
)
OUTCOMES = ("ok", "ok", "ok", "error", "ok", "interrupted")


def entries(count, gpu=True):
    return [
        {
            "index": i + 1,
            "execution_count": i + 1 if i % 7 else None,
            "begin": "2026-11-29T14:54:20.123456Z",
            "duration_s": 0.004 * (i * 7919 % 4001) ** 1.3,
            "cpu_percent": (i * 37 % 1000) / 10 if i % 5 else None,
            "memory_bytes": 5e7 + (i * 7919 % 997) * 1.6e7,
            "io_bytes": (i * 271 % 83) ** 4 * 10,
            "gpu_percent": (i * 53 % 100) if gpu else None,
            "outcome": OUTCOMES[i % 6],
            "code": CODES[i % 6],
            "is_cut": i % 6 == 3,
        }
        for i in range(count)
    ]


@pytest.fixture
def show(new_page, tmp_path):
    def open_page(cells, **options):
        file = tmp_path / "history.html"
        data = {"version": 1, "kind": "history", "cells": cells}
        file.write_text(page_with(json.dumps(data)), encoding="utf-8")
        page = new_page(**({"viewport": {"width": 960, "height": 460}, "offline": True} | options))
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto(file.as_uri())
        page.locator("html.drawn").wait_for(state="attached")
        return page

    return open_page


def column(page, number):
    return page.locator(f"tr[data-index] > td:nth-child({number})").all_inner_texts()


def test_typing_filters_and_a_header_sorts(show, picture, count_pixels):
    page = show(entries(60))
    assert page.get_by_role("status").inner_text() == "60 cells"
    assert column(page, 1)[:3] == ["#1", "#2", "#3"]
    assert min(count_pixels(page.screenshot(), "#8b5cf6", "#3b82f6", "#f59e0b", "#06b6d4")) > 300
    picture(page, "history-page")
    page.get_by_role("button", name="CPU").click()  # largest first, unknown last
    figures = column(page, 5)
    known = [float(one.split()[0]) for one in figures if one[0].isdigit()]
    assert known == sorted(known, reverse=True)
    assert figures[len(known) :] == ["\u2013"] * 12
    assert page.locator("th[aria-sort=descending]").inner_text() == "CPU \u2193"
    page.get_by_role("button", name="CPU").click()
    assert page.locator("th[aria-sort=ascending]").inner_text() == "CPU \u2191"
    page.get_by_label("Search the history").fill("gradient error")
    assert page.get_by_role("status").inner_text() == "10 of 60 cells"
    assert set(column(page, 9)) == {"error"}
    picture(page, "history-search")
    page.get_by_label("Search the history").fill("#41")
    assert column(page, 1) == ["#41"]


def test_a_row_shows_its_code_in_colours(show, picture):
    page = show(entries(12, gpu=False), color_scheme="dark")
    page.get_by_label("Code of #3").focus()
    page.keyboard.press("Enter")
    code = page.locator(".whole pre")
    assert code.inner_text().startswith("def solve(A, b):\n    '''least squares'''\n")
    assert code.locator(".keyword").all_inner_texts() == ["def", "return"]
    assert code.locator(".string").all_inner_texts() == ["'''least squares'''"]
    assert code.locator(".comment").inner_text() == "# slow"
    page.locator("tr[data-index='4']").click()
    assert "the rest: %jumper code #4" in page.locator(".whole pre").nth(1).inner_text()
    assert page.get_by_role("columnheader", name="GPU").count() == 0
    picture(page, "history-code")
    page.get_by_label("Code of #3").press("Enter")
    assert page.locator(".whole").count() == 1


def test_markup_in_code_stays_text_and_narrow_windows_scroll(show, picture):
    page = show(entries(12), viewport={"width": 320, "height": 460})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.get_by_label("Code of #6").click()
    assert page.locator(".whole pre").inner_text() == PAYLOAD
    assert page.locator("img").count() == 0
    assert page.dialogs == []
    picture(page, "history-narrow")


def test_in_the_notebook_it_lies_over_the_table(
    lab, new_page, open_notebook, write_notebook, picture, count_pixels
):
    busy = "data = bytearray(200_000_000)\nsum(range(20_000_000))  # busy"
    lines = "values = [" + ", ".join(f"number_{i} := {i}" for i in range(60)) + "]"
    write_notebook("history.ipynb", [busy, lines, "1 / 0", "%jumper history"])
    first = lab()
    page = new_page(viewport={"width": 1100, "height": 900})
    notebook = open_notebook(page, first, "history.ipynb")
    notebook.wait_idle()
    for number in range(4):
        notebook.run(number)
    notebook.save()
    output = notebook.output(3).first
    frame = output.frame_locator("iframe")
    frame.locator("html.drawn").wait_for(state="attached")
    output.scroll_into_view_if_needed()
    assert frame.get_by_role("status").inner_text() == "4 cells"
    assert frame.locator("tr[data-index='3'] .bad").inner_text() == "error"
    frame.get_by_role("button", name="duration").click()
    assert frame.locator("tr[data-index] td").first.inner_text() == "#1"
    assert count_pixels(output.screenshot(), "#8b5cf6")[0] > 100
    picture(page, "history-lab")
    notebook.save()
    first.stop()

    notebook = open_notebook(
        new_page(viewport={"width": 1100, "height": 900}), lab(), "history.ipynb"
    )
    notebook.wait_idle()
    assert notebook.is_untrusted()
    output = notebook.output(3).first
    assert output.locator("iframe, style").count() == 0
    rows = output.locator("tr")
    assert rows.count() == 5
    assert max(rows.nth(i).bounding_box()["height"] for i in range(5)) < 30  # no row is broken
    code = rows.nth(2).locator("td").last
    assert code.evaluate("e => e.scrollWidth > e.clientWidth")  # cut, not beyond the edge
    edge = output.bounding_box()["x"] + output.bounding_box()["width"]
    assert code.bounding_box()["x"] + code.bounding_box()["width"] <= edge + 1
    picture(notebook.page, "history-untrusted")
