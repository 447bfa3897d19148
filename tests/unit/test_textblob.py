import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.textblob import (
    QUOTED,
    UNQUOTED,
    decode_headings,
    decode_link_urls,
    decode_links,
    decode_main_and_navigation,
    decode_quotable_navigation,
    decode_quotable_text,
    decode_text,
    decode_whole,
    encode_text,
)
from feedmill.model.errors import Corrupt
from feedmill.model.extraction import Link

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\x1f"), max_size=8)
LINKS = st.lists(st.builds(Link, url=LINE.filter(bool), text=LINE), max_size=5)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=UNQUOTED + QUOTED + "\ufdd2"))


@given(TEXT, LINKS, st.lists(LINE, max_size=3))
def test_text_links_and_headings_come_back(text: str, links: list[Link], headings: list[str]) -> None:
    data = encode_text(text, links, "\n".join(headings))
    assert (decode_text(data), decode_links(data), decode_link_urls(data)) == (text, links, [link.url for link in links])
    assert decode_headings(data) == "\n".join(headings)
    assert decode_quotable_text(data) == text


@given(st.lists(st.tuples(TEXT, TEXT), max_size=4), TEXT)
def test_passages_that_are_never_quoted_are_searched_alone(parts: list[tuple[str, str]], last: str) -> None:
    marked = "".join(f"{seen}{UNQUOTED}{unquoted}{QUOTED}" for seen, unquoted in parts)
    data = encode_text(f"{marked}{last}{UNQUOTED}to the end", [])
    assert decode_text(data) == "".join(seen + unquoted for seen, unquoted in parts) + last + "to the end"
    assert decode_quotable_text(data) == "".join(f"{seen} " for seen, _ in parts) + last + " "


@given(TEXT, TEXT)
def test_navigation_comes_back_apart_from_the_main_text(text: str, navigation: str) -> None:
    data = encode_text(text, [], "", navigation)
    assert decode_main_and_navigation(data) == (text, navigation)
    assert (decode_quotable_text(data), decode_quotable_navigation(data)) == (text, navigation)
    assert decode_text(data) == "\n".join(filter(None, (text, navigation)))


@given(st.lists(st.tuples(TEXT, TEXT), max_size=4), TEXT, TEXT)
def test_whole_text_is_the_text_and_its_ranges_are_what_may_be_quoted(parts: list[tuple[str, str]], last: str, navigation: str) -> None:
    marked = "".join(f"{seen}{UNQUOTED}{unquoted}{QUOTED}" for seen, unquoted in parts)
    data = encode_text(marked + last, [], "", navigation)
    whole = decode_whole(data)
    assert whole.text == decode_text(data)
    assert [whole.text[start:end] for start, end in whole.main] == [seen for seen in (*(seen for seen, _ in parts), last) if seen]
    assert [whole.text[start:end] for start, end in whole.navigation] == ([navigation] if navigation else [])


def test_passage_of_navigation_that_is_never_quoted_is_searched() -> None:
    data = encode_text("main", [], "", f"menu {UNQUOTED}secret{QUOTED} end")
    assert (decode_main_and_navigation(data)[1], decode_quotable_navigation(data)) == ("menu secret end", "menu   end")


def test_text_with_the_marker_of_navigation_has_none() -> None:
    data = encode_text("one\ufdd2two", [], "", "menu\ufdd2end")
    assert decode_main_and_navigation(data) == ("onetwo", "menuend")


def test_text_that_was_stored_without_headings_has_none() -> None:
    data = b"http://h/a\tb\nx\ty\nthe text\x1f goes on"
    assert (decode_headings(data), decode_text(data)) == ("", "the text\x1f goes on")
    assert decode_links(data) == [Link("http://h/a", "x"), Link("b", "y")]


def test_link_that_holds_separators_keeps_to_itself() -> None:
    data = encode_text("a\nb", [Link("http://h/a\tb", "x\ny"), Link("http://h/c", "z\x1f")])
    assert (decode_text(data), decode_links(data)) == ("a\nb", [Link("http://h/a b", "x y"), Link("http://h/c", "z ")])


@pytest.mark.parametrize("data", [b"", b"no line", b"one line\n"])
def test_what_is_no_text_is_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt):
        decode_text(data)
    with pytest.raises(Corrupt):
        decode_links(data)


@given(st.binary())
def test_any_bytes_are_read_or_corrupt(data: bytes) -> None:
    for decode in (decode_text, decode_links, decode_link_urls, decode_headings):
        try:
            decode(data)
        except Corrupt:
            continue
