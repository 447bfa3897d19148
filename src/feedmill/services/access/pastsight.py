"""What one asker could see at any time since another, in one snapshot of the store, and which change made it so.

His groups fall into eras, each begun by a groups feed that changed them. What he may see of a document is settled by the class that it was
in, by the ACLs from which that class inherited then, by the policies of then, and by his era. Between two neighbouring changes of these
nothing changes, so the change that did it is found by going back from one to the one before.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from feedmill.core.access import class_at, place_of
from feedmill.core.derivation import tell_match
from feedmill.core.evaluator import MAX_CHAIN, decide_for
from feedmill.core.policyacls import rule_on, settle
from feedmill.core.principals import Forms, own_keys, signed_in_keys
from feedmill.model.access import AccessClass, AccessKey, Acl, Spell
from feedmill.model.accesschange import ChangeCause, Origin
from feedmill.model.decision import Verdict
from feedmill.model.errors import NotFound
from feedmill.model.identity import Identity, PrincipalKey, Subject
from feedmill.model.policyacl import EARLY_ORDER, Early, PolicyAcl, PolicyVersion, Ruling
from feedmill.ports import Publication, UnitOfWork
from feedmill.services.access.deciding import read_chains_at
from feedmill.services.access.explaining import resolve_many

Key = TypeVar("Key")
Value = TypeVar("Value")

REMEMBERED = 20_000
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Era:
    """A time during which the asker's groups were the same. ``begun_by`` None: they were so before."""

    since: datetime
    forms: Forms
    begun_by: Publication | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Book:
    """A time during which the same policies were in force. Shape: by number."""

    since: datetime
    policies: Mapping[int, PolicyAcl]


