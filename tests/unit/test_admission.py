import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.documents.admission import build_rules, digest_of_rules
from feedmill.model.errors import BadRequest


def test_refusal_of_url_that_passes_is_none() -> None:
    rules = build_rules(["docs.test/"], ["docs.test/private/"], [], [])

    assert rules.refusal("http://docs.test/a") is None


@pytest.mark.parametrize(
    ("url", "part"), [("http://docs.test/private/a", "'docs.test/private/'"), ("http://other.test/", "matches no follow pattern")]
)
def test_refusal_of_url_that_does_not_pass_names_the_pattern(url: str, part: str) -> None:
    rules = build_rules(["docs.test/"], ["docs.test/private/"], [], [])

    assert part in (rules.refusal(url) or "")


def test_make_public_is_what_the_first_access_rule_says() -> None:
    rules = build_rules(["/"], [], [("docs.test/open/", True), ("docs.test/", False)], ["hr"])

    assert rules.make_public("http://docs.test/open/a") is True
    assert rules.make_public("http://docs.test/a") is False
    assert rules.make_public("http://other.test/a") is None
    assert rules.secure_sources == {"hr"}


def test_build_rules_with_exception_as_access_rule_says_what_to_write() -> None:
    with pytest.raises(BadRequest, match=r"crawl\.access, entry 2: '-docs.test/'"):
        build_rules(["/"], [], [("docs.test/", False), ("-docs.test/", True)], [])


Values = tuple[list[str], list[str], list[tuple[str, bool]], list[str], int]
_values = st.tuples(
    st.lists(st.text(max_size=3), max_size=3),
    st.lists(st.text(max_size=3), max_size=3),
    st.lists(st.tuples(st.text(max_size=3), st.booleans()), max_size=3),
    st.lists(st.text(max_size=3), max_size=3),
    st.integers(min_value=0, max_value=3),
)


@given(left=_values, right=_values)
def test_digest_is_equal_exactly_for_equal_policies(left: Values, right: Values) -> None:
    def admission(values: Values) -> object:
        return (*values[:3], set(values[3]), values[4])

    assert (digest_of_rules(*left) == digest_of_rules(*right)) is (admission(left) == admission(right))


def test_digest_does_not_depend_on_the_order_of_sources() -> None:
    assert digest_of_rules([], [], [], ["a", "b"], 0) == digest_of_rules([], [], [], ["b", "a", "a"], 0)
