"""Reads documents that a user may see from the store.

``ResultTrimmer`` decides about each document again as the store has it now, whatever the index shows.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import partial

from feedmill.core.documents.presentation import has_robots_rule
from feedmill.core.ranking.indexterms import complete_scheme, complete_url
from feedmill.model.access import AccessFilter
from feedmill.model.document import Document, Origin
from feedmill.model.errors import NotFound, OutOfTime
from feedmill.model.messages import message
from feedmill.ports import Store
from feedmill.services.access.resulttrimming import ResultTrimmer, may_name
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.deadline import Deadline
from feedmill.services.isolation.batches import attempt
from feedmill.services.isolation.faultpoints import fault_point

DECISION_STEP = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document that the user may see, and whether the index shows its newest version."""

    document: Document
    is_searchable: bool


class VisibleDocuments:
    """Reads documents for users. May be used from several threads."""

    def __init__(self, store: Store, trimmer: ResultTrimmer, late: LateBinding | None = None) -> None:
        self._store = store
        self._trimmer = trimmer
        self._late = late

    def find_urls_by_digest(self, start: bytes) -> list[str]:
        """Finds the URLs whose digest has this beginning, without an access check: use the result only for ``get_document``."""
        with self._store.reading() as unit:
            return unit.documents.reader.find_urls_by_digest(start)

    def get_document(self, url: str, access: AccessFilter, deadline: Deadline | None = None) -> FoundDocument:
        """Returns a document by URL.

        Errors: NotFound, also if the user may not see it; OutOfTime instead if the user's access could not be determined in time.
        """
        found, is_open = self._find_document(url, access, frozenset(), deadline)
        if found is None and is_open and self._late is not None:
            # The other server is called outside of any transaction; then the document is read and decided about again.
            found, _ = self._find_document(url, access, self._late.select([url], access), deadline)
        elif found is None and self._late is not None:
            self._late.imitate(url, access)
        if found is None:
            if deadline is not None and deadline.is_cut:
                raise deadline.give_up()
            raise NotFound(message("no document %(url)s", url=url))
        return found

    def _find_document(
        self, url: str, access: AccessFilter, granted: Set[str], deadline: Deadline | None
    ) -> tuple[FoundDocument | None, bool]:
        """Finds a document that ACLs or another server permit. Also returns whether another server may be called about it."""
        with self._store.reading() as unit:
            number = unit.documents.reader.find_class(url)
            # a hidden document takes the same path as a missing one, so that the response time does not reveal which it is
            if number is None or not may_name(access, number):
                return None, False
            document = unit.documents.reader.find_many([url]).get(url)
            if document is None or document.damage:
                return None, False
            trimmed = self._trimmer.decide_each(unit, [document], access, deadline)
            if not trimmed.shown and not (trimmed.undecided and url in granted):
                return None, bool(trimmed.undecided)
            tasks = unit.processing.index_tasks.find_many([document.id]) if document.id is not None else {}
            waits = any(not task.is_refresh for task in tasks.values())
        return FoundDocument(document=document, is_searchable=not waits and _belongs_in_index(document)), False

    def list_visible(
        self, keys: Sequence[int], access: AccessFilter, granted: Set[str] = frozenset(), deadline: Deadline | None = None
    ) -> list[Document]:
        """Lists documents by id, in the order given, if ACLs or another server (``granted``) permit them to the user.

        A document that cannot be read or decided about, also for lack of time, is left out.
        """
        found = attempt(lambda: self._list_visible(keys, access, granted, deadline), None, step=DECISION_STEP)
        if found is not None:
            return found
        nothing: list[Document] = []
        each = (attempt(partial(self._list_visible, [key], access, granted, deadline), nothing, step=DECISION_STEP) for key in keys)
        return [document for documents in each for document in documents]

    def _list_visible(self, keys: Sequence[int], access: AccessFilter, granted: Set[str], deadline: Deadline | None) -> list[Document]:
        with self._store.reading() as unit:
            documents = unit.documents.reader.find_by_id(keys)
            found = [document for key in keys if (document := documents.get(key)) is not None]
            for document in found:
                fault_point(DECISION_STEP, document.url)
            trimmed = self._trimmer.decide_each(unit, found, access, deadline)
        allowed = {one.url for one in trimmed.shown} | {one.url for one in trimmed.undecided if one.url in granted}
        return [one for one in found if one.url in allowed and not has_robots_rule(one, "noindex")]

    def find_absent(self, typed: Sequence[str], access: AccessFilter) -> set[str]:
        """Returns the typed URLs that cannot belong to a document that the user may see."""
        if not typed:
            return set()
        with self._store.reading() as unit:
            classes = {url: [unit.documents.reader.find_class(form) for form in complete_url(url)] for url in typed}
        return {url for url, numbers in classes.items() if not any(number is not None and may_name(access, number) for number in numbers)}

    def find_typed(self, typed: str, access: AccessFilter, deadline: Deadline) -> Document | None:
        """Finds the document for a typed URL, with or without its scheme and a slash at its end."""
        for url in (form for each in complete_scheme(typed) for form in (each, f"{each}/")):
            try:
                return self.get_document(url, access, deadline).document
            except (NotFound, OutOfTime):
                continue
        return None

    def imitate(self, url: str, access: AccessFilter) -> None:
        """Takes as long for a URL without a document as for a document that another server decides about."""
        if self._late is not None:
            self._late.imitate(url, access)


def _belongs_in_index(document: Document) -> bool:
    is_awaited = document.awaits_extraction or (document.origin is Origin.WEB and document.content is None)
    return not is_awaited and not has_robots_rule(document, "noindex")
