"""Goes through all ACLs and documents and lists what an administrator should look at.

- Nobody: documents that no user can see, whatever groups they are in: secure documents without an ACL, broken chains, ACLs that permit no
  principal.
- Unresolved: groups that ACLs name and no groups feed defines. They count only for users whose sign-in brings them.
- Public: public documents in data sources whose other documents have ACLs, which may have been forgotten, and public documents whose URL
  has a policy, since a policy makes nothing secure.
"""

from collections.abc import Iterator, Sequence

from feedmill.core.access.classes import class_of
from feedmill.core.access.principals import digest_of, folded_key, key_of
from feedmill.model.access import AccessClass, ClassMap, Principal, Scope
from feedmill.model.accessfinding import Finding
from feedmill.model.document import Document
from feedmill.model.policyacl import EARLY_ORDER, EarlyMechanism
from feedmill.ports import Store, UnitOfWork
from feedmill.services.access.classtable import ClassTable
from feedmill.services.access.policytable import PolicyTable

AT_ONCE = 1_000
# the first read is small, enough for a first page; each further read is twice as large
FIRST_AT_ONCE, MOST_AT_ONCE = 1_000, 20_000


_Moment = tuple[int, int, int]
"""The newest class, the newest version of an ACL, the generation of the policies."""


class AccessReview:
    """Lists suspicious documents and groups. Each list is of one moment. May be used from several threads."""

    def __init__(self, store: Store, order: Sequence[EarlyMechanism] = EARLY_ORDER) -> None:
        self._store = store
        self._order = order
        self._visible: tuple[_Moment, ClassMap] | None = None

    def iter_documents(self, finding: Finding, *, after: int = 0) -> Iterator[Document]:
        """Yields the documents of a finding that lists documents, by id after ``after``."""
        return self.iter_permitting_no_user(after=after) if finding is Finding.NOBODY else self.iter_public_beside_guarded(after=after)

    def iter_permitting_no_user(self, *, after: int = 0) -> Iterator[Document]:
        """Yields the documents that no user can see, by id after ``after``."""
        with self._store.reading() as unit:
            visible = self._find_visible(unit)
            at_once = FIRST_AT_ONCE
            while held := unit.access.class_periods.list_held(after=after, limit=at_once):
                yield from _read_documents(unit, [id_ for id_, number in held.items() if number not in visible])
                after, at_once = max(held), min(2 * at_once, MOST_AT_ONCE)

    def _find_visible(self, unit: UnitOfWork) -> ClassMap:
        """Returns the classes that at least one user could see. Reuses the last result if nothing has changed since."""
        moment = unit.access.classes.newest(), unit.access.acl_versions.newest_version(), unit.access.policies.generation()
        known = self._visible
        if known is None or known[0] != moment:
            known = self._visible = moment, _visible_to_anybody(unit, self._order)
        return known[1]

    def iter_public_beside_guarded(self, *, after: int = 0) -> Iterator[Document]:
        """Yields public documents whose data source also has secure ones, or whose URL has a policy without effect.

        They are ordered by id, after ``after``.
        """
        with self._store.reading() as unit:
            policies = unit.access.policies.current()
            sources = frozenset(unit.documents.scan.list_guarded_sources())
            at_once = FIRST_AT_ONCE
            while (sources or policies.policies) and (
                found := unit.documents.scan.list_live_urls(after=after, limit=at_once, open_only=True)
            ):
                chosen = [each.document_id for each in found if each.datasource in sources or policies.find_policy(each.url)]
                # the query also returns pages whose own text makes them closed; they are not public
                yield from (document for document in _read_documents(unit, chosen) if class_of(document) == AccessClass.PUBLIC)
                after, at_once = found[-1].document_id, min(2 * at_once, MOST_AT_ONCE)

    def iter_unresolved(self) -> Iterator[Principal]:
        """Yields the groups that ACLs in use and policies name and no groups feed defines, each once."""
        with self._store.reading() as unit:
            defined: set[bytes] = set()
            for feed_id in unit.groups.snapshots.list_visible():
                for definition in unit.groups.snapshots.iter_definitions(feed_id):
                    if definition.memberships:
                        defined.update((definition.key, digest_of(folded_key(definition.group))))
            seen: set[Principal] = set()
            for principal in _iter_named(unit):
                if principal.scope is Scope.GROUP and principal not in seen and digest_of(key_of(principal)) not in defined:
                    yield principal
                seen.add(principal)


def _visible_to_anybody(unit: UnitOfWork, order: Sequence[EarlyMechanism]) -> ClassMap:
    table = ClassTable()
    fresh = table.add_classes(unit.access.classes.iter_packed(0))
    table.set_acls(unit.access.acls.find_classes(fresh))
    policies = PolicyTable(order)
    policies.set(unit.access.policies.current().policies)
    return policies.combine_for_anybody(table.permitted_to_anybody(), table.unsaid(), table.policy_numbers)


def _read_documents(unit: UnitOfWork, ids: Sequence[int]) -> Iterator[Document]:
    found = unit.documents.reader.find_by_id(ids)
    return (found[id_] for id_ in ids if id_ in found)


def _iter_named(unit: UnitOfWork) -> Iterator[Principal]:
    for policy in unit.access.policies.current().policies:
        yield from (entry.principal for entry in policy.entries)
    after = 0
    while numbers := unit.access.acls.list_classes(after=after, limit=AT_ONCE):
        for key in unit.access.classes.get_many(numbers).values():
            yield from (entry.principal for entry in (key.acl.entries if key.acl is not None else ()))
        after = numbers[-1]
