"""Decides which links are crawled, and under which URL.

Rules, in the order in which they are applied to a link:

1. The host of a duplicate becomes the canonical host, and parameters with session ids are removed.
2. Only http, https, file and smb are crawled. Longer URLs than the settings permit are not, and neither are directories named ``no_crawl``.
3. URLs that repeat themselves are not: a group of directories four times in a row, or more directories or parameters than any real
   page has. Such URLs come from pages that link to themselves with ever longer URLs (an infinite URL space).
4. The URL must pass the follow patterns of the settings. If only the pattern for every URL (``/``) matches, a link leads no further than
   to the host of the page that was crawled, of a start URL, or of a pattern in ``allow_private``: one page that is fed must not have the
   whole internet crawled.

A canonical URL (``rel="canonical"``) is a link too. It counts if it leads to the same host, with or without ``www.`` and under either
scheme, or to a duplicate of it: a page can withdraw only itself.

Rules 2 and 3 apply to links only; what a feed names is fetched as it is.
Source: specifications of the appliance, "Preparing for a Crawl" (``no_crawl``), "Duplicate Hosts", "Infinite Space Detection".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from feedmill.core.urls.patternrules import UrlParts, split_url
from feedmill.core.urls.patterns import PatternSet, is_remark

MAX_DIRECTORIES: Final = 40
MAX_PARAMETERS: Final = 40
CALENDAR_YEARS: Final = 2
"""How many years ahead a calendar is crawled."""

# a year, and a month from 1 to 12 behind it, as in ``/2031/05/``, ``2031-5`` and ``year=2031&month=5``
_MONTH: Final = re.compile(r"(?<!\d)(2[01]\d\d)(?:[-/_.]|&[A-Za-z]{1,10}=)(?:0?[1-9]|1[0-2])(?!\d)")
_DIGITS: Final = re.compile(r"\d+")

# one to three directories, and the same ones three times more
_REPEATED: Final = re.compile(r"(/[^/]+(?:/[^/]+){0,2})\1{3}(?=/|\Z)")
_CRAWLED: Final = ("http://", "https://", "file://", "smb://")
_EVERY_URL: Final = ("", "/")
LINKS_REMEMBERED: Final = 4_000
"""For how many links the answer is cached, because the pages of a site link to the same pages."""
REMEMBERED_CHARACTERS: Final = 500


class _Target(NamedTuple):
    """The URL under which a link is crawled, its host, and whether a link of any page leads there."""

    url: str
    host: str
    is_near_all: bool


class LinkRules:
    """The rules of the settings. ``duplicate_hosts`` maps each duplicate to its canonical host, in lower case, some with a port."""

    def __init__(
        self,
        *,
        follow: Sequence[str],
        do_not_follow: Sequence[str] = (),
        start: Iterable[str] = (),
        allow_private: Sequence[str] = (),
        duplicate_hosts: Mapping[str, str] | None = None,
        session_parameters: Iterable[str] = (),
        max_url_characters: int = 2_048,
    ) -> None:
        self._admitted = PatternSet(follow, do_not_follow)
        self._named = PatternSet([pattern for pattern in follow if pattern.strip() not in _EVERY_URL], do_not_follow)
        self._private = PatternSet([pattern for pattern in allow_private if pattern.strip() not in _EVERY_URL])
        self._start_hosts = frozenset(_host_of(url) for url in start if not is_remark(url))
        self._canonical = dict(duplicate_hosts or {})
        self._session = _build_session_rule(session_parameters)
        self._max_characters = max_url_characters
        self._judge = lru_cache(maxsize=LINKS_REMEMBERED)(self._judge_link)

    def find_target(self, link: str, *, crawled_page: str = "") -> str | None:
        """Returns the URL under which a link is crawled, None if it is not. ``crawled_page`` is its page, "" if that was not crawled."""
        target = self._judge(link) if len(link) <= REMEMBERED_CHARACTERS else self._judge_link(link)
        if target is None or not (target.is_near_all or (crawled_page and target.host == _host_of_page(crawled_page))):
            return None
        return target.url

    def _judge_link(self, link: str) -> _Target | None:
        """Returns the target of a link as far as it does not depend on the page, None if it is not crawled."""
        written = split_url(link)
        url = self._normalize_parts(written)
        if not url.startswith(_CRAWLED) or len(url) > self._max_characters:
            return None
        parts = written if url == link else split_url(url)
        if "/no_crawl/" in parts.path.partition("?")[0] or is_endless(parts.path):
            return None
        if not self._admitted.match_parts(parts).passes:
            return None
        host = _join_host(parts)
        is_named = self._named.match_parts(parts).passes or self._private.match_parts(parts).passes
        return _Target(url, host, is_named or host in self._start_hosts)

    def find_canonical(self, page: str, link: str) -> str | None:
        """Returns the URL that a page prefers to its own, None if it does not count: it leads to another host, or is not crawled."""
        target = self.find_target(link, crawled_page=page)
        if target is None or target == page:
            return None
        own = self._normalize(page)
        return target if _bare_host(target) == _bare_host(own) else None

    def find_redirected(self, page: str, target: str) -> str:
        """Returns the URL under which the target of a redirect is crawled, "" if it is that of the page: the target only adds a session
        id, or is on a duplicate of the page's host."""
        url = self._normalize(target)
        return "" if url in (page, split_url(page).folded) else url

    def list_same_sites(self, site: str) -> list[str]:
        """Lists the sites that have the same pages as a site: its own under both schemes, and those of its duplicate hosts."""
        scheme, _, host = site.partition("://")
        if scheme not in ("http", "https"):
            return [site]
        canonical = self._canonical.get(host, host)
        hosts = [canonical, *(duplicate for duplicate, one in self._canonical.items() if one == canonical)]
        return list(dict.fromkeys([site, *(f"{one}://{name}" for name in hosts for one in ("http", "https"))]))

    def _normalize(self, link: str) -> str:
        return self._normalize_parts(split_url(link))

    def _normalize_parts(self, parts: UrlParts) -> str:
        host, url = _join_host(parts), parts.folded
        if host in self._canonical:
            url = f"{parts.protocol}{self._canonical[host]}{parts.path}"
        return self._remove_session(url) if self._session is not None else url

    def _remove_session(self, url: str) -> str:
        assert self._session is not None
        head, sign, query = url.partition("?")
        head = self._session.sub("", head) if ";" in head else head
        if not sign:
            return head
        remaining = [part for part in query.split("&") if not self._session.fullmatch(f";{part}")]
        return f"{head}?{'&'.join(remaining)}" if remaining else head


