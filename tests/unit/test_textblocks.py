from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.structure import HEADINGS, Event, Kind, Space, Structure
from feedmill.core.text.textblocks import MAX_BLOCKS, MAX_DEPTH, Block, build_blocks, split_blocks
from feedmill.model.extraction import Link

URL = "http://a.com/1"

Shown = tuple[str | None, "str | list[Shown]"]


def show(text: str, blocks: list[Block]) -> list[tuple[str, bool, str]]:
    return [(text[block.start : block.end], block.kind in HEADINGS, block.spans[0].link) for block in blocks]


def outline(text: str, blocks: list[Block]) -> list[Shown]:
    return [(block.kind, text[block.start : block.end] if block.spans else outline(text, block.blocks)) for block in blocks]


def build(text: str, *events: tuple[Kind, int], links: list[Link] | None = None, unstored: tuple[int, ...] = ()) -> list[Block]:
    found = [Event(*event) for event in events]
    return build_blocks(text, Structure(events=found, unstored=frozenset(unstored)), links=links or [])


def list_leaves(blocks: list[Block]) -> list[Block]:
    return [leaf for block in blocks for leaf in ([block] if block.spans else list_leaves(block.blocks))]


def test_headings_and_whole_lines_of_links_are_known() -> None:
    text = "Travel\nWho travels writes a report.\nThe form\n\n  Costs "
    blocks = split_blocks(text, "Costs\nTravel", [Link(url=URL, text="The  form"), Link(url=URL, text="report")])
    assert show(text, blocks) == [
        ("Travel", True, ""),
        ("Who travels writes a report.", False, ""),
        ("The form", False, URL),
        ("Costs", True, ""),
    ]


def test_text_of_links_to_several_urls_is_no_link() -> None:
    links = [Link(url=URL, text="more"), Link(url="http://a.com/2", text="more"), Link(url=URL, text="more")]
    assert show("more", split_blocks("more", "", links)) == [("more", False, "")]


def test_entry_of_a_table_of_contents_is_a_link_and_no_heading() -> None:
    text = "Costs\nSome text\nCosts"
    links = [Link(url=URL, text="Costs")]
    assert [block.kind for block in split_blocks(text, "Costs", links)] == [None, None, None]
    assert [block.kind for block in split_blocks(text, "Costs", [])] == [Kind.HEADING_1, None, Kind.HEADING_1]
    assert show("Costs", split_blocks("Costs", "Costs", links)) == [("Costs", True, URL)]


def test_blocks_are_limited_and_hold_the_whole_text() -> None:
    text = "a\n" * (MAX_BLOCKS + 2)
    for blocks in (split_blocks(text), build(text, (Kind.QUOTE, 0))):
        leaves = list_leaves(blocks)
        assert len(leaves) == MAX_BLOCKS + 1
        assert text[leaves[-1].start : leaves[-1].end] == "a\na"


@given(st.text(st.sampled_from("ab \n\t\r\u2028é")), st.text(st.sampled_from("ab \n")))
def test_blocks_hold_everything_but_white_space(text: str, headings: str) -> None:
    blocks = split_blocks(text, headings)
    assert "".join("".join(text[block.start : block.end] for block in blocks).split()) == "".join(text.split())
    assert all(one.end <= two.start for one, two in pairwise(blocks))


def test_lists_are_nested_and_items_end_one_another() -> None:
    blocks = build(
        "One\nTwo\ninner\nback\nbehind",
        *((Kind.UNORDERED, 0), (Kind.ITEM, 0), (Kind.ITEM, 3), (Kind.ORDERED, 6), (Kind.ITEM, 6), (Kind.END, 11), (Kind.END, 15)),
    )
    assert outline("One\nTwo\ninner\nback\nbehind", blocks) == [
        (
            Kind.UNORDERED,
            [
                (Kind.ITEM, [(None, "One")]),
                (Kind.ITEM, [(None, "Two"), (Kind.ORDERED, [(Kind.ITEM, [(None, "inner")])]), (None, "back")]),
            ],
        ),
        (None, "behind"),
    ]


def test_tables_have_their_empty_cells_and_what_is_before_their_rows_is_a_caption() -> None:
    text = "Costs\na\nb\nc"
    events = [(Kind.TABLE, 0), (Kind.ROW, 5), (Kind.HEADER_CELL, 5), (Kind.HEADER_CELL, 6), (Kind.ROW, 7), (Kind.CELL, 7), (Kind.CELL, 7)]
    assert outline(text, build(text, *events, (Kind.ROW, 8), (Kind.END, 8))) == [
        (None, "Costs"),
        (
            Kind.TABLE,
            [
                (Kind.ROW, [(Kind.HEADER_CELL, [(None, "a")]), (Kind.HEADER_CELL, [(None, "b")])]),
                (Kind.ROW, [(Kind.CELL, []), (Kind.CELL, [(None, "c")])]),
            ],
        ),
    ]


def test_text_beside_the_cells_of_a_table_adds_none() -> None:
    events = [(Kind.TABLE, 0), (Kind.ROW, 0), (Kind.CELL, 1), (Kind.CELL, 2), (Kind.ROW, 3), (Kind.CELL, 4), (Kind.END, 5)]
    assert outline("-\na\nb\n-\nc", build("-\na\nb\n-\nc", *events)) == [
        (None, "-"),
        (
            Kind.TABLE,
            [
                (Kind.ROW, [(Kind.CELL, [(None, "a")]), (Kind.CELL, [(None, "b"), (None, "-")])]),
                (Kind.ROW, [(Kind.CELL, [(None, "c")])]),
            ],
        ),
    ]


