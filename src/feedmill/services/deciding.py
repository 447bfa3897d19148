"""Decides by the reference evaluator which documents somebody may see, from the ACLs as the store has them now."""

from collections.abc import Iterable, Sequence

from feedmill.core.access import class_of
from feedmill.core.evaluator import MAX_CHAIN, decide_for
from feedmill.core.principals import Forms
from feedmill.model.access import AccessClass, Acl, ClassSet
from feedmill.model.decision import Verdict
from feedmill.model.document import Document, DocumentState
from feedmill.ports import UnitOfWork
from feedmill.services.directory import Directory


class Decider:
    """Decides once more what an index has found."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def select(self, unit: UnitOfWork, documents: Iterable[Document], access: ClassSet) -> list[Document]:
        """Gives of documents those that the asker may see: live, of a class that his set names, and permitted him now."""
        live = [each for each in documents if each.state is DocumentState.LIVE and class_of(each) in access.permitted]
        guarded = [each for each in live if class_of(each) != AccessClass.PUBLIC]
        if not guarded:
            return live
        forms = self._directory.forms_of(access.asker)
        acls = read_chains(unit, [each.url for each in guarded])
        refused = {each.url for each in guarded if not _is_permitted(each, forms, acls)}
        return [each for each in live if each.url not in refused]


def _is_permitted(document: Document, forms: Forms, acls: dict[str, Acl]) -> bool:
    return decide_for(document.url, forms, acls.get).verdict is Verdict.PERMIT


def read_chains(unit: UnitOfWork, urls: Sequence[str], known: dict[str, Acl] | None = None) -> dict[str, Acl]:
    """Reads the ACLs of URLs, of what they inherit from, and so on, a level at a time; adds to ``known`` what is not there."""
    acls = {} if known is None else known
    asked = set(acls)
    wanted = [url for url in dict.fromkeys(urls) if url not in asked]
    for _ in range(MAX_CHAIN + 1):
        if not wanted:
            break
        asked.update(wanted)
        found = unit.acls.find_many(wanted)
        acls.update((url, stored.acl) for url, stored in found.items())
        parents = (stored.acl.inherit_from for stored in found.values())
        wanted = [parent for parent in dict.fromkeys(parents) if parent is not None and parent not in asked]
    return acls
