import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.textblob import decode_link_urls, decode_links, decode_text, encode_text
from feedmill.model.errors import Corrupt
from feedmill.model.extraction import Link

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), max_size=8)
LINKS = st.lists(st.builds(Link, url=LINE.filter(bool), text=LINE), max_size=5)


@given(st.text(st.characters(exclude_categories=["Cs"])), LINKS)
def test_text_and_links_come_back(text: str, links: list[Link]) -> None:
    data = encode_text(text, links)
    assert (decode_text(data), decode_links(data), decode_link_urls(data)) == (text, links, [link.url for link in links])


def test_link_that_holds_separators_keeps_to_itself() -> None:
    data = encode_text("a\nb", [Link("http://h/a\tb", "x\ny"), Link("http://h/c", "z\t")])
    assert (decode_text(data), decode_links(data)) == ("a\nb", [Link("http://h/a b", "x y"), Link("http://h/c", "z ")])


@pytest.mark.parametrize("data", [b"", b"no line", b"one line\n"])
def test_what_is_no_text_is_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt):
        decode_text(data)
    with pytest.raises(Corrupt):
        decode_links(data)


@given(st.binary())
def test_any_bytes_are_read_or_corrupt(data: bytes) -> None:
    for decode in (decode_text, decode_links, decode_link_urls):
        try:
            decode(data)
        except Corrupt:
            continue
