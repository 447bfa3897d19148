"""Renders a query tree as text that the parser reads as the same tree.

Every tree of ``parse_query`` is the tree of its rendered text, as long as the text does not exceed the maximum length of a query. Values
are in quotes, or percent-encoded in ``inmeta:``; a word that the parser would read as something else has the sign ``+``. Trees that the
parser never builds (an And inside an Or) are rendered as the nearest that a user can type.
"""

import re
from datetime import date
from urllib.parse import quote

from feedmill.model.query import (
    And,
    AnyOf,
    BuiltInEquals,
    DateRange,
    FileType,
    Info,
    InText,
    InTitle,
    InUrl,
    Language,
    LinksTo,
    MatchAll,
    MetaContains,
    MetaDates,
    MetaEquals,
    MetaExists,
    MetaNumbers,
    MetaStarts,
    Node,
    Not,
    NumberRange,
    Or,
    Phrase,
    Related,
    Site,
    Wildcard,
    Word,
)

_BLANK = re.compile(r"\s")
_DIVIDES = re.compile(r"""[\s"%=~:.*]""")


def render_query(root: Node) -> str:
    """Returns the text of a query tree."""
    match root:
        case And(parts) | AnyOf(parts):
            return " ".join(render_query(part) for part in parts)
        case Or(parts):
            return " OR ".join(render_query(part) for part in parts)
        case Not(Word(text)):
            # a plus between two hyphens, which would begin a word
            return f"-+{text}" if text.startswith("-") else f"-{text}"
        case Not(part):
            return f"-{render_query(part)}"
        case MatchAll():
            return ""
        case Word(text, is_fixed):
            return f"+{text}" if is_fixed or text == "OR" or text[:1] in ("+", "-") else text
        case Wildcard(text):
            return text
        case Phrase(text):
            return f'"{text}"'
        case _:
            return _render_restriction(root)


def _render_restriction(node: Node) -> str:
    match node:
        case Site(text):
            return f'site:"{text}"'
        case InUrl(text):
            return f'inurl:"{text}"'
        case InTitle(text):
            return f'intitle:"{text}"'
        case InText(text):
            return f'intext:"{text}"'
        case FileType(text):
            return f'filetype:"{text}"'
        case Language() | BuiltInEquals():
            # comes from a parameter and is never part of a typed query
            return ""
        case Info(url):
            return f"info:{_url(url)}"
        case Related(url):
            return f"related:{_url(url)}"
        case LinksTo(url):
            return f"link:{_url(url)}"
        case NumberRange(low, high, unit):
            return _range(low, high, unit)
        case DateRange(first, last):
            return f"daterange:{_day(first)}..{_day(last)}"
        case _:
            return f"inmeta:{_render_inmeta(node)}"


def _render_inmeta(node: Node) -> str:
    match node:
        case MetaExists(name):
            return _encode(name)
        case MetaEquals(name, value):
            return f"{_encode(name)}={_encode(value)}"
        case MetaStarts(name, text):
            return f"{_encode(name)}~{_encode(text)}*"
        case MetaContains(name, text, is_prefix):
            return f"{_encode(name)}~{_encode(text)}{'*' if is_prefix else ''}"
        case MetaNumbers(name, low, high, unit):
            return f"{_encode(name)}:{_range(low, high, unit)}"
        case MetaDates(name, first, last):
            return f"{_encode(name)}:daterange:{_day(first)}..{_day(last)}"
        case _:
            raise AssertionError(f"not a restriction: {node}")


def _url(url: str) -> str:
    return f'"{url}"' if _BLANK.search(url) else url


def _encode(text: str) -> str:
    return _DIVIDES.sub(lambda found: quote(found[0], safe="") if found[0] not in "~." else f"%{ord(found[0]):02X}", text)


def _range(low: float | None, high: float | None, unit: str) -> str:
    return "..".join("" if end is None else _number(end, unit) for end in (low, high))


def _number(number: float, unit: str) -> str:
    whole, _, fraction = f"{number:.30f}".rstrip("0").partition(".")
    # with a unit, three digits after a point may mean thousands; four never do
    padded = f"{fraction:0<4}" if unit else fraction
    return f"{whole}.{padded}{unit}" if fraction else f"{whole}{unit}"


def _day(day: date | None) -> str:
    return "" if day is None else day.isoformat()
