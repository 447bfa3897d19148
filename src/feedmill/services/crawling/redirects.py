"""Finds redirects that lead to no page: in a circle, or over more URLs than the settings permit.

Each URL of a chain is an entry of its own, and one fetch shows one step. So a chain is followed by what the last fetch of each entry says:
forward over the targets, backward over the entries that made the next one known. All URLs that lead to no page get the same state.
Source: specifications of the appliance, "Crawl Diagnostics" (code 6).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from feedmill.model.crawling import CrawlEntry, CrawlState
from feedmill.ports import UnitOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadEnd:
    """Why a URL leads to no page, and which other URLs lead there too."""

    reason: str
    others: tuple[str, ...]


def find_dead_end(unit: UnitOfWork, entry: CrawlEntry, fresh: Mapping[str, str], max_redirects: int) -> DeadEnd | None:
    """Returns why the redirect of an entry leads to no page, None if it may lead to one.

    Shape: ``fresh`` maps the URLs whose redirects were fetched just now to their targets, that of the entry too.
    """
    before = _list_before(unit, entry, fresh, max_redirects)
    after, target = list[str](), fresh[entry.url]
    while target and target != entry.url and target not in after and len(after) <= max_redirects:
        after.append(target)
        target = fresh.get(target) or _find_target(_find(unit, target))
    if target and (target == entry.url or target in after):
        return DeadEnd(reason="it redirects in a circle", others=tuple(dict.fromkeys((*after, *before))))
    if len(before) + len(after) > max_redirects:
        return DeadEnd(reason=f"it is one of more than {max_redirects} redirects in a row", others=tuple(before))
    return None


def note_dead_end(entry: CrawlEntry, reason: str) -> CrawlEntry | None:
    """Returns an entry of which another one shows that its redirect leads to no page, None if it is one of another state."""
    if entry.lease_owner or entry.state is not CrawlState.CRAWLED or not _find_target(entry):
        return None
    state, last = CrawlState.LONG_REDIRECT_CHAIN, entry.history[-1]
    return replace(entry, state=state, history=(*entry.history[:-1], replace(last, state=state, reason=reason)))


def _list_before(unit: UnitOfWork, entry: CrawlEntry, fresh: Mapping[str, str], max_redirects: int) -> list[str]:
    """Lists the URLs that redirected to one another until they made an entry known, the last one first."""
    before, following = list[str](), entry
    while following.referrer and len(before) <= max_redirects:
        referrer = _find(unit, following.referrer)
        if referrer is None or referrer.url in (entry.url, *before) or not (fresh.get(referrer.url) or _find_target(referrer)):
            break
        before.append(referrer.url)
        following = referrer
    return before


def _find(unit: UnitOfWork, url: str) -> CrawlEntry | None:
    return unit.feeds.crawling.queue.find_many([url]).get(url)


def _find_target(entry: CrawlEntry | None) -> str:
    """Returns where an entry redirected when it was last fetched, "" if it did not."""
    return entry.history[-1].redirected_to if entry is not None and entry.history else ""
