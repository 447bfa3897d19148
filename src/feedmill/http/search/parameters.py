"""The parameters of a search request, as programs and people send them, and as links to other pages of the same search repeat them.

They are the same on ``/search``, on the page and in the JSON API. ``read_search`` is lenient: a malformed, out-of-range or unknown value
becomes the default. The JSON API refuses such values, by their declarations (``strictparameters``) and by ``check_search``.
Source: Search Protocol Reference, "Request Format", "Sorting", "Filtering by metadata".
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import astuple
from functools import partial
from urllib.parse import quote, unquote

from feedmill.core.query.builder import is_language_list, is_navigation
from feedmill.core.query.fields import is_field_list
from feedmill.core.query.sites import is_site_list
from feedmill.model.errors import BadRequest
from feedmill.model.lightdataclass import light_replace
from feedmill.model.search import AdvancedSearch, Cursor, Match, Occurrence, SearchRequest, Sort

DEFAULT_NUM = 10
MAX_NUM = 1_000
MAX_START = 100_000
MAX_FIELDS = 200
DEFAULT_KEYMATCHES = 3
MAX_KEYMATCHES = 50

_JOINED = "joined by | or ., every ( with its ), signs within a name or value percent-encoded twice"
_NUMBER = re.compile(r"[0-9]{1,9}")
_OCCURRENCES = {"title": Occurrence.TITLE, "url": Occurrence.URL}
_FIELDS = {
    "as_q": "all_words",
    "as_epq": "phrase",
    "as_oq": "any_words",
    "as_eq": "no_words",
    "as_sitesearch": "site",
    "sitesearch": "within",
    "as_filetype": "filetype",
    "as_lq": "links_to",
}
_READABLE: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "lr": (is_language_list, "languages such as lang_fr or -lang_zh-TW, joined by | or ."),
    "requiredfields": (partial(is_field_list, is_partial=False), f"NAME, NAME:VALUE or NAME?WORDS, {_JOINED}"),
    "partialfields": (partial(is_field_list, is_partial=True), f"NAME or NAME:WORDS, {_JOINED}"),
    "dnavs": (is_navigation, "restrictions such as inmeta:NAME=VALUE, without words"),
    "getfields": (lambda text: text.count(".") < MAX_FIELDS, f"at most {MAX_FIELDS} names, joined by dots"),
}
"""Parameters that a lenient reader reads in part: what decides whether all of one can be read, and what it is."""

FIRST_CURSOR = "*"
MAX_CURSOR_CHARACTERS = 200
_CURSOR = re.compile(r"(\d{1,18})\.([01])\.([0-9a-f]{12})")


def read_search(values: Mapping[str, str], *, max_num: int = MAX_NUM) -> SearchRequest:
    """Returns the search request of parameters."""
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


def check_search(values: Mapping[str, str]) -> None:
    """Refuses values that a lenient reader would pass over, and those that exclude each other. Errors: BadRequest, naming the parameter."""
    if values.get("cursor"):
        for name in ("start", "sort"):
            if values.get(name, "").strip("0"):
                raise BadRequest(f"parameter cursor lists by number; leave out {name}")
    check_site(values)
    for name, (is_readable, expected) in _READABLE.items():
        value = values.get(name, "")
        if value.strip() and not is_readable(value):
            raise BadRequest(f"parameter {name} is {value[:80]!a}; give {expected}")


def check_site(values: Mapping[str, str]) -> None:
    """Refuses a list of collections that a lenient reader would pass over. Errors: BadRequest, naming the parameter."""
    site = values.get("site", "").strip()
    if site and not is_site_list(site):
        raise BadRequest(f"parameter site is {site[:80]!a}; give names of collections, joined by | or .")


def read_number(text: str, *, default: int, at_most: int) -> int:
    """Returns a number from 0 to ``at_most``; a greater one counts as that, anything else as ``default``."""
    digits = text.strip()
    if _NUMBER.fullmatch(digits) is None:
        return at_most if digits.isascii() and digits.isdigit() else default
    return min(int(digits), at_most)


def read_names(text: str) -> tuple[str, ...]:
    """Returns names joined by dots, a dot of a name percent-encoded."""
    return tuple(unquote(name) for name in text.split(".")[:MAX_FIELDS] if name)


def _read_match(text: str) -> Match:
    try:
        return Match(text.strip().lower())
    except ValueError:
        return Match.AUTO


# --- order, form and metadata ---------------------------------------------------------------------------------------------------


def read_refined(request: SearchRequest, values: Mapping[str, str]) -> SearchRequest:
    """Returns the request with the refinements of the parameters."""
    return light_replace(
        request,
        required_fields=values.get("requiredfields", ""),
        partial_fields=values.get("partialfields", ""),
        sort=read_sort(values.get("sort", "")),
        advanced=read_advanced(values),
        navigation=values.get("dnavs", ""),
        languages=values.get("lr", ""),
    )


def read_sort(text: str) -> Sort | None:
    """Returns an order, which may end after the direction; None, by relevance, for ``date:...:L`` and for an unknown order."""
    kind, *parts = text.split(":")
    if kind == "date":
        direction, mode = [*(part.upper() for part in parts), "", ""][:2]
        if mode == "" and direction in ("A", "D"):
            mode = "R"
        return Sort(is_descending=direction != "A", is_whole=mode == "R") if mode in ("S", "R") else None
    if kind == "meta" and parts and parts[0]:
        return Sort(name=unquote(parts[0]), is_descending=parts[1:2] != [] and parts[1].upper() == "D")
    return None


def read_advanced(values: Mapping[str, str]) -> AdvancedSearch:
    """Returns the fields of the advanced search form."""
    return AdvancedSearch(
        **{field: values.get(name, "") for name, field in _FIELDS.items()},
        occurrence=_OCCURRENCES.get(values.get("as_occt", "").lower(), Occurrence.ANYWHERE),
        excludes_site=values.get("as_dt", "").lower() == "e",
        excludes_filetype=values.get("as_ft", "").lower() == "e",
    )


def write_refined(request: SearchRequest) -> list[tuple[str, str]]:
    """Returns the parameters that repeat a request's refinements, for links to its other pages."""
    advanced, sort = request.advanced, request.sort
    order = ""
    if sort is not None:
        direction = "D" if sort.is_descending else "A"
        mode = "R" if sort.is_whole else "S"
        order = f"meta:{quote(sort.name, safe='')}:{direction}" if sort.name else f"date:{direction}:{mode}:d1"
    pairs = [
        ("requiredfields", request.required_fields),
        ("partialfields", request.partial_fields),
        ("lr", request.languages),
        ("sort", order),
        ("dnavs", request.navigation),
        *[("select", text) for text in request.selected],
        *[(name, getattr(advanced, field)) for name, field in _FIELDS.items()],
        ("as_occt", "" if advanced.occurrence is Occurrence.ANYWHERE else advanced.occurrence.value),
        ("as_dt", "e" if advanced.excludes_site else ""),
        ("as_ft", "e" if advanced.excludes_filetype else ""),
    ]
    return [(name, value) for name, value in pairs if value]