class PastSight:
    """Answers for one asker and the times from ``since`` on. Errors of all: Denied for who is, or was, in too many groups; Busy."""

    def __init__(self, unit: UnitOfWork, identity: Identity, since: datetime, order: Sequence[Early] = EARLY_ORDER) -> None:
        self._order = order
        self._unit = unit
        self._since = since
        self._eras = _list_eras(unit, identity, since)
        self._books = _list_books(unit, since)
        self._keys: dict[int, AccessKey | None] = {}
        self._chains: dict[tuple[str, datetime], Mapping[str, Acl]] = {}
        self._acl_changes: dict[tuple[str, datetime], Origin | None] = {}
        self._verdicts: dict[tuple[int, datetime], bool] = {}
        self._origins: dict[tuple[int, datetime], Origin | None] = {}
        self._sources: dict[int, str] = {}

    def forms_at(self, at: datetime) -> Forms:
        """Gives the forms under which he was met at a time."""
        return self._era_at(at).forms

    def policies_at(self, at: datetime) -> Mapping[int, PolicyAcl]:
        """Gives the policies that were in force at a time, by number."""
        return self._book_at(at).policies

    def load(self, spells: Iterable[Sequence[Spell]]) -> None:
        """Reads what the classes are that documents were in, all at once."""
        numbers = {spell.access_class for each in spells for spell in each if spell.access_class is not None}
        missing = [number for number in numbers if number > AccessClass.CLOSED and number not in self._keys]
        if len(self._keys) > REMEMBERED:
            self._keys.clear()
        found = self._unit.classes.get_many(missing)
        self._keys.update((number, found.get(number)) for number in missing)

    def is_visible(self, spells: Sequence[Spell], at: datetime) -> bool:
        """Whether he could see a document at a time."""
        number = class_at(spells, at)
        if number is None or number <= AccessClass.CLOSED:
            return number == AccessClass.PUBLIC
        return _remember(self._verdicts, (number, at), lambda: self._is_permitted(number, at))

    def tell(self, url: str, spells: Sequence[Spell], at: datetime) -> str:
        """Tells why he could see a document at a time, or not."""
        number = class_at(spells, at)
        if number is None:
            return "there is no document"
        if number <= AccessClass.CLOSED:
            return "the document is public" if number == AccessClass.PUBLIC else "the document is secure, and no ACL says who may see it"
        return self._decide(url, number, at)[1]

    def find_origin(self, url: str, spells: Sequence[Spell], until: datetime) -> Origin | None:
        """Finds the last change up to a time that made the document what it was then to him; None where nothing did since."""
        number = class_at(spells, until)
        if number is None or any(spell.since > self._since for spell in spells):
            return self._go_back(url, spells, until)
        return _remember(self._origins, (number, until), lambda: self._go_back(url, spells, until))

    # --- deciding ---

    def _is_permitted(self, number: int, at: datetime) -> bool:
        return self._decide("", number, at)[0] is Verdict.PERMIT

    def _decide(self, url: str, number: int, at: datetime) -> tuple[Verdict, str]:
        """Decides a class, and tells why. The URL is for the reason alone: documents of a class inherit from the same."""
        key = self._key_of(number)
        if key is None:
            return Verdict.INDETERMINATE, "what its ACL was is no longer kept"
        own, above = key.acl, self._chain_of(_parent_of(key), at)
        forms = self.forms_at(at)
        decision = decide_for(url, forms, lambda asked: own if asked == url else above.get(asked))
        ruling = rule_on(self.policies_at(at).get(key.rule), forms)
        said = Verdict.INDETERMINATE if ruling is None else ruling.verdict
        verdict, mechanism = settle(self._order, {Early.ACL: lambda: decision.verdict, Early.POLICY: lambda: said})
        return verdict, _tell_ruling(ruling) if ruling is not None and mechanism is Early.POLICY else decision.reason

    def _key_of(self, number: int) -> AccessKey | None:
        return _remember(self._keys, number, lambda: self._unit.classes.get_many([number]).get(number))

    def _chain_of(self, parent: str | None, at: datetime) -> Mapping[str, Acl]:
        """Gives the ACLs from one from which something inherited upwards."""
        if parent is None:
            return {}
        return _remember(self._chains, (parent, at), lambda: read_chains_at(self._unit, [parent], at))

    # --- going back ---

    def _go_back(self, url: str, spells: Sequence[Spell], until: datetime) -> Origin | None:
        shown, at = self.is_visible(spells, until), until
        while True:
            origin = self._find_last_change(url, spells, at)
            if origin is None:
                return None
            at = origin.at - _TICK
            if self.is_visible(spells, at) is not shown:
                return origin

    def _find_last_change(self, url: str, spells: Sequence[Spell], at: datetime) -> Origin | None:
        """Finds the newest change up to a time of what the document's being seen hangs on."""
        found = [self._change_of_document(url, spells, at)]
        number = class_at(spells, at)
        if number is not None and number > AccessClass.CLOSED:
            found += [self._change_of_acls(number, at), self._change_of_groups(at), self._change_of_policies(at)]
        return max((each for each in found if each is not None), key=lambda each: each.at, default=None)

    def _change_of_document(self, url: str, spells: Sequence[Spell], at: datetime) -> Origin | None:
        place = place_of(spells, at)
        if place < 0 or spells[place].since <= self._since:
            return None
        now, before = spells[place], spells[place - 1].access_class if place else None
        if before is None or now.access_class is None:
            cause = ChangeCause.REMOVED if now.access_class is None else ChangeCause.ADDED
        elif AccessClass.PUBLIC in (before, now.access_class):
            cause = ChangeCause.MADE_PUBLIC if now.access_class == AccessClass.PUBLIC else ChangeCause.MADE_SECURE
        else:
            cause = ChangeCause.ACL
        own = url if cause is ChangeCause.ACL else ""
        return Origin(cause=cause, at=now.since, feed_id=now.feed_id, source=self._source_of(now.feed_id), url=own)

    def _change_of_acls(self, number: int, at: datetime) -> Origin | None:
        key = self._key_of(number)
        parent = None if key is None else _parent_of(key)
        if parent is None:
            return None
        return _remember(self._acl_changes, (parent, at), lambda: self._find_acl_change(parent, at))

    def _find_acl_change(self, parent: str, at: datetime) -> Origin | None:
        """Finds the newest change of an ACL or of one above it, one that was missing included."""
        acls, urls = self._chain_of(parent, at), [parent]
        while len(urls) <= MAX_CHAIN:
            acl = acls.get(urls[-1])
            if acl is None or acl.inherit_from is None or acl.inherit_from in urls:
                break
            urls.append(acl.inherit_from)
        last = self._unit.acls.find_last_change(urls, after=self._since, until=at)
        if last is None:
            return None
        source = self._source_of(last.feed_id)
        return Origin(cause=ChangeCause.ACL, at=last.at, feed_id=last.feed_id, source=source, url=last.url)

    def _change_of_groups(self, at: datetime) -> Origin | None:
        era = self._era_at(at)
        if era.begun_by is None:
            return None
        return Origin(cause=ChangeCause.GROUPS, at=era.since, feed_id=era.begun_by.feed_id, source=era.begun_by.source)

    def _change_of_policies(self, at: datetime) -> Origin | None:
        book = self._book_at(at)
        return Origin(cause=ChangeCause.POLICIES, at=book.since) if book.since > self._since else None

    def _book_at(self, at: datetime) -> _Book:
        return self._books[max(0, bisect_right(self._books, at, key=lambda book: book.since) - 1)]

    def _era_at(self, at: datetime) -> _Era:
        return self._eras[max(0, bisect_right(self._eras, at, key=lambda era: era.since) - 1)]

    def _source_of(self, feed_id: int) -> str:
        return _remember(self._sources, feed_id, lambda: self._read_source(feed_id)) if feed_id else ""

    def _read_source(self, feed_id: int) -> str:
        try:
            return self._unit.feeds.get(feed_id).datasource
        except NotFound:
            return ""


