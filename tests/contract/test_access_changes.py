"""What changed for a user: the same as comparing everything that they could see at both times."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.core.access.classes import class_of
from feedmill.core.access.evaluator import decide_for
from feedmill.core.access.policyacls import decide_by_policy
from feedmill.core.access.principals import read_identity
from feedmill.model.access import Access, AccessClass, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.model.accesschange import AccessChange, ChangeCause
from feedmill.model.decision import Verdict
from feedmill.model.document import Attributes, AuthMethod, Text
from feedmill.model.errors import BadRequest
from feedmill.model.feed import FeedKind
from feedmill.model.identity import Identity
from feedmill.model.policyacl import PolicyAcl
from feedmill.services.access.explaining import AccessQuestion, Explaining, resolve_many
from feedmill.services.access.history.changes import AccessChanges
from feedmill.services.access.resulttrimming import read_chains
from feedmill.services.keyvalues import HISTORY_SINCE
from feedmill.services.sweeps.policyaclsweep import PolicyAclSweep
from tests.builders.changes import delete, put, put_acl, url
from tests.contract.feedharness import FeedHarness
from tests.contract.groupharness import Definitions, push
from tests.fakes import SilentNotifier
from tests.thorough import count_examples

FULL, INCREMENTAL, CLEANUP = FeedKind.GROUPS_FULL, FeedKind.GROUPS_INCREMENTAL, FeedKind.GROUPS_CLEANUP
USERS = {name: read_identity(name or None, "Default", ()) for name in ("", "ann", "bob")}
NAMES = ("folder", "a", "b", "c")
RETENTION = timedelta(days=90)


def principal(name: str) -> Principal:
    """Returns a user, or the group whose name is written in upper case."""
    return Principal(scope=Scope.GROUP if name.isupper() else Scope.USER, name=name.lower())


def acl(*permits: str, denies: tuple[str, ...] = (), above: str | None = None, kind: str = "leaf-node") -> Acl:
    permitted = [Entry(access=Access.PERMIT, principal=principal(name)) for name in permits]
    denied = [Entry(access=Access.DENY, principal=principal(name)) for name in denies]
    parent = None if above is None else url(above)
    return Acl(entries=(*permitted, *denied), inheritance_type=InheritanceType(kind), inherit_from=parent)


@dataclass(slots=True)
class History:
    """A harness, and what every user could see, with their verdicts, at each time that was remembered."""

    harness: FeedHarness
    times: list[datetime] = field(default_factory=list)
    seen: list[dict[str, set[str]]] = field(default_factory=list)
    verdicts: list[dict[tuple[str, str], Verdict]] = field(default_factory=list)

    def remember(self) -> None:
        self.times.append(self.harness.clock())
        self.seen.append({name: visible_now(self.harness, identity) for name, identity in USERS.items()})
        questions = [(name, page) for name in USERS for page in NAMES]
        decisions = explaining(self.harness).explain_many([AccessQuestion(url=url(page), identity=USERS[name]) for name, page in questions])
        self.verdicts.append({question: decision.verdict for question, decision in zip(questions, decisions, strict=True)})


def visible_now(harness: FeedHarness, identity: Identity) -> set[str]:
    """Decides every document by the reference evaluator."""
    live = harness.live()
    with harness.store.reading() as unit:
        acls = read_chains(unit, list(live))
        principal_keys, book = resolve_many(unit, [identity])[identity], unit.access.policies.current()
    found = set()
    for address, document in live.items():
        verdict = decide_for(address, principal_keys, acls.get).verdict
        policy_decision = decide_by_policy(book.find_policy(address), principal_keys)
        if verdict is Verdict.INDETERMINATE and policy_decision is not None:
            verdict = policy_decision.verdict
        if class_of(document) == AccessClass.PUBLIC or (document.secure and verdict is Verdict.PERMIT):
            found.add(address)
    return found


def explaining(harness: FeedHarness) -> Explaining:
    return Explaining(harness.store, lambda: harness.now, RETENTION)


def changes_of(harness: FeedHarness, user: str, since: datetime, until: datetime | None = None, *, limit: int = 100) -> list[AccessChange]:
    service = AccessChanges(harness.store, lambda: harness.now, RETENTION, examined_a_page=1)
    return list(service.iter_changes(service.compare(USERS[user], since, until), at_once=limit))


PRINCIPALS = st.lists(st.sampled_from(["ann", "bob", "STAFF", "ENG"]), max_size=2, unique=True)
ACLS = st.builds(
    lambda permits, denies, above, kind: acl(*permits, denies=tuple(denies), above=above, kind=kind),
    PRINCIPALS,
    st.lists(st.sampled_from(["bob", "ENG"]), max_size=1),
    st.sampled_from([None, "folder", "folder", "a"]),
    st.sampled_from([each.value for each in InheritanceType]),
)
PAGES = st.sampled_from(NAMES)
ATTRIBUTES = st.sampled_from([Attributes(), Attributes(authmethod=AuthMethod.NTLM)])
STEPS = st.one_of(
    st.builds(lambda name, acl_, attributes: ("put", name, acl_, attributes), PAGES, st.none() | ACLS, ATTRIBUTES),
    st.builds(lambda name: ("delete", name), PAGES),
    st.builds(lambda name, acl_: ("acl", name, acl_), PAGES, st.none() | ACLS),
    st.builds(lambda names: ("full", names), st.lists(PAGES, max_size=2, unique=True)),
    st.builds(lambda policies: ("policies", policies), st.dictionaries(st.sampled_from(["docs.test/", url("a"), url("c")]), PRINCIPALS)),
    st.builds(
        lambda source, kind, groups: ("groups", source, kind, groups),
        st.sampled_from(["one", "two"]),
        st.sampled_from([FULL, INCREMENTAL, CLEANUP]),
        st.dictionaries(st.sampled_from(["staff", "eng"]), st.lists(st.sampled_from(["ann", "bob", "ENG"]), max_size=2), max_size=2),
    ),
)


def take(harness: FeedHarness, step: tuple[object, ...]) -> None:
    match step:
        case ("put", str(name), None | Acl() as acl_, Attributes() as attributes):
            harness.push(put(name, acl=acl_, attributes=attributes))
        case ("delete", str(name)):
            harness.push(delete(name))
        case ("acl", str(name), None | Acl() as acl_):
            harness.push(put_acl(name, acl_))
        case ("full", list() as names):
            harness.push(*(put(name, acl=acl("ann"), whole=True) for name in names), kind=FeedKind.FULL)
        case ("policies", dict() as policies):
            adopt(harness, policies)
        case ("groups", str(source), FeedKind() as kind, dict() as groups):
            definitions: Definitions = groups
            push(harness, source, kind, definitions)


def adopt(harness: FeedHarness, policies: dict[str, list[str]]) -> None:
    """Puts policies in force and every document into its class."""
    made = [
        PolicyAcl(pattern=pattern, entries=tuple(Entry(access=Access.PERMIT, principal=principal(name)) for name in names))
        for pattern, names in policies.items()
    ]
    with harness.store.writing() as unit:
        unit.access.policies.replace(made, at=harness.clock())
    sweep = PolicyAclSweep(harness.store, lambda: harness.admission.rules, SilentNotifier(), harness.clock)
    while sweep.step():
        pass


HISTORIES = st.lists(STEPS, min_size=2, max_size=9)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=HISTORIES)
def test_changes_and_decisions_of_any_times_equal_what_was_remembered(
    new_harness: Callable[[], FeedHarness], steps: list[tuple[object, ...]]
) -> None:
    check_history(new_harness(), steps)


@pytest.mark.slow
@settings(max_examples=count_examples(400), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=HISTORIES)
def test_changes_and_decisions_of_any_times_equal_what_was_remembered_at_length(
    new_harness: Callable[[], FeedHarness], steps: list[tuple[object, ...]]
) -> None:
    check_history(new_harness(), steps)


def check_history(harness: FeedHarness, steps: list[tuple[object, ...]]) -> None:
    history = History(harness)
    history.remember()
    for step in steps:
        take(history.harness, step)
        history.remember()
    history.harness.clock()
    for place, at in enumerate(history.times):
        questions = list(history.verdicts[place])
        repeated = [AccessQuestion(url=url(page), identity=USERS[name]) for name, page in questions]
        decisions = explaining(history.harness).explain_many(repeated, at=at)
        assert [decision.verdict for decision in decisions] == [history.verdicts[place][question] for question in questions]
    for first, last in [(0, -1), (0, len(steps) // 2), (len(steps) // 2, -1), (len(steps) - 1, -1)]:
        if history.times[first] < history.times[last]:
            check_changes(history, first, last % len(history.times))
    history.harness.store.close()


def check_changes(history: History, first: int, last: int) -> None:
    since, until = history.times[first], history.times[last]
    for user in USERS:
        before, after = history.seen[first][user], history.seen[last][user]
        changes = changes_of(history.harness, user, since, until, limit=2)
        assert {(each.url, each.is_gained) for each in changes} == {
            *((page, True) for page in after - before),
            *((page, False) for page in before - after),
        }
        for each in changes:
            assert each.origin is not None
            assert since < each.origin.at <= until
            later = [seen[user] for at, seen in zip(history.times, history.seen, strict=True) if each.origin.at <= at <= until]
            assert all((each.url in seen) is each.is_gained for seen in later)
            for at, reason in ((since, each.before), (until, each.after)):
                if not reason.startswith(("there is no document", "the document is")) and " in the policy for " not in reason:
                    assert reason == explaining(history.harness).explain(AccessQuestion(url=each.url, identity=USERS[user]), at=at).reason


def test_changes_name_what_did_it(new_harness: Callable[[], FeedHarness]) -> None:
    harness = new_harness()
    harness.push(put_acl("folder", acl("STAFF", kind="child-overrides")), put("a", acl=acl(above="folder")), put("b", acl=acl("ann")))
    harness.push(put("c"), datasource="other")
    since = harness.clock()
    groups = harness.feed(1).id
    push(harness, "ldap", FULL, {"staff": ["bob"]})
    push(harness, "ldap", FULL, {"staff": ["ann"]})
    removal = harness.push(delete("b"))
    secured = harness.push(put("c", acl=acl("bob")), datasource="other")
    added = harness.push(put("new", acl=acl("ann")))
    found = {each.url: each for each in changes_of(harness, "ann", since)}
    assert explaining(harness).explain_with_policy(AccessQuestion(url=url("c"), identity=USERS["ann"]), at=since).is_public
    assert not explaining(harness).explain_with_policy(AccessQuestion(url=url("c"), identity=USERS["ann"]), at=harness.now).is_public
    newest = AccessQuestion(url=url("new"), identity=USERS["ann"])
    classes = [explaining(harness).explain_with_policy(newest, at=at).access_class for at in (since, harness.now)]
    assert (classes[0], classes[1] is not None) == (None, True)
    assert groups
    assert {page: (each.is_gained, each.origin.cause) for page, each in found.items() if each.origin} == {
        url("a"): (True, ChangeCause.GROUPS),
        url("b"): (False, ChangeCause.REMOVED),
        url("c"): (False, ChangeCause.MADE_SECURE),
        url("new"): (True, ChangeCause.ADDED),
    }
    origins = {page: each.origin for page, each in found.items() if each.origin}
    assert (origins[url("a")].source, origins[url("b")].feed_id) == ("ldap", removal.id)
    assert (origins[url("c")].feed_id, origins[url("c")].source) == (secured.id, "other")
    assert origins[url("new")].feed_id == added.id
    assert found[url("a")].after.startswith('permitted by group "staff"')
    assert (found[url("c")].before, found[url("new")].before) == ("the document is public", "there is no document")
    harness.push(put_acl("folder", acl("bob", kind="child-overrides")))
    [lost] = changes_of(harness, "ann", harness.now - timedelta(seconds=3))
    assert lost.origin is not None
    assert (lost.url, lost.is_gained, lost.origin.cause, lost.origin.url) == (url("a"), False, ChangeCause.ACL, url("folder"))


def test_changes_of_documents_that_say_the_same_have_reasons_of_their_own(new_harness: Callable[[], FeedHarness]) -> None:
    harness = new_harness()
    harness.push(put_acl("folder", acl("bob", kind="child-overrides")), *(put(name, acl=acl(above="folder")) for name in ("a", "b")))
    harness.push(put("c", acl=acl("ann", kind="child-overrides", above="d")), put("d", acl=acl("ann", kind="child-overrides")))
    since = harness.clock()
    harness.push(put_acl("folder", acl("ann", kind="child-overrides")), put_acl("d", acl("ann", kind="child-overrides", above="c")))
    changes = {each.url: each for each in changes_of(harness, "ann", since)}
    reasons = {
        page: explaining(harness).explain(AccessQuestion(url=page, identity=USERS["ann"]), at=harness.now).reason for page in changes
    }
    assert set(changes) == {url(name) for name in "abcd"}
    assert {page: each.after for page, each in changes.items()} == reasons
    assert url("d") in changes[url("c")].after


def test_changes_of_policies_and_by_them_are_listed(new_harness: Callable[[], FeedHarness]) -> None:
    harness = new_harness()
    permits = Entry(access=Access.PERMIT, principal=principal("ann"))
    with harness.store.writing() as unit:
        unit.access.policies.replace([PolicyAcl(pattern=url("a"), entries=(permits,)), PolicyAcl(pattern=url("b"))], at=harness.clock())
    since = harness.clock()
    harness.push(*(put(name, attributes=Attributes(authmethod=AuthMethod.NTLM)) for name in ("a", "b", "c")))
    between = harness.clock()
    assert [(each.url, each.is_gained) for each in changes_of(harness, "ann", since)] == [(url("a"), True)]
    assert [(each.url, each.is_gained) for each in changes_of(harness, "", since)] == []
    with harness.store.writing() as unit:
        unit.access.policies.replace([PolicyAcl(pattern=url("a")), PolicyAcl(pattern=url("b"), entries=(permits,))], at=harness.clock())
    harness.clock()
    changed = {each.url: each for each in changes_of(harness, "ann", between)}
    causes = {page: (each.is_gained, each.origin.cause) for page, each in changed.items() if each.origin}
    assert causes == {url("a"): (False, ChangeCause.POLICIES), url("b"): (True, ChangeCause.POLICIES)}
    for at, page, expected in [(between, "a", Verdict.PERMIT), (harness.now, "a", Verdict.DENY), (harness.now, "b", Verdict.PERMIT)]:
        question = AccessQuestion(url=url(page), identity=USERS["ann"])
        assert explaining(harness).explain_with_policy(question, at=at).verdict is expected
    assert explaining(harness).explain_with_policy(AccessQuestion(url=url("a"), identity=USERS[""]), at=since).policy_decision is None
    assert changed[url("b")].after == f'permitted by user "ann", in the policy for {url("b")}'
    with harness.store.writing() as unit:
        unit.access.policies.forget_versions(between)
    assert set(changed) == {each.url for each in changes_of(harness, "ann", between)}


def test_permits_that_must_be_confirmed_are_listed_as_none_yet(new_harness: Callable[[], FeedHarness]) -> None:
    harness = new_harness()
    permits = Entry(access=Access.PERMIT, principal=principal("ann"))
    with harness.store.writing() as unit:
        policies = [PolicyAcl(pattern=url("b")), PolicyAcl(pattern=url("c"), entries=(permits,))]
        unit.access.policies.replace(policies, at=harness.clock())
    guarded = Attributes(authmethod=AuthMethod.NTLM)
    harness.push(put("a", acl=acl("ann")), put("b", acl=acl("ann")), put("c", attributes=guarded), put("d", acl=acl("bob")))
    confirming = Explaining(harness.store, lambda: harness.now, RETENTION, confirms=True)
    verdicts = {
        page: [
            each.explain_with_policy(AccessQuestion(url=url(page), identity=USERS["ann"])).verdict.value
            for each in (explaining(harness), confirming)
        ]
        for page in "abcd"
    }
    assert verdicts == {
        "a": ["PERMIT", "INDETERMINATE"],
        "b": ["PERMIT", "DENY"],
        "c": ["PERMIT", "INDETERMINATE"],
        "d": ["DENY", "DENY"],
    }
    assert confirming.explain(AccessQuestion(url=url("a"), identity=USERS["ann"])).verdict is Verdict.PERMIT
    assert {verdict for _, verdict in confirming.list_named(url("a"))} == {Verdict.INDETERMINATE}


def test_changes_of_a_page_that_begins_to_guard_itself_are_listed(new_harness: Callable[[], FeedHarness]) -> None:
    harness = new_harness()
    harness.push(put("a"))
    document, since = harness.document(url("a")), harness.clock()
    assert document.content is not None
    assert document.id is not None
    text = Text(source=document.content, metadata=(("google:aclusers", "ann"),))
    with harness.store.writing() as unit:
        unit.documents.writer.save_texts([(document.id, text)], at=harness.clock())
    [lost] = changes_of(harness, "bob", since, harness.clock())
    assert (lost.url, lost.is_gained) == (url("a"), False)


def test_changes_go_on_where_a_page_ended_for_the_same_times(new_harness: Callable[[], FeedHarness]) -> None:
    harness = new_harness()
    since = harness.clock()
    harness.push(*(put(f"page{number}") for number in range(7)))
    service = AccessChanges(harness.store, lambda: harness.now, RETENTION)
    comparison = service.compare(USERS["ann"], since)
    first = service.list_page(comparison, limit=3)
    harness.push(delete("page5"), put("page9"))
    assert first.next_after is not None
    rest = service.list_page(comparison, after=first.next_after, limit=100)
    assert rest.next_after is None
    assert [each.url for each in (*first.changes, *rest.changes)] == [url(f"page{number}") for number in range(7)]


def test_changes_of_times_that_are_not_stored_are_refused(new_harness: Callable[[], FeedHarness]) -> None:
    harness = new_harness()
    with pytest.raises(BadRequest, match="known from"):
        changes_of(harness, "ann", harness.now - timedelta(days=91))
    with pytest.raises(BadRequest, match="before its beginning"):
        changes_of(harness, "ann", harness.now, harness.now - timedelta(days=1))


def test_times_before_history_was_stored_are_refused(new_harness: Callable[[], FeedHarness]) -> None:
    harness = new_harness()
    with harness.store.writing() as unit:
        unit.state.key_values.put(HISTORY_SINCE, harness.clock().isoformat())
    question = AccessQuestion(url=url("a"), identity=USERS["ann"])
    assert explaining(harness).explain(question, at=harness.clock()).verdict is Verdict.INDETERMINATE
    with pytest.raises(BadRequest, match="known from"):
        explaining(harness).explain(question, at=harness.now - timedelta(minutes=1))
