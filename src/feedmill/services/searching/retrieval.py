"""Retrieves passages for answering machines, and whole documents for assistants.

A search finds the documents, as on the page: by the user's access filter, and decided about again by the reference evaluator. Passages are
cut out of the texts of the best of them, so they hold nothing that a user may not read. What a document asks of search engines holds here
too: one that declares noarchive gives no text away, and one that declares nosnippet no passages.
"""

from functools import partial
from typing import Final

import structlog

from feedmill.core.documents.presentation import displayed_metadata, has_robots_rule, shown_language, shown_title
from feedmill.core.text.passageranking import Candidate, PassageRanking
from feedmill.core.text.textblob import QuotableText, decode_whole
from feedmill.core.urls.breadcrumbs import name_url
from feedmill.model.access import AccessFilter
from feedmill.model.document import Document
from feedmill.model.errors import Corrupt
from feedmill.model.passages import FoundPassage, PassageList, WholeDocument
from feedmill.model.results import ResultPage
from feedmill.model.search import SearchRequest
from feedmill.ports import BlobStore
from feedmill.services.deadline import Deadline
from feedmill.services.isolation.batches import attempt
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.searching.searcher import Searcher
from feedmill.services.searching.visibledocuments import VisibleDocuments

DOCUMENTS: Final = 20
"""So many documents are searched for passages, and listed for an assistant."""
PASSAGES_STEP: Final = "passages"

log = structlog.get_logger(__name__)


class Retrieval:
    """Answers assistants and answering machines. May be used from several threads."""

    def __init__(self, searcher: Searcher, documents: VisibleDocuments, blobs: BlobStore) -> None:
        self._searcher = searcher
        self._documents = documents
        self._blobs = blobs

    def search(self, query: str, access: AccessFilter, deadline: Deadline) -> ResultPage:
        """Returns the best documents for a query."""
        return self._searcher.search(_request(query), access, deadline)

    def retrieve(self, query: str, num: int, site: str, access: AccessFilter, deadline: Deadline) -> PassageList:
        """Returns the best passages for a query; at the deadline, those of the documents read by then and a warning."""
        search = self._searcher.prepare(_request(query, site), access, deadline)
        page = self._searcher.find_page(search)
        index, root = search.state.index, search.plan.root
        if index is None or root is None:
            return PassageList(warnings=page.warnings)
        ranking = PassageRanking(index.make_highlighter(root))
        documents: list[Document] = []
        for document, near in self._list_documents(page, access, deadline):
            if deadline.is_over:
                deadline.give_up()
                break
            if not has_robots_rule(document, "nosnippet"):
                attempt(partial(self._add, ranking, len(documents), document, near), None, step=PASSAGES_STEP, url=document.url)
                documents.append(document)
        passages = tuple(_make_passage(documents[candidate.source], candidate) for candidate in ranking.rank(num))
        return PassageList(passages=passages, warnings=tuple(dict.fromkeys((*page.warnings, *deadline.warnings))))

    def fetch(self, url: str, access: AccessFilter, deadline: Deadline) -> WholeDocument:
        """Returns a document with its whole text. Errors: NotFound, also if the user may not see it; OutOfTime."""
        document = self._documents.get_document(url, access, deadline).document
        return WholeDocument(
            url=document.url,
            display_url=document.attributes.display_url or document.url,
            title=_name_document(document),
            text=attempt(lambda: self._read_text(document).text, "", step=PASSAGES_STEP, url=url),
            metadata=displayed_metadata(document),
        )

    def _list_documents(self, page: ResultPage, access: AccessFilter, deadline: Deadline) -> list[tuple[Document, int | None]]:
        """Lists the documents of results, in their order, each with the place of the passage that is near to the query."""
        granted = frozenset(result.url for result in page.results if result.is_late)
        # What became hidden since the search is left out, as what was hidden before.
        visible = self._documents.list_visible([result.key for result in page.results], access, granted, deadline)
        near = {result.url: result.near_passage for result in page.results}
        return [(document, near.get(document.url)) for document in visible]

    def _add(self, ranking: PassageRanking, source: int, document: Document, near: int | None) -> None:
        fault_point(PASSAGES_STEP, document.url)
        ranking.add(source, shown_title(document) or "", self._read_text(document), near, shown_language(document))

    def _read_text(self, document: Document) -> QuotableText:
        """Reads the text of a document; it is empty if there is none, if it cannot be read, or if it must not be given away."""
        if document.text is None or document.text.blob is None or has_robots_rule(document, "noarchive"):
            return QuotableText(text="")
        try:
            return decode_whole(self._blobs.read(document.text.blob))
        except Corrupt as error:
            # a failure in the text of this document costs only its text
            log.error("text_unreadable", url=document.url, reason=str(error))
            return QuotableText(text="")


def _request(query: str, site: str = "") -> SearchRequest:
    return SearchRequest(query=query, num=DOCUMENTS, site=site, keymatches=0, has_snippets=False)


def _name_document(document: Document) -> str:
    """Returns the title of a document; of one without a title what the search page shows in its place."""
    return shown_title(document) or name_url(document.attributes.display_url or document.url)


def _make_passage(document: Document, candidate: Candidate) -> FoundPassage:
    passage = candidate.passage
    return FoundPassage(
        url=document.url,
        display_url=document.attributes.display_url or document.url,
        title=_name_document(document),
        text=passage.text,
        start=passage.start,
        end=passage.end,
        score=candidate.score,
        coverage=candidate.coverage,
    )
