"""Trims results: decides again, with the reference evaluator, which documents a user may see, from the ACLs that the store has now.

The class of a URL's ACL is read from the store and cached until any ACL has a new version. The content of a class never changes.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime

from feedmill.core.access.classes import class_of
from feedmill.core.access.evaluator import MAX_CHAIN, FindAcl, decide_verdict
from feedmill.core.access.policyacls import PolicySet, combine_by_mechanism, decide_by_policy
from feedmill.core.access.principals import PrincipalKeys
from feedmill.model.access import AccessClass, AccessFilter, Acl
from feedmill.model.decision import Verdict
from feedmill.model.document import Document, DocumentState
from feedmill.model.errors import OutOfTime
from feedmill.model.policyacl import EarlyMechanism
from feedmill.ports import UnitOfWork
from feedmill.services.access.permissioncache import PermissionCache
from feedmill.services.deadline import Deadline

REMEMBERED = 50_000


class ResultTrimmer:
    """Trims the results of an index search to what the user may see now. May be used from several threads."""

    def __init__(self, permissions: PermissionCache) -> None:
        self._permissions = permissions
        self._chains = Chains()

    def select(self, unit: UnitOfWork, documents: Iterable[Document], access: AccessFilter) -> list[Document]:
        """Returns the documents that the user may see: live ones whose class is in the access filter and that the user is permitted now."""
        return self.decide_each(unit, documents, access.without_late()).shown

    def decide_each(
        self, unit: UnitOfWork, documents: Iterable[Document], access: AccessFilter, deadline: Deadline | None = None
    ) -> "TrimmedResults":
        """Returns the documents that the user may see, and those about which an authorization server may be consulted for the user.

        If the user's groups are not known before the deadline, only public documents are shown.
        """
        late: Set[int] = access.late.classes if access.late is not None else frozenset()
        live = [(each, class_of(each)) for each in documents if each.state is DocumentState.LIVE]
        early = [each for each, number in live if number in access.permitted]
        guarded = [each for each, number in live if _is_guarded(number, access.permitted, late)]
        if not guarded:
            return TrimmedResults(shown=early)
        try:
            principal_keys = self._permissions.principal_keys_of(access.current_user, deadline)
        # Without the user's groups nothing can be decided, so only what needs no decision is shown.
        except OutOfTime:
            return TrimmedResults(shown=[each for each in early if class_of(each) == AccessClass.PUBLIC])
        acls = self._chains.read_acls(unit, [each.url for each in guarded])
        # policies are read only if an ACL leaves a document undecided, which is rare
        read_policies = functools.cache(unit.access.policies.current)
        confirms = access.late is not None and access.late.confirms
        verdicts = {each.url: self._decide(each.url, principal_keys, acls.get, read_policies, permits_end=not confirms) for each in guarded}
        # An early document without a verdict is public: all others of them are guarded.
        shown = [each for each in early if verdicts.get(each.url, Verdict.PERMIT) is Verdict.PERMIT]
        # the verdicts for which an authorization server may be asked
        left_open = {Verdict.INDETERMINATE, *([Verdict.PERMIT] if confirms else [])}
        undecided = [each for each in guarded if class_of(each) in late and verdicts[each.url] in left_open]
        return TrimmedResults(shown=shown, undecided=undecided)

    def _decide(
        self, url: str, principal_keys: PrincipalKeys, find_acl: FindAcl, read_policies: Callable[[], PolicySet], *, permits_end: bool
    ) -> Verdict:
        """Returns the verdict of ACL and policy together, as both are now."""

        def ask_policy() -> Verdict:
            policy_decision = decide_by_policy(read_policies().find_policy(url), principal_keys)
            return Verdict.INDETERMINATE if policy_decision is None else policy_decision.verdict

        answers = {EarlyMechanism.ACL: lambda: decide_verdict(url, principal_keys, find_acl), EarlyMechanism.POLICY: ask_policy}
        return combine_by_mechanism(self._permissions.order, answers, permits_end=permits_end)[0]


def may_name(access: AccessFilter, number: int) -> bool:
    """Whether a document of a class may be visible to the user, or may be one for which an authorization server decides."""
    return number in access.permitted or (access.late is not None and number in access.late.classes)


def _is_guarded(number: int, permitted: Set[int], late: Set[int]) -> bool:
    return number != AccessClass.PUBLIC and (number in permitted or number in late)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimmedResults:
    """The decisions about documents. Shape: each list keeps the order of the input; the user may not see a document in neither list."""

    shown: list[Document]
    undecided: list[Document] = field(default_factory=list)


class Chains:
    """Reads ACLs and those from which they inherit, and caches them up to a bound. May be used from several threads."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._lock = threading.Lock()
        self._version = -1
        self._classes: dict[str, int | None] = {}
        self._acls: dict[int, Acl | None] = {}

    def read_acls(self, unit: UnitOfWork, urls: Sequence[str]) -> dict[str, Acl]:
        """Reads the ACLs of URLs and of their ancestors, a level at a time."""
        with self._lock:
            self._forget(unit.access.acl_versions.newest_version())
            found: dict[str, Acl] = {}
            wanted = list(dict.fromkeys(urls))
            for _ in range(MAX_CHAIN + 1):
                fresh = self._find_acls(unit, wanted)
                found.update(fresh)
                parents = dict.fromkeys(acl.inherit_from for acl in fresh.values())
                wanted = [parent for parent in parents if parent is not None and parent not in found]
                if not wanted:
                    break
            return found

    def _forget(self, version: int) -> None:
        # != and not >: an older transaction must neither read nor leave classes of another version
        if version != self._version or len(self._classes) > self._remembered:
            self._version = version
            self._classes.clear()
        if len(self._acls) > self._remembered:
            self._acls.clear()

    def _find_acls(self, unit: UnitOfWork, urls: Sequence[str]) -> dict[str, Acl]:
        unknown = [url for url in urls if url not in self._classes]
        if unknown:
            classes = unit.access.acls.find_classes(unknown)
            self._classes.update((url, classes.get(url)) for url in unknown)
        numbers = {number for url in urls if (number := self._classes[url]) is not None}
        missing = [number for number in numbers if number not in self._acls]
        if missing:
            self._acls.update((number, key.acl) for number, key in unit.access.classes.get_many(missing).items())
        found = ((url, self._classes[url]) for url in urls)
        return {url: acl for url, number in found if number is not None and (acl := self._acls.get(number)) is not None}


