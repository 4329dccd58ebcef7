"""`jumper report FILE -o PAGE.html`: a whole run as one page that needs nothing beside it."""

import os
import re
import subprocess
from html.parser import HTMLParser

import pytest

import jumper
from jumper.session import program

PAYLOAD = "</script></pre><img src=x onerror=alert(1)>\u202e\x1b[31m"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMPER_DIR", str(tmp_path_factory.mktemp("recorded")))
        with jumper.session(label=f"fit {PAYLOAD}") as session:
            for code in ("x = 1\ny = 2", PAYLOAD):
                with session.cell(code):
                    sum(i * i for i in range(3_000_000))
            path = session.path
    return path


def report(*words):
    return subprocess.run(
        [program(), "report", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def page(recorded, tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "run.html"
    done = report(recorded, "-o", target)
    assert done.returncode == 0, done.stderr
    assert str(target) in done.stdout
    return target.read_text()


def test_everything_of_the_run_is_in_it(page):
    tags = Tags()
    tags.feed(page)
    kinds = [tag for tag, _ in tags.found]
    assert kinds.count("iframe") == 2  # the plot, the history
    assert kinds.count("img") == 1
    assert kinds.count("details") == 2
    for words in ("x = 1\ny = 2", "What the run used", "History", "ended", "core-hours"):
        assert words in tags.text
    assert {attrs["sandbox"] for tag, attrs in tags.found if tag == "iframe"} == {
        "allow-scripts allow-downloads"
    }


def test_markup_of_the_users_stays_text(page):
    tags = Tags()
    tags.feed(page)
    assert "onerror" not in str([attrs.keys() for _, attrs in tags.found])
    assert "<img src=x onerror=alert(1)>" in tags.text
    for frame in (attrs["srcdoc"] for tag, attrs in tags.found if tag == "iframe"):
        inner = Tags()
        inner.feed(frame)
        assert "img" not in [tag for tag, _ in inner.found]
        assert "<img" not in frame
    assert not {"\x1b", "\u202e"} & set(page)


def test_nothing_is_loaded(page):
    without_names = page.replace("http://www.w3.org/", "")
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", without_names)
    assert "default-src 'none'" in page


def test_a_file_that_is_there_is_replaced_only_by_force(recorded, tmp_path):
    target = tmp_path / "run.html"
    target.write_text("mine")
    refused = report(recorded, "-o", target)
    assert refused.returncode != 0
    assert f"'{target}'" in refused.stderr
    assert "--force replaces it" in refused.stderr
    assert target.read_text() == "mine"
    assert report(recorded, "-o", target, "--force").returncode == 0
    assert target.read_text().startswith("<!doctype html>")
    assert [one.name for one in tmp_path.iterdir()] == ["run.html"]


def test_the_file_follows_the_umask(recorded, tmp_path):
    before = os.umask(0o027)
    try:
        report(recorded, "-o", tmp_path / "run.html")
    finally:
        os.umask(before)
    assert (tmp_path / "run.html").stat().st_mode & 0o777 == 0o640


def test_errors_name_what_was_tried(recorded, tmp_path):
    for words, sentence in (
        ((recorded, "-o", tmp_path / "no" / "run.html"), "No such file or directory"),
        ((tmp_path / "none.jumper", "-o", tmp_path / "run.html"), "No such file or directory"),
        ((recorded, "--json", "-o", tmp_path / "run.html"), "excludes"),
        ((recorded, "--force"), "requires"),
    ):
        done = report(*words)
        assert done.returncode != 0
        assert sentence in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())


def test_a_recording_without_cells_is_a_page_too(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPER_DIR", str(tmp_path / "recordings"))
    with jumper.session() as session:
        path = session.path
    assert report(path, "-o", tmp_path / "run.html").returncode == 0
    assert "<h1>" in (tmp_path / "run.html").read_text()
