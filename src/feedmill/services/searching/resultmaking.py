"""Makes results from documents: what is shown of each, with the words of the query marked."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from feedmill.core.documents.presentation import (
    displayed_metadata,
    find_description,
    has_robots_rule,
    may_show_copy,
    select_metadata,
    shown_date,
    shown_language,
    shown_mimetype,
    shown_title,
)
from feedmill.core.text.passages import split_ranges
from feedmill.core.text.textblob import QuotableText, decode_quotable_navigation, decode_quotable_text, decode_text, decode_whole
from feedmill.model.document import Document
from feedmill.model.errors import FeedmillError
from feedmill.model.messages import counted
from feedmill.model.results import AlikeDocument, Marks, Result, Snippet
from feedmill.model.search import Hit, SearchRequest
from feedmill.ports import BlobStore, Highlighter
from feedmill.services.isolation.batches import attempt
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.searching.searchstate import PlannedSearch
from feedmill.services.searching.visibledocuments import VisibleDocuments

DECIDED_AT_ONCE = 100
READ_CHARACTERS = 20_000

RESULT_STEP = "result"
SNIPPET_STEP = "snippet"
TITLE_STEP = "title"

NO_MARKS: Marks = ()
NO_SNIPPET = Snippet(text="")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultBatch:
    """The results of hits. Shape: ``dropped`` counts documents that no result shows; ``failed`` counts results that could not be made."""

    results: tuple[Result, ...] = ()
    dropped: int = 0
    failed: int = 0


class ResultMaker:
    """Makes results of documents from the store, with texts from the blob store. May be used from several threads."""

    def __init__(self, documents: VisibleDocuments, blobs: BlobStore) -> None:
        self._documents = documents
        self._blobs = blobs

    def make_results(self, search: PlannedSearch, highlighter: Highlighter, hits: Sequence[Hit], granted: Set[str]) -> ResultBatch:
        """Makes results from hits while there is time; a result that fails is left out. Shape: ``granted`` as in ``VisibleDocuments``."""
        plan, deadline = search.plan, search.deadline
        results, dropped, failed = list[Result](), 0, 0
        for first in range(0, len(hits), DECIDED_AT_ONCE):
            batch = hits[first : first + DECIDED_AT_ONCE]
            keys = [key for hit in batch for key in (hit.key, *hit.alike)]
            visible = self._documents.list_visible(keys, search.access, granted, deadline)
            documents = {document.id: document for document in visible if not plan.removes(document.url)}
            for hit in batch:
                if deadline.is_over:
                    deadline.give_up()
                    return ResultBatch(results=tuple(results), dropped=dropped, failed=failed)
                # of the documents for which it stands, the first one that the user may see is shown
                group = [document for key in (hit.key, *hit.alike) if (document := documents.get(key)) is not None]
                dropped += 1 + len(hit.alike) - len(group)
                if not group:
                    continue
                shown, is_late = group[0], group[0].url in granted
                make = partial(self.make_result, shown, hit, highlighter, plan.request, is_late=is_late)
                result = attempt(make, None, step=RESULT_STEP, url=shown.url)
                if result is None:
                    dropped, failed = dropped + len(group), failed + 1
                    continue
                results.append(replace(result, alike=tuple(map(_name_alike, group[1:]))) if group[1:] else result)
        return ResultBatch(results=tuple(results), dropped=dropped, failed=failed)

    def make_result(self, document: Document, hit: Hit, highlighter: Highlighter, request: SearchRequest, *, is_late: bool) -> Result:
        """Makes a result of a document that may be shown. Shape: ``is_late``: another server permitted it.

        A snippet or marks that cannot be made are left out. Errors: any, of what the document holds.
        """
        fault_point(RESULT_STEP, document.url)
        if document.damage:
            raise ValueError(document.damage)
        snippet, title_marks = NO_SNIPPET, NO_MARKS
        if request.has_snippets:
            make_snippet = partial(self._make_snippet, document, highlighter, hit.passage)
            snippet = attempt(make_snippet, NO_SNIPPET, step=SNIPPET_STEP, url=document.url)
            if request.marks_titles:
                title_marks = attempt(lambda: _mark_title(document, highlighter), NO_MARKS, step=TITLE_STEP, url=document.url)
        return Result(
            key=hit.key if document.id is None else document.id,
            url=document.url,
            display_url=document.attributes.display_url or document.url,
            title=shown_title(document),
            snippet=snippet,
            score=hit.score,
            date=shown_date(document),
            mimetype=shown_mimetype(document),
            language=shown_language(document),
            metadata=select_metadata(displayed_metadata(document), request.getfields) if request.getfields else (),
            title_marks=title_marks,
            rank=document.rank,
            content_bytes=document.content_bytes,
            has_copy=may_show_copy(document),
            updated_at=document.updated_at,
            parts=hit.parts,
            near_passage=hit.passage,
            is_late=is_late,
        )

    def _make_snippet(self, document: Document, highlighter: Highlighter, passage: int | None) -> Snippet:
        fault_point(SNIPPET_STEP, document.url)
        if has_robots_rule(document, "nosnippet"):
            return NO_SNIPPET
        stored, language = self._read_stored(document), shown_language(document)
        first: Snippet | None = None
        # Navigation is quoted only if nothing else shows why the document was found. Without the words of the query, a description stands
        # only in for a missing text.
        for read in (decode_quotable_text, lambda _: find_description(displayed_metadata(document)), decode_quotable_navigation):
            snippet = highlighter.make_snippet(_decode(stored, read), language)
            if snippet.marks:
                return snippet
            if first is None and snippet.text:
                first = snippet
        # no word of the query is there, so what is near to the query says why the document was found
        near = None if passage is None else attempt(lambda: _find_passage(stored, passage), None, step=SNIPPET_STEP, url=document.url)
        return highlighter.make_snippet(near, language) if near else first or NO_SNIPPET

    def read_text(self, document: Document, decode: Callable[[bytes], str] = decode_text) -> str:
        """Reads the text of a document; returns "" if there is none that can be read."""
        return _decode(self._read_stored(document), decode)

    def _read_stored(self, document: Document) -> bytes:
        if document.text is None or document.text.blob is None:
            return b""
        try:
            return self._blobs.read(document.text.blob)
        except FeedmillError:
            # a text that was just replaced, or cannot be read, costs its snippet and not the page
            return b""

    def read_titles_and_texts(self, documents: Sequence[Document]) -> list[str]:
        """Reads the titles of documents and the beginnings of their texts."""
        titles = [title for document in documents if (title := shown_title(document)) is not None]
        return titles + [self.read_text(document)[:READ_CHARACTERS] for document in documents]


def _name_alike(document: Document) -> AlikeDocument:
    return AlikeDocument(url=document.url, display_url=document.attributes.display_url or document.url, title=shown_title(document))


def _decode(stored: bytes, decode: Callable[[bytes], str]) -> str:
    try:
        return decode(stored)
    except FeedmillError:
        return ""


def _find_passage(stored: bytes, place: int) -> str | None:
    whole = decode_whole(stored) if stored else QuotableText(text="")
    return next((passage.text for passage in split_ranges(whole.text, whole.main, place + 1)[place:]), None)


def _mark_title(document: Document, highlighter: Highlighter) -> Marks:
    fault_point(TITLE_STEP, document.url)
    return highlighter.find_marks(shown_title(document) or "", shown_language(document))


def report_failed(count: int) -> str:
    """Returns the warning for results that could not be made."""
    return counted(
        "one result is left out, since it could not be shown", "%(count)s results are left out, since they could not be shown", count
    )
