"""Structures as readers mark them, and as they are stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.clean import CONTROLS, clean_text, squeeze
from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.structure import END, build_structure, mark, mark_numbers, only_structure, without_structure
from feedmill.core.text.structure import MAX_EVENTS, MAX_NUMBER, Kind, Space, Structure, decode_structure, encode_structure
from feedmill.core.text.textblob import decode_headings, decode_links, decode_main_text, decode_stored_structure, decode_text, encode_text
from feedmill.core.text.textblocks import Block, build_blocks
from feedmill.model.extraction import ExtractionLimits, Link, Task

MARKED = [kind for kind in Kind if kind not in (Kind.NOTHING, Kind.NUMBER)]
ANY_TEXT = st.text(
    st.characters(codec=None) | st.sampled_from("a \t\n\r\f\x01\x02\x1b\x7f\xa0\u2009\u200b\u2028\u202e\u3000\ufeff\U0001ffff")
)
TREES = st.recursive(
    st.text(st.sampled_from("ab éя\n\t&")).map(lambda text: text.replace("&", "&amp;")),
    lambda children: st.builds(
        lambda tag, inside: f"<{tag}>{''.join(inside)}</{tag}>",
        st.sampled_from(
            (
                *("p", "div", "h1", "h3", "ul", "ol", "li", "dl", "dt", "dd", "table", "tr", "td", "th", "caption", "pre", "blockquote"),
                *("b", "em", "code", "a href='/x'", "a href='mailto:x'", "nav", "main", "header", "span"),
            )
        ),
        st.lists(children, max_size=4),
    ),
    max_leaves=25,
)


def read_structure(stored: str) -> list[tuple[Kind, int]]:
    return [(kind, place) for kind, place in decode_structure(stored).events]


def list_spans(blocks: list[Block]) -> list[tuple[int, int]]:
    return [place for block in blocks for place in [(span.start, span.end) for span in block.spans] + list_spans(block.blocks)]


def test_stored_structure_is_read_as_it_was_written() -> None:
    spaces = [Space(3, 0, 1, 4), Space(5, MAX_NUMBER + 1, 0, 2)]
    stored = encode_structure("tz", [0, 2 * MAX_NUMBER + 5], [1, 7], spaces)
    found = decode_structure(stored)
    assert [event for event in found.events if event.kind is not Kind.NOTHING] == [(Kind.TABLE, 0), (Kind.END, 2 * MAX_NUMBER + 5)]
    assert found.unstored == {1, 7}
    assert found.spaces == [(3, 0, 1, 4), (5, MAX_NUMBER, 0, 2)]


@pytest.mark.parametrize("stored", ["", "u", "u\t\t", "uu \t\t", "x \t\t", "u\x1f\t\t", "u \t\t  ", "u \t\x1f\t", "u \t\t\t"])
def test_invalid_structure_is_none(stored: str) -> None:
    assert decode_structure(stored) == Structure()


@given(st.text() | st.lists(st.text(st.sampled_from("utzra !0\x1f"))).map("\t".join))
def test_reading_any_structure_never_fails(stored: str) -> None:
    assert len(decode_structure(stored).events) <= MAX_EVENTS


@given(ANY_TEXT)
def test_squeezed_text_has_a_byte_for_each_character_that_is_kept(text: str) -> None:
    assert len(squeeze(text).translate(None, CONTROLS)) == len("".join(clean_text(text, 10_000_000).split()))


@given(st.lists(st.sampled_from(["a", " b", "\n", "é", *map(mark, MARKED)])))
def test_marks_leave_no_trace_in_a_text(pieces: list[str]) -> None:
    marked = "".join(pieces)
    plain = "".join(piece for piece in pieces if piece[0] != END[0])
    assert without_structure(marked) == plain
    assert clean_text(marked, 1000) == clean_text(plain, 1000)
    assert only_structure(marked) == "".join(piece for piece in pieces if piece[0] == END[0])
    events = [event for event in read_structure(build_structure(marked, ())) if event[0] is not Kind.NOTHING]
    assert [event[0] for event in events] == [kind for piece in pieces for kind in MARKED if piece == mark(kind)]


@given(
    st.lists(st.tuples(st.sampled_from(MARKED), st.lists(st.integers(-130_000, 130_000), max_size=3), st.text(st.sampled_from("a é\n"))))
)
def test_numbers_belong_to_the_mark_before_them(pieces: list[tuple[Kind, list[int], str]]) -> None:
    marked = "".join(mark(kind) + mark_numbers(*numbers) + text for kind, numbers, text in pieces)
    assert without_structure(marked) == "".join(text for _, _, text in pieces)
    found = decode_structure(build_structure(only_structure(marked), ()))
    assert [event.kind for event in found.events] == [kind for kind, _, _ in pieces]
    assert [found.numbers.get(place, ()) for place in range(len(pieces))] == [tuple(numbers) for _, numbers, _ in pieces]


def test_numbers_that_are_too_large_are_left_out() -> None:
    assert mark_numbers(10**9, -(10**9)) == ""


@pytest.mark.parametrize("letters", ["#i#t", "t##", "t#i", "t#u#", "ti#", "t#iiiiiiiiiii#"])
def test_numbers_of_nothing_and_without_an_end_are_no_numbers(letters: str) -> None:
    found = decode_structure(f"{letters}{' ' * len(letters)}\t\t")
    assert found.events
    assert build_blocks("a", found)
    assert {place for place in found.numbers if place >= 0} == set()


def test_characters_of_the_document_that_begin_a_mark_move_nothing() -> None:
    for stranger in ("\x01b \x02", "\x01… \x02", "b\x01c\x1f \x1b", "\x01\x7fb "):
        marked = f"a{stranger}{mark(Kind.STRONG)}cd{END}\x01"
        first = len("".join(clean_text(marked, 100).split())) - 2
        assert read_structure(build_structure(marked, ())) == [(Kind.STRONG, first), (Kind.END, first + 2)]
        assert clean_text(marked, 100) in ("ab cd", "a… cd", "abc cd")


@given(st.lists(st.sampled_from(["a", "…", " ", "\x01", "\x02", "\x1f", "\x7f", mark(Kind.TABLE), END])).map("".join))
def test_structure_of_a_text_with_control_characters_is_valid(marked: str) -> None:
    stored = build_structure(marked, ())
    text = clean_text(marked, 1000)
    structure = decode_structure(stored)
    assert bool(structure.events) is bool(stored)
    assert all(event.place <= len("".join(text.split())) for event in structure.events)


def read(body: str) -> tuple[str, Structure, str]:
    task = Task(key=1, url="http://a.com/dir/page.html", mimetype="text/html", data=f"<html><body>{body}</body></html>".encode())
    found = extract(task, ExtractionLimits())
    stored = encode_text(found.text, found.links, found.headings, found.navigation, found.structure)
    assert decode_headings(stored) == found.headings
    return decode_main_text(stored), decode_structure(decode_stored_structure(stored)), decode_text(stored)


def test_page_has_its_structure() -> None:
    text, structure, _ = read("<h2>Costs</h2><ul><li>One <b>two</b><li><a href=x>three</a></ul><table><tr><th>a<td>b</table>")
    assert text == "Costs\nOne two\nthree\na\nb"
    assert "".join(kind for kind, _ in structure.events) == "Bzuisziazztrhcz"
    assert [place for _, place in structure.events] == [0, 5, 5, 5, 8, 11, 11, 11, 16, 16, 16, 16, 16, 17, 18]


def test_structure_is_found_where_a_line_ends_within_a_tag() -> None:
    _, structure, _ = read("<UL\nclass=x><li\n>One<li\tid=x>two</UL>")
    assert [kind for kind, _ in structure.events] == [Kind.UNORDERED, Kind.ITEM, Kind.ITEM, Kind.END]


def test_links_that_are_not_stored_are_known() -> None:
    body = "A <a href='mailto:a@b.com'>mail</a>, <a href='#x'>place</a>, <a rel=nofollow href=y>other</a>, <a href=x>page</a>"
    text, structure, _ = read(f"<p>{body} of this text with many other words so that it is no menu.</p>")
    assert structure.unstored == {0}
    blocks = build_blocks(text, structure, links=[Link(url="http://a.com/dir/x", text="page")])
    assert [text[span.start : span.end] for span in blocks[0].spans if span.link] == ["page"]


def test_preformatted_text_keeps_its_white_space_beside_the_text() -> None:
    text, structure, _ = read("<p>one\ntwo</p><pre>\n  def f():\n\treturn <b>1</b>   # x\n\n\ny  </pre><p>end\nof it</p>")
    assert text == "one two\ndef f():\nreturn 1 # x\ny\nend of it"
    assert structure.spaces == [(0, 0, 0, 2), (1, 0, 0, 8), (1, 9, 0, 2), (2, 0, 2, 0)]


@given(st.lists(TREES).map("".join))
def test_blocks_of_any_page_hold_the_stored_text_once_and_in_order(body: str) -> None:
    text, structure, _ = read(body)
    places = list_spans(build_blocks(text, structure, links=[Link(url="http://a.com/x", text="")]))
    assert places == sorted(places)
    assert "".join("".join(text[start:end] for start, end in places).split()) == "".join(text.split())


def test_line_ends_of_a_page_count_within_pre_only() -> None:
    for end in ("\n", "\r\n", "\r"):
        assert read(f"<p>one{end}two</p><PRE>three{end}four</PRE><p>five{end}six</p>")[0] == "one two\nthree\nfour\nfive six"


def test_links_keep_their_numbers_beside_a_structure() -> None:
    stored = encode_text("text", [Link(url="http://a.com/x", text="one"), Link(url="http://a.com/y", text="two")], "", "", "uz  \t\t")
    assert decode_links(stored) == [("http://a.com/x", "one"), ("http://a.com/y", "two")]
    assert (decode_headings(stored), decode_text(stored)) == ("", "text")
    assert read_structure(decode_stored_structure(stored)) == [(Kind.UNORDERED, 0), (Kind.END, 0)]
    assert decode_stored_structure(encode_text("text", [], "Heading")) == ""
