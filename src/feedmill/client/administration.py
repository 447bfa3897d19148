"""What administrators do with pull sources and the crawler, over the admin port. It answers on its own machine only."""

import time
from typing import TypeVar

from pydantic import ValidationError

from feedmill.client.adminanswers import CrawlEntryShown, CrawlShown, Diagnosis, PullSourceShown, RunShown
from feedmill.client.answers import Answer
from feedmill.client.transport import Transport, quote_name
from feedmill.model.errors import BadRequest, Busy, NotFound

POLL_SECONDS = (0.05, 1.0)

A = TypeVar("A", bound=Answer)


class Administration:
    """The admin port of a server. ``token`` is the one in the file ``admin.token`` of the data folder, or that of an administrator.

    Errors of all methods: Denied, NotFound, BadRequest, Busy; Conflict if a run of the source is requested already.

    Example::

        administration = Administration("http://127.0.0.1:8000", token=token)
        for source in administration.list_sources():
            print(source.name, source.paused, source.last_run and source.last_run.state)
        print(administration.get_crawl().groups)
    """

    def __init__(self, url: str = "http://127.0.0.1:8000", *, token: str = "", certificate: str = "") -> None:
        self._transport = Transport(base_url=url, token=token, certificate=certificate)

    # --- pull sources ---

    def list_sources(self) -> list[PullSourceShown]:
        """Lists the pull sources of the settings."""
        return self._read_list(PullSourceShown, self._transport.get_json("/api/v1/sources"))

    def list_runs(self, source: str) -> list[RunShown]:
        """Lists the runs of a source, newest first."""
        return self._read_list(RunShown, self._transport.get_json(f"/api/v1/sources/{quote_name(source)}/runs"))

    def request_run(self, source: str, *, full: bool = False, dry_run: bool = False, force: bool = False) -> RunShown:
        """Requests a run, and returns it as it waits.

        A dry run changes nothing; ``force`` lets a run delete more than the guard permits.
        """
        given = {name: "1" for name, is_set in (("full", full), ("dry_run", dry_run), ("force", force)) if is_set}
        return self._read(RunShown, self._transport.post_json(f"/api/v1/sources/{quote_name(source)}/runs", given))

    def get_run(self, run_id: int) -> RunShown:
        """Returns a run."""
        return self._read(RunShown, self._transport.get_json(f"/api/v1/runs/{run_id}"))

    def wait_for_run(self, run_id: int, *, timeout_seconds: float = 3600.0) -> RunShown:
        """Waits until a run is over, and returns it. Errors: Busy when the time is over; the run goes on."""
        deadline = time.monotonic() + timeout_seconds
        pause, longest = POLL_SECONDS
        while not (run := self.get_run(run_id)).is_final:
            if time.monotonic() + pause > deadline:
                raise Busy(f"run {run_id} is not over after {timeout_seconds:g} seconds; it goes on")
            time.sleep(pause)
            pause = min(2 * pause, longest)
        return run

    def pause_source(self, source: str) -> None:
        """Stops the schedule of a source; it can still be run by hand."""
        self._transport.post_json(f"/api/v1/sources/{quote_name(source)}/pause")

    def resume_source(self, source: str) -> None:
        """Continues the schedule of a source."""
        self._transport.post_json(f"/api/v1/sources/{quote_name(source)}/resume")

    # --- the crawler ---

    def get_crawl(self) -> CrawlShown:
        """Returns the state of the crawl queue."""
        return self._read(CrawlShown, self._transport.get_json("/api/v1/crawl"))

    def list_crawl_queue(self, *, prefix: str = "", group: str = "", after: str = "", limit: int = 100) -> list[CrawlEntryShown]:
        """Lists URLs of the queue in their order, those behind ``after``. ``group`` is waiting, crawled, error or excluded."""
        given = {"prefix": prefix, "group": group, "after": after, "limit": str(limit)}
        return self._read_list(CrawlEntryShown, self._transport.get_json("/api/v1/crawl/queue", given))

    def get_crawl_entry(self, url: str) -> CrawlEntryShown:
        """Returns a URL of the queue with its last fetches, and the pages that link to it."""
        return self._read(CrawlEntryShown, self._transport.get_json("/api/v1/crawl/entry", {"url": url}))

    def recrawl(self, url: str) -> int:
        """Has a URL, or all known URLs that match a pattern, fetched again soon. Returns how many; NotFound if there is none."""
        count, after = 0, ""
        # part by part: to compare millions of URLs takes longer than one request may
        while True:
            answer = self._transport.post_json("/api/v1/crawl/recrawl", {"url": url, "after": after})
            if not isinstance(answer, dict) or not isinstance(answer.get("requested"), int):
                raise self._make_error()
            count += int(answer["requested"])
            after = str(answer.get("after") or "")
            if not after:
                break
        if not count:
            raise NotFound(f"the crawler knows no URL that {url[:2000]!a} matches; name it in a web feed or in urls.start")
        return count

    def pause_crawl(self) -> None:
        """Stops fetching."""
        self._transport.post_json("/api/v1/crawl/pause")

    def resume_crawl(self) -> None:
        """Continues fetching."""
        self._transport.post_json("/api/v1/crawl/resume")

    # --- diagnosis ---

    def why(self, url: str, *, user: str = "", query: str = "", collection: str = "") -> Diagnosis:
        """Returns why searches find a URL or do not; for a user and for a query if they are given."""
        given = {"url": url, "user": user, "query": query, "collection": collection}
        return self._read(Diagnosis, self._transport.get_json("/api/v1/why", {name: value for name, value in given.items() if value}))

    def _read(self, kind: type[A], answer: object) -> A:
        try:
            return kind.model_validate(answer)
        except ValidationError as exc:
            raise BadRequest(f"{self._make_error()}: {exc.errors(include_url=False)[0]['msg']}") from exc

    def _read_list(self, kind: type[A], answer: object) -> list[A]:
        if not isinstance(answer, list):
            raise self._make_error()
        return [self._read(kind, each) for each in answer]

    def _make_error(self) -> BadRequest:
        return BadRequest(f"{self._transport.shown_url} does not answer as documented; is it the admin port of a feedmill server")
