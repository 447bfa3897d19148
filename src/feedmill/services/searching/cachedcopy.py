"""The cached copy of a document: the text extracted from the fed content in its blocks, with the words of a query marked.

It is made from the stored text and never from the document's own bytes, so no content of a document can run or be parsed here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from feedmill.core.documents.presentation import may_show_copy, shown_language, shown_title
from feedmill.core.query.matching import loosen
from feedmill.core.text.structure import decode_structure
from feedmill.core.text.textblob import decode_headings, decode_links, decode_main_text, decode_stored_structure, decode_text
from feedmill.core.text.textblocks import Block, build_blocks, split_blocks
from feedmill.model.access import AccessFilter
from feedmill.model.document import Document
from feedmill.model.errors import Corrupt, NotFound
from feedmill.model.messages import message
from feedmill.model.results import Marks
from feedmill.model.search import Match, SearchRequest
from feedmill.ports import BlobStore
from feedmill.services.deadline import Deadline
from feedmill.services.isolation.batches import attempt
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.searching.searchstate import SearchStates
from feedmill.services.searching.visibledocuments import VisibleDocuments

MAX_CHARACTERS = 1_000_000
MAX_MARKS = 5_000
MOST_NAMED = 2

COPY_STEP = "copy"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedCopy:
    """A document as it was when it was last updated. Shape: ``marks`` are (start, end) in the text, in order; ``blocks`` on request."""

    url: str
    display_url: str
    title: str
    text: str
    blocks: tuple[Block, ...]
    marks: Marks
    updated_at: datetime


class CachedCopies:
    """Returns cached copies to users who may see the documents."""

    def __init__(self, documents: VisibleDocuments, blobs: BlobStore, states: SearchStates) -> None:
        self._documents = documents
        self._blobs = blobs
        self._states = states

    def get(
        self,
        urls: Sequence[str],
        query: SearchRequest,
        access: AccessFilter,
        copied: bytes | None = None,
        deadline: Deadline | None = None,
        *,
        has_blocks: bool = False,
    ) -> CachedCopy:
        """Returns the copy of the first URL that is a document's; a URL whose digest begins with ``copied`` is tried before the others.

        Shape: ``query`` says what is marked. With ``has_blocks`` the text is also divided into its blocks.
        Errors: NotFound, also if the user may not see it, if it requests noarchive, or if it cannot be read; OutOfTime.
        """
        named = self._documents.find_urls_by_digest(copied) if copied is not None else []
        if copied is not None:
            # the same number of look-ups in every case, so that the response time does not reveal whether documents exist
            named += [""] * (MOST_NAMED - len(named))
        for url in (*named, *urls):
            try:
                document = self._documents.get_document(url, access, deadline).document
            except NotFound:
                continue
            if may_show_copy(document):
                return self._make_copy(document, query, has_blocks, deadline)
        raise NotFound(message("there is no cached copy of this URL"))

    def _make_copy(self, document: Document, query: SearchRequest, has_blocks: bool, deadline: Deadline | None) -> CachedCopy:
        """Makes the copy of a document that may be shown. Errors: NotFound if its text cannot be read."""
        found = attempt(lambda: self._read_text(document, has_blocks), None, step=COPY_STEP, url=document.url)
        if found is None:
            raise NotFound(message("the cached copy of this document cannot be shown"))
        text, blocks = found
        none: Marks = ()
        marks = attempt(lambda: self._find_marks(text, query, shown_language(document), deadline), none, step=COPY_STEP, url=document.url)
        title = shown_title(document) or document.url
        return CachedCopy(
            url=document.url,
            display_url=document.attributes.display_url or document.url,
            title=title,
            text=text,
            blocks=tuple(blocks),
            marks=marks,
            updated_at=document.updated_at,
        )

    def _find_marks(self, text: str, query: SearchRequest, language: str | None, deadline: Deadline | None) -> Marks:
        """Returns what a snippet of the text would highlight, in order and without overlap."""
        if not query.query.strip():
            return ()
        state = self._states.read_search_state(deadline)
        root = state.config.plan(query).root
        if state.index is None or root is None:
            return ()
        # a document that lacks some of the words was found by the parts of the query
        for node in (root, loosen(root, Match.AUTO)):
            marks = state.index.make_highlighter(node).find_marks(text, language) if node is not None else ()
            if marks:
                return marks[:MAX_MARKS]
        return ()

    def _read_text(self, document: Document, has_blocks: bool) -> tuple[str, list[Block]] | None:
        fault_point(COPY_STEP, document.url)
        if document.text is None or document.text.blob is None:
            return "", []
        try:
            data = self._blobs.read(document.text.blob)
            text = decode_text(data)[:MAX_CHARACTERS]
            return text, _find_blocks(data, text, document.url) if has_blocks else []
        except Corrupt as error:
            # a failure in the text of this document costs only its copy
            log.error("copy_unreadable", url=document.url, reason=str(error))
            return None


def _find_blocks(data: bytes, text: str, url: str) -> list[Block]:
    """Returns the blocks of a stored text: by its structure, and those of the navigation behind it by its lines. Errors: Corrupt."""
    headings, links = decode_headings(data), decode_links(data)
    structure = decode_structure(decode_stored_structure(data))
    if not structure.events:
        return split_blocks(text, headings, links)
    main = decode_main_text(data)[:MAX_CHARACTERS]
    built = attempt(lambda: build_blocks(main, structure, headings, links), None, step=COPY_STEP, url=url)
    blocks = split_blocks(main, headings, links) if built is None else built
    return [*blocks, *split_blocks(text[len(main) :], "", links, len(main))]
