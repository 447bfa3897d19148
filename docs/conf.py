"""Settings of Sphinx for the site that ``make docs`` builds.

The Markdown is used as it is. The source folder is the root of the repository, so that links between ``docs/`` and the pages beside it work
as they do in the repository. The navigation comes from the home page (``navigation``). Pictures in SVG are written into the pages, so that
they follow the colours of the site.
"""

import re
import sys
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))  # Sphinx does not put the folder of this file on the path

from navigation import read_groups, write_toctrees  # noqa: E402

HOME = "docs/index"

project = "Feedmill"
copyright = "the Feedmill authors"
root_doc = HOME
include_patterns = ["docs/**.md", "README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md"]
exclude_patterns = [".git", ".venv", ".tools", "build", "data", "src", "tests", "bench", "packaging", "locks", "client"]
extensions = ["myst_parser"]

myst_heading_anchors = 6
myst_links_external_new_tab = False
highlight_language = "none"

html_theme = "furo"
html_title = "Feedmill"
html_favicon = "../src/feedmill/http/static/icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f5b", "color-brand-content": "#174ea6", "color-brand-visited": "#6b3fa0"},
    "dark_css_variables": {"color-brand-primary": "#57b6ae", "color-brand-content": "#8ab8ff", "color-brand-visited": "#c3a6ef"},
}


def setup(app: Sphinx) -> None:
    """Connects the two changes to Sphinx's work on pages."""
    app.connect("source-read", add_navigation)
    app.connect("doctree-read", embed_pictures)


def add_navigation(_app: Sphinx, name: str, source: list[str]) -> None:
    """Adds the navigation to the home page."""
    if name == HOME:
        source[0] += "\n" + write_toctrees(read_groups(source[0]))


def embed_pictures(_app: Sphinx, tree: nodes.document) -> None:
    """Replaces each picture in SVG by its content, because only then the site's light and dark colours reach it."""
    for image in list(tree.findall(nodes.image)):
        path = ROOT / str(image["uri"])
        if path.suffix != ".svg" or not path.is_file():
            continue
        drawing = re.sub(r"^.*?(?=<svg)", "", path.read_text(), flags=re.DOTALL)
        label = escape(str(image.get("alt", "")))
        drawing = drawing.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
        image.replace_self(nodes.raw("", f'<div class="drawing" tabindex="0">{drawing}</div>', format="html"))
