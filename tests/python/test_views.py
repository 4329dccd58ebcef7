"""What a front end gets: escaped, and never a text that it can't take."""

import json
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from jumper import views

PAYLOADS = [
    "<script>alert(1)</script>",
    "</pre><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "'><svg/onload=alert(1)>",
    "</td></table><iframe srcdoc='<script>'>",
]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.names, self.attributes, self.text = set(), set(), ""

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


@pytest.mark.fault("C5")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_of_the_user_s_becomes_markup(payload):
    for bundle in (views.code(payload.encode()), views.table([(payload, payload)])):
        tags = Tags()
        tags.feed(bundle["text/html"])
        assert tags.names <= {"table", "tr", "th", "td", "div", "pre", "span"}
        assert tags.attributes <= {"style", "class"}
        assert payload in tags.text
        assert payload in bundle["text/plain"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("größe".encode(), "größe"),
        ("a\ud800b".encode("utf-8", "surrogatepass"), "a\\ud800b"),
        ("ü".encode()[:1], "\\xc3"),
        (b"", ""),
        (b"\x1b[31m\x00", "\x1b[31m\x00"),
    ],
)
def test_every_source_is_readable(source, text):
    assert views.readable(source) == text
    assert views.code(source)["text/plain"].encode("utf-8").decode() == text


@pytest.mark.fault("C4")
def test_a_huge_source_is_not_highlighted():
    source = b"x" * (views.HIGHLIGHTED_MOST + 1)
    assert views.code(source)["text/html"] == f"<pre>{source.decode()}</pre>"


def test_values_of_several_lines_stay_in_their_column():
    bundle = views.table([("a", "1\n2"), ("long", "3")])
    assert bundle["text/plain"] == "a     1\n      2\nlong  3"


def test_a_bundle_has_the_three_forms():
    rendered = SimpleNamespace(text="t", html="<p>t</p>", json='{"version": 1}')
    assert views.bundle(rendered) == {
        "text/plain": "t",
        "text/html": "<p>t</p>",
        views.JSON_TYPE: {"version": 1},
    }


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (5 << 20, "5 MiB"), (3 << 30, "3 GiB")],
)
def test_sizes(size_bytes, text):
    assert views.size(size_bytes) == text


def test_a_notebook_has_what_was_asked_for_and_what_every_level_has():
    level = {"cpu_time_s": 1.0, "page_faults": 5, "devices": {"gpu0": {}}}
    summary = {
        "levels": {"process": {**level}, "user": {**level}, "job": None, "node": {**level}},
        "unknown": {"job": "not supported: …", "node.gpu": "…", "node.io_read_bytes": "…"},
        "notes": {"user.cpu_time_s": "lower bound: …", "process": "lower bound: …"},
        "devices": {"gpu0": {"driver": "NVML"}, "file_system0": {"driver": "file system"}},
        "consumers": [{"pid": pid} for pid in range(10)],
    }
    rendered = SimpleNamespace(text="t", html="h", json=json.dumps(summary))
    short = views.bundle(rendered)[views.JSON_TYPE]
    assert short["levels"] == {
        "process": level,
        "node": {"cpu_time_s": 1.0, "devices": {"gpu0": {}}},
    }
    assert short["unknown"] == {"node.io_read_bytes": "…"}
    assert short["notes"] == {"process": "lower bound: …"}
    assert list(short["devices"]) == ["gpu0"]
    assert "consumers" not in short
    assert list(views.bundle(rendered, "user")[views.JSON_TYPE]["levels"]) == [
        "process",
        "user",
        "node",
    ]
    assert views.bundle(rendered, "all")[views.JSON_TYPE] == summary
