import pytest

from feedmill.core.documents.receipts import final_state
from feedmill.model.access import InheritanceType, Scope
from feedmill.model.feed import FeedState
from feedmill.wire.gsafeed.dtd import DTD
from feedmill.wire.gsafeed.schema import GROUP_ATTRIBUTES, RECORD_ATTRIBUTES
from feedmill.wire.tokens import Unreadable, read_switch, read_word, shorten
from feedmill.wire.xmlstream.front import find_root
from feedmill.wire.xmlstream.reader import Element, XmlReader


@pytest.mark.parametrize("text", ["parent-overrides", "PARENT_OVERRIDES", " Parent_Overrides\n"])
def test_word_is_read_in_any_spelling(text: str) -> None:
    assert read_word(text, InheritanceType, "inheritance-type") is InheritanceType.PARENT_OVERRIDES


def test_word_that_is_missing_or_unknown_says_what_is_allowed() -> None:
    with pytest.raises(Unreadable, match="scope is missing; it is one of user, group"):
        read_word(" ", Scope, "scope")
    with pytest.raises(Unreadable, match='scope="role" is none of user, group'):
        read_word("role", Scope, "scope")


@pytest.mark.parametrize(("text", "read"), [("true", True), (" FALSE ", False), ("", None), (None, None), ("1", "unreadable")])
def test_switch_is_true_false_or_unreadable(text: str | None, read: object) -> None:
    assert read_switch(text) == read


def test_text_for_a_message_is_cut() -> None:
    assert shorten("x" * 100) == "x" * 100
    assert shorten("x" * 101) == "x" * 100 + "..."


@pytest.mark.parametrize(
    ("included", "errors", "acls", "state"),
    [
        (0, 0, 0, FeedState.COMPLETED),
        (1, 1, 0, FeedState.COMPLETED_WITH_ERRORS),
        (0, 1, 1, FeedState.COMPLETED_WITH_ERRORS),
        (0, 1, 0, FeedState.FAILED_IN_ERROR),
    ],
)
def test_feed_ends_by_its_counts(included: int, errors: int, acls: int, state: FeedState) -> None:
    assert final_state(included=included, errors=errors, acls=acls) is state


def test_dtd_names_what_is_read_and_what_connectors_look_for() -> None:
    assert "<!ELEMENT acl " in DTD
    for name in GROUP_ATTRIBUTES | RECORD_ATTRIBUTES:
        assert f"\n  {name} " in DTD


@pytest.mark.parametrize(
    ("head", "root"),
    [
        (b"<gsafeed>", "gsafeed"),
        (b"\n<?xml version='1.0'?><!DOCTYPE x []><!-- <a> --><?pi <b> ?>\n<xmlgroups/>", "xmlgroups"),
        ("<xmlgroups>".encode("utf-16"), "xmlgroups"),
        (b"<!---->" * 10_000 + b"< ", None),
        (b"", None),
        (b"text", None),
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>", None),
    ],
)
def test_root_is_found_in_the_first_bytes(head: bytes, root: str | None) -> None:
    assert find_root(head) == root


def test_reader_returns_text_of_an_element_and_cuts_what_is_not_read_in_parts() -> None:
    got: list[str] = []
    reader = XmlReader("r", Element(children={"t": Element(text=True, end=got.append)}))
    reader.feed(b"<r><t> a<x>b</x>c </t><u>no</u>")
    reader.feed(b"<t>")
    for _ in range(5):
        reader.feed(b"x" * 60_000)
    reader.feed(b"</t></r>")
    reader.close()
    assert got[0] == " abc "
    assert 65_536 <= len(got[1]) < 300_000
