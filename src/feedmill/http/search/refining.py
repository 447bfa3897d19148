"""The parameters that refine a search: its order, the fields of the advanced form, and what metadata must hold.

They are the same on ``/search``, on the page and in the JSON API. No value is an error: what is not understood refines nothing.
Source: Search Protocol Reference, "Request Format", "Sorting", "Filtering by metadata".
"""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote, unquote

from feedmill.model.search import Advanced, Occurrence, SearchRequest, Sort

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


def read_refined(request: SearchRequest, values: Mapping[str, str]) -> SearchRequest:
    """Returns the request with what the parameters refine it by."""
    return replace(
        request,
        required_fields=values.get("requiredfields", ""),
        partial_fields=values.get("partialfields", ""),
        sort=read_sort(values.get("sort", "")),
        advanced=read_advanced(values),
        navigation=values.get("dnavs", ""),
        languages=values.get("lr", ""),
    )


def read_sort(text: str) -> Sort | None:
    """Reads an order, which may end after the direction; None, by relevance, for ``date:...:L`` and for what is not understood."""
    kind, *parts = text.split(":")
    if kind == "date":
        direction, mode = [*(part.upper() for part in parts), "", ""][:2]
        if mode == "" and direction in ("A", "D"):
            mode = "R"
        return Sort(is_descending=direction != "A", is_whole=mode == "R") if mode in ("S", "R") else None
    if kind == "meta" and parts and parts[0]:
        return Sort(name=unquote(parts[0]), is_descending=parts[1:2] != [] and parts[1].upper() == "D")
    return None


def read_advanced(values: Mapping[str, str]) -> Advanced:
    """Reads the fields of the advanced search form."""
    return Advanced(
        **{field: values.get(name, "") for name, field in _FIELDS.items()},
        occurrence=_OCCURRENCES.get(values.get("as_occt", ""), Occurrence.ANYWHERE),
        excludes_site=values.get("as_dt", "") == "e",
        excludes_filetype=values.get("as_ft", "") == "e",
    )


def write_refined(request: SearchRequest) -> list[tuple[str, str]]:
    """Returns the parameters that refine a request as it is refined, for links to its other pages."""
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
        *[(name, getattr(advanced, field)) for name, field in _FIELDS.items()],
        ("as_occt", "" if advanced.occurrence is Occurrence.ANYWHERE else advanced.occurrence.value),
        ("as_dt", "e" if advanced.excludes_site else ""),
        ("as_ft", "e" if advanced.excludes_filetype else ""),
    ]
    return [(name, value) for name, value in pairs if value]
