"""Sphinx: the pages of this folder as HTML, with `make docs`."""

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]

project = "JUmPER"
author = PROJECT["authors"][0]["name"]
copyright = author
release = version = PROJECT["version"]

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nitpicky = True

html_theme = "furo"
html_title = f"JUmPER {release}"
html_copy_source = False
html_show_sphinx = False
