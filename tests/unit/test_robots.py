"""Which URLs a robots.txt permits, and what its absence means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.crawling.robots import MAX_ROBOTS_BYTES, find_agent_name, judge_robots, parse_robots
from feedmill.model.crawling import CrawlState, FetchedPage

AGENT = "gsa-crawler"
SITE = "http://example.com"


def page(status: int, state: CrawlState, body: bytes = b"") -> FetchedPage:
    return FetchedPage(state=state, url=f"{SITE}/robots.txt", http_status=status, body=body)


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: GSA-Crawler\nDisallow: /a\nUser-agent: *\nDisallow: /", "/b", True),
        ("User-agent: gsa-crawler\nDisallow: /a", "/a/b", False),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: crawler\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /\nAllow: /public/", "/public/x", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?page=1", True),
        ("User-agent: a\nUser-agent: gsa-crawler\nDisallow: /a\n", "/a", False),
        ("\ufeffUser-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: *\nDisallow: /%C3%BCber", "/über", False),
        ("<html>not found</html>", "/a", True),
        ("User-agent: *\r\nDisallow: /a # comment\r\n", "/a", False),
    ],
)
def test_rules(text: str, path: str, allowed: bool) -> None:
    assert parse_robots(text.encode(), AGENT).allows(SITE + path) is allowed


@pytest.mark.parametrize(
    ("value", "seconds"), [("5", 5.0), ("0.5", 0.5), ("-1", 0.0), ("nan", 0.0), ("inf", 0.0), ("1e9", 3600.0), ("x", 0.0)]
)
def test_crawl_delay(value: str, seconds: float) -> None:
    assert parse_robots(f"User-agent: *\nCrawl-delay: {value}\n".encode(), AGENT).delay_seconds == seconds


def test_sitemaps_of_all_groups_are_listed_once() -> None:
    text = b"Sitemap: http://example.com/a.xml\nUser-agent: x\nSitemap: http://example.com/b.xml\nSitemap: http://example.com/a.xml\n"
    assert parse_robots(text, AGENT).sitemaps == ("http://example.com/a.xml", "http://example.com/b.xml")


def test_rule_that_the_size_limit_cuts_is_dropped() -> None:
    start = b"User-agent: *\nDisallow: /private\n"
    comment = b"#" * (MAX_ROBOTS_BYTES - len(start) - len(b"\nDisallow: /")) + b"\n"
    rules = parse_robots(start + comment + b"Disallow: /nothing-else\n", AGENT)
    assert not rules.allows(f"{SITE}/private")
    assert rules.allows(f"{SITE}/open")


def test_rule_at_the_end_of_a_cut_fetch_is_dropped() -> None:
    fetched = FetchedPage(state=CrawlState.CRAWLED, url=f"{SITE}/robots.txt", body=b"User-agent: *\nDisallow: /a\nDisallow: /", is_cut=True)
    rules = judge_robots(fetched, AGENT)
    assert (rules.allows(f"{SITE}/a"), rules.allows(f"{SITE}/b")) == (False, True)


@pytest.mark.parametrize(
    ("fetched", "allowed"),
    [
        (page(200, CrawlState.CRAWLED), True),
        (page(200, CrawlState.CRAWLED, b"User-agent: *\nDisallow: /"), False),
        (page(404, CrawlState.NOT_FOUND), True),
        (page(403, CrawlState.HTTP_CLIENT_ERROR), True),
        (page(401, CrawlState.AUTHENTICATION_FAILED), True),
        (page(429, CrawlState.HTTP_CLIENT_ERROR), False),
        (page(503, CrawlState.HTTP_SERVER_ERROR), False),
        (page(0, CrawlState.CONNECTION_TIMED_OUT), False),
        (page(0, CrawlState.PERMANENT_DNS_FAILURE), False),
        (page(301, CrawlState.LONG_REDIRECT_CHAIN), True),
    ],
)
def test_fetch_of_robots(fetched: FetchedPage, allowed: bool) -> None:
    rules = judge_robots(fetched, AGENT)
    assert rules.allows(f"{SITE}/a") is allowed
    assert bool(rules.closed_reason) is (not allowed and not fetched.body)


@pytest.mark.parametrize(
    ("user_agent", "name"), [("gsa-crawler (Enterprise; S5; a@b.c)", "gsa-crawler"), ("TAMU-Googlebot/2.1", "tamu-googlebot"), ("", "*")]
)
def test_agent_name(user_agent: str, name: str) -> None:
    assert find_agent_name(user_agent) == name


@given(
    st.lists(
        st.sampled_from(["User-agent: *", "Disallow: ", "Allow:", "Crawl-delay: ", "Sitemap:", "Request-rate: 1/0", "Visit-time: "])
        | st.text(max_size=30)
    ).map("\n".join),
    st.text(max_size=30),
)
def test_any_text_is_read(text: str, url: str) -> None:
    rules = parse_robots(text.encode("utf-8", "surrogatepass"), AGENT)
    assert rules.allows(url) in (True, False)
    assert rules.allows(f"http://{url}") in (True, False)
