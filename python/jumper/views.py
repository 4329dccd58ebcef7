"""What the notebook shows: MIME bundles. All text of the user's is escaped."""

import html
import json
from collections.abc import Iterable
from typing import Any

from . import _native

Bundle = dict[str, Any]
JSON_TYPE = "application/vnd.jumper+json"
HIGHLIGHTED_MOST = 100_000  # characters; pygments takes about a second for ten times as many
CELL_STYLE = "text-align:left;vertical-align:top;white-space:pre-wrap;overflow-wrap:anywhere"


def bundle(rendered: _native.Rendered, level: str = "process") -> Bundle:
    """The levels user and job only where they were asked for: they take 1 to 2 kB a cell."""
    shown = json.loads(rendered.json)
    dropped = {"user", "job"} - {level} if level != "all" else set()
    for summary in shown if isinstance(shown, list) else [shown]:
        for part in ("levels", "unknown", "notes"):
            for key in [key for key in summary.get(part, {}) if key.split(".")[0] in dropped]:
                del summary[part][key]
    return {"text/plain": rendered.text, "text/html": rendered.html, JSON_TYPE: shown}


def table(rows: Iterable[tuple[str, str]]) -> Bundle:
    """Names and what is to be said about each; a value may have several lines."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    indent = "\n" + " " * (width + 2)
    text = "\n".join(f"{name:<{width}}  {value.replace(chr(10), indent)}" for name, value in rows)
    lines = "".join(
        f'<tr><th style="{CELL_STYLE}">{html.escape(name)}</th>'
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
