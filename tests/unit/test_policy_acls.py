"""Policy ACLs: which is for a URL, what it says, and where in the order of mechanisms."""

from collections.abc import Sequence
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.core.access.evaluator import decide_locally
from feedmill.core.access.policyacls import (
    PatternKind,
    PolicySet,
    combine_by_mechanism,
    decide_by_policy,
    kind_of,
    list_shadowed,
    may_share,
)
from feedmill.core.access.principals import principal_keys_of
from feedmill.model.access import Access, Entry, Principal, Scope
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from feedmill.model.policyacl import EARLY_ORDER, EarlyMechanism, PolicyAcl
from tests.builders.access import acl, deny, group, identity, permit, user
from tests.thorough import count_examples

P, D, I = Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE  # noqa: E741
GROUP = Scope.GROUP


def book(*patterns: str) -> PolicySet:
    return PolicySet([PolicyAcl(pattern=pattern, number=number) for number, pattern in enumerate(patterns, start=1)])


def found(patterns: Sequence[str], url: str) -> str | None:
    policy = book(*patterns).find_policy(url)
    return None if policy is None else policy.pattern


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("^http://example.com/a.html$", PatternKind.EXACT),
        ("example.com/a.html$", PatternKind.EXACT),
        ("www?:example.com/a$", PatternKind.EXACT),
        ("example.com/", PatternKind.PREFIX),
        ("http://example.com/a/", PatternKind.PREFIX),
        ("smb://server/share/", PatternKind.PREFIX),
        ("</>secret/", PatternKind.PREFIX),
        ("www?:example.com/a/", PatternKind.PREFIX),
        ("/", PatternKind.PATTERN),
        ("/secret/", PatternKind.PATTERN),
        (".pdf$", PatternKind.PATTERN),
        ("^http", PatternKind.PATTERN),
        ("contains:secret", PatternKind.PATTERN),
        ("regexp:/[0-9]+/", PatternKind.PATTERN),
        ("regexpIgnoreCase:^https?://", PatternKind.PATTERN),
        ("example", PatternKind.PATTERN),
    ],
)
def test_kind_is_that_of_the_pattern(pattern: str, kind: PatternKind) -> None:
    assert kind_of(pattern) is kind


@pytest.mark.parametrize("pattern", ["-example.com/", "+-example.com/", "regexp:(", "# a", "x:y:z/"])
def test_what_is_no_pattern_of_its_own_is_refused(pattern: str) -> None:
    with pytest.raises(BadRequest):
        PolicySet([PolicyAcl(pattern=pattern)])


LADDER = ("^http://example.com/a/b/c$", "example.com/a/b/", "example.com/a/", "example.com/", "contains:/b/", "/")


@pytest.mark.parametrize("left", range(len(LADDER)), ids=str)
def test_exact_comes_before_the_longest_prefix_and_that_before_patterns(left: int) -> None:
    for patterns in permutations(LADDER[left:4]):
        assert found((*LADDER[4:], *patterns)[-(6 - left) :], "http://example.com/a/b/c") == LADDER[left]


def test_patterns_come_in_the_order_of_the_list() -> None:
    assert found(["contains:b", "regexp:b"], "http://h/b") == "contains:b"
    assert found(["regexp:b", "contains:b"], "http://h/b") == "regexp:b"
    assert found(["/", "contains:b"], "http://h/b") == "/"


def test_of_equal_paths_the_longer_host_comes_first() -> None:
    assert found(["example.com/a/", "www.example.com/a/"], "http://www.example.com/a/x") == "www.example.com/a/"
    assert found(["</>a/", "example.com/a/"], "http://www.example.com/a/x") == "example.com/a/"
    assert found(["example.com/a/b/", "http://www.example.com/a/"], "http://www.example.com/a/b/x") == "example.com/a/b/"
    assert found(["example.com/a/", "example.com:8080/a/"], "http://example.com:8080/a/x") == "example.com:8080/a/"
    assert found(["example.com/a$", "^http://example.com/a$"], "http://example.com/a") == "^http://example.com/a$"


def test_nothing_is_found_where_no_pattern_means_the_url() -> None:
    assert found(LADDER[:4], "http://other.org/a/b/c") is None
    assert found([], "http://example.com/") is None
    assert found(LADDER[:1], "http://example.com/a/b/cd") is None


def test_all_that_mean_a_url_are_listed_best_first() -> None:
    listed = [policy.pattern for policy in book(*reversed(LADDER)).iter_matching("http://example.com/a/b/c")]
    assert listed == [*LADDER[:4], "/", "contains:/b/"]


# --- what it says ---------------------------------------------------------------------------------------------------------------

