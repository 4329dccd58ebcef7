"""Texts that somebody hopes become markup, a script or a terminal's orders; and a strict reader."""

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


def check_text(text: str) -> None:
    """Nothing in it gives orders to a terminal, or turns the direction of writing around."""
    for control in ("\x1b", "\x07", "\x9b", "\u202e", "\u2066"):
        assert control not in text
