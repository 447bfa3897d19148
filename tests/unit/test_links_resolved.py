from urllib.parse import urljoin

from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.indexterms import resolve_links

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


@given(PAGES, st.sampled_from(["", "/"]), st.lists(SEGMENTS, min_size=1, max_size=4))
def test_links_joined_the_fast_way_are_joined_by_the_rules(page: str, start: str, segments: list[str]) -> None:
    link = start + "/".join(segments)
    expected = () if not link or link.startswith("#") else (urljoin(page, link),)
    assert resolve_links(page, [link]) == expected
