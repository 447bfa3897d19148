"""The breadcrumbs that the search page shows of a URL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.urls.breadcrumbs import MAX_SHOWN_URL, name_url, split_url


@pytest.mark.parametrize(
    ("url", "crumbs"),
    [
        ("http://example.com", ("example.com",)),
        ("https://example.com:8080/", ("example.com:8080",)),
        ("http://example.com/a/b.html?from=/x#y", ("example.com", "a", "b.html?from=/x#y")),
        ("http://example.com?q=1", ("example.com", "?q=1")),
        ("http://example.com/a//b/", ("example.com", "a", "b")),
        ("http://example.com/a%2Fb/caf%C3%A9", ("example.com", "a/b", "café")),
        ("http://example.com/%E2%80%AEfdp.exe", ("example.com", "fdp.exe")),
        ("http://bank.example@example.com/a", ("bank.example@example.com", "a")),
        ("smb://server/share/a", ("smb://server/share/a",)),
        ("googledb://host/name/1", ("googledb://host/name/1",)),
    ],
)
def test_split_url_returns_host_and_parts(url: str, crumbs: tuple[str, ...]) -> None:
    assert split_url(url) == crumbs


def test_split_url_long_url_keeps_its_host_and_its_end() -> None:
    crumbs = split_url("http://example.com/" + "/".join(f"folder-{number}" for number in range(40)))
    assert crumbs[:2] == ("example.com", "…")
    assert crumbs[-1] == "folder-39"
    assert sum(map(len, crumbs)) <= MAX_SHOWN_URL + 1


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://example.com/folder/plan%20of%20the%20year.pdf", "plan of the year.pdf"),
        ("http://example.com/", "example.com"),
        ("http://example.com?q=1", "example.com?q=1"),
        ("smb://server/share/a", "smb://server/share/a"),
    ],
)
def test_name_url_document_without_a_title_has_the_name_of_its_file(url: str, name: str) -> None:
    assert name_url(url) == name


@given(st.text(max_size=400) | st.text(max_size=400).map("http://{}".format))
def test_split_url_any_text_is_bounded(url: str) -> None:
    crumbs = split_url(url)
    assert crumbs
    assert sum(map(len, crumbs)) <= 3 * (MAX_SHOWN_URL + 1)