def is_endless(path: str) -> bool:
    """Returns whether a path with its query repeats itself as no real page does."""
    directories, _, query = path.partition("?")
    if directories.count("/") > MAX_DIRECTORIES or query.count("&") >= MAX_PARAMETERS:
        return True
    return _REPEATED.search(directories) is not None


def is_calendar_step(page: str, link: str, today: date) -> bool:
    """Returns whether a link leads from a page of a calendar to one of years ahead, from which others lead on without end.

    The two URLs differ in their numbers only, so that a page about a distant year counts for nothing else.
    """
    years = [int(year) for year in _MONTH.findall(link)]
    return max(years, default=0) > today.year + CALENDAR_YEARS and _DIGITS.sub("0", page) == _DIGITS.sub("0", link)


def _bare_host(url: str) -> str:
    return split_url(url).host.removeprefix("www.")


def _host_of(url: str) -> str:
    return _join_host(split_url(url))


@lru_cache(maxsize=64)
def _host_of_page(url: str) -> str:
    return _host_of(url)


def _join_host(parts: UrlParts) -> str:
    return f"{parts.host}:{parts.port}" if parts.port else parts.host


def _build_session_rule(names: Iterable[str]) -> re.Pattern[str] | None:
    escaped = "|".join(re.escape(name) for name in names)
    # a parameter of the path, ``;NAME`` or ``;NAME=VALUE``, up to the next ``;``, ``?`` or ``/``; of a query the caller adds the ``;``
    return re.compile(rf";(?:{escaped})(?:=[^;?/]*)?(?![^;?/])", re.IGNORECASE) if escaped else None
