"""What holds for every forest of ACLs and every user."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.core.access.evaluator import decide, decide_locally, decide_verdict, is_empty
from feedmill.core.access.principals import principal_keys_of
from feedmill.model.access import Access, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.model.decision import Cause, Verdict
from feedmill.model.identity import Identity
from tests.builders.access import BOTH, CHILD, LEAF, PARENT, acl, deny, group, permit, user
from tests.thorough import count_examples

P, D, I = Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE  # noqa: E741
URLS = ("a", "b", "c", "d")
NAMES = ("bob", "Bob", "CORP\\bob", "bob@corp.example.com", "eng", "ENG", " ")
SPACES = ("Default", "default", "hr")
RULES = (CHILD, PARENT, BOTH, LEAF)

principals = st.builds(
    Principal,
    scope=st.sampled_from(Scope),
    name=st.sampled_from(NAMES),
    namespace=st.sampled_from(SPACES),
    case_sensitive=st.booleans(),
    unqualified=st.booleans(),
)
entries = st.builds(Entry, access=st.sampled_from(Access), principal=principals)
acls = st.builds(
    Acl,
    entries=st.lists(entries, max_size=4).map(tuple),
    inheritance_type=st.sampled_from(RULES),
    inherit_from=st.none() | st.sampled_from(URLS),
)
forests = st.dictionaries(st.sampled_from(URLS), acls)
identities = st.builds(
    Identity,
    users=st.lists(st.builds(user, st.sampled_from(NAMES), st.sampled_from(SPACES)), max_size=2, unique_by=lambda who: who.namespace).map(
        tuple
    ),
    groups=st.lists(st.builds(group, st.sampled_from(NAMES), st.sampled_from(SPACES)), max_size=2).map(tuple),
)
moderate = settings(max_examples=count_examples(150))


def verdict(forest: dict[str, Acl], who: Identity) -> Verdict:
    found = decide("a", who, forest.get).verdict
    assert decide_verdict("a", principal_keys_of(who), forest.get) is found
    return found


def add(forest: dict[str, Acl], url: str, entry: Entry) -> dict[str, Acl]:
    return {owner: replace(one, entries=(*one.entries, entry)) if owner == url else one for owner, one in forest.items()}


@moderate
@given(forests, identities, st.sampled_from(URLS), principals)
def test_a_further_deny_never_opens_anything(forest: dict[str, Acl], who: Identity, url: str, denied: Principal) -> None:
    before = verdict(forest, who)
    after = verdict(add(forest, url, Entry(access=Access.DENY, principal=denied)), who)
    assert after is before or after is D


@moderate
@given(forests, identities, st.sampled_from(URLS), principals)
def test_a_further_permit_never_shuts_anything(forest: dict[str, Acl], who: Identity, url: str, permitted: Principal) -> None:
    before = verdict(forest, who)
    after = verdict(add(forest, url, Entry(access=Access.PERMIT, principal=permitted)), who)
    was_empty = "a" in forest and is_empty(forest["a"])
    assert after is before or after is P or (was_empty and before is I)


@moderate
@given(forests, identities, st.sampled_from(URLS), st.sampled_from(Access))
def test_entries_for_others_change_nothing_where_there_is_any(forest: dict[str, Acl], who: Identity, url: str, access: Access) -> None:
    stranger = Entry(access=access, principal=Principal(scope=Scope.USER, name="stranger", case_sensitive=False))
    if url == "a" and "a" in forest and is_empty(forest["a"]):
        assert verdict(add(forest, url, stranger), who) is D
    else:
        assert verdict(add(forest, url, stranger), who) is verdict(forest, who)


@moderate
@given(forests, identities)
def test_entries_of_other_namespaces_than_the_askers_decide_nothing(forest: dict[str, Acl], who: Identity) -> None:
    foreign = replace(
        who,
        users=tuple(replace(one, namespace="elsewhere") for one in who.users),
        groups=tuple(replace(one, namespace="elsewhere") for one in who.groups),
    )
    decision = decide("a", foreign, forest.get)
    assert all(step.local is I for step in decision.path)
    assert decision.verdict is not P


@moderate
@given(forests, identities, st.sampled_from([str.upper, str.lower, str.title, str.swapcase]))
def test_letter_case_of_the_user_counts_for_nothing_where_all_entries_fold(
    forest: dict[str, Acl], who: Identity, change: Callable[[str], str]
) -> None:
    folding = {
        url: replace(one, entries=tuple(replace(entry, principal=replace(entry.principal, case_sensitive=False)) for entry in one.entries))
        for url, one in forest.items()
    }
    other = replace(
        who,
        users=tuple(replace(one, name=change(one.name), domain=change(one.domain), namespace=change(one.namespace)) for one in who.users),
        groups=tuple(replace(one, name=change(one.name), domain=change(one.domain), namespace=change(one.namespace)) for one in who.groups),
    )
    assert verdict(folding, other) is verdict(folding, who)


@moderate
@given(forests, identities)
def test_a_deny_means_more_askers_when_it_folds(forest: dict[str, Acl], who: Identity) -> None:
    principal_keys = principal_keys_of(who)
    for one in forest.values():
        for entry in one.entries:
            if entry.principal.case_sensitive and principal_keys.find_subject(entry.principal) is not None:
                assert principal_keys.find_subject(replace(entry.principal, case_sensitive=False)) is not None


WORDS = {"P": P, "D": D, "I": I}
# Rows: the child permits, denies, leaves open; within a row the parent in the same order.
TABLES = {CHILD: "PPP DDD PDI", PARENT: "PDP PDD PDI", BOTH: "PDD DDD DDD"}
LINKS = st.lists(st.tuples(st.sampled_from((CHILD, PARENT, BOTH)), st.sampled_from((P, D, I))), min_size=1, max_size=7)


def look_up(rule: InheritanceType, child: Verdict, parent: Verdict) -> Verdict:
    order = (P, D, I)
    return WORDS[TABLES[rule].split()[order.index(child)][order.index(parent)]]


def fold_from_root(links: list[tuple[InheritanceType, Verdict]]) -> Verdict:
    (rule, local), *below = links
    return look_up(rule, fold_from_root(below), local) if below else local


@moderate
@given(LINKS)
def test_decision_of_a_chain_is_its_fold_by_the_tables(links: list[tuple[InheritanceType, Verdict]]) -> None:
    says = {P: permit("bob"), D: deny("bob"), I: permit("other")}
    forest = {
        str(place): acl(says[local], rule=rule, parent=str(place - 1) if place else None) for place, (rule, local) in enumerate(links)
    }
    decision = decide(str(len(links) - 1), Identity(users=(user("bob"),)), forest.get)
    folded = fold_from_root(links)
    assert decision.verdict is (D if folded is I else folded)
    assert [step.local for step in decision.path] == [local for _, local in reversed(links)]


@moderate
@given(forests, identities)
def test_decision_ends_and_its_path_climbs_each_acl_once(forest: dict[str, Acl], who: Identity) -> None:
    decision = decide("a", who, forest.get)
    urls = [step.url for step in decision.path]
    assert len(set(urls)) == len(urls)
    assert bool(urls) is ("a" in forest)
    assert urls[:1] in ([], ["a"])
    for below, above in pairwise(decision.path):
        assert below.acl.inherit_from == above.url
    for step in decision.path:
        assert (step.local, step.match) == decide_locally(step.acl, principal_keys_of(who))


@moderate
@given(forests, identities)
def test_decision_agrees_with_its_cause_and_reason(forest: dict[str, Acl], who: Identity) -> None:
    decision = decide("a", who, forest.get)
    by_verdict = {P: {Cause.PERMITTED}, D: {Cause.DENIED, Cause.NOT_BOTH, Cause.UNNAMED}}
    broken = {Cause.MISSING_PARENT, Cause.CYCLE, Cause.LEAF_PARENT, Cause.TOO_DEEP}
    assert decision.cause in by_verdict.get(decision.verdict, {Cause.NO_ACL, Cause.EMPTY_ACL, *broken})
    assert decision.reason
    if decision.cause in (Cause.PERMITTED, Cause.DENIED):
        assert decision.decisive is not None
        assert decision.decisive.local is decision.verdict
        assert decision.decisive.match is not None
    if decision.decisive is not None:
        assert decision.decisive in decision.path
        assert decision.decisive.url in decision.reason


@moderate
@given(forests, identities)
def test_order_of_entries_changes_no_verdict(forest: dict[str, Acl], who: Identity) -> None:
    turned = {url: replace(one, entries=one.entries[::-1]) for url, one in forest.items()}
    assert verdict(turned, who) is verdict(forest, who)
