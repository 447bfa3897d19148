"""Policy ACLs at work: documents in their classes, searches by class, and what holds while patterns change."""

import random

import pytest

from feedmill.core.access.evaluator import decide
from feedmill.core.access.policyacls import PolicySet, combine_by_mechanism, decide_by_policy
from feedmill.core.access.principals import principal_keys_of, read_identity
from feedmill.model.access import Access, AccessClass, AccessFilter, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.model.decision import Verdict
from feedmill.model.document import Attributes, AuthMethod, Document
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from feedmill.model.policyacl import EARLY_ORDER, EarlyMechanism, PolicyAcl
from feedmill.services.access.accessreview import AccessReview
from feedmill.services.access.permissioncache import PermissionCache
from feedmill.services.access.policykeeping import adopt_of_settings, adopt_policies, read_closed
from feedmill.services.access.resulttrimming import ResultTrimmer, read_chains
from feedmill.services.sweeps.policyaclsweep import PolicyAclSweep, is_obeyed, is_swept
from tests.builders.access import STAFF
from tests.builders.changes import OPEN, put, url
from tests.contract.feedharness import FeedHarness
from tests.fakes import SilentNotifier

SECURE = Attributes(authmethod=AuthMethod.NTLM)
ANN, BOB = read_identity("ann", "Default", []), read_identity("bob", "Default", ["staff"])
POLICY_FIRST = (EarlyMechanism.POLICY, EarlyMechanism.ACL)


def policy(pattern: str, *users: str, groups: tuple[str, ...] = (), deny: tuple[str, ...] = ()) -> PolicyAcl:
    named = [(Access.PERMIT, Scope.USER, name) for name in users] + [(Access.PERMIT, Scope.GROUP, name) for name in groups]
    named += [(Access.DENY, Scope.USER, name) for name in deny]
    entries = (Entry(access=access, principal=Principal(scope=scope, name=name)) for access, scope, name in named)
    return PolicyAcl(pattern=pattern, entries=tuple(entries))


def adopt(harness: FeedHarness, *policies: PolicyAcl) -> bool:
    with harness.store.writing() as unit:
        return adopt_policies(unit, policies)


def sweep_of(harness: FeedHarness) -> PolicyAclSweep:
    return PolicyAclSweep(harness.store, lambda: OPEN, SilentNotifier(), harness.clock, at_once=2)


def sweep(harness: FeedHarness) -> None:
    while sweep_of(harness).step():
        pass


def found(harness: FeedHarness, directory: PermissionCache, who: Identity) -> tuple[set[str], set[str]]:
    """Returns what a user would find by class, by the names of URLs, and what of it leaves the server."""
    access = directory.classes_of(who)
    documents = list(harness.live().values())
    by_class = {document.url for document in documents if document.access_class in access.permitted}
    with harness.store.reading() as unit:
        leaves = {one.url for one in ResultTrimmer(directory).select(unit, documents, access)}
    return {name.removeprefix(url("")) for name in by_class}, {name.removeprefix(url("")) for name in leaves}