# --- cursors --------------------------------------------------------------------------------------------------------------------


def read_cursor(text: str, request: SearchRequest) -> Cursor:
    """Reads a cursor: ``*`` begins a listing, and each response says where the next page begins.

    A cursor belongs to its query, of which it holds a digest. It returns nothing that a search would not return, so it needs no secret.
    Errors: BadRequest for a text that is no cursor, and for a cursor of another query.
    """
    if text == FIRST_CURSOR:
        return Cursor()
    try:
        bare = base64.urlsafe_b64decode(text[:MAX_CURSOR_CHARACTERS] + "=" * (-len(text[:MAX_CURSOR_CHARACTERS]) % 4)).decode("ascii")
    except ValueError:
        bare = ""
    found = _CURSOR.fullmatch(bare)
    if found is None:
        raise BadRequest("cursor= is malformed; begin with cursor=* and continue with next_cursor of each response")
    if found[3] != _digest(request):
        raise BadRequest("cursor= belongs to another query; continue with its first parameters, or begin with cursor=*")
    return Cursor(after=int(found[1]), is_loosened=found[2] == "1")


def write_cursor(cursor: Cursor | None, request: SearchRequest) -> str | None:
    """Returns a cursor as a text; None if there is no further page."""
    if cursor is None:
        return None
    bare = f"{cursor.after}.{int(bool(cursor.is_loosened))}.{_digest(request)}"
    return base64.urlsafe_b64encode(bare.encode("ascii")).decode("ascii").rstrip("=")


def _digest(request: SearchRequest) -> str:
    """Returns a digest of the parameters that decide which documents match, and of no other ones.

    The order of the parts and the constants between them are part of the format: clients hold cursors over an upgrade.
    """
    fields = (request.required_fields, request.partial_fields, None, astuple(request.advanced), request.navigation, None, ())
    scope = (request.site, request.client, 0, request.expands, request.languages, False, *request.selected)
    parts = (request.query, 0, 0, request.match, (), *fields, *scope)
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:12]
