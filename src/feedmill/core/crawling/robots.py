"""Decides by a site's robots.txt which of its URLs the crawler may fetch, and how fast.

1. A group of rules holds for the crawler if the crawler's name begins with its user agent, in any letter case; of several, the longest.
   Without such a group, that of ``*`` holds.
2. Of the rules that match a URL, the longest decides; of an allow and a disallow of equal length, the allow.
3. A robots.txt that the server says is not there (any 4xx but 429, or too many redirects) means that there are no rules.
4. If it cannot be fetched for any other reason, the site is closed: nothing of it is fetched, and nothing of it is removed for that reason.
5. At least the first ``MAX_ROBOTS_BYTES`` count. A line that is no rule is ignored.

Source: RFC 9309; "Preparing for a Crawl" of the appliance's manual.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Final

from protego import Protego

from feedmill.model.crawling import CrawlState, FetchedPage

MAX_ROBOTS_BYTES: Final = 524_288
MAX_SITEMAPS: Final = 1_000
MAX_DELAY_SECONDS: Final = 3_600.0
"""A longer delay is a mistake, or means that the site wants no crawler; at this rate a site of some size takes months."""

_ABSENT: Final = frozenset({CrawlState.NOT_FOUND, CrawlState.HTTP_CLIENT_ERROR, CrawlState.AUTHENTICATION_FAILED})
_ENDLESS: Final = frozenset({CrawlState.LONG_REDIRECT_CHAIN, CrawlState.REDIRECT_WITHOUT_LOCATION})
_PRODUCT = re.compile(r"[A-Za-z_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRules:
    """The rules of one site for the crawler.

    ``delay_seconds`` is the least time between two requests, 0 if it is not stated. With a ``closed_reason`` nothing may be fetched,
    because robots.txt could not be.
    """

    agent: str
    delay_seconds: float = 0.0
    sitemaps: tuple[str, ...] = ()
    closed_reason: str = ""
    parsed: Protego | None = field(default=None, repr=False, compare=False)

    def allows(self, url: str) -> bool:
        """Returns whether a URL of the site may be fetched. Errors: none."""
        if self.closed_reason:
            return False
        if self.parsed is None:
            return True
        try:
            return bool(self.parsed.can_fetch(url, self.agent))
        except ValueError:
            # A text that is no URL cannot be fetched either.
            return False


def find_agent_name(user_agent: str) -> str:
    """Returns the name by which robots.txt means the crawler: the first word of its user agent."""
    found = _PRODUCT.match(user_agent.strip())
    return found[0].lower() if found else "*"


def parse_robots(body: bytes, agent: str, *, is_cut: bool = False) -> RobotsRules:
    """Returns the rules of a robots.txt, of which ``is_cut`` means that only the beginning is there. Errors: none; a text that cannot be
    read closes the site.
    """
    text = body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace").replace("\x00", "")
    if is_cut or len(body) > MAX_ROBOTS_BYTES:
        # A rule that is cut would match more than it says.
        text = text[: text.rfind("\n") + 1]
    try:
        parsed = Protego.parse(text)
        delay = parsed.crawl_delay(agent)
        sitemaps = tuple(dict.fromkeys(parsed.sitemaps))[:MAX_SITEMAPS]
    except (ValueError, OverflowError, RecursionError):
        return RobotsRules(agent=agent, closed_reason="its robots.txt cannot be read")
    seconds = float(delay or 0.0)
    is_usable = math.isfinite(seconds) and seconds > 0
    return RobotsRules(agent=agent, delay_seconds=min(seconds, MAX_DELAY_SECONDS) if is_usable else 0.0, sitemaps=sitemaps, parsed=parsed)


def judge_robots(page: FetchedPage, agent: str) -> RobotsRules:
    """Returns the rules after a fetch of a site's robots.txt."""
    if page.state is CrawlState.CRAWLED and (page.body or not page.is_cut):
        return parse_robots(page.body, agent, is_cut=page.is_cut)
    if (page.state in _ABSENT and page.http_status != 429) or page.state in _ENDLESS:
        return RobotsRules(agent=agent)
    return RobotsRules(agent=agent, closed_reason=f"its robots.txt cannot be fetched: {page.reason or page.state.words}")
