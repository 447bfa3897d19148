"""What administrators do on the admin port."""

from typing import Final

from feedmill_client._addresses import make_query, quote_name
from feedmill_client._endpoint import Endpoint
from feedmill_client._flows import Flow, Item, Stream
from feedmill_client._polling import poll
from feedmill_client.adminanswers import CrawlEntryShown, CrawlShown, Diagnosis, PullSourceShown, RunShown
from feedmill_client.errors import BadAnswer, NotFound

PAGE: Final = 500
_SOURCES: Final = "/api/v1/sources"
_QUEUE: Final = "/api/v1/crawl/queue"


# --- pull sources ---


def list_sources(port: Endpoint) -> Flow[list[PullSourceShown]]:
    """Lists the pull sources of the settings."""
    return port.read_list(PullSourceShown, (yield from port.get_json(_SOURCES)))


def list_runs(port: Endpoint, source: str) -> Flow[list[RunShown]]:
    """Lists the runs of a source, newest first."""
    return port.read_list(RunShown, (yield from port.get_json(f"{_SOURCES}/{quote_name(source)}/runs")))


def request_run(port: Endpoint, source: str, *, full: bool = False, dry_run: bool = False, force: bool = False) -> Flow[RunShown]:
    """Requests a run, and returns it as it waits.

    A dry run changes nothing; ``force`` lets a run delete more than the guard permits.
    """
    given: dict[str, str | list[str]] = {name: "1" for name, is_set in (("full", full), ("dry_run", dry_run), ("force", force)) if is_set}
    return port.read(RunShown, (yield from port.post_json(f"{_SOURCES}/{quote_name(source)}/runs", given)))


def get_run(port: Endpoint, run_id: int) -> Flow[RunShown]:
    """Returns a run."""
    return port.read(RunShown, (yield from port.get_json(f"/api/v1/runs/{run_id}")))


def wait_for_run(port: Endpoint, run_id: int, *, timeout_seconds: float = 3600.0) -> Flow[RunShown]:
    """Waits until a run is over, and returns it. Errors: NotDone when the time is over; the run goes on."""

    def describe(_run: RunShown) -> str:
        return f"run {run_id} is not over after {timeout_seconds:g} seconds; it goes on"

    return (yield from poll(port, lambda: get_run(port, run_id), lambda run: run.is_final, timeout_seconds, describe))


def pause_source(port: Endpoint, source: str) -> Flow[None]:
    """Stops the schedule of a source; it can still be run by hand."""
    yield from port.post_json(f"{_SOURCES}/{quote_name(source)}/pause")


def resume_source(port: Endpoint, source: str) -> Flow[None]:
    """Continues the schedule of a source."""
    yield from port.post_json(f"{_SOURCES}/{quote_name(source)}/resume")


# --- the crawler ---


def get_crawl(port: Endpoint) -> Flow[CrawlShown]:
    """Returns the state of the crawl queue."""
    return port.read(CrawlShown, (yield from port.get_json("/api/v1/crawl")))


def list_crawl_queue(
    port: Endpoint, *, prefix: str = "", group: str = "", after: str = "", limit: int = 100
) -> Flow[list[CrawlEntryShown]]:
    """Lists URLs of the queue in their order, those behind ``after``. ``group`` is waiting, crawled, error or excluded."""
    given: dict[str, str | list[str]] = {"prefix": prefix, "group": group, "after": after, "limit": str(limit)}
    return port.read_list(CrawlEntryShown, (yield from port.get_json(_QUEUE, given)))


def iter_crawl_queue(port: Endpoint, *, prefix: str = "", group: str = "") -> Stream[CrawlEntryShown]:
    """Yields all URLs of the queue in their order. ``group`` is waiting, crawled, error or excluded."""
    page = make_query({"prefix": prefix, "group": group, "limit": str(PAGE)})
    while page:
        answer, page = yield from port.read_page(_QUEUE, page)
        for entry in port.read_list(CrawlEntryShown, answer):
            yield Item(entry)


def get_crawl_entry(port: Endpoint, url: str) -> Flow[CrawlEntryShown]:
    """Returns a URL of the queue with its last fetches, and the pages that link to it."""
    return port.read(CrawlEntryShown, (yield from port.get_json("/api/v1/crawl/entry", {"url": url})))


def recrawl(port: Endpoint, url: str) -> Flow[int]:
    """Has a URL, or all known URLs that match a pattern, fetched again soon. Returns how many; NotFound if there is none."""
    count, after = 0, ""
    # part by part: to compare millions of URLs takes longer than one request may
    while True:
        answer = yield from port.post_json("/api/v1/crawl/recrawl", {"url": url, "after": after})
        if not isinstance(answer, dict) or not isinstance(answer.get("requested"), int):
            raise BadAnswer(f"{port.address.shown} does not answer as documented; is it the admin port of a feedmill server")
        count += int(answer["requested"])
        after = str(answer.get("after") or "")
        if not after:
            break
    if not count:
        raise NotFound(f"the crawler knows no URL that {url[:2000]!a} matches; name it in a web feed or in urls.start")
    return count


def pause_crawl(port: Endpoint) -> Flow[None]:
    """Stops fetching."""
    yield from port.post_json("/api/v1/crawl/pause")


def resume_crawl(port: Endpoint) -> Flow[None]:
    """Continues fetching."""
    yield from port.post_json("/api/v1/crawl/resume")


# --- diagnosis ---


def why(port: Endpoint, url: str, *, user: str = "", query: str = "", collection: str = "") -> Flow[Diagnosis]:
    """Returns why searches find a URL or do not; for a user and for a query if they are given."""
    given = {"url": url, "user": user, "query": query, "collection": collection}
    return port.read(Diagnosis, (yield from port.get_json("/api/v1/why", {name: value for name, value in given.items() if value})))
