"""Policy ACLs at work: documents in their classes, searches by class, and what holds while patterns change."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from feedhouse import OPEN, STAFF, FeedHouse, SilentBell, open_house, put, url

from feedmill.core.evaluator import decide
from feedmill.core.policyacls import PolicyBook, rule_on, settle
from feedmill.core.principals import forms_of, read_identity
from feedmill.model.access import Access, AccessClass, Acl, ClassSet, Entry, InheritanceType, Principal, Scope
from feedmill.model.decision import Verdict
from feedmill.model.document import Attributes, AuthMethod, Document
from feedmill.model.identity import NOBODY, Identity
from feedmill.model.policyacl import EARLY_ORDER, Early, PolicyAcl
from feedmill.services.access.accessreview import AccessReview
from feedmill.services.access.deciding import Decider, read_chains
from feedmill.services.access.directory import AccessDirectory
from feedmill.services.access.policykeeping import adopt_of_settings, adopt_policies, read_closed
from feedmill.services.sweeps.policyaclsweep import PolicyAclSweep, is_obeyed, is_swept

SECURE = Attributes(authmethod=AuthMethod.NTLM)
ANN, BOB = read_identity("ann", "Default", []), read_identity("bob", "Default", ["staff"])
POLICY_FIRST = (Early.POLICY, Early.ACL)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[FeedHouse]:
    made = open_house(tmp_path)
    yield made
    made.store.close()


def policy(pattern: str, *users: str, groups: tuple[str, ...] = (), deny: tuple[str, ...] = ()) -> PolicyAcl:
    named = [(Access.PERMIT, Scope.USER, name) for name in users] + [(Access.PERMIT, Scope.GROUP, name) for name in groups]
    named += [(Access.DENY, Scope.USER, name) for name in deny]
    entries = (Entry(access=access, principal=Principal(scope=scope, name=name)) for access, scope, name in named)
    return PolicyAcl(pattern=pattern, entries=tuple(entries))


def adopt(house: FeedHouse, *policies: PolicyAcl) -> bool:
    with house.store.writing() as unit:
        return adopt_policies(unit, policies)


def sweep_of(house: FeedHouse) -> PolicyAclSweep:
    return PolicyAclSweep(house.store, lambda: OPEN, SilentBell(), house.clock, at_once=2)


def sweep(house: FeedHouse) -> None:
    while sweep_of(house).step():
        pass


def found(house: FeedHouse, directory: AccessDirectory, who: Identity) -> tuple[set[str], set[str]]:
    """Gives what somebody would find by class, by the names of URLs, and what of it leaves for him."""
    access = directory.classes_of(who)
    documents = list(house.live().values())
    by_class = {document.url for document in documents if document.access_class in access.permitted}
    with house.store.reading() as unit:
        leaves = {one.url for one in Decider(directory).select(unit, documents, access)}
    return {name.removeprefix(url("")) for name in by_class}, {name.removeprefix(url("")) for name in leaves}


def test_documents_fed_under_a_policy_are_found_by_whom_it_permits(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/a/", "ann"), policy("docs.test/", groups=("staff",), deny=("ann",)))
    house.push(put("a/1", attributes=SECURE), put("b/1", attributes=SECURE), put("open"), put("c", acl=STAFF))
    directory = AccessDirectory(house.store)
    assert found(house, directory, ANN) == ({"a/1", "open"}, {"a/1", "open"})
    assert found(house, directory, BOB) == ({"b/1", "open", "c"}, {"b/1", "open", "c"})
    assert found(house, directory, NOBODY) == ({"open"}, {"open"})


def test_policy_is_asked_only_where_the_acl_does_not_settle_it(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/", "ann"))
    broken = Acl(entries=STAFF.entries, inherit_from=url("gone"))
    house.push(put("staff", acl=STAFF), put("broken", acl=broken), put("empty", acl=Acl()), put("none", attributes=SECURE))
    assert found(house, AccessDirectory(house.store), ANN) == ({"broken", "empty", "none"},) * 2
    assert found(house, AccessDirectory(house.store), BOB) == ({"staff"},) * 2
    first = AccessDirectory(house.store, order=POLICY_FIRST)
    assert found(house, first, ANN) == ({"staff", "broken", "empty", "none"},) * 2
    assert found(house, first, BOB) == (set(), set())
    assert found(house, AccessDirectory(house.store, order=(Early.ACL,)), ANN) == (set(), set())
    assert found(house, AccessDirectory(house.store, order=(Early.POLICY,)), BOB) == (set(), set())


def test_acl_that_arrives_takes_over_and_one_that_goes_gives_back(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/", "ann"))
    directory = AccessDirectory(house.store)
    house.push(put("a", attributes=SECURE))
    assert found(house, directory, ANN)[1] == {"a"}
    house.push(put("a", attributes=SECURE, acl=STAFF))
    assert found(house, directory, ANN) == (set(), set())
    assert found(house, directory, BOB)[1] == {"a"}


def test_whom_a_policy_permits_counts_at_once_and_moves_no_document(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/", "ann"))
    house.push(put("a", attributes=SECURE))
    sweep(house)
    directory = AccessDirectory(house.store)
    assert found(house, directory, ANN)[1] == {"a"}
    before = house.live()
    assert adopt(house, policy("docs.test/", "ann", deny=("ann",), groups=("staff",)))
    assert found(house, directory, ANN) == (set(), set())
    assert found(house, directory, BOB) == ({"a"}, {"a"})
    with house.store.reading() as unit:
        assert is_obeyed(unit)
    assert house.live() == before


def test_same_policies_again_change_nothing(house: FeedHouse) -> None:
    made = (policy("docs.test/", "ann"), policy("/", "bob"))
    assert adopt(house, *made)
    assert not adopt(house, *made)
    with house.store.reading() as unit:
        generation = unit.policies.generation()
    adopt_of_settings(house.store, lambda _: made)
    with house.store.reading() as unit:
        assert unit.policies.generation() == generation
    adopt_of_settings(house.store, lambda _: made[1:])
    with house.store.reading() as unit:
        assert unit.policies.generation() == generation + 1


def test_new_pattern_takes_away_at_once_and_gives_after_the_sweep(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/", "ann"), policy("other.test/", "ann"))
    house.push(*[put(f"{name}/{number}", attributes=SECURE) for name in "ab" for number in range(3)])
    sweep(house)
    house.index_all()
    sweep(house)
    directory = AccessDirectory(house.store)
    everything = {f"{name}/{number}" for name in "ab" for number in range(3)}
    assert found(house, directory, ANN) == (everything, everything)

    adopt(house, policy("docs.test/", "ann"), policy("other.test/", "ann"), policy("docs.test/b/", "bob"))
    # all of the shorter prefix is closed, since nobody knows yet which of its documents the longer one takes
    assert found(house, directory, ANN) == (set(), set())
    assert found(house, directory, BOB) == (set(), set())
    sweep(house)
    with house.store.reading() as unit:
        assert is_swept(unit)
        assert not is_obeyed(unit)
    assert found(house, directory, ANN) == (set(), set())
    assert found(house, directory, BOB)[1] == {"b/0", "b/1", "b/2"}
    house.index_all()
    sweep(house)
    with house.store.reading() as unit:
        assert is_obeyed(unit)
    assert found(house, directory, ANN) == ({"a/0", "a/1", "a/2"},) * 2


def test_policy_that_is_gone_permits_nobody_before_and_after_the_sweep(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/a", "ann"), policy("/", groups=("staff",)))
    house.push(put("a", attributes=SECURE))
    sweep(house)
    directory = AccessDirectory(house.store)
    assert found(house, directory, ANN)[1] == {"a"}
    adopt(house, policy("/", groups=("staff",)))
    assert found(house, directory, ANN) == (set(), set())
    assert found(house, directory, BOB) == (set(), set())
    sweep(house)
    house.index_all()
    sweep(house)
    assert found(house, directory, BOB) == ({"a"}, {"a"})
    adopt(house)
    assert found(house, directory, BOB) == (set(), set())
    sweep(house)
    assert house.document(url("a")).access_class == AccessClass.CLOSED


def test_index_that_is_behind_shows_no_document_that_lost_its_permit(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/", "ann"))
    house.push(put("a", attributes=SECURE))
    sweep(house)
    house.index_all()
    sweep(house)
    directory = AccessDirectory(house.store)
    document = house.document(url("a"))
    before = directory.classes_of(ANN)
    adopt(house, policy("docs.test/", "ann"), policy("^http://docs.test/a$", "bob"))
    for access in (before, directory.classes_of(ANN)):
        with house.store.reading() as unit:
            assert Decider(directory).select(unit, [document], access) == []


def test_sweep_writes_only_what_is_in_the_wrong_class(house: FeedHouse) -> None:
    house.push(*[put(str(number), attributes=SECURE) for number in range(5)], put("open"))
    adopt(house, policy("docs.test/3", "ann"))
    sweep(house)
    assert {name.removeprefix(url("")): one.version for name, one in house.live().items()} == {
        **{str(number): 1 for number in (0, 1, 2, 4)},
        "3": 2,
        "open": 1,
    }
    with house.store.reading() as unit:
        assert unit.marks.find_many([house.document(url("3")).id or 0]).popitem()[1].feed_id == 0


def test_sweep_begins_anew_when_patterns_change_on_the_way(house: FeedHouse) -> None:
    house.push(*[put(str(number), attributes=SECURE) for number in range(6)])
    adopt(house, policy("docs.test/5", "ann"))
    assert sweep_of(house).step()
    assert sweep_of(house).step()
    adopt(house, policy("docs.test/0", "ann"))
    sweep(house)
    assert found(house, AccessDirectory(house.store), ANN)[1] == {"0"}


def test_change_of_patterns_of_one_host_closes_no_other(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/", "ann"), policy("other.test/", "ann"))
    sweep(house)
    with house.store.reading() as unit:
        assert read_closed(unit) == set()
        kept = {one.pattern: one.number for one in unit.policies.current().policies}
    adopt(house, policy("docs.test/", "ann"), policy("other.test/", "ann"), policy("other.test/x/", "ann"))
    with house.store.reading() as unit:
        assert read_closed(unit) == {0, kept["other.test/"]}


def test_review_counts_what_a_policy_permits(house: FeedHouse) -> None:
    adopt(house, policy("docs.test/a", "ann"), policy("docs.test/b", "ann", deny=("ann",)), policy("docs.test/open", "ann"))
    house.push(*[put(name, attributes=SECURE) for name in "abc"], put("open"), put("public"))
    review = AccessReview(house.store)
    assert [one.url for one in review.iter_for_nobody()] == [url("b"), url("c")]
    assert {one.url for one in review.iter_public_beside_guarded()} == {url("open"), url("public")}
    adopt(house, policy("docs.test/a", "ann"), policy("docs.test/b", "ann"), policy("docs.test/open", "ann"))
    assert [one.url for one in review.iter_for_nobody()] == [url("c")], "a list is of its own moment"


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


def by_reference(document: Document, who: Identity, acls: dict[str, Acl], book: PolicyBook, order: tuple[Early, ...]) -> Verdict:
    if not document.secure:
        return Verdict.PERMIT
    ruling = rule_on(book.find(document.url), forms_of(who))
    said = Verdict.INDETERMINATE if ruling is None else ruling.verdict
    return settle(order, {Early.ACL: lambda: decide(document.url, who, acls.get).verdict, Early.POLICY: lambda: said})[0]


@pytest.mark.parametrize(
    "order", [EARLY_ORDER, POLICY_FIRST, (Early.POLICY,), (Early.ACL,)], ids=["acl", "policy", "policy-only", "acl-only"]
)
def test_classes_agree_with_the_reference_and_never_show_more_on_the_way(house: FeedHouse, order: tuple[Early, ...]) -> None:
    chance = random.Random(len(order))
    directory = AccessDirectory(house.store, order=order)
    names = [f"{letter}{number}" for letter in "abc" for number in range(3)]
    for _ in range(4):
        house.push(
            *[put(name, attributes=SECURE, acl=an_acl(chance) if chance.random() < 0.6 else None) for name in chance.sample(names, 5)]
        )
        patterns = chance.sample(PATTERNS, chance.randrange(len(PATTERNS)))
        adopt(house, *[PolicyAcl(pattern=text, entries=tuple(an_entry(chance) for _ in range(chance.randrange(4)))) for text in patterns])
        askers = [read_identity(chance.choice(NAMES), chance.choice(("Default", "hr")), chance.sample(NAMES, 2)) for _ in range(4)]
        for stage in ("changed", "swept", "indexed"):
            compare(house, directory, askers, order, is_settled=stage == "indexed")
            if stage == "swept":
                house.index_all()
            sweep(house)


def compare(house: FeedHouse, directory: AccessDirectory, askers: list[Identity], order: tuple[Early, ...], *, is_settled: bool) -> None:
    documents = list(house.live().values())
    undecided = directory.undecided()
    for who in askers:
        access: ClassSet = directory.classes_of(who)
        with house.store.reading() as unit:
            shown = {one.url for one in Decider(directory).select(unit, documents, access)}
            acls = read_chains(unit, [document.url for document in documents])
            book = unit.policies.current()
        for document in documents:
            verdict = by_reference(document, who, acls, book, order)
            leaves = document.url in shown
            assert verdict is Verdict.PERMIT or not leaves
            if is_settled:
                assert (document.access_class in access.permitted) is leaves is (verdict is Verdict.PERMIT)
                assert (document.access_class in undecided) is (verdict is Verdict.INDETERMINATE)
