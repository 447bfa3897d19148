"""Decides what one user could see at any time since a given time, in one snapshot of the store, and which change caused a difference.

The user's groups fall into intervals. A groups feed that changes the groups begins a new interval. Four things decide whether the user
could see a document at a time: the class of the document, the ACLs from which that class inherited, the policies in force, and the user's
group interval. Between two neighbouring changes of these nothing changes. The search for the change that caused a difference therefore
goes back from each change to the one before it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from feedmill.core.access.classes import class_at, index_at
from feedmill.core.access.evaluator import MAX_CHAIN, decide_for
from feedmill.core.access.explanation import describe_match
from feedmill.core.access.policyacls import combine_by_mechanism, decide_by_policy
from feedmill.core.access.principals import PrincipalKeys
from feedmill.model.access import AccessClass, AccessKey, Acl, ClassPeriod
from feedmill.model.accesschange import AccessChange, ChangeCause, ChangeOrigin
from feedmill.model.decision import Verdict
from feedmill.model.document import Document
from feedmill.model.errors import NotFound
from feedmill.model.identity import Identity
from feedmill.model.policyacl import EARLY_ORDER, EarlyMechanism, PolicyAcl, PolicyDecision
from feedmill.ports import UnitOfWork
from feedmill.services.access.history.intervals import GroupInterval, PolicyInterval, list_books, list_eras
from feedmill.services.access.resulttrimming import read_chains_at

Key = TypeVar("Key")
Value = TypeVar("Value")

REMEMBERED = 20_000
_TICK = timedelta(microseconds=1)


_ANY_URL = "\0"
"""Placeholder in a reason for the URL of any document of a class. No URL contains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassDifference:
    """How the access to a class differs between two times, for every document that was in the class during the whole interval.

    Shape: reasons contain ``_ANY_URL``; ``above`` are the URLs whose own documents need reasons of their own.
    """

    is_gained: bool
    before: str
    after: str
    origin: ChangeOrigin | None
    above: frozenset[str]


@dataclass(slots=True, kw_only=True)
class HistoryCache:
    """Caches what was read and decided about one user's past. None of it changes, so later snapshots reuse it. May be shared by threads."""

    since: datetime
    group_intervals: Sequence[GroupInterval]
    books: Sequence[PolicyInterval]
    keys: dict[int, AccessKey | None] = field(default_factory=dict)
    chains: dict[tuple[str, datetime], Mapping[str, Acl]] = field(default_factory=dict)
    acl_changes: dict[tuple[str, datetime], ChangeOrigin | None] = field(default_factory=dict)
    decided: dict[tuple[int, datetime], tuple[Verdict, str]] = field(default_factory=dict)
    outlines: dict[tuple[int, datetime], ClassDifference | None] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)


def recollect(unit: UnitOfWork, identity: Identity, since: datetime) -> HistoryCache:
    """Reads the user's group intervals and the policy intervals since a time.

    Errors: Denied for a user who is, or was, in too many groups.
    """
    return HistoryCache(since=since, group_intervals=list_eras(unit, identity, since), books=list_books(unit, since))


