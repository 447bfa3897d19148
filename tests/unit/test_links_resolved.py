from urllib.parse import urljoin

from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.urls.links import resolve_links
from feedmill.model.extraction import Link

PAGES = st.sampled_from(
    [
        "http://h.example.com/",
        "http://h.example.com/a/b/c.html",
        "https://h:80/x/?q=/y/",
        "http://h.example.com/a/../b/c",
        "http://h",
        "http://h//a//b",
        "http://h/./a#b",
        "smb://share/a/b",
    ]
)
SEGMENTS = st.sampled_from(["a", "b.html", "..", ".", "c-d", "x%20y", "", "~u", "?q=1", "#f", "e.f.g", "ü"])


def resolve(page: str, *urls: str) -> list[str]:
    return [link.url for link in resolve_links(page, [Link(url=url, text="") for url in urls])]


@given(PAGES, st.sampled_from(["", "/"]), st.lists(SEGMENTS, min_size=1, max_size=4))
def test_links_joined_the_fast_way_are_joined_by_the_rules(page: str, start: str, segments: list[str]) -> None:
    link = start + "/".join(segments)
    target = link.partition("#")[0]
    assert resolve(page, link) == ([urljoin(page, target)] if target else [])


def test_links_become_absolute_and_what_stays_is_left_out() -> None:
    links = ["b.html", "/c", "http://other.org/x#y", "//h/y", "#top", "mailto:a@b", "JavaScript:x()", "", "http://[", "//[", "b.html#x"]
    found = resolve("http://a.com/dir/a.html", *links)
    assert found == [
        "http://a.com/dir/b.html",
        "http://a.com/c",
        "http://other.org/x",
        "http://h/y",
        "http://[",
        "http://a.com/dir/b.html",
    ]
    assert resolve("googleconnector://c/d?e", "x") != []


def test_links_keep_their_anchor_texts() -> None:
    links = [Link(url="/a", text="first"), Link(url="#b", text="stays"), Link(url="c", text="third")]
    assert resolve_links("http://h/x/", links) == (Link("http://h/a", "first"), Link("http://h/x/c", "third"))
