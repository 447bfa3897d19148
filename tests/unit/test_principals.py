import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.access.principals import (
    exact_key,
    folded_key,
    is_blank,
    key_of,
    principal_keys_of,
    read_subject,
    shorten_domain,
    signed_in_keys,
    split_name,
    subject_of,
)
from feedmill.model.access import Scope
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity, Subject
from tests.builders.access import group, identity, principal, user

NAMES = st.text(alphabet="abCD.é", min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("text", "name", "domain"),
    [
        ("bob", "bob", ""),
        ("CORP\\bob", "bob", "CORP"),
        ("CORP/bob", "bob", "CORP"),
        ("bob@CORP", "bob", "CORP"),
        ("\\bob", "bob", ""),
        ("bob@", "bob", ""),
        ("CORP\\", "", "CORP"),
        ("@eng", "", "eng"),
        ("a\\b\\c", "b\\c", "a"),
        ("a/b/c", "b/c", "a"),
        ("a@b@c", "a", "b@c"),
        ("a/b\\c", "c", "a/b"),
        ("a\\b/c", "b/c", "a"),
        ("CORP\\bob@example.com", "bob@example.com", "CORP"),
        ("bob@example.com\\x", "x", "bob@example.com"),
        ("bob@corp/x", "x", "bob@corp"),
        ("corp/bob@x", "bob@x", "corp"),
        ("", "", ""),
    ],
)
def test_split_name_takes_backslash_before_slash_before_at_sign(text: str, name: str, domain: str) -> None:
    assert split_name(text) == (name, domain)


@pytest.mark.parametrize(
    ("domain", "short"),
    [
        ("corp", "corp"),
        ("corp.example.com", "corp"),
        ("domain.com.hk", "domain"),
        ("corp.", "corp"),
        (".corp.example", "corp"),
        (" corp .example", "corp"),
        ("...", "..."),
        ("", ""),
    ],
)
def test_shorten_domain_returns_the_first_label(domain: str, short: str) -> None:
    assert shorten_domain(domain) == short


def means(written: str, current_user: str, *, fold: bool = False, unqualified: bool = False) -> bool:
    """Returns whether an entry names a user who signed in under a name."""
    return principal_keys_of(identity(current_user)).find_subject(principal(written, fold=fold, unqualified=unqualified)) is not None


@pytest.mark.parametrize(
    ("written", "current_user", "sensitive", "insensitive"),
    [
        ("bob", "bob", True, True),
        ("Bob", "bob", False, True),
        ("bob", "BOB", False, True),
        ("  bob\n", "bob", True, True),
        ("CORP\\bob", "CORP\\bob", True, True),
        ("CORP\\bob", "CORP/bob", True, True),
        ("CORP\\bob", "bob@CORP", True, True),
        ("bob@CORP", "CORP/bob", True, True),
        ("corp\\bob", "CORP\\bob", False, True),
        ("bob", "CORP\\bob", False, False),
        ("CORP\\bob", "bob", False, False),
        ("\\bob", "bob", True, True),
        ("corp\\bob", "bob@corp.example.com", True, True),
        ("corp.example.com\\bob", "bob@corp.example.com", True, True),
        ("CORP\\bob", "bob@corp.example.com", False, True),
        ("corp.example.com\\bob", "corp\\bob", False, False),
        ("corp.example\\bob", "bob@corp.example.com", False, False),
        ("example\\bob", "bob@corp.example.com", False, False),
        ("domain\\bob", "bob@domain.com.hk", True, True),
        ("stra\u00adße", "STRASSE", False, True),
        ("ＢＯＢ", "bob", False, True),
        ("ro\u00df", "ross", False, True),
        ("b\u200bob", "bob", False, True),
        ("b\u200bob", "b\u200bob", True, True),
        ("@eng", "@eng", True, True),
        ("alice", "bob", False, False),
        ("   ", "bob", False, False),
    ],
)
def test_keys_of_a_user_match_the_entries_that_mean_them(written: str, current_user: str, sensitive: bool, insensitive: bool) -> None:
    assert means(written, current_user) is sensitive
    assert means(written, current_user, fold=True) is insensitive


def test_keys_of_a_user_ignore_a_folded_name_that_an_entry_spells_as_written() -> None:
    assert not means("bob", "Bob")
    assert means("bob", "Bob", fold=True)


