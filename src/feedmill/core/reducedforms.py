"""Reduced forms of a document for the index, for one whose whole form cannot be built.

Each form leaves out more than the one before: the numbers and dates in text and metadata, then the metadata, then the text instead of
the metadata, then all but URL, type and access. Access and the terms of URL patterns stay in every form, since they hide a document.
"""

from collections.abc import Iterator
from dataclasses import replace

from feedmill.model.search import IndexDocument


def iter_forms(document: IndexDocument) -> Iterator[tuple[IndexDocument, str]]:
    """Yields a document and its reduced forms, each with what it lacks, "" for the whole one."""
    yield document, ""
    plain = replace(document, has_values=False)
    yield plain, "its numbers and dates"
    yield replace(plain, metadata=()), "its metadata"
    yield replace(plain, body="", headings="", anchors=(), links=()), "its text"
    yield replace(plain, title="", body="", headings="", metadata=(), anchors=(), links=(), language=None), "all but its URL"
