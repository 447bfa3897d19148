"""The parameters of a search request, as programs and people send them.

No value is an error: what is no number, out of range or unknown becomes the default.
"""

import re
from collections.abc import Mapping
from urllib.parse import unquote

from feedmill.http.search.refining import read_refined
from feedmill.model.search import Match, SearchRequest

DEFAULT_NUM = 10
MAX_NUM = 1_000
MAX_START = 100_000
MAX_FIELDS = 200
DEFAULT_KEYMATCHES = 3
MAX_KEYMATCHES = 50

_NUMBER = re.compile(r"[0-9]{1,9}")


def read_search(values: Mapping[str, str], *, max_num: int = MAX_NUM) -> SearchRequest:
    """Reads the parameters of a search."""
    request = SearchRequest(
        query=values.get("q", ""),
        start=read_number(values.get("start", ""), default=0, at_most=MAX_START),
        num=read_number(values.get("num", ""), default=DEFAULT_NUM, at_most=max_num),
        match=_read_match(values.get("match", "")),
        getfields=read_names(values.get("getfields", "")),
        site=values.get("site", ""),
        client=values.get("client", "") or values.get("proxystylesheet", ""),
        keymatches=read_number(values.get("numgm", ""), default=DEFAULT_KEYMATCHES, at_most=MAX_KEYMATCHES),
        expands=values.get("entqr", "").strip() != "0",
    )
    return read_refined(request, values)


def read_number(text: str, *, default: int, at_most: int) -> int:
    """Reads a number from 0 to ``at_most``; a greater one counts as that, anything else as ``default``."""
    digits = text.strip()
    if _NUMBER.fullmatch(digits) is None:
        return at_most if digits.isascii() and digits.isdigit() else default
    return min(int(digits), at_most)


def read_names(text: str) -> tuple[str, ...]:
    """Reads names joined by dots, a dot of a name percent-encoded."""
    return tuple(unquote(name) for name in text.split(".")[:MAX_FIELDS] if name)


def _read_match(text: str) -> Match:
    try:
        return Match(text.strip().lower())
    except ValueError:
        return Match.AUTO