def read_chains(unit: UnitOfWork, urls: Sequence[str]) -> dict[str, Acl]:
    """Reads the ACLs of URLs, as they were written, and all ACLs from which they inherit, a level at a time."""
    return _climb(urls, lambda wanted: {url: stored.acl for url, stored in unit.access.acls.find_many(wanted).items()})


def read_chains_at(unit: UnitOfWork, urls: Sequence[str], at: datetime) -> dict[str, Acl]:
    """Reads the ACLs of URLs and all ACLs from which they inherited at a time, as far as versions are stored."""

    def find(wanted: Sequence[str]) -> dict[str, Acl]:
        classes = unit.access.acl_versions.find_classes_at(wanted, at)
        keys = unit.access.classes.get_many(list(set(classes.values())))
        return {url: key.acl for url, number in classes.items() if (key := keys.get(number)) is not None and key.acl is not None}

    return _climb(urls, find)


def _climb(urls: Sequence[str], find: Callable[[Sequence[str]], dict[str, Acl]]) -> dict[str, Acl]:
    acls: dict[str, Acl] = {}
    visited: set[str] = set()
    wanted = list(dict.fromkeys(urls))
    for _ in range(MAX_CHAIN + 1):
        if not wanted:
            break
        visited.update(wanted)
        found = find(wanted)
        acls.update(found)
        parents = (acl.inherit_from for acl in found.values())
        wanted = [parent for parent in dict.fromkeys(parents) if parent is not None and parent not in visited]
    return acls
