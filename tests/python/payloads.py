"""Texts that somebody hopes become markup, a script or a terminal's orders; and a strict reader."""

import base64
import re
from html import unescape
from html.parser import HTMLParser

PAYLOADS = [
    "<script>window.stolen=1</script>",
    "<img src=x onerror=stolen=1>",
    "<svg/onload=stolen=1>",
    "<a href='javascript:stolen=1'>x</a>",
    "<iframe srcdoc='<script>parent.stolen=1</script>'>",
    "</td></tr></table></div><style>*{background:url(//x)}</style>",
    "</pre></script><b id=stolen>",
    '" onmouseover="stolen=1" x=\'',
    "<!-- ",
    "<![CDATA[<b>",
    "&lt;b&gt;&#60;script&#62;",
    "\x1b]8;;javascript:stolen=1\x07x",
    "\x1b[31m\x9b31m",
    "\u202e>tpircs<\u2066",
]
NAMES = [
    "<script>x=1",
    "<img src=x>",
    "<svg/onload>",
    '" onclick="x',
    "\x1b[31mred",
    "<!--",
    "&lt;b",
]
OURS = {"table", "thead", "tbody", "tr", "th", "td", "div", "pre", "span", "b", "br", "code"}


class Tags(HTMLParser):
    """The tags, their attributes and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.others: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.others += [value for name, value in attrs if name == "style" and "url" in value]

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.others.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def check_page(page: str) -> Tags:
    tags = Tags(page)
    assert tags.names <= OURS
    assert tags.attributes <= {"style", "class", "colspan"}
    assert tags.others == []
    check_text(page)
    return tags


FRAME = re.compile(r'<iframe ([^<>]*?)srcdoc="([^"]*)"></iframe>')
IMAGE = re.compile(r'<img alt="[^"<>]*" src="data:image/svg\+xml;base64,([^"]*)" style="[^"]*">')
OF_FRAMES = {"html", "head", "meta", "title", "body", "main", "script"}


def check_output(html: str, own_style: str = "") -> None:
    """What a notebook is shown: a page of ours, and perhaps one in a sandbox laid over it."""
    frames = FRAME.findall(html)
    for packed in IMAGE.findall(html):
        check_image(base64.b64decode(packed).decode())
    check_page(IMAGE.sub("", FRAME.sub("", html)).replace(own_style, "", 1))
    assert len(frames) == html.count("<iframe") <= 1
    for attributes, document in frames:
        assert 'sandbox="allow-scripts allow-downloads"' in attributes
        tags = Tags(unescape(document))
        assert tags.names == OF_FRAMES
        assert not {name for name in tags.attributes if name.startswith("on")}
        check_text(document)


def check_image(svg: str) -> None:
    tags = Tags(svg)
    assert not tags.names & {"script", "foreignobject", "image", "use", "a", "iframe", "b", "img"}
    assert not {name for name in tags.attributes if name.startswith("on") or "href" in name}
    check_text(svg)


def check_text(text: str) -> None:
    """Nothing in it gives orders to a terminal, or turns the direction of writing around."""
    for control in ("\x1b", "\x07", "\x9b", "\u202e", "\u2066"):
        assert control not in text
