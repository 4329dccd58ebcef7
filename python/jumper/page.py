"""The interactive page: one self-contained document, laid over an image or a table of the same.

The page is made of `frontend/src` when the package is built. Its data is deflated, so that a
notebook grows little; nothing in it is markup. What it draws it draws in a sandbox: no access to
the notebook, no network, no evaluated text.
"""

import base64
import html
import zlib
from functools import cache
from pathlib import Path

PLACE = "@data@"  # the line of the page that the data replaces
SANDBOX = "allow-scripts allow-downloads"
# The page follows the notebook's theme where the browser passes it on, else the system's.
STYLE = "<style>[data-jp-theme-light=false] .jumper-page{color-scheme:dark}</style>"


@cache
def _template() -> tuple[str, str]:
    file = Path(__file__).with_name("frontend") / "page.html"
    before, _, after = file.read_text(encoding="utf-8").partition(PLACE)
    return before, after


def page(data_json: str) -> str:
    """The whole document with its data: a plot's, or a history's."""
    packed = base64.b64encode(zlib.compress(data_json.encode(), 9)).decode()
    before, after = _template()
    return f'{before}<script type="text/plain" id="packed">{packed}</script>{after}'


def image(svg: str, alt: str) -> str:
    """A picture that every front end shows, also in a notebook that isn't trusted."""
    data = base64.b64encode(svg.encode()).decode()
    source = f"data:image/svg+xml;base64,{data}"
    return f'<img alt="{html.escape(alt)}" src="{source}" style="max-width:100%;height:auto">'


def laid_over(beneath: str, title: str, document: str, height: int) -> str:
    """One box: `beneath` as it is, and over it the page, `height` pixels high or as high as that.

    Both lie in the same cell of a grid, so nothing moves when the page has drawn, and where the
    page is left out (JupyterLab's sanitizer) the box is as high as what remains. Until the page
    has drawn it is transparent: where scripts don't run, `beneath` stays.
    """
    return (
        f'{STYLE}<div style="display:grid"><div style="grid-area:1/1;min-width:0">{beneath}</div>'
        f'<iframe class="jumper-page" title="{html.escape(title)}" sandbox="{SANDBOX}" '
        f'style="grid-area:1/1;width:100%;height:100%;min-height:{height}px;border:0" '
        f'srcdoc="{html.escape(document)}"></iframe></div>'
    )


def bundle_html(svg: str, alt: str, page_document: str, height: int) -> str:
    """The image, and the interactive page of the same laid over it."""
    return laid_over(image(svg, alt), alt, page_document, height)
