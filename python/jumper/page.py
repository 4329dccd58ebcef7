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
# A sandboxed page can't see the notebook's theme, which isn't always the system's. It does see its
# own height: 4 pixels more than a multiple of 12 say dark, 8 say light (frontend/src/theme.js).
THEME_STEP = 12
STYLE = (
    "<style>"
    + "".join(
        f"[data-jp-theme-light={is_light}] .jumper-page,.vscode-{name} .jumper-page"
        f"{{height:calc(var(--h) + {more}px)!important;margin-bottom:-{more}px}}"
        for is_light, name, more in (("false", "dark", 4), ("true", "light", 8))
    )
    + "</style>"
)


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


def image(svg: str, alt: str, height: int) -> str:
    """A picture that every front end shows, also in a notebook that isn't trusted."""
    data = base64.b64encode(svg.encode()).decode()
    style = f"max-width:100%;max-height:{height}px"
    return f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}" style="{style}">'


def laid_over(beneath: str, title: str, document: str, height: int) -> str:
    """One box: `beneath`, no higher than `height` pixels, and the page laid over it.

    Both lie in the same cell of a grid, so nothing moves when the page has drawn, and where the
    page is left out (JupyterLab's sanitizer) the box is as high as what remains. Until the page
    has drawn it is transparent: where scripts don't run, `beneath` stays.
    """
    height += -height % THEME_STEP
    return (
        f'{STYLE}<div style="display:grid"><div style="grid-area:1/1;min-width:0">{beneath}</div>'
        f'<iframe class="jumper-page" title="{html.escape(title)}" sandbox="{SANDBOX}" '
        f'style="--h:{height}px;grid-area:1/1;width:100%;height:var(--h);border:0" '
        f'srcdoc="{html.escape(document)}"></iframe></div>'
    )


def bundle_html(svg: str, alt: str, page_document: str, height: int) -> str:
    """The image, and the interactive page of the same laid over it."""
    return laid_over(image(svg, alt, height), alt, page_document, height)
