"""Values of the crawler."""

from datetime import UTC, datetime
from typing import Any

from feedmill.model.crawling import CrawlEntry, CrawlMention

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def mention(url: str, **given: Any) -> CrawlMention:
    """Makes a mention; a path alone is one of ``http://web.test``."""
    return CrawlMention(url=url_of(url), **given)


def make_crawl_entry(url: str = "/a", **given: Any) -> CrawlEntry:
    """Makes an entry that was never fetched."""
    return CrawlEntry(**{"url": url_of(url), "site": "http://web.test", "added_at": NOW, "due_at": NOW, **given})


def url_of(path: str) -> str:
    """Returns the URL of a path on the site of the tests; other texts are URLs already."""
    return f"http://web.test{path}" if path.startswith("/") else path
