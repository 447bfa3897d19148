"""A crawler's harness on a real store: the servers are a table in memory, time stands until a test moves it."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.store.engine import SqlStore
from feedmill.core.crawling.hostload import HostLoads
from feedmill.core.crawling.linkrules import LinkRules
from feedmill.core.crawling.schedule import FrequencyRules
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.crawling import CrawlEntry, CrawlMention, CrawlState, FetchedPage, FetchRequest
from feedmill.model.document import Document, DocumentState
from feedmill.ports import Fetcher, InFlight
from feedmill.services.crawling.applying import ApplyDependencies, PageApplier, read_head
from feedmill.services.crawling.crawler import CrawlDependencies, Crawler
from feedmill.services.crawling.duplicates import DuplicateFinder
from feedmill.services.crawling.linkfollowing import FollowLimits, LinkFollowing
from feedmill.services.feeds.feeding import Admission
from feedmill.services.isolation.noinflight import NoInFlight
from feedmill.wire.gsaheaders.parse import parse_headers
from feedmill.wire.sitemaps.parse import parse_sitemap
from tests.builders.changes import OPEN
from tests.builders.crawling import mention, url_of
from tests.fakes import ManualClock, SilentNotifier


class IdleNotifier(SilentNotifier):
    """Ends a crawler as soon as it has nothing to do."""

    is_idle = False

    def wait(self, timeout_seconds: float) -> None:
        self.is_idle = True


@dataclass(slots=True)
class Servers:
    """The servers of the test, as a fetcher sees them. ``highest`` is the greatest number of requests at once to one site."""

    pages: dict[str, FetchedPage] = field(default_factory=dict)
    requests: list[FetchRequest] = field(default_factory=list)
    running: dict[str, int] = field(default_factory=dict)
    highest: int = 0
    on_request: Callable[[str], None] = lambda _url: None

    def put(self, path: str, body: str = "", *, state: CrawlState = CrawlState.CRAWLED, **given: object) -> None:
        url = url_of(path)
        status = 200 if state is CrawlState.CRAWLED else 0
        self.pages[url] = FetchedPage(**{"state": state, "url": url, "http_status": status, "body": body.encode(), **given})  # type: ignore[arg-type]

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        self.requests.append(request)
        self.on_request(request.url)
        site = "/".join(request.url.split("/")[:3])
        self.running[site] = self.running.get(site, 0) + 1
        self.highest = max(self.highest, self.running[site])
        await asyncio.sleep(0)
        self.running[site] -= 1
        page = self.pages.get(request.url)
        if page is None:
            return FetchedPage(state=CrawlState.NOT_FOUND, url=request.url, http_status=404, reason="the server answered 404")
        if request.etag and request.etag == page.etag:
            return FetchedPage(
                state=CrawlState.CRAWLED_FROM_CACHE, url=request.url, http_status=304, etag=page.etag, used_access=page.used_access
            )
        return page

    async def close(self) -> None:
        return

    def take(self) -> list[str]:
        """Returns the paths that were requested since the last call, without robots.txt."""
        requested = [request.url.removeprefix("http://web.test") for request in self.requests]
        self.requests.clear()
        return [path for path in requested if not path.endswith("/robots.txt")]


@dataclass(slots=True, kw_only=True)
class CrawlHarness:
    store: SqlStore
    servers: Servers = field(default_factory=Servers)
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    clock: ManualClock = field(default_factory=ManualClock)
    admission: Admission = field(default_factory=lambda: Admission(rules=OPEN))
    loads: HostLoads = field(default_factory=lambda: HostLoads(default=4.0))
    notifier: IdleNotifier = field(default_factory=IdleNotifier)
    force: PatternSet = field(default_factory=lambda: PatternSet([]))
    frequency: FrequencyRules = field(default_factory=lambda: FrequencyRules(frequently=PatternSet([]), seldom=PatternSet([])))
    in_flight: InFlight = field(default_factory=NoInFlight)
    open_fetcher: Callable[[], Fetcher] | None = None
    fetch_seconds: float = 30.0

    def crawler(self, owner: str = "one") -> Crawler:
        rules = LinkRules(follow=["/"], duplicate_hosts={"mirror.test": "web.test"}, session_parameters=["sid"])
        applier = PageApplier(
            ApplyDependencies(
                store=self.store,
                blobs=self.blobs,
                clock=self.clock,
                admission=lambda: self.admission,
                notifier=self.notifier,
                frequency=self.frequency,
                read_headers=lambda page: parse_headers(page.headers, page.url, "gsa-crawler"),
                duplicates=DuplicateFinder(rules),
                find_redirected=rules.find_redirected,
                read_head=lambda page: read_head(page, "gsa-crawler"),
                owner=owner,
                in_flight=self.in_flight,
            )
        )
        return Crawler(
            CrawlDependencies(
                store=self.store,
                clock=self.clock,
                notifier=self.notifier,
                admission=lambda: self.admission,
                open_fetcher=self.open_fetcher or (lambda: self.servers),
                applier=applier,
                owner=owner,
                agent="gsa-crawler",
                loads=self.loads,
                find_hour=lambda moment: moment.hour,
                force=self.force,
                max_bytes=1_000_000,
                max_url_characters=2_048,
                fetch_seconds=self.fetch_seconds,
                follow_sitemap=self.follow_sitemap,
                find_redirected=rules.find_redirected,
            )
        )

    def follow_sitemap(self, page: FetchedPage) -> list[str]:
        following = LinkFollowing(self.store, LinkRules(follow=["/"]), self.clock, FollowLimits())
        sitemap = parse_sitemap(page.body)
        following.follow_sitemap(page.url, [(entry.url, entry.changed_at) for entry in sitemap.pages])
        return [entry.url for entry in sitemap.sitemaps]

    def add(self, *mentions: CrawlMention | str) -> None:
        with self.store.writing() as unit:
            unit.feeds.crawling.queue.add_many([mention(each) if isinstance(each, str) else each for each in mentions], self.clock())

    def crawl(self, owner: str = "one") -> list[str]:
        """Crawls until nothing is left to do now. Returns the paths that were requested."""
        self.notifier.is_idle = False
        self.crawler(owner).work(lambda: self.notifier.is_idle)
        return self.servers.take()

    def entry(self, path: str = "/a") -> CrawlEntry:
        with self.store.reading() as unit:
            return unit.feeds.crawling.queue.find_many([url_of(path)])[url_of(path)]

    def document(self, path: str = "/a") -> Document | None:
        with self.store.reading() as unit:
            found = unit.documents.reader.find_many([url_of(path)]).get(url_of(path))
        return found if found is not None and found.state is DocumentState.LIVE else None

    def list_live(self, paths: Collection[str]) -> set[str]:
        """Lists those of some paths that are documents."""
        with self.store.reading() as unit:
            found = unit.documents.reader.find_many([url_of(path) for path in paths])
        return {path for path in paths if (document := found.get(url_of(path))) is not None and document.state is DocumentState.LIVE}

    def text(self, path: str = "/a") -> str | None:
        """Returns the stored content of a URL."""
        found = self.document(path)
        return None if found is None or found.content is None else self.blobs.read(found.content).decode()
