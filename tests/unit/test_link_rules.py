"""Which links are crawled, and under which URL."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.crawling.linkrules import LinkRules, is_calendar_step, is_endless

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


@given(link=st.sampled_from(["http://a.example.com/b", "http://b.example.com/" + "c" * 600]), page=st.sampled_from(["a", "b"]))
def test_answer_for_a_link_depends_on_the_page_however_often_it_was_asked(link: str, page: str) -> None:
    host = f"http://{page}.example.com/"
    assert (EVERYTHING.find_target(link, crawled_page=host) == link) is link.startswith(host)


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


@pytest.mark.parametrize(
    ("page", "link", "is_step"),
    [
        ("http://h/cal/2028/12/", "http://h/cal/2029/01/", True),
        ("http://h/cal/2028/12/", "http://h/cal/2028/11/", False),
        ("http://h/cal?year=2028&month=12", "http://h/cal?year=2029&month=1", True),
        ("http://h/cal?d=2028-12-31", "http://h/cal?d=2029-01-01", True),
        ("http://h/article/2098", "http://h/article/2099", False),
        ("http://h/plans/", "http://h/plans/2035/06/", False),
        ("http://h/news/1923/05/", "http://h/news/1923/06/", False),
        ("http://h/a/20981/5", "http://h/a/20991/5", False),
        ("http://h/a/2098/50", "http://h/a/2099/50", False),
    ],
)
def test_calendar_ends_after_two_years(page: str, link: str, is_step: bool) -> None:
    assert is_calendar_step(page, link, date(2026, 3, 1)) is is_step


@given(st.dates(min_value=date(2010, 1, 1), max_value=date(2090, 1, 1)), st.sampled_from(["/c/%Y/%m/", "/c?m=%Y-%m", "/c/%Y_%m.html"]))
def test_calendar_without_end_has_an_end_and_loses_nothing_before(today: date, form: str) -> None:
    month, followed = today.replace(day=1), 0
    while followed < 1_000:
        following = (month + timedelta(days=31)).replace(day=1)
        if is_calendar_step(f"http://h{month.strftime(form)}", f"http://h{following.strftime(form)}", today):
            break
        month, followed = following, followed + 1
    assert 24 <= followed < 36