TRUTH = [
    (True, True, D),
    (True, False, D),
    (False, True, P),
    (False, False, D),
]
"""Denied, permitted, decision: as the manual has it."""


@pytest.mark.parametrize(("denied", "permitted", "verdict"), TRUTH)
@pytest.mark.parametrize("scopes", list(product(Scope, Scope)), ids=lambda scopes: f"{scopes[0].value}-{scopes[1].value}")
def test_policy_that_is_for_a_url_always_decides(denied: bool, permitted: bool, verdict: Verdict, scopes: tuple[Scope, Scope]) -> None:
    names = {Scope.USER: "bob", Scope.GROUP: "eng"}
    entries = [deny(names[scopes[0]], scope=scopes[0])] * denied + [permit(names[scopes[1]], scope=scopes[1])] * permitted
    for order in permutations(entries):
        policy_decision = decide_by_policy(PolicyAcl(pattern="/", entries=order), principal_keys_of(identity("bob", ["eng"])))
        assert policy_decision is not None
        assert policy_decision.verdict is verdict
        assert (policy_decision.match is None) is (not denied and not permitted)


def test_signed_out_user_and_no_policy_are_not_decided() -> None:
    assert decide_by_policy(None, principal_keys_of(identity())) is None
    assert decide_by_policy(PolicyAcl(pattern="/", entries=(permit("bob"),)), principal_keys_of(ANONYMOUS_IDENTITY)) is None


@pytest.mark.parametrize(
    ("entry", "who", "verdict"),
    [
        (permit("corp\\bob"), identity("bob@corp.example.com"), P),
        (permit("bob@corp.example.com"), identity("bob@corp.example.com"), P),
        (permit("corp.example.com\\bob"), identity("corp\\bob"), D),
        (permit("corp\\eng", scope=GROUP), identity("bob", ["eng@corp.example.com"]), P),
        (permit("BOB"), identity("bob"), D),
        (permit("BOB", fold=True), identity("bob"), P),
        (permit("bob", namespace="hr"), identity("bob"), D),
        (permit("bob", namespace="hr"), identity("bob", namespace="hr"), P),
        (permit("a/b", unqualified=True), identity("a/b"), D),
        (permit("eng"), identity("ann", ["eng"]), D),
    ],
)
def test_principals_are_met_as_in_acls(entry: Entry, who: Identity, verdict: Verdict) -> None:
    policy_decision = decide_by_policy(PolicyAcl(pattern="/", entries=(entry,)), principal_keys_of(who))
    assert policy_decision is not None
    assert policy_decision.verdict is verdict


ORDERS = [
    (I, I, I, I),
    (I, P, P, P),
    (I, D, D, D),
    (P, I, P, P),
    (P, D, P, D),
    (P, P, P, P),
    (D, I, D, D),
    (D, P, D, P),
    (D, D, D, D),
]
"""What the ACL says, what the policy says, what both come to with the ACL first, and with the policy first."""


@pytest.mark.parametrize(("own", "policy", "acl_first", "policy_first"), ORDERS)
def test_first_mechanism_that_says_something_settles_it(own: Verdict, policy: Verdict, acl_first: Verdict, policy_first: Verdict) -> None:
    answers = {EarlyMechanism.ACL: lambda: own, EarlyMechanism.POLICY: lambda: policy}
    assert combine_by_mechanism(EARLY_ORDER, answers)[0] is acl_first
    assert combine_by_mechanism((EarlyMechanism.POLICY, EarlyMechanism.ACL), answers)[0] is policy_first
    assert combine_by_mechanism((EarlyMechanism.ACL,), answers)[0] is own
    assert combine_by_mechanism((EarlyMechanism.POLICY,), answers)[0] is policy
    assert combine_by_mechanism((), answers) == (I, None)


# --- properties -----------------------------------------------------------------------------------------------------------------

HOSTS = ("example.com", "www.example.com", "http://example.com", "^http://www.example.com", "com", "example.com:80", "www?:example.com")
PATHS = ("/", "/a/", "/a/b/", "/a/b", "/a/b/c")
anchored = st.builds(
    lambda host, path, end: f"{host}{path}{end}", st.sampled_from(HOSTS), st.sampled_from(PATHS), st.sampled_from(("", "$"))
)
loose = st.sampled_from(("contains:b", "/b/", "/", "regexp:a.b", ".html$", "^http:", "example", "</>a/", "</>a/b$"))
patterns = st.lists(anchored | loose, max_size=7, unique=True)
urls = st.builds(
    lambda scheme, host, path: f"{scheme}://{host}{path}",
    st.sampled_from(("http", "https")),
    st.sampled_from(("example.com", "www.example.com", "example.com:80", "other.com", "EXAMPLE.com")),
    st.sampled_from(("/", "/a/", "/a/b", "/a/b/c", "/a/b/c.html", "/x/b/", "")),
)
names = st.sampled_from(("bob", "Bob", "CORP\\bob", "eng"))
entries = st.builds(
    Entry,
    access=st.sampled_from(Access),
    principal=st.builds(Principal, scope=st.sampled_from(Scope), name=names, case_sensitive=st.booleans()),
)
current_users = st.builds(
    lambda name, groups: Identity(users=(user(name),), groups=tuple(map(group, groups))), names, st.lists(names, max_size=2)
)
moderate = settings(max_examples=count_examples(80))


