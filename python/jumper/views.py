"""What the notebook shows: MIME bundles. All text of the user's is escaped."""

import html
import json
from collections.abc import Iterable
from typing import Any

from . import _native, page

Bundle = dict[str, Any]
JSON_TYPE = "application/vnd.jumper+json"
ORDINARY = {  # what the summary has of every level
    "capacity",
    "cpu_percent",
    "cpu_time_s",
    "memory_bytes",
    *(f"{kind}_{way}_bytes" for kind in ("io", "storage") for way in ("read", "write")),
    *(f"io_{way}_ops" for way in ("read", "write")),
    "processes",
    "threads",
}
HIGHLIGHTED_MOST = 100_000  # characters; pygments takes about a second for ten times as many
HISTORY_BYTES = 110_000  # the page's; then it holds less of each cell's code
HISTORY_CODE = (1000, 250, 60)  # characters a cell, the most that fits
# A name is as wide as its longest word; a value may break anywhere.
NAME_STYLE = "text-align:left;vertical-align:top;white-space:pre-wrap;overflow-wrap:break-word"
CELL_STYLE = "text-align:left;vertical-align:top;white-space:pre-wrap;overflow-wrap:anywhere"


def bundle(rendered: _native.Rendered, level: str = "process") -> Bundle:
    shown = json.loads(rendered.json)
    if level != "all":
        for summary in shown if isinstance(shown, list) else [shown]:
            _shorten(summary, level)
    return {"text/plain": rendered.text, "text/html": rendered.html, JSON_TYPE: shown}


def _shorten(summary: dict[str, Any], level: str) -> None:
    """Notebooks grow with every cell: what wasn't asked for is in the recording (`jumper report`).

    Left out are the levels user and job, metrics of another level beyond those that all have, file
    systems, and the consumers.
    """

    def is_kept(name: str) -> bool:
        of, _, metric = name.partition(".")
        if of == level:
            return True
        return of not in ("user", "job") and (not metric or metric in ORDINARY)

    for part in ("levels", "unknown", "notes"):
        if part in summary:
            summary[part] = {key: value for key, value in summary[part].items() if is_kept(key)}
    for name, figures in summary.get("levels", {}).items():
        for metric in [one for one in figures or () if not is_kept(f"{name}.{one}")]:
            if metric != "devices":  # a card's use is of level node, and people look at it
                del figures[metric]
    devices = summary.pop("devices", {})
    cards = {name: one for name, one in devices.items() if one["driver"] != "file system"}
    if cards:
        summary["devices"] = cards
    for part in ("consumers", "other_consumers"):
        summary.pop(part, None)


def history(shown: _native.History) -> Bundle:
    """The table of all cells, and over it the page of the same: to search, to sort, with code."""
    result = bundle(shown)
    count = len(result[JSON_TYPE])
    if count == 0:
        return result
    height = max(204, min(480, 66 + 29 * count))  # of a head and of rows; the code of one has room
    table_html = f'<div style="max-height:{height}px;overflow:auto">{shown.html}</div>'
    result["text/html"] = page.laid_over(
        table_html, "The cells that were measured", _history_page(shown.page), height
    )
    return result


def _history_page(data: str) -> str:
    document = page.page(data)
    if len(document) <= HISTORY_BYTES:
        return document
    whole = json.loads(data)
    for most in HISTORY_CODE:
        for cell in whole["cells"]:
            cell["is_cut"] = cell["is_cut"] or len(cell["code"]) > most
            cell["code"] = cell["code"][:most]
        document = page.page(json.dumps(whole))
        if len(document) <= HISTORY_BYTES:
            break
    return document


def table(rows: Iterable[tuple[str, str]]) -> Bundle:
    """Names and what is to be said about each; a value may have several lines."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    indent = "\n" + " " * (width + 2)
    text = "\n".join(f"{name:<{width}}  {value.replace(chr(10), indent)}" for name, value in rows)
    lines = "".join(
        f'<tr><th style="{NAME_STYLE}">{html.escape(name)}</th>'
        f'<td style="{CELL_STYLE}">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    return {"text/plain": text, "text/html": f"<table>{lines}</table>"}


def readable(source: bytes) -> str:
    """A cell's text as every front end can take it: what is no character shows as an escape."""
    try:
        text = source.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # cut within a character
        text = source.decode("utf-8", "backslashreplace")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def code(source: bytes) -> Bundle:
    """A cell's text, highlighted where pygments is at hand and the text isn't huge."""
    text = readable(source)
    return {"text/plain": text, "text/html": _highlighted(text)}


def _highlighted(text: str) -> str:
    plain = f"<pre>{html.escape(text)}</pre>"
    if len(text) > HIGHLIGHTED_MOST:
        return plain
    try:
        from pygments import highlight  # type: ignore[import-untyped]
        from pygments.formatters.html import HtmlFormatter  # type: ignore[import-untyped]
        from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

        lexer = get_lexer_by_name("ipython3", stripnl=False)
        return str(highlight(text, lexer, HtmlFormatter(noclasses=True, nobackground=True)))
    except Exception:  # noqa: BLE001  (a lexer's plugin may fail as it likes: the text remains)
        return plain


def size(size_bytes: int) -> str:
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}" if unit != "B" else f"{size_bytes} B"
        amount /= 1024
    return f"{amount:.3g} GiB"
