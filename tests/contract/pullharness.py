"""A puller's harness on a real store: the source is a table in memory, time stands until a test moves it."""

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.store.engine import SqlStore
from feedmill.core.documents.urlstate import ApplyContext
from feedmill.core.pulling.schedule import parse_schedule
from feedmill.model.change import Content, Delete, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.document import Attributes, Document
from feedmill.model.errors import UpstreamFailure
from feedmill.model.provenance import from_fetch
from feedmill.model.pulling import PullRun, PullState, RunMode, RunRequest
from feedmill.ports import DeletedItem, InFlight, Lane, ListedItem, PulledItem, PullPage
from feedmill.services.feeds.feeding import Admission, ChangeBatch
from feedmill.services.isolation.noinflight import NoInFlight
from feedmill.services.pulling.pageplan import PullDependencies
from feedmill.services.pulling.puller import Puller
from feedmill.services.pulling.requesting import NamedSetup, PullRequests
from feedmill.services.pulling.setups import PullSetup
from tests.builders.changes import OPEN
from tests.contract.feedharness import BEGIN
from tests.fakes import SilentNotifier

NAME = "table"


def url_of(key: str) -> str:
    return f"http://table.test/{key}"


@dataclass(slots=True)
class Table:
    """A source of rows. ``changes`` lists what changed, for incremental runs; a row None was deleted.

    ``fails_at`` is the number of the page before which the reading fails; ``extra`` are further items of the last page. With
    ``is_crawled`` its documents are pages for the crawler.
    """

    rows: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    page_rows: int = 2
    can_resume: bool = True
    is_crawled: bool = False
    fails_at: int | None = None
    extra: list[PulledItem] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    read_pages: list[int] = field(default_factory=list)
    bad_keys: set[str] = field(default_factory=set)
    on_page: Callable[[int], None] = lambda _number: None

    def put(self, **rows: str) -> None:
        self.rows |= rows
        self.changes += list(rows)

    def remove(self, *keys: str) -> None:
        for key in keys:
            del self.rows[key]
            self.changes.append(key)

    def iter_pages(self, mode: RunMode, *, since: str, checkpoint: str) -> Iterator[PullPage]:
        keys = sorted(self.rows) if mode is RunMode.FULL else list(dict.fromkeys(self.changes[int(since or 0) :]))
        reached = str(len(self.changes))
        begin = int(checkpoint or 0)
        count = max(-(-len(keys) // self.page_rows), 1)
        for number in range(begin, count):
            if number == self.fails_at:
                raise UpstreamFailure("the table does not answer")
            self.on_page(number)
            self.read_pages.append(number)
            items = [self._item(key) for key in keys[number * self.page_rows : (number + 1) * self.page_rows]]
            if number == count - 1:
                items += self.extra
            yield PullPage(items=tuple(items), checkpoint=str(number + 1) if self.can_resume else "", since=reached)

    def _item(self, key: str) -> PulledItem:
        if key not in self.rows:
            return DeletedItem(url=url_of(key))
        load = partial(self._name if self.is_crawled else self._load, key, self.rows[key])
        return ListedItem(url=url_of(key), digest=self.rows[key].encode() or b"empty", load=load, is_crawled=self.is_crawled)

    def _name(self, key: str, text: str) -> RequestCrawl:
        return RequestCrawl(place=SourcePosition(record=1), url=url_of(key), attributes=Attributes(), metadata=(("text", text),))

    def _load(self, key: str, text: str) -> PutDocument:
        if key in self.bad_keys:
            raise ValueError(f"{key} is bad")
        self.loaded.append(key)
        content = Content(stream=io.BytesIO(text.encode()), size_bytes=len(text))
        return PutDocument(place=SourcePosition(record=1), url=url_of(key), attributes=Attributes(), content=content, whole=True)

    def close(self) -> None:
        return


@dataclass(slots=True, kw_only=True)
class PullHarness:
    store: SqlStore
    table: Table = field(default_factory=Table)
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    admission: Admission = field(default_factory=lambda: Admission(rules=OPEN))
    notifier: SilentNotifier = field(default_factory=SilentNotifier)
    now: datetime = BEGIN
    schedule: str = ""
    full_schedule: str = ""
    guard: float = 1.0
    is_incremental: bool = True
    parallel: int = 1
    in_flight: Callable[[str], InFlight] = lambda _name: NoInFlight()

    def clock(self) -> datetime:
        return self.now

    def pass_time(self, **units: float) -> None:
        self.now += timedelta(**units)

    @property
    def setup(self) -> PullSetup:
        return PullSetup(
            name=NAME,
            open=lambda: self.table,
            is_incremental=self.is_incremental,
            schedule=parse_schedule(self.schedule),
            full_schedule=parse_schedule(self.full_schedule),
            guard=self.guard,
            parallel=self.parallel,
        )

    def puller(
        self,
        owner: str = "one",
        start: Callable[[Callable[[], None]], None] = lambda work: work(),
        setups: Mapping[str, PullSetup] | None = None,
    ) -> Puller:
        """Makes a puller whose runs are over when ``turn`` returns; by default of the one source."""
        tools = PullDependencies(
            store=self.store, blobs=self.blobs, clock=self.clock, admission=lambda: self.admission, notifier=self.notifier, owner=owner
        )
        return Puller({NAME: self.setup} if setups is None else setups, tools, start=start, in_flight=self.in_flight)

    @property
    def requests(self) -> PullRequests:
        sources = {NAME: NamedSetup(kind="table", schedule=self.schedule, setup=self.setup)}
        return PullRequests(self.store, sources, self.notifier, self.clock)

    def run(self, *, is_full: bool = False, is_dry: bool = False, is_forced: bool = False) -> PullRun:
        """Requests a run and takes it to its end."""
        self.pass_time(seconds=1)
        run = self.requests.request_run(NAME, RunRequest(is_full=is_full, is_dry=is_dry, is_forced=is_forced))
        self.puller().turn()
        return self.requests.get_run(run.id)

    def lose(self, key: str) -> None:
        """Deletes a document as the crawler does if its server no longer has the page."""
        context = ApplyContext(provenance=from_fetch("web"), now=self.now, rules=self.admission.rules)
        with self.store.writing() as unit:
            batch = ChangeBatch(unit, context, Lane.BULK)
            batch.load([url_of(key)])
            batch.apply(Delete(place=SourcePosition(record=0), url=url_of(key)), None)
            batch.finish()

    def state(self) -> PullState:
        with self.store.reading() as unit:
            return next(state for state in unit.feeds.pulling.states.list() if state.source == NAME)

    def runs(self) -> list[PullRun]:
        """Lists the runs, oldest first."""
        with self.store.reading() as unit:
            return unit.feeds.pulling.runs.list_newest(NAME, 1_000)[::-1]

    def live(self) -> dict[str, Document]:
        with self.store.reading() as unit:
            return {document.url: document for document in unit.documents.scan.list_live(after=0, limit=100_000)}

    def texts(self) -> dict[str, str]:
        """Returns the stored contents by key."""
        found = {}
        for url, document in self.live().items():
            assert document.content is not None
            found[url.rpartition("/")[2]] = self.blobs.read(document.content).decode()
        return found


def counts_of(run: PullRun) -> tuple[int, int, int, int, int]:
    """Returns added, changed, deleted, unchanged, errors."""
    counts = run.counts
    return counts.added, counts.changed, counts.deleted, counts.unchanged, counts.errors