@pytest.mark.parametrize("name", ["Site Owners", "CORP\\Owners", "R/D", "all@site"])
def test_unqualified_principal_is_never_split(name: str) -> None:
    written = principal(name, scope=Scope.GROUP, unqualified=True)
    literal = Identity(groups=(Subject(scope=Scope.GROUP, name=name),))
    assert subject_of(written) == Subject(scope=Scope.GROUP, name=name)
    assert principal_keys_of(literal).find_subject(written) is not None
    assert (principal_keys_of(identity(groups=[name])).find_subject(written) is None) is (name != "Site Owners")
    assert (
        principal_keys_of(literal).find_subject(principal(f" {name.upper()} ", scope=Scope.GROUP, unqualified=True, fold=True)) is not None
    )


def test_forms_find_users_and_groups_apart() -> None:
    forms = principal_keys_of(identity("bob", ["eng"]))
    assert forms.find_subject(principal("bob")) == user("bob")
    assert forms.find_subject(principal("eng", scope=Scope.GROUP)) == group("eng")
    assert forms.find_subject(principal("eng")) is None
    assert forms.find_subject(principal("bob", scope=Scope.GROUP)) is None


def test_forms_of_several_namespaces_meet_each_in_its_own() -> None:
    current_user = Identity(users=(user("bob", "A"), user("robert", "B")), groups=(group("eng", "B"),))
    forms = principal_keys_of(current_user)
    found = [
        (name, space)
        for name in ("bob", "robert")
        for space in ("A", "B", "Default")
        if forms.find_subject(principal(name, namespace=space))
    ]
    assert found == [("bob", "A"), ("robert", "B")]
    assert forms.find_subject(principal("ENG", scope=Scope.GROUP, namespace="b", fold=True)) == group("eng", "B")
    assert forms.find_subject(principal("eng", scope=Scope.GROUP, namespace="b")) is None


@pytest.mark.parametrize("name", ["", "  ", "\t\n"])
def test_blank_names_match_no_user(name: str) -> None:
    blank = Identity(users=(Subject(scope=Scope.USER, name=name),), groups=(Subject(scope=Scope.GROUP, name=name),))
    assert is_blank(principal(name))
    assert principal_keys_of(blank).keys == {}
    assert principal_keys_of(ANONYMOUS_IDENTITY).find_subject(principal("\u00ad", fold=True)) is None


def test_groups_of_the_user_are_matched_by_the_first_label_but_reached_ones_are_not() -> None:
    signed_in, reached = group("eng@corp.example.com"), group("all@corp.example.com")
    forms = principal_keys_of(Identity(groups=(signed_in,), reached={reached: signed_in}))
    assert forms.find_subject(principal("corp\\eng", scope=Scope.GROUP)) == signed_in
    assert forms.find_subject(principal("corp\\all", scope=Scope.GROUP)) is None
    assert forms.find_subject(principal("CORP.example.com\\ALL", scope=Scope.GROUP, fold=True)) == reached


def test_forms_trace_a_reached_group_back_to_who_signed_in() -> None:
    bob, staff, eng, loop = user("bob"), group("staff"), group("eng"), group("loop")
    forms = principal_keys_of(Identity(users=(bob,), reached={staff: bob, eng: staff, loop: loop}))
    assert forms.trace(eng) == (bob, staff, eng)
    assert forms.trace(bob) == (bob,)
    assert set(forms.trace(loop)) == {loop}


def test_read_subject_drops_white_space_and_splits() -> None:
    assert read_subject(Scope.USER, " CORP\\bob ", "A") == Subject(scope=Scope.USER, name="bob", domain="CORP", namespace="A")


@pytest.mark.parametrize(("domain", "count"), [("", 2), ("corp", 2), ("corp.example.com", 4)])
def test_signed_in_keys_are_four_where_the_domain_has_several_labels(domain: str, count: int) -> None:
    subject = Subject(scope=Scope.USER, name="bob", domain=domain)
    assert len(set(signed_in_keys(subject))) == count


@given(NAMES, NAMES)
def test_key_of_every_notation_is_the_same(name: str, domain: str) -> None:
    for fold in (False, True):
        keys = {key_of(principal(text, fold=fold)) for text in (f"{domain}\\{name}", f"{domain}/{name}", f"{name}@{domain}")}
        assert len(keys) == 1


@given(NAMES, NAMES, NAMES)
def test_folded_key_of_every_case_variant_is_the_same(name: str, domain: str, namespace: str) -> None:
    subjects = [
        Subject(scope=Scope.GROUP, name=change(name), domain=change(domain), namespace=change(namespace))
        for change in (str, str.upper, str.lower, str.swapcase)
    ]
    assert len({folded_key(subject) for subject in subjects}) == 1
    assert len({exact_key(subject) for subject in subjects}) == len(set(subjects))
