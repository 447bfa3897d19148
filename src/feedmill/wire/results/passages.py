"""Passages and whole documents as JSON: the answers of ``/api/v1/retrieve``, and of the tools of ``/mcp``.

Source: docs/reference/search-api.md, "POST /api/v1/retrieve"; docs/reference/assistants.md.
"""

import json
from typing import Any, Final

from feedmill.core.urls.breadcrumbs import name_url
from feedmill.model.passages import FoundPassage, PassageList, WholeDocument
from feedmill.model.results import ResultPage
from feedmill.wire.jsonvalues import group_metadata

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


def render_passages(found: PassageList, *, shows_scores: bool = False) -> bytes:
    """Returns passages, best first. Only administrators may see scores, as those of searches."""
    passages = [_passage_fields(passage, shows_scores=shows_scores) for passage in found.passages]
    return _encode({"passages": passages, "warnings": list(found.warnings)}).encode()


def render_hits(page: ResultPage) -> str:
    """Returns the answer of the tool ``search``: of each document its id, its title and the URL to cite."""
    results = [
        {"id": result.url, "title": result.title or name_url(result.display_url), "url": result.display_url} for result in page.results
    ]
    return _encode({"results": results})


def render_whole_document(document: WholeDocument) -> str:
    """Returns the answer of the tool ``fetch``."""
    return _encode(
        {
            "id": document.url,
            "title": document.title,
            "text": document.text,
            "url": document.display_url,
            "metadata": group_metadata(document.metadata),
        }
    )


def _passage_fields(passage: FoundPassage, *, shows_scores: bool) -> dict[str, Any]:
    return {
        "url": passage.url,
        "display_url": passage.display_url,
        "title": passage.title,
        "text": passage.text,
        "start": passage.start,
        "end": passage.end,
        "score": round(passage.score, 6) if shows_scores else None,
        "coverage": round(passage.coverage, 3),
    }


def _encode(fields: dict[str, Any]) -> str:
    # what a feed left of half a character cannot be sent
    return _ENCODER.encode(fields).encode("utf-8", "replace").decode()
