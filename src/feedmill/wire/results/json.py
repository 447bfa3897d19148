"""Search results as the JSON of ``/api/v1``.

Source: docs/reference/search-api.md.
"""

import json
from typing import Any, Final

from feedmill.core.documents.presentation import displayed_metadata, shown_mimetype, shown_title
from feedmill.core.text.measures import read_number
from feedmill.model.document import Document
from feedmill.model.facets import Facet, FacetCounts, FacetType
from feedmill.model.results import Result, ResultPage
from feedmill.wire.jsonvalues import group_metadata, render_time

# no value here contains itself; the check for that takes a third of the time
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


def render_page(page: ResultPage, next_cursor: str | None = None, *, shows_scores: bool = False) -> bytes:
    """Returns one page of results.

    Shape: UTF-8; ``next_cursor`` continues a listing; ``snippet_marks`` are (start, end) in characters of ``snippet``.
    Scores depend on how many documents hold a word, hidden ones too; only administrators may see them.
    """
    return _encode(
        {
            "query": page.query,
            "total": page.total,
            "exact": page.is_exact,
            "results": [_result_fields(result, shows_scores=shows_scores) for result in page.results],
            "facets": [_facet_fields(counts) for counts in page.facets],
            "spelling": page.spelling,
            "keymatches": [{"url": match.url, "title": match.title or match.url} for match in page.keymatches],
            "related": list(page.related),
            "next_cursor": next_cursor,
            "warnings": list(page.warnings),
        }
    )


def render_document(document: Document, *, is_searchable: bool) -> bytes:
    """Returns a document for a user who may see it, without its owner and its ACL."""
    attributes, text = document.attributes, document.text
    return _encode(
        {
            "url": document.url,
            "display_url": attributes.display_url or document.url,
            "state": document.state.value,
            "searchable": is_searchable,
            "title": shown_title(document),
            "mimetype": shown_mimetype(document),
            "last_modified": render_time(attributes.last_modified),
            "metadata": group_metadata(displayed_metadata(document)),
            "language": text.language if text is not None else None,
            "reason": text.reason if text is not None else None,
        }
    )


def _result_fields(result: Result, *, shows_scores: bool) -> dict[str, Any]:
    return {
        "url": result.url,
        "display_url": result.display_url,
        "title": result.title,
        "snippet": result.snippet.text,
        "snippet_marks": result.snippet.marks,
        "score": round(result.score, 6) if shows_scores else None,
        "date": render_time(result.date),
        "mimetype": result.mimetype,
        "language": result.language,
        "metadata": group_metadata(result.metadata),
        **({"missing": result.missing} if result.missing else {}),
        **({"explanation": {name: round(value, 6) for name, value in result.parts}} if shows_scores and result.parts else {}),
    }


def _facet_fields(counts: FacetCounts) -> dict[str, Any]:
    facet = counts.facet
    values = [
        {
            "value": value.value,
            "low": _range_end(facet, value.range.low) if value.range is not None else None,
            "high": _range_end(facet, value.range.high) if value.range is not None else None,
            "count": value.count,
        }
        for value in counts.values
    ]
    shown = {"name": facet.name, "label": facet.label or facet.name, "type": facet.type.value, "values": values}
    return shown if counts.is_exact else shown | {"exact": False}


def _range_end(facet: Facet, text: str) -> float | str | None:
    if not text:
        return None
    number = None if facet.type is FacetType.DATE else read_number(text)
    if number is None:
        return text
    return int(number) if number.is_integer() else number


def _encode(fields: dict[str, Any]) -> bytes:
    return _ENCODER.encode(fields).encode("utf-8", "replace")
