"""Detects pages whose tree would cost far more than their size, and reads them without a tree.

The parser's cost grows with the square of three things: of open elements (a start tag looks through the stack), of formatting
elements that are never closed (each is opened again in every later block), and of the attributes of one tag (each is compared with
those before). All are estimated before parsing, in one pass, and only for pages
large enough to do harm. A page beyond the bounds is machine-made or hostile; its words are still searchable.
"""

import re
from html import unescape

_SMALL_CHARACTERS = 20_000
_MAX_STEPS = 60_000_000
_MAX_ATTRIBUTES = 8_000
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)")
_BLANKS = re.compile(r"[\s/=]+")
_UNSEEN = re.compile(r"<(script|style|noscript|template)\b.*?(?:</\1\s*>|\Z)", re.I | re.S)
_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<[a-zA-Z/!?][^<>]*>?", re.S)
# Building a formatting element again costs more than passing an open element on the stack.
_LOOSE_WEIGHT = 20
_FORMATTING = frozenset({"b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"})
# they close themselves, or one another
_FLAT = frozenset({
    "br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "param", "source", "track", "wbr", "p", "li", "td", "tr",
    "th", "dt", "dd", "option", "optgroup", "tbody", "thead", "tfoot", "html", "head", "body", "script", "style",
})  # fmt: skip


def is_costly(lowered: str) -> bool:
    """Returns whether parsing a page could take seconds. Shape: the page in lower case."""
    if len(lowered) < _SMALL_CHARACTERS:
        return False
    return _has_attribute_flood(lowered) or _is_deep(lowered)


def strip_markup(source: str) -> str:
    """Returns a page's words without building a tree."""
    return unescape(_MARKUP.sub("\n", _UNSEEN.sub("\n", source)))


def _has_attribute_flood(source: str) -> bool:
    pieces = source.split(">")
    # An attribute and its blank take two characters at least, so shorter pieces need not be counted.
    if max(map(len, pieces)) <= _MAX_ATTRIBUTES * 2:
        return False
    for piece in pieces:
        if len(piece) > _MAX_ATTRIBUTES * 2:
            start = piece.find("<")
            if start >= 0 and len(_BLANKS.findall(piece, start)) > _MAX_ATTRIBUTES:
                return True
    return False


def _is_deep(lowered: str) -> bool:
    # no tag can be deeper than there are tags before it
    starts = lowered.count("<") - lowered.count("</")
    if starts * (starts + 1) // 2 * (1 + _LOOSE_WEIGHT) <= _MAX_STEPS:
        return False
    depth = loose = steps = 0
    for closing, name in _TAG.findall(lowered):
        change = -1 if closing else 1
        if name in _FORMATTING:
            loose = max(0, loose + change)
        if name not in _FLAT:
            depth = max(0, depth + change)
        if not closing:
            steps += depth + loose * _LOOSE_WEIGHT
    return steps > _MAX_STEPS