def test_documents_fed_under_a_policy_are_found_by_permitted_users(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/a/", "ann"), policy("docs.test/", groups=("staff",), deny=("ann",)))
    harness.push(put("a/1", attributes=SECURE), put("b/1", attributes=SECURE), put("open"), put("c", acl=STAFF))
    directory = PermissionCache(harness.store)
    assert found(harness, directory, ANN) == ({"a/1", "open"}, {"a/1", "open"})
    assert found(harness, directory, BOB) == ({"b/1", "open", "c"}, {"b/1", "open", "c"})
    assert found(harness, directory, ANONYMOUS_IDENTITY) == ({"open"}, {"open"})


def test_policy_decides_only_where_the_acl_does_not(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/", "ann"))
    broken = Acl(entries=STAFF.entries, inherit_from=url("gone"))
    harness.push(put("staff", acl=STAFF), put("broken", acl=broken), put("empty", acl=Acl()), put("none", attributes=SECURE))
    assert found(harness, PermissionCache(harness.store), ANN) == ({"broken", "empty", "none"},) * 2
    assert found(harness, PermissionCache(harness.store), BOB) == ({"staff"},) * 2
    first = PermissionCache(harness.store, order=POLICY_FIRST)
    assert found(harness, first, ANN) == ({"staff", "broken", "empty", "none"},) * 2
    assert found(harness, first, BOB) == (set(), set())
    assert found(harness, PermissionCache(harness.store, order=(EarlyMechanism.ACL,)), ANN) == (set(), set())
    assert found(harness, PermissionCache(harness.store, order=(EarlyMechanism.POLICY,)), BOB) == (set(), set())


def test_acl_that_arrives_decides_until_it_goes(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/", "ann"))
    directory = PermissionCache(harness.store)
    harness.push(put("a", attributes=SECURE))
    assert found(harness, directory, ANN)[1] == {"a"}
    harness.push(put("a", attributes=SECURE, acl=STAFF))
    assert found(harness, directory, ANN) == (set(), set())
    assert found(harness, directory, BOB)[1] == {"a"}


def test_entries_of_a_policy_count_at_once_and_move_no_document(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/", "ann"))
    harness.push(put("a", attributes=SECURE))
    sweep(harness)
    directory = PermissionCache(harness.store)
    assert found(harness, directory, ANN)[1] == {"a"}
    before = harness.live()
    assert adopt(harness, policy("docs.test/", "ann", deny=("ann",), groups=("staff",)))
    assert found(harness, directory, ANN) == (set(), set())
    assert found(harness, directory, BOB) == ({"a"}, {"a"})
    with harness.store.reading() as unit:
        assert is_obeyed(unit)
    assert harness.live() == before


def test_same_policies_again_change_nothing(harness: FeedHarness) -> None:
    made = (policy("docs.test/", "ann"), policy("/", "bob"))
    assert adopt(harness, *made)
    assert not adopt(harness, *made)
    with harness.store.reading() as unit:
        generation = unit.access.policies.generation()
    adopt_of_settings(harness.store, lambda _: made)
    with harness.store.reading() as unit:
        assert unit.access.policies.generation() == generation
    adopt_of_settings(harness.store, lambda _: made[1:])
    with harness.store.reading() as unit:
        assert unit.access.policies.generation() == generation + 1


def test_new_pattern_denies_at_once_and_permits_after_the_sweep(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/", "ann"), policy("other.test/", "ann"))
    harness.push(*[put(f"{name}/{number}", attributes=SECURE) for name in "ab" for number in range(3)])
    sweep(harness)
    harness.index_all()
    sweep(harness)
    directory = PermissionCache(harness.store)
    everything = {f"{name}/{number}" for name in "ab" for number in range(3)}
    assert found(harness, directory, ANN) == (everything, everything)

    adopt(harness, policy("docs.test/", "ann"), policy("other.test/", "ann"), policy("docs.test/b/", "bob"))
    # all of the shorter prefix is closed, since it is not known yet which of its documents the longer one takes
    assert found(harness, directory, ANN) == (set(), set())
    assert found(harness, directory, BOB) == (set(), set())
    sweep(harness)
    with harness.store.reading() as unit:
        assert is_swept(unit)
        assert not is_obeyed(unit)
    assert found(harness, directory, ANN) == (set(), set())
    assert found(harness, directory, BOB)[1] == {"b/0", "b/1", "b/2"}
    harness.index_all()
    sweep(harness)
    with harness.store.reading() as unit:
        assert is_obeyed(unit)
    assert found(harness, directory, ANN) == ({"a/0", "a/1", "a/2"},) * 2


def test_policy_that_is_gone_permits_no_user_before_and_after_the_sweep(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/a", "ann"), policy("/", groups=("staff",)))
    harness.push(put("a", attributes=SECURE))
    sweep(harness)
    directory = PermissionCache(harness.store)
    assert found(harness, directory, ANN)[1] == {"a"}
    adopt(harness, policy("/", groups=("staff",)))
    assert found(harness, directory, ANN) == (set(), set())
    assert found(harness, directory, BOB) == (set(), set())
    sweep(harness)
    harness.index_all()
    sweep(harness)
    assert found(harness, directory, BOB) == ({"a"}, {"a"})
    adopt(harness)
    assert found(harness, directory, BOB) == (set(), set())
    sweep(harness)
    assert harness.document(url("a")).access_class == AccessClass.CLOSED


def test_index_that_is_behind_shows_no_document_that_lost_its_permit(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/", "ann"))
    harness.push(put("a", attributes=SECURE))
    sweep(harness)
    harness.index_all()
    sweep(harness)
    directory = PermissionCache(harness.store)
    document = harness.document(url("a"))
    before = directory.classes_of(ANN)
    adopt(harness, policy("docs.test/", "ann"), policy("^http://docs.test/a$", "bob"))
    for access in (before, directory.classes_of(ANN)):
        with harness.store.reading() as unit:
            assert ResultTrimmer(directory).select(unit, [document], access) == []


def test_sweep_writes_only_what_is_in_the_wrong_class(harness: FeedHarness) -> None:
    harness.push(*[put(str(number), attributes=SECURE) for number in range(5)], put("open"))
    adopt(harness, policy("docs.test/3", "ann"))
    sweep(harness)
    assert {name.removeprefix(url("")): one.version for name, one in harness.live().items()} == {
        **{str(number): 1 for number in (0, 1, 2, 4)},
        "3": 2,
        "open": 1,
    }
    with harness.store.reading() as unit:
        assert unit.processing.index_tasks.find_many([harness.document(url("3")).id or 0]).popitem()[1].feed_id is None


def test_sweep_restarts_when_patterns_change_on_the_way(harness: FeedHarness) -> None:
    harness.push(*[put(str(number), attributes=SECURE) for number in range(6)])
    adopt(harness, policy("docs.test/5", "ann"))
    assert sweep_of(harness).step()
    assert sweep_of(harness).step()
    adopt(harness, policy("docs.test/0", "ann"))
    sweep(harness)
    assert found(harness, PermissionCache(harness.store), ANN)[1] == {"0"}


def test_change_of_patterns_of_one_host_closes_no_other(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/", "ann"), policy("other.test/", "ann"))
    sweep(harness)
    with harness.store.reading() as unit:
        assert read_closed(unit) == set()
        numbers = {one.pattern: one.number for one in unit.access.policies.current().policies}
    adopt(harness, policy("docs.test/", "ann"), policy("other.test/", "ann"), policy("other.test/x/", "ann"))
    with harness.store.reading() as unit:
        assert read_closed(unit) == {0, numbers["other.test/"]}


def test_review_counts_what_a_policy_permits(harness: FeedHarness) -> None:
    adopt(harness, policy("docs.test/a", "ann"), policy("docs.test/b", "ann", deny=("ann",)), policy("docs.test/open", "ann"))
    harness.push(*[put(name, attributes=SECURE) for name in "abc"], put("open"), put("public"))
    review = AccessReview(harness.store)
    assert [one.url for one in review.iter_permitting_no_user()] == [url("b"), url("c")]
    assert {one.url for one in review.iter_public_beside_guarded()} == {url("open"), url("public")}
    adopt(harness, policy("docs.test/a", "ann"), policy("docs.test/b", "ann"), policy("docs.test/open", "ann"))
    assert [one.url for one in review.iter_permitting_no_user()] == [url("c")], "a list is of its own moment"


# --- held equal to the reference ------------------------------------------------------------------------------------------------

NAMES = ("ann", "Ann", "CORP\\ann", "ann@corp.example.com", "staff", "STAFF")
PATTERNS = ("docs.test/", "docs.test/a", "^http://docs.test/a1$", "/", "contains:b", "regexp:[12]$", "docs.test/b", ".test/c")


def an_entry(chance: random.Random) -> Entry:
    who = Principal(
        scope=chance.choice(list(Scope)),
        name=chance.choice(NAMES),
        namespace=chance.choice(("Default", "hr")),
        case_sensitive=chance.random() < 0.5,
    )
    return Entry(access=Access.DENY if chance.random() < 0.3 else Access.PERMIT, principal=who)


def an_acl(chance: random.Random) -> Acl:
    return Acl(
        entries=tuple(an_entry(chance) for _ in range(chance.randrange(3))),
        inheritance_type=chance.choice(list(InheritanceType)),
        inherit_from=url(chance.choice("abc") + "1") if chance.random() < 0.4 else None,
    )


def by_reference(document: Document, who: Identity, acls: dict[str, Acl], book: PolicySet, order: tuple[EarlyMechanism, ...]) -> Verdict:
    if not document.secure:
        return Verdict.PERMIT
    policy_decision = decide_by_policy(book.find_policy(document.url), principal_keys_of(who))
    said = Verdict.INDETERMINATE if policy_decision is None else policy_decision.verdict
    return combine_by_mechanism(
        order, {EarlyMechanism.ACL: lambda: decide(document.url, who, acls.get).verdict, EarlyMechanism.POLICY: lambda: said}
    )[0]


@pytest.mark.parametrize(
    "order", [EARLY_ORDER, POLICY_FIRST, (EarlyMechanism.POLICY,), (EarlyMechanism.ACL,)], ids=["acl", "policy", "policy-only", "acl-only"]
)
def test_classes_agree_with_the_reference_and_never_show_more_on_the_way(harness: FeedHarness, order: tuple[EarlyMechanism, ...]) -> None:
    chance = random.Random(len(order))
    directory = PermissionCache(harness.store, order=order)
    names = [f"{letter}{number}" for letter in "abc" for number in range(3)]
    for _ in range(4):
        harness.push(
            *[put(name, attributes=SECURE, acl=an_acl(chance) if chance.random() < 0.6 else None) for name in chance.sample(names, 5)]
        )
        patterns = chance.sample(PATTERNS, chance.randrange(len(PATTERNS)))
        adopt(harness, *[PolicyAcl(pattern=text, entries=tuple(an_entry(chance) for _ in range(chance.randrange(4)))) for text in patterns])
        current_users = [read_identity(chance.choice(NAMES), chance.choice(("Default", "hr")), chance.sample(NAMES, 2)) for _ in range(4)]
        for stage in ("changed", "swept", "indexed"):
            compare(harness, directory, current_users, order, is_settled=stage == "indexed")
            if stage == "swept":
                harness.index_all()
            sweep(harness)


def compare(
    harness: FeedHarness, directory: PermissionCache, current_users: list[Identity], order: tuple[EarlyMechanism, ...], *, is_settled: bool
) -> None:
    documents = list(harness.live().values())
    undecided = directory.undecided()
    for who in current_users:
        access: AccessFilter = directory.classes_of(who)
        with harness.store.reading() as unit:
            shown = {one.url for one in ResultTrimmer(directory).select(unit, documents, access)}
            acls = read_chains(unit, [document.url for document in documents])
            book = unit.access.policies.current()
        for document in documents:
            verdict = by_reference(document, who, acls, book, order)
            leaves = document.url in shown
            assert verdict is Verdict.PERMIT or not leaves
            if is_settled:
                assert (document.access_class in access.permitted) is leaves is (verdict is Verdict.PERMIT)
                assert (document.access_class in undecided) is (verdict is Verdict.INDETERMINATE)