def test_text_of_tables_without_cells_stays_in_its_place() -> None:
    nested = build("one two three", (Kind.TABLE, 0), (Kind.TABLE, 3), (Kind.HEADING_1, 6), (Kind.END, 11))
    assert [each.kind for each in nested] == [None, None, Kind.HEADING_1]
    text = "one two"
    behind_empty_rows = build(text, (Kind.TABLE, 0), (Kind.CELL, 0), (Kind.ROW, 3), (Kind.ROW, 3), (Kind.ROW, 3))
    assert [text[each.start : each.end] for each in list_leaves(behind_empty_rows)] == ["one", "two"]


def test_table_that_arranges_a_page_is_not_shown() -> None:
    events = [(Kind.TABLE, 0), (Kind.ROW, 0), (Kind.CELL, 0), (Kind.CELL, 1)]
    inner = [(Kind.TABLE, 1), (Kind.ROW, 1), (Kind.CELL, 1), (Kind.CELL, 2), (Kind.END, 3), (Kind.END, 3)]
    (first, table) = build("a\nb\nc", *events, *inner)
    assert first.kind is None
    assert outline("a\nb\nc", table.blocks) == [(Kind.ROW, [(Kind.CELL, [(None, "b")]), (Kind.CELL, [(None, "c")])])]
    assert outline("a\nb", build("a\nb", (Kind.TABLE, 0), (Kind.CELL, 0), (Kind.ROW, 1), (Kind.CELL, 1))) == [(None, "a"), (None, "b")]


def test_links_and_emphasis_are_parts_of_lines() -> None:
    text = "Read the form and the rest"
    events = [(Kind.STRONG, 0), (Kind.LINK, 4), (Kind.EMPHASIS, 7), (Kind.END, 11), (Kind.END, 14), (Kind.LINK, 14), (Kind.END, 17)]
    (block,) = build(text, *events, (Kind.END, 21), links=[Link(url=URL, text="")], unstored=(1,))
    assert [(text[span.start : span.end], set(span.styles), span.link) for span in block.spans] == [
        ("Read ", {Kind.STRONG}, ""),
        ("the ", {Kind.STRONG}, URL),
        ("form", {Kind.STRONG, Kind.EMPHASIS}, URL),
        (" and", {Kind.STRONG}, URL),
        (" ", {Kind.STRONG}, ""),
        ("the", {Kind.STRONG}, ""),
        (" rest", {Kind.STRONG}, ""),
    ]


def test_preformatted_text_has_its_lines_and_its_white_space() -> None:
    text = "def f():\nreturn\nx = 1\ny\nbehind"
    structure = Structure(
        events=[Event(Kind.PREFORMATTED, 0), Event(Kind.UNORDERED, 3), Event(Kind.END, 4), Event(Kind.END, 17)],
        spaces=[Space(1, 0, 0, 4), Space(2, 0, 1, 4), Space(2, 4, 0, 3)],
    )
    block, behind = build_blocks(text, structure)
    assert block.kind is Kind.PREFORMATTED
    assert "".join(span.before + text[span.start : span.end] for span in block.spans) == "def f():\n    return\n\n    x =    1\n    y"
    assert (behind.kind, text[behind.start : behind.end]) == (None, "behind")


def test_joined_lines_are_one_paragraph_and_headings_count_where_the_structure_has_none() -> None:
    text = "Costs\none\ntwo\nthree"
    blocks = build_blocks(text, Structure(events=[Event(Kind.JOINED, 5), Event(Kind.END, 11)]), "Costs")
    assert outline(text, blocks) == [(Kind.HEADING_1, "Costs"), (None, "one\ntwo"), (None, "three")]


def test_what_is_nested_too_deeply_counts_for_nothing() -> None:
    depth = MAX_DEPTH * 2
    blocks = build("ab", *[(Kind.QUOTE, 0)] * depth, *[(Kind.END, 1)] * depth)
    found = 0
    block = blocks[0]
    while block.kind is Kind.QUOTE:
        found, block = found + 1, block.blocks[0]
    assert found == MAX_DEPTH
    assert blocks[-1].kind is None


@given(
    st.text(st.sampled_from("ab \n\t\u00a0é\U0001f600")),
    st.lists(st.tuples(st.sampled_from(Kind), st.integers(0, 12))),
    st.sets(st.integers(0, 3)),
    st.lists(st.builds(Space, *[st.integers(0, 4)] * 4)),
)
def test_blocks_of_any_structure_hold_everything_once_and_in_order(
    text: str, events: list[tuple[Kind, int]], unstored: set[int], spaces: list[Space]
) -> None:
    found = [Event(kind, place) for kind, place in sorted(events, key=lambda event: event[1])]
    structure = Structure(events=found, unstored=frozenset(unstored), spaces=sorted(spaces))
    spans = [span for leaf in list_leaves(build_blocks(text, structure, "a", [Link(url=URL, text="a")])) for span in leaf.spans]
    assert all(one.end <= two.start for one, two in pairwise(spans))
    assert "".join("".join(text[span.start : span.end] for span in spans).split()) == "".join(text.split())
    assert not any(span.before.strip() for span in spans)
