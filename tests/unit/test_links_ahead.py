"""The links of the crawled pages whose entries were written last."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.document import BlobRef, Text
from feedmill.model.extraction import Link
from feedmill.services.indexing.linksahead import LinksAhead
from tests.builders.documents import make_document

PAGE = make_document("http://docs.test/page", id=7, version=3)
A, B = Link("http://docs.test/a", "Annual figures"), Link("http://docs.test/b", "")


def test_links_are_known_for_the_version_that_was_written() -> None:
    ahead = LinksAhead()
    ahead.put(PAGE, [A, B, A])

    assert ahead.find_links(PAGE) == [A, B, A]
    assert ahead.find_texts(PAGE) == {A.url: "Annual figures", B.url: ""}
    extracted_again = Text(source=BlobRef("other"))
    for other in (replace(PAGE, version=4), replace(PAGE, text=extracted_again), replace(PAGE, id=8)):
        assert (ahead.find_links(other), ahead.find_texts(other), ahead.is_followed(other)) == (None, None, False)


def test_only_the_version_that_was_followed_counts_as_followed() -> None:
    ahead = LinksAhead()
    ahead.put(PAGE, [A])
    ahead.note_followed([replace(PAGE, version=2)])
    assert not ahead.is_followed(PAGE)
    ahead.note_followed([PAGE])
    assert ahead.is_followed(PAGE)
    ahead.put(PAGE, [A])
    assert not ahead.is_followed(PAGE)


@given(
    pages=st.lists(st.tuples(st.integers(1, 6), st.lists(st.sampled_from("abcdef"), max_size=6)), max_size=30),
    dropped=st.sets(st.integers(1, 6)),
    max_links=st.integers(0, 20),
)
def test_sources_of_a_url_are_the_pages_in_memory_that_link_to_it(
    pages: list[tuple[int, list[str]]], dropped: set[int], max_links: int
) -> None:
    ahead = LinksAhead(max_links)
    for key, names in pages:
        ahead.put(replace(PAGE, id=key), [Link(f"http://docs.test/{name}", name) for name in names])
    ahead.drop(dropped)

    kept = {key: ahead.find_links(replace(PAGE, id=key)) for key in range(1, 7)}
    last = dict(pages)
    assert sum(len(links) for links in kept.values() if links is not None) <= max_links
    for key, links in kept.items():
        assert links is None or (key not in dropped and [link.text for link in links] == last[key])
    for name in "abcdef":
        linking = {key for key, links in kept.items() if links is not None and name in [link.text for link in links]}
        assert set(ahead.list_sources(f"http://docs.test/{name}")) == linking