def _parent_of(key: AccessKey) -> str | None:
    return None if key.acl is None else key.acl.inherit_from


def _tell_ruling(ruling: Ruling) -> str:
    said = "it does not permit the asker" if ruling.match is None else tell_match(ruling.match)
    return f"{said}, in the policy for {ruling.policy.pattern}"


def _list_eras(unit: UnitOfWork, identity: Identity, since: datetime) -> list[_Era]:
    signed_in = (*identity.users, *identity.groups)
    keys: dict[PrincipalKey, None] = dict.fromkeys(key for subject in signed_in for key in signed_in_keys(subject))
    groups: dict[Subject, None] = {}
    level = list(keys)
    while level:
        fresh = dict.fromkeys(group for _, group in unit.group_history.find_parents_since(level, since) if group not in groups)
        groups.update(fresh)
        level = [key for group in fresh for key in own_keys(group) if key not in keys]
        keys.update(dict.fromkeys(level))
    eras = [_Era(since=since, forms=_forms(unit, identity, since))]
    for publication in unit.group_history.list_publications(list(keys), list(groups), since):
        forms = _forms(unit, identity, publication.at)
        if forms.keys.keys() != eras[-1].forms.keys.keys():
            eras.append(_Era(since=publication.at, forms=forms, begun_by=publication))
    return eras


def _forms(unit: UnitOfWork, identity: Identity, at: datetime) -> Forms:
    return resolve_many(unit, [identity], at=at)[identity]


def _list_books(unit: UnitOfWork, since: datetime) -> list[_Book]:
    """Lists the policies that were in force, those from the beginning on first."""
    versions = unit.policies.list_since(since)
    if not versions or versions[0].since > since:
        versions = [PolicyVersion(since=since, policies=()), *versions]
    return [_Book(since=each.since, policies={policy.number: policy for policy in each.policies}) for each in versions]


def _remember(known: dict[Key, Value], key: Key, find: Callable[[], Value]) -> Value:
    """Gives what is known, found once; forgets all when there is much of it."""
    if key not in known:
        if len(known) > REMEMBERED:
            known.clear()
        known[key] = find()
    return known[key]
