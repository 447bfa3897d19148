"""Marks lists, tables, quotations and emphasis in the tree of a page, so that they are known in its text.

Each mark is a text beside an element. This is the last thing that happens to a tree: whatever reads the texts of elements reads them
without marks.
"""

import re

from selectolax.lexbor import LexborHTMLParser

from feedmill.adapters.extract.structure import END, mark
from feedmill.core.text.structure import Kind

MAX_MARKED = 20_000
"""Further elements are not marked, those of the last kinds first."""

_ENDED = {
    "ul": Kind.UNORDERED, "menu": Kind.UNORDERED, "dir": Kind.UNORDERED, "ol": Kind.ORDERED, "dl": Kind.DEFINITIONS,
    "table": Kind.TABLE, "blockquote": Kind.QUOTE, "pre": Kind.PREFORMATTED, "code": Kind.CODE, "tt": Kind.CODE, "kbd": Kind.CODE,
    "samp": Kind.CODE, "strong": Kind.STRONG, "b": Kind.STRONG, "em": Kind.EMPHASIS, "i": Kind.EMPHASIS, "cite": Kind.EMPHASIS,
    "dfn": Kind.EMPHASIS, "var": Kind.EMPHASIS,
}  # fmt: skip
_STARTING = {
    "li": Kind.ITEM, "dt": Kind.TERM, "dd": Kind.DESCRIPTION, "tr": Kind.ROW, "td": Kind.CELL, "th": Kind.HEADER_CELL,
}  # fmt: skip
_TAGS = [(tag, mark(kind), END) for tag, kind in _ENDED.items()] + [(tag, mark(kind), "") for tag, kind in _STARTING.items()]
_PRESENT = re.compile(rf"<({'|'.join(sorted([*_ENDED, *_STARTING], key=len, reverse=True))})[ >]")


def mark_structure(tree: LexborHTMLParser, lowered: str) -> None:
    """Marks the elements of a tree. Shape: ``lowered`` is the page in lower case."""
    # looking for elements that are not there takes longer than looking at the page
    present = set(_PRESENT.findall(lowered))
    left = MAX_MARKED
    for tag, begin, end in _TAGS:
        if tag not in present:
            continue
        for node in tree.tags(tag)[:left]:
            node.insert_before(begin)
            if end:
                node.insert_after(end)
            left -= 1
