"""The manual, as pages for the search port. Its Markdown is part of the package; in a checkout it is the folder ``docs``.

A page is rendered when it is first read. Links between pages lead to their addresses here; anchors of headings are those of GitHub, as in
the site that ``make docs`` builds. Nothing outside the manual is reachable: a page is looked up in the list of its files.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from feedmill.ports.manual import ManualHeading, ManualPage

PACKAGED: Final = Path(__file__).parents[1] / "manual"
CHECKOUT: Final = Path(__file__).parents[3] / "docs"

_BESIDE: Final = ("README", "ARCHITECTURE", "CHANGELOG", "SECURITY")
"""The pages in the root of the repository, to which pages of the manual lead. They stand under ``project/`` here."""

_NOT_IN_ANCHORS: Final = re.compile(r"[^\w\- ]")


class PackagedManual:
    """Implements ``ports.manual.Manual``."""

    def __init__(self, folder: Path | None = None) -> None:
        #: The folder of the pages.
        self.folder = folder or (PACKAGED if PACKAGED.is_dir() else CHECKOUT)
        self._rendered: dict[str, ManualPage] = {}
        self._lock = Lock()

    def find_page(self, name: str) -> ManualPage | None:
        """Returns the page of a name such as ``howto/render-pages``, None if there is none."""
        path = self._pages.get(name)
        if path is None:
            return None
        with self._lock:
            page = self._rendered.get(name)
            if page is None:
                page = self._rendered[name] = self._render(name, path.read_text(encoding="utf-8"))
        return page

    def find_picture(self, name: str) -> bytes | None:
        """Returns a picture of the manual as SVG, None if there is none."""
        path = self._pictures.get(name)
        return None if path is None else path.read_bytes()

    @cached_property
    def _pages(self) -> Mapping[str, Path]:
        pages = {str(path.relative_to(self.folder).with_suffix("")): path for path in self.folder.rglob("*.md")}
        beside = self.folder / "project" if (self.folder / "project").is_dir() else self.folder.parent
        pages |= {f"project/{name}": beside / f"{name}.md" for name in _BESIDE if (beside / f"{name}.md").is_file()}
        return pages

    @cached_property
    def _pictures(self) -> Mapping[str, Path]:
        return {str(path.relative_to(self.folder)): path for path in self.folder.rglob("*.svg")}

    def _render(self, name: str, text: str) -> ManualPage:
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        tokens = markdown.parse(text)
        headings = _name_headings(tokens)
        for token in tokens:
            for child in token.children or ():
                self._lead_on(name, child)
        _empty_headers(tokens)
        title = headings[0].text if headings else name
        html = str(markdown.renderer.render(tokens, markdown.options, {}))
        # examples and tables that are wider than the page are scrolled with the keyboard too
        html = html.replace("<pre>", '<pre tabindex="0">').replace("<table>", '<table tabindex="0">')
        return ManualPage(title=title, html=html, headings=tuple(headings[1:]))

    def _lead_on(self, name: str, token: Token) -> None:
        """Changes the target of a link or a picture to its address on the search port."""
        attribute = {"link_open": "href", "image": "src"}.get(token.type)
        if attribute is None:
            return
        target, hash_, anchor = str(token.attrs[attribute]).partition("#")
        if not target or ":" in target:
            return
        # pages beside the manual link as from the root of the repository, the others as from its folder ``docs``
        place = posixpath.dirname(f"docs/{name}") if not name.startswith("project/") else ""
        path = posixpath.normpath(posixpath.join(place, target))
        stem = path.removesuffix(".md")
        found = stem.removeprefix("docs/") if stem.startswith("docs/") else f"project/{stem}"
        if found in self._pages and path.endswith(".md"):
            depth = "../" * name.count("/")
            token.attrs[attribute] = f"{depth}{found}.html{hash_}{anchor}"
        elif found in self._pictures:
            token.attrs[attribute] = f"{'../' * name.count('/')}{found}"
        else:
            # a file of the repository, which the manual does not hold
            token.attrs.pop(attribute)


def _empty_headers(tokens: Sequence[Token]) -> None:
    """Makes header cells without a text plain cells, since a screen reader would announce a header without a name."""
    for opening, content, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "th_open" and not content.content.strip():
            opening.tag = closing.tag = "td"


def _name_headings(tokens: list[Token]) -> list[ManualHeading]:
    """Gives each heading its anchor, and returns the headings."""
    headings: list[ManualHeading] = []
    used: dict[str, int] = {}
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in content.children or () if child.type in ("text", "code_inline"))
            anchor = _NOT_IN_ANCHORS.sub("", text.strip().lower()).replace(" ", "-")
            count = used[anchor] = used.get(anchor, -1) + 1
            anchor = f"{anchor}-{count}" if count else anchor
            opening.attrs["id"] = anchor
            headings.append(ManualHeading(level=int(opening.tag[1]), text=text, anchor=anchor))
    return headings