@moderate
@given(patterns, urls)
def test_what_is_found_means_the_url_and_no_kind_before_it_does(made: list[str], url: str) -> None:
    matching = [policy for policy in book(*made).policies if book(policy.pattern).find_policy(url)]
    policy = book(*made).find_policy(url)
    assert (policy is None) is (not matching)
    if policy is not None:
        assert policy in matching
        order = list(PatternKind)
        assert order.index(kind_of(policy.pattern)) == min(order.index(kind_of(each.pattern)) for each in matching)


@moderate
@given(patterns, urls)
def test_a_policy_that_is_not_for_a_url_changes_nothing_for_it(made: list[str], url: str) -> None:
    policy = book(*made).find_policy(url)
    if policy is None:
        return
    fewer = [pattern for pattern in made if pattern == policy.pattern or not book(pattern).find_policy(url)]
    assert found(fewer, url) == policy.pattern


@moderate
@given(st.lists(entries, max_size=4), entries, current_users)
def test_a_further_deny_never_opens_and_a_further_permit_never_shuts(held: list[Entry], entry: Entry, who: Identity) -> None:
    forms = principal_keys_of(who)
    before = decide_by_policy(PolicyAcl(pattern="/", entries=tuple(held)), forms)
    after = decide_by_policy(PolicyAcl(pattern="/", entries=(*held, entry)), forms)
    assert before is not None
    assert after is not None
    allowed = (before.verdict, D) if entry.access is Access.DENY else (before.verdict, P)
    assert after.verdict in allowed
    assert after.verdict is (P if decide_locally(acl(*held, entry), forms)[0] is P else D)


@moderate
@given(anchored | loose, anchored | loose, urls)
def test_patterns_that_mean_the_same_url_are_known_to_share(one: str, other: str, url: str) -> None:
    is_shared = found([one], url) is not None and found([other], url) is not None
    assert may_share(PolicyAcl(pattern=one), PolicyAcl(pattern=other)) or not is_shared


@moderate
@given(patterns, patterns, urls)
def test_every_policy_that_may_lose_a_url_is_returned(before: list[str], after: list[str], url: str) -> None:
    numbers = {pattern: number for number, pattern in enumerate(dict.fromkeys(before + after), start=1)}
    old, new = (PolicySet([PolicyAcl(pattern=text, number=numbers[text]) for text in made]) for made in (before, after))
    was, now = old.find_policy(url), new.find_policy(url)
    if now is not None and (was is None or was.number != now.number) and (was is None or was.pattern in after):
        assert (0 if was is None else was.number) in list_shadowed(old, new)


def test_change_of_who_is_permitted_shadows_nothing() -> None:
    before = PolicySet([PolicyAcl(pattern="a/", number=1), PolicyAcl(pattern="b/", number=2)])
    after = PolicySet([PolicyAcl(pattern="a/", number=1, entries=(permit("x"),)), PolicyAcl(pattern="b/", number=2)])
    assert list_shadowed(before, after) == set()
    assert before.digest() == after.digest()


def test_policy_of_another_host_shadows_nothing_else() -> None:
    before = PolicySet([PolicyAcl(pattern="a.com/x/", number=1), PolicyAcl(pattern="a.com/", number=2)])
    after = PolicySet([*before.policies, PolicyAcl(pattern="b.com/", number=3), PolicyAcl(pattern="^http://a.com/y$", number=4)])
    assert list_shadowed(before, after) == {0, 2}


def test_change_too_large_to_be_compared_shadows_everything() -> None:
    before = PolicySet([PolicyAcl(pattern=f"a.com/{number}/", number=number) for number in range(1, 601)])
    after = PolicySet([*before.policies, *(PolicyAcl(pattern=f"b.com/{number}/", number=number) for number in range(601, 1_201))])
    assert list_shadowed(before, after) == {0, *range(1, 601)}
    assert list_shadowed(before, PolicySet([*before.policies, *after.policies[600:800]])) == {0}
