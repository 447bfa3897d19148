"""Texts of all kinds, for what must take any: hypothesis strategies of pieces that are known to be read, and to be misread.

Arbitrary text alone seldom comes upon two signs between digits, or a month behind a number, so that pieces of numbers, dates, markup and
scripts are put together beside it. None of it holds halves of surrogate pairs, since nothing that is decoded does.
"""

from hypothesis import strategies as st

_BLANKS = " \t\n\r\x0b\x0c\x1c\x1f\x85\u00a0\u1680\u2000\u2007\u2009\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
_SIGNS = ",.'\u2019-\u2010\u2011\u2212+/:()$\u20ac%\u00b0"
_DIGITS = [
    "0",
    "1",
    "9",
    "12",
    "123",
    "000",
    "1234",
    "2024",
    "9999999999999999",
    "9" * 61,
    "9" * 5_000,
    "\u0663",
    "\uff11",
    "\u00b2",
    "\u2167",
]
_UNITS = ["kg", " kg", "km/h", "\u00b0C", "m\u00b2", "US$", "EUR", "\u5186", "(kg):", "in", "a", "%", "\u212a"]
_DATES = [
    "Jan",
    "May ",
    "Mon, ",
    "2024-02-30",
    "0000-00-00",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00+14:00",
    "12:30",
    "24:60:61",
    "Z",
    "+9999",
    "PST",
    "T",
]
_QUERY = [
    "OR",
    " OR ",
    "-",
    "+",
    '"',
    "\u201c",
    "..",
    "\u2026",
    "*",
    "inmeta:",
    "site:",
    "daterange:",
    "info:",
    "allintitle:",
    "=",
    "~",
    "%",
    "%C3",
    "%00",
    "x:y",
]
_MARKUP = [
    "<b>",
    "</",
    "<!--",
    "-->",
    "&amp;",
    "&#0;",
    "&#x110000;",
    "<![CDATA[",
    "]]>",
    "http://",
    "https://[::1",
    "://",
    "@",
    "?",
    "#",
    "\\",
    "regexp:",
    "^",
    "$",
    "*.",
]
_LETTERS = [
    "a", "word", "na\u00efve", "e\u0301", "\u0130", "\u00df", "\ufb03", "\u01c5", "\u1e9e", "\u03a3\u03c2", "\u0644\u0627", "\ufdfa",
    "\u0e01\u0e33", "\u4e2d\u6587", "\u30ab\u3099", "\uff76\uff9e", "\uac00", "\u1112\u1161\u11ab", "\u0915\u094d", "\u0300" * 40,
    "\u202e", "\u200d", "\u00ad", "\U0001f600", "\U0001d7d8", "\U000e0041", "\ufffe", "\U0010ffff", "\x00", "\x01", "\x08", "\x1b[0m",
    "\x7f", "x" * 300, "\u00e9" * 120, "\u4e2d" * 300, "sses", "ingly",
]  # fmt: skip


def any_text(max_size: int = 12) -> st.SearchStrategy[str]:
    """Returns arbitrary text, and text put together of pieces that something in the product reads; up to so many pieces."""
    pieces = st.sampled_from([*_DIGITS, *_UNITS, *_DATES, *_QUERY, *_MARKUP, *_LETTERS, *_BLANKS, *_SIGNS])
    return st.lists(pieces | st.text(max_size=5), max_size=max_size).map("".join)


def any_numbers() -> st.SearchStrategy[str]:
    """Returns digits with signs, blanks and units between them."""
    pieces = st.sampled_from(_DIGITS) | st.sampled_from([*_SIGNS, *_BLANKS]) | st.sampled_from([*",. "]) | st.sampled_from(_UNITS)
    return st.lists(pieces, max_size=9).map("".join)


def any_query() -> st.SearchStrategy[str]:
    """Returns what may be typed as a query."""
    pieces = (
        st.sampled_from(_QUERY) | st.sampled_from([" ", " ", "(", ")"]) | st.sampled_from(_LETTERS) | any_numbers() | st.text(max_size=3)
    )
    return st.lists(pieces, max_size=10).map("".join)