class AccessHistory:
    """Answers from one snapshot, for one user and the times from ``HistoryCache.since`` on. Errors of all: Busy."""

    def __init__(self, unit: UnitOfWork, known: HistoryCache, order: Sequence[EarlyMechanism] = EARLY_ORDER) -> None:
        self._order = order
        self._unit = unit
        self._known = known

    def principal_keys_at(self, at: datetime) -> PrincipalKeys:
        """Returns the principal keys that stood for the user at a time."""
        return self._group_interval_at(at).principal_keys

    def policies_at(self, at: datetime) -> Mapping[int, PolicyAcl]:
        """Returns the policies that were in force at a time, by number."""
        return self._policies_at(at).policies

    def load(self, numbers: Iterable[int]) -> None:
        """Reads the keys of the classes into the cache, in one query."""
        keys = self._known.keys
        missing = [number for number in set(numbers) if number > AccessClass.CLOSED and number not in keys]
        if len(keys) > REMEMBERED:
            keys.clear()
        found = self._unit.access.classes.get_many(missing)
        keys.update((number, found.get(number)) for number in missing)

    def has_changed(self, held: int | Sequence[ClassPeriod], until: datetime) -> bool:
        """Whether the user could see a document at exactly one of the two times.

        Shape: ``held`` is the class that the document was in the whole time, or its class periods.
        """
        if isinstance(held, int):
            return self._outline(held, until) is not None
        return self.is_visible(held, self._known.since) is not self.is_visible(held, until)

    def describe_change(self, document: Document, held: int | Sequence[ClassPeriod], until: datetime) -> AccessChange:
        """Describes what changed for a document, and what caused it. Shape: as above."""
        outline = self._outline(held, until) if isinstance(held, int) else None
        if outline is None or document.url in outline.above:
            class_periods = [ClassPeriod(access_class=held, since=self._known.since)] if isinstance(held, int) else held
            outline = self._compare(document.url, class_periods, until)
        return AccessChange(
            document_id=document.id or 0,
            url=document.url,
            datasource=document.datasource,
            is_gained=outline.is_gained,
            before=outline.before.replace(_ANY_URL, document.url),
            after=outline.after.replace(_ANY_URL, document.url),
            origin=outline.origin,
        )

    def _outline(self, number: int, until: datetime) -> ClassDifference | None:
        """Describes what changed for a class, once for all documents that were in it the whole time; None if nothing changed."""
        return _remember(self._known.outlines, (number, until), lambda: self._find_outline(number, until))

    def _find_outline(self, number: int, until: datetime) -> ClassDifference | None:
        class_periods = [ClassPeriod(access_class=number, since=self._known.since)]
        return self._compare(_ANY_URL, class_periods, until) if self.has_changed(class_periods, until) else None

    def _compare(self, url: str, class_periods: Sequence[ClassPeriod], until: datetime) -> ClassDifference:
        chains = [self._above(number, at) for at in (self._known.since, until) if (number := class_at(class_periods, at)) is not None]
        return ClassDifference(
            is_gained=self.is_visible(class_periods, until),
            before=self.explain_at(url, class_periods, self._known.since),
            after=self.explain_at(url, class_periods, until),
            origin=self._go_back(url, class_periods, until),
            above=frozenset().union(*chains),
        )

    def is_visible(self, class_periods: Sequence[ClassPeriod], at: datetime) -> bool:
        """Whether the user could see a document at a time."""
        number = class_at(class_periods, at)
        if number is None or number <= AccessClass.CLOSED:
            return number == AccessClass.PUBLIC
        return self._decide(number, at)[0] is Verdict.PERMIT

    def explain_at(self, url: str, class_periods: Sequence[ClassPeriod], at: datetime) -> str:
        """Returns the reason why the user could see a document at a time, or could not."""
        number = class_at(class_periods, at)
        if number is None:
            return "there is no document"
        if number <= AccessClass.CLOSED:
            return "the document is public" if number == AccessClass.PUBLIC else "the document is secure, and no ACL says who may see it"
        return self._explain(url, number, at)

    # --- deciding ---

    def _decide(self, number: int, at: datetime) -> tuple[Verdict, str]:
        """Decides a class at a time, with the reason. Its documents inherit from the same ACLs, so one decision serves them all."""
        return _remember(self._known.decided, (number, at), lambda: self._decide_for(_ANY_URL, number, at))

    def _explain(self, url: str, number: int, at: datetime) -> str:
        return (self._decide_for(url, number, at) if url in self._above(number, at) else self._decide(number, at))[1].replace(_ANY_URL, url)

    def _above(self, number: int, at: datetime) -> Mapping[str, Acl]:
        """Returns the ACLs from which a class inherited at a time."""
        key = self._key_of(number)
        return {} if key is None else self._chain_of(_parent_of(key), at)

    def _decide_for(self, url: str, number: int, at: datetime) -> tuple[Verdict, str]:
        key = self._key_of(number)
        if key is None:
            return Verdict.INDETERMINATE, "its ACL of that time is no longer stored"
        own, above = key.acl, self._chain_of(_parent_of(key), at)
        principal_keys = self.principal_keys_at(at)
        decision = decide_for(url, principal_keys, lambda target: own if target == url else above.get(target))
        policy_decision = decide_by_policy(self.policies_at(at).get(key.policy_number), principal_keys)
        said = Verdict.INDETERMINATE if policy_decision is None else policy_decision.verdict
        verdict, mechanism = combine_by_mechanism(
            self._order, {EarlyMechanism.ACL: lambda: decision.verdict, EarlyMechanism.POLICY: lambda: said}
        )
        if policy_decision is not None and mechanism is EarlyMechanism.POLICY:
            return verdict, _describe_policy_decision(policy_decision)
        return verdict, decision.reason

    def _key_of(self, number: int) -> AccessKey | None:
        return _remember(self._known.keys, number, lambda: self._unit.access.classes.get_many([number]).get(number))

    def _chain_of(self, parent: str | None, at: datetime) -> Mapping[str, Acl]:
        """Returns the ACL of ``parent`` and those above it, as they were at a time."""
        if parent is None:
            return {}
        return _remember(self._known.chains, (parent, at), lambda: read_chains_at(self._unit, [parent], at))

    # --- going back ---

    def _go_back(self, url: str, class_periods: Sequence[ClassPeriod], until: datetime) -> ChangeOrigin | None:
        shown, at = self.is_visible(class_periods, until), until
        while True:
            origin = self._find_last_change(url, class_periods, at)
            if origin is None:
                return None
            # The moment before the change. If the user saw the document then as at the end, an older change is the cause.
            at = origin.at - _TICK
            if self.is_visible(class_periods, at) is not shown:
                return origin

    def _find_last_change(self, url: str, class_periods: Sequence[ClassPeriod], at: datetime) -> ChangeOrigin | None:
        """Finds the newest change, up to a time, of anything that decides whether the user sees the document."""
        found = [self._change_of_document(url, class_periods, at)]
        number = class_at(class_periods, at)
        if number is not None and number > AccessClass.CLOSED:
            found += [self._change_of_acls(number, at), self._change_of_groups(at), self._change_of_policies(at)]
        return max((each for each in found if each is not None), key=lambda each: each.at, default=None)

    def _change_of_document(self, url: str, class_periods: Sequence[ClassPeriod], at: datetime) -> ChangeOrigin | None:
        index = index_at(class_periods, at)
        if index < 0 or class_periods[index].since <= self._known.since:
            return None
        now, before = class_periods[index], class_periods[index - 1].access_class if index else None
        if before is None or now.access_class is None:
            cause = ChangeCause.REMOVED if now.access_class is None else ChangeCause.ADDED
        elif AccessClass.PUBLIC in (before, now.access_class):
            cause = ChangeCause.MADE_PUBLIC if now.access_class == AccessClass.PUBLIC else ChangeCause.MADE_SECURE
        else:
            cause = ChangeCause.ACL
        own = url if cause is ChangeCause.ACL else ""
        return ChangeOrigin(cause=cause, at=now.since, feed_id=now.feed_id, source=self._source_of(now.feed_id), url=own)

    def _change_of_acls(self, number: int, at: datetime) -> ChangeOrigin | None:
        key = self._key_of(number)
        parent = None if key is None else _parent_of(key)
        if parent is None:
            return None
        return _remember(self._known.acl_changes, (parent, at), lambda: self._find_acl_change(parent, at))

    def _find_acl_change(self, parent: str, at: datetime) -> ChangeOrigin | None:
        """Finds the newest change of an ACL or of one above it, including an ACL that was missing."""
        acls, urls = self._chain_of(parent, at), [parent]
        # The parent that is missing belongs to the list: its arrival or its removal may be the change.
        while len(urls) <= MAX_CHAIN:
            acl = acls.get(urls[-1])
            if acl is None or acl.inherit_from is None or acl.inherit_from in urls:
                break
            urls.append(acl.inherit_from)
        last = self._unit.access.acl_versions.find_last_change(urls, after=self._known.since, until=at)
        if last is None:
            return None
        source = self._source_of(last.feed_id)
        return ChangeOrigin(cause=ChangeCause.ACL, at=last.at, feed_id=last.feed_id, source=source, url=last.url)

    def _change_of_groups(self, at: datetime) -> ChangeOrigin | None:
        group_interval = self._group_interval_at(at)
        if group_interval.begun_by is None:
            return None
        return ChangeOrigin(
            cause=ChangeCause.GROUPS,
            at=group_interval.since,
            feed_id=group_interval.begun_by.feed_id,
            source=group_interval.begun_by.source,
        )

    def _change_of_policies(self, at: datetime) -> ChangeOrigin | None:
        policies = self._policies_at(at)
        return ChangeOrigin(cause=ChangeCause.POLICIES, at=policies.since) if policies.since > self._known.since else None

    def _policies_at(self, at: datetime) -> PolicyInterval:
        return self._known.books[max(0, bisect_right(self._known.books, at, key=lambda policies: policies.since) - 1)]

    def _group_interval_at(self, at: datetime) -> GroupInterval:
        return self._known.group_intervals[
            max(0, bisect_right(self._known.group_intervals, at, key=lambda group_interval: group_interval.since) - 1)
        ]

    def _source_of(self, feed_id: int) -> str:
        return _remember(self._known.sources, feed_id, lambda: self._read_source(feed_id)) if feed_id else ""

    def _read_source(self, feed_id: int) -> str:
        try:
            return self._unit.feeds.reader.get(feed_id).datasource
        except NotFound:
            return ""


def _parent_of(key: AccessKey) -> str | None:
    return None if key.acl is None else key.acl.inherit_from


def _describe_policy_decision(policy_decision: PolicyDecision) -> str:
    said = "it does not permit the user" if policy_decision.match is None else describe_match(policy_decision.match)
    return f"{said}, in the policy for {policy_decision.policy.pattern}"


def _remember(known: dict[Key, Value], key: Key, find: Callable[[], Value]) -> Value:
    """Returns the cached value, or computes and stores it. Clears the cache when it has grown too large."""
    try:
        return known[key]
    except KeyError:
        value = find()
    if len(known) > REMEMBERED:
        known.clear()
    known[key] = value
    return value
