"""Explains what the ACLs of URLs decide for a user, for one question or thousands a second.

The reference evaluator decides, on what the store has now or had at a time. The ACLs and groups of many questions are read together, one
level of chains and of groups at a time, so that a question needs no statement of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from feedmill.core.access.classes import class_at, class_of, in_one_order
from feedmill.core.access.evaluator import decide_for
from feedmill.core.access.groups import FindGroups, resolve_groups
from feedmill.core.access.policyacls import PolicySet, combine_by_mechanism, decide_by_policy
from feedmill.core.access.principals import PrincipalKeys, own_keys, principal_keys_of, signed_in_keys, subject_of
from feedmill.core.text.dates import parse_iso
from feedmill.core.text.times import write_time
from feedmill.model.access import Acl, Principal, Scope
from feedmill.model.decision import Decision, Verdict
from feedmill.model.document import DocumentState
from feedmill.model.errors import BadRequest
from feedmill.model.identity import Identity, PrincipalKey, Subject
from feedmill.model.policyacl import EARLY_ORDER, EarlyDecision, EarlyMechanism, PolicyAcl
from feedmill.ports import Clock, Store, UnitOfWork
from feedmill.services import keyvalues
from feedmill.services.access.resulttrimming import read_chains, read_chains_at


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessQuestion:
    """A question: may this user see the document of this URL? The groups of the groups database are added to the identity."""

    url: str
    identity: Identity


class Explaining:
    """Answers questions from a store.

    Shape: with ``confirms``, an authorization server must confirm a PERMIT of ACL and policy together, so it does not count as PERMIT yet.
    """

    def __init__(
        self, store: Store, clock: Clock, history: timedelta, order: Sequence[EarlyMechanism] = EARLY_ORDER, *, confirms: bool = False
    ) -> None:
        self._order = order
        self._confirms = confirms
        self._store = store
        self._clock = clock
        self._history = history

    def explain(self, question: AccessQuestion, *, at: datetime | None = None) -> Decision:
        """Decides one question, by the ACLs and groups that hold now or, if ``at`` is given, held at that time.

        Errors: BadRequest for a time for which no history is stored; Denied for a user who is in too many groups; Busy.
        """
        return self.explain_many([question], at=at)[0]

    def explain_with_policy(self, question: AccessQuestion, *, at: datetime | None = None) -> EarlyDecision:
        """Decides one question by ACLs and by the policy for the URL, as both are now, or were at a time. Errors: as above."""
        with self._look(at) as moment:
            acls, principal_keys = moment.read_chains([question.url]), moment.resolve([question.identity])[question.identity]
            policy, access_class = moment.read_policies().find_policy(question.url), moment.find_class(question.url)
        return replace(self._decide_with_policy(question.url, principal_keys, acls, policy), access_class=access_class)

    def _decide_with_policy(
        self, url: str, principal_keys: PrincipalKeys, acls: Mapping[str, Acl], policy: PolicyAcl | None
    ) -> EarlyDecision:
        decision = decide_for(url, principal_keys, acls.get)
        policy_decision = decide_by_policy(policy, principal_keys)
        said = Verdict.INDETERMINATE if policy_decision is None else policy_decision.verdict
        answers = {EarlyMechanism.ACL: lambda: decision.verdict, EarlyMechanism.POLICY: lambda: said}
        verdict, _ = combine_by_mechanism(self._order, answers, permits_end=not self._confirms)
        if self._confirms and verdict is Verdict.PERMIT:
            verdict = Verdict.INDETERMINATE
        return EarlyDecision(decision=decision, policy_decision=policy_decision, verdict=verdict)

    def list_named(self, url: str, *, at: datetime | None = None) -> list[tuple[Principal, Verdict]]:
        """Lists the principals that the ACLs of a URL and of its ancestors, or its policy, name, each with the verdict for that principal
        alone.

        Errors: BadRequest for a time for which no history is stored; Busy.
        """
        with self._look(at) as moment:
            acls, policy = moment.read_chains([url]), moment.read_policies().find_policy(url)
        named = dict.fromkeys(entry.principal for acl in acls.values() for entry in in_one_order(acl).entries)
        named |= dict.fromkeys(entry.principal for entry in (policy.entries if policy is not None else ()))
        return [(each, self._decide_with_policy(url, principal_keys_of(_alone(each)), acls, policy).verdict) for each in named]

    def explain_many(self, questions: Sequence[AccessQuestion], *, at: datetime | None = None) -> list[Decision]:
        """Decides questions, in order, all as of one moment. Errors: as above."""
        urls = [question.url for question in questions]
        identities = {question.identity for question in questions}
        with self._look(at) as moment:
            acls, principal_keys = moment.read_chains(urls), moment.resolve(identities)
        return [decide_for(question.url, principal_keys[question.identity], acls.get) for question in questions]

    @contextmanager
    def _look(self, at: datetime | None) -> Iterator["_Moment"]:
        with self._store.reading() as unit:
            if at is not None:
                check_recorded(unit, at, self._clock() - self._history)
            yield _Moment(unit=unit, at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """A view of the store as it is now, or as it was at a time."""

    unit: UnitOfWork
    at: datetime | None

    def read_chains(self, urls: Sequence[str]) -> dict[str, Acl]:
        return read_chains(self.unit, urls) if self.at is None else read_chains_at(self.unit, urls, self.at)

    def resolve(self, identities: Iterable[Identity]) -> dict[Identity, PrincipalKeys]:
        return resolve_many(self.unit, identities, at=self.at)

    def read_policies(self) -> PolicySet:
        if self.at is None:
            return self.unit.access.policies.current()
        versions = self.unit.access.policies.list_since(self.at)
        return PolicySet(versions[0].policies) if versions and versions[0].since <= self.at else PolicySet()

    def find_class(self, url: str) -> int | None:
        """Returns the class of the document of a URL, None if searches have no such document."""
        document = self.unit.documents.reader.find_many([url]).get(url)
        if document is None or document.id is None:
            return None
        if self.at is None:
            return class_of(document) if document.state is DocumentState.LIVE else None
        return class_at(self.unit.access.class_periods.list_of([document.id]).get(document.id, ()), self.at)


def check_recorded(unit: UnitOfWork, at: datetime, oldest: datetime) -> None:
    """Checks that the history of a time is still stored, and that recording had begun by then. Errors: BadRequest."""
    begun = parse_iso(unit.state.key_values.get(keyvalues.HISTORY_SINCE) or "")
    oldest = oldest if begun is None else max(begun, oldest)
    if at < oldest:
        raise BadRequest(f"what was before is known from {write_time(oldest)} on; {write_time(at)} is longer ago")


def _alone(principal: Principal) -> Identity:
    subject = subject_of(principal)
    return Identity(users=(subject,)) if subject.scope is Scope.USER else Identity(groups=(subject,))


def resolve_many(unit: UnitOfWork, identities: Iterable[Identity], *, at: datetime | None = None) -> dict[Identity, PrincipalKeys]:
    """Returns the principal keys of each identity with its groups of now, or of a time.

    Errors: Denied for a user who is in too many groups.
    """
    wanted = list(identities)
    find = _read_groups(wanted, unit.groups.memberships.find_parents if at is None else partial(unit.groups.history.find_parents_at, at=at))
    return {identity: principal_keys_of(resolve_groups(identity, find)) for identity in wanted}


def _read_groups(identities: Sequence[Identity], find_parents: FindGroups) -> FindGroups:
    """Reads all groups that any of the identities is in, a level at a time, and returns a function that finds them in memory."""
    known: dict[PrincipalKey, list[Subject]] = {}
    signed_in = {subject for identity in identities for subject in (*identity.users, *identity.groups)}
    level = {key for subject in signed_in for key in signed_in_keys(subject)}
    while level:
        known.update((key, []) for key in level)
        reached: set[Subject] = set()
        for key, group in find_parents(tuple(level)):
            known[key].append(group)
            reached.add(group)
        level = {key for group in reached for key in own_keys(group)} - known.keys()

    def find(keys: Sequence[PrincipalKey]) -> Iterable[tuple[PrincipalKey, Subject]]:
        return ((key, group) for key in keys for group in known[key])

    return find
