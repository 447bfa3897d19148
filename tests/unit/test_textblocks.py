from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.textblocks import MAX_BLOCKS, Block, split_blocks
from feedmill.model.extraction import Link

URL = "http://a.com/1"


def show(text: str, blocks: list[Block]) -> list[tuple[str, bool, str]]:
    return [(text[block.start : block.end], block.is_heading, block.link) for block in blocks]


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
    assert [block.is_heading for block in split_blocks(text, "Costs", links)] == [False, False, False]
    assert [block.is_heading for block in split_blocks(text, "Costs", [])] == [True, False, True]
    assert show("Costs", split_blocks("Costs", "Costs", links)) == [("Costs", True, URL)]


def test_blocks_are_limited_and_hold_the_whole_text() -> None:
    text = "a\n" * (MAX_BLOCKS + 2)
    blocks = split_blocks(text)
    assert len(blocks) == MAX_BLOCKS + 1
    assert text[blocks[-1].start : blocks[-1].end] == "a\na"


@given(st.text(st.sampled_from("ab \n\t\r\u2028é")), st.text(st.sampled_from("ab \n")))
def test_blocks_hold_everything_but_white_space(text: str, headings: str) -> None:
    blocks = split_blocks(text, headings)
    assert "".join("".join(text[block.start : block.end] for block in blocks).split()) == "".join(text.split())
    assert all(one.end <= two.start for one, two in pairwise(blocks))
