"""Which links are crawled, and under which URL."""

import pytest

from feedmill.core.crawling.linkrules import LinkRules, is_endless

SESSIONS = ("jsessionid", "PHPSESSID")
EVERYTHING = LinkRules(follow=["/"], start=["https://start.example.com/a"], allow_private=["10.1.2.3/"], session_parameters=SESSIONS)
NAMED = LinkRules(
    follow=["www.example.com/", "-www.example.com/private/", "file://files/", "smb://files/", "ftp://files/"],
    do_not_follow=[".zip$"],
    duplicate_hosts={"example.com": "www.example.com", "old.example.com:8080": "www.example.com"},
    session_parameters=SESSIONS,
    max_url_characters=60,
)


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("http://www.example.com/a?b=c", "http://www.example.com/a?b=c"),
        ("HTTP://WWW.Example.com/A", "http://www.example.com/A"),
        ("https://www.example.com", "https://www.example.com"),
        ("file://files/docs/", "file://files/docs/"),
        ("smb://files/docs/", "smb://files/docs/"),
        ("ftp://files/docs/", None),
        ("http://example.com/a", "http://www.example.com/a"),
        ("http://old.example.com:8080/a", "http://www.example.com/a"),
        ("http://www.example.com/a;jsessionid=12AB?x=1", "http://www.example.com/a?x=1"),
        ("http://www.example.com/a;JSESSIONID=12AB/b", "http://www.example.com/a/b"),
        ("http://www.example.com/a?PHPSESSID=12&x=1", "http://www.example.com/a?x=1"),
        ("http://www.example.com/a?phpsessid=12", "http://www.example.com/a"),
        ("http://www.example.com/a?phpsessids=12", "http://www.example.com/a?phpsessids=12"),
        ("http://other.example.org/", None),
        ("http://www.example.com/private/a", None),
        ("http://www.example.com/a.zip", None),
        ("ftp://www.example.com/a", None),
        ("http://www.example.com/a/no_crawl/b", None),
        ("http://www.example.com/a?b=/no_crawl/b", "http://www.example.com/a?b=/no_crawl/b"),
        ("http://www.example.com/" + "a" * 60, None),
    ],
)
def test_link_with_named_hosts_is_followed_to_these(link: str, target: str | None) -> None:
    assert NAMED.find_target(link) == target
    assert NAMED.find_target(link, crawled_page="http://other.example.org/") == target


@pytest.mark.parametrize(
    ("link", "page", "is_followed"),
    [
        ("http://a.example.com/b", "http://a.example.com/", True),
        ("https://a.example.com/b", "http://a.example.com/", True),
        ("http://a.example.com:81/b", "http://a.example.com/", False),
        ("http://b.example.com/b", "http://a.example.com/", False),
        ("http://a.example.com/b", "", False),
        ("http://start.example.com/b", "", True),
        ("http://10.1.2.3:8080/b", "", True),
    ],
)
def test_link_without_named_hosts_stays_near(link: str, page: str, is_followed: bool) -> None:
    assert EVERYTHING.find_target(link, crawled_page=page) == (link if is_followed else None)


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/a/b/c/d/e/f/g/h", False),
        ("/2024/01/01/01/", False),
        ("/a/a/a/a/", True),
        ("/x/calendar/next/calendar/next/calendar/next/calendar/next", True),
        ("/a/b/c/a/b/c/a/b/c/a/b/c", True),
        ("/a" * 3 + "/ab", False),
        ("/" + "/".join(map(str, range(41))), True),
        ("/a?" + "&".join(f"b{n}=1" for n in range(40)), False),
        ("/a?" + "&".join(f"b{n}=1" for n in range(41)), True),
    ],
)
def test_path_that_repeats_itself_is_endless(path: str, is_one: bool) -> None:
    assert is_endless(path) is is_one


@pytest.mark.parametrize(
    ("page", "target", "url"),
    [
        ("http://web.test/a", "http://web.test/b;sid=1", "http://web.test/b"),
        ("http://web.test/a", "http://web.test/a;sid=1", ""),
        ("HTTP://Web.test/a", "http://web.test/a?sid=1", ""),
        ("http://web.test/a", "http://mirror.test/a", ""),
        ("http://mirror.test/a", "http://web.test/a", "http://web.test/a"),
        ("http://web.test/a", "https://web.test/a", "https://web.test/a"),
    ],
)
def test_redirect_is_crawled_under_its_target_unless_that_is_the_page(page: str, target: str, url: str) -> None:
    rules = LinkRules(follow=["/"], duplicate_hosts={"mirror.test": "web.test"}, session_parameters=["sid"])
    assert rules.find_redirected(page, target) == url
