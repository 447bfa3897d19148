"""Reduced forms of a document for the index, for a document whose full form cannot be built.

Each form omits more than the previous one: the numbers and dates in text and metadata, then the metadata, then the text instead of the
metadata, then everything but URL, type and access. Every form retains access and the terms of URL patterns, since they hide a document.
"""

from collections.abc import Iterator
from dataclasses import replace

from feedmill.model.search import IndexDocument


def iter_forms(document: IndexDocument) -> Iterator[tuple[IndexDocument, str]]:
    """Yields a document and its reduced forms, each with the name of the omitted parts, "" for the full form."""
    yield document, ""
    plain = replace(document, has_values=False)
    yield plain, "its numbers and dates"
    yield replace(plain, metadata=()), "its metadata"
    yield replace(plain, body="", headings="", anchors=(), links=()), "its text"
    yield replace(plain, title="", body="", headings="", metadata=(), anchors=(), links=(), language=None), "all but its URL"
