"""Marks lists, tables, quotations and emphasis in the tree of a page, so that they are known in its text.

Numbers of items, and how many columns and rows a cell spans, are marked behind the beginning of their element.

Each mark is a text beside an element. This is the last thing that happens to a tree: whatever reads the texts of elements reads them
without marks.
"""

import re
from collections.abc import Set

from selectolax.lexbor import LexborHTMLParser, LexborNode

from feedmill.adapters.extract.structure import END, mark, mark_numbers
from feedmill.core.text.structure import MAX_SPAN, Kind

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
_SPANS, _VALUES = re.compile(r"<t[dh]\s[^<>]*span"), re.compile(r"<li\s[^<>]*value")
_COUNTED = re.compile(r"<ol\s[^<>]*(?:start|reversed)")
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,9})")
# no element is found by two parts of a selector
_SPANNING = "td[colspan], td[rowspan]:not([colspan]), th[colspan], th[rowspan]:not([colspan])"


def mark_structure(tree: LexborHTMLParser, lowered: str, tags: Set[str]) -> None:
    """Marks the elements of a tree. Shape: ``lowered`` is the page in lower case, ``tags`` are the names in it."""
    left = MAX_MARKED
    for tag, begin, end in _TAGS:
        if tag not in tags:
            continue
        for node in tree.tags(tag)[:left]:
            node.insert_before(begin)
            if end:
                node.insert_after(end)
            left -= 1
    if not tags.isdisjoint(("td", "th")) and _SPANS.search(lowered):
        for node in tree.css(_SPANNING)[:MAX_MARKED]:
            node.insert_before(_mark_spans(node))
    if "ol" in tags and _COUNTED.search(lowered):
        for node in tree.css("ol[start], ol[reversed]:not([start])")[:MAX_MARKED]:
            node.insert_before(_mark_start(node))
    if "ol" in tags and _VALUES.search(lowered):
        for node in tree.css("li[value]")[:MAX_MARKED]:
            if (number := _read_number(node, "value")) is not None:
                node.insert_before(mark_numbers(number))


def _mark_spans(node: LexborNode) -> str:
    # 0 columns are one, and 0 rows are all to the end of the table
    columns, rows = _read_number(node, "colspan") or 1, _read_number(node, "rowspan")
    return mark_numbers(min(max(columns, 1), MAX_SPAN), min(rows or MAX_SPAN, MAX_SPAN) if rows is not None and rows >= 0 else 1)


def _mark_start(node: LexborNode) -> str:
    first = _read_number(node, "start")
    step = -1 if "reversed" in node.attributes else 1
    return mark_numbers(step) if first is None else mark_numbers(step, first)


def _read_number(node: LexborNode, name: str) -> int | None:
    """Returns a number as browsers read it, None for no number. Source: HTML, "Rules for parsing integers"."""
    found = _NUMBER.match(node.attributes.get(name) or "")
    return int(found[1]) if found else None
