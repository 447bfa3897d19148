from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.documents.anchors import (
    MAX_SOURCES,
    MAX_TARGETS,
    MAX_TEXTS,
    NO_INCOMING_LINKS,
    TEXT_CHARACTERS,
    combine_link_texts,
    list_link_texts,
    rank_by_links,
)
from feedmill.model.extraction import Link

PAGE = "http://h/page"
TEXTS = st.lists(st.sampled_from(["Travel", "travel", "Forms ", "", "x" * 90, "naïve", "NAÏVE"]), max_size=80)


def test_list_link_texts_joins_different_texts_of_one_target_and_leaves_out_the_page_itself() -> None:
    links = [Link("http://h/a", "one"), Link(PAGE, "self"), Link("http://h/a", "two"), Link("http://h/a", "one"), Link("http://h/b", "")]
    assert list_link_texts(PAGE, links) == {"http://h/a": "one two", "http://h/b": ""}


def test_list_link_texts_is_bounded_and_takes_no_address_for_a_text() -> None:
    links = [Link(f"http://h/{number}", "many words " * 99) for number in range(MAX_TARGETS * 2)] + [Link("http://h/0", "late")]
    texts = list_link_texts(PAGE, links)
    assert len(texts) == MAX_TARGETS
    assert {len(text) for text in texts.values()} == {TEXT_CHARACTERS}
    assert list_link_texts(PAGE, [Link("http://h/a", "http://h/a")]) == {"http://h/a": ""}


def test_combine_link_texts_repeats_what_many_say_by_steps() -> None:
    assert combine_link_texts([]) == NO_INCOMING_LINKS
    assert combine_link_texts(["Forms", "Travel", "travel"]).texts == ("Forms", "Travel")
    assert combine_link_texts(["forms", *["Travel"] * 4]).texts == ("Travel", "Travel", "forms")
    assert combine_link_texts(["home"] * 17) == combine_link_texts(["home"] * 30)
    assert len(combine_link_texts([f"text {number}" for number in range(50)]).texts) == MAX_TEXTS


@given(TEXTS, st.randoms())
def test_combine_link_texts_does_not_depend_on_the_order(texts: list[str], random: object) -> None:
    mixed = sorted(texts, key=lambda text: hash((text, id(random))))
    assert combine_link_texts(mixed) == combine_link_texts(texts)


@given(st.integers(0, 200), st.integers(0, 200))
def test_rank_by_links_grows_by_steps_up_to_100(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert 0 <= rank_by_links(low) <= rank_by_links(high) <= 100
    assert (rank_by_links(0), rank_by_links(MAX_SOURCES)) == (0, 100)
