"""Says in a sentence why a URL is not crawled, or why its last fetch failed."""

from feedmill.core.text.times import write_time
from feedmill.model.crawling import CrawlEntry, CrawlGroup


def describe_crawl(entry: CrawlEntry) -> str:
    """Returns the state of an entry with what the last fetch met, such as the status of the response."""
    last = entry.history[-1] if entry.history else None
    parts = [entry.state.words]
    if last is not None and last.http_status and f" {last.http_status}" not in last.reason:
        parts.append(f"HTTP status {last.http_status}")
    if last is not None and last.reason:
        parts.append(last.reason)
    text = ": ".join(parts)
    if entry.state.group is CrawlGroup.ERROR and entry.due_at is not None:
        text += f"; it is fetched again at {write_time(entry.due_at)}"
    return text
