"""The types of the JSON answers. The OpenAPI document is generated from them, and tests compare the server's answers with them.

A member that this version does not know is ignored, so that an older client understands a newer server.

Example::

    receipt = client.get_receipt(feed_id)
    reasons = [line.reason for line in receipt.log if line.level == "error"]
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from feedmill_client.explaining import explain


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultShown:
    """One result."""

    url: str = field(metadata=explain("the document's URL, by which it is known"))
    display_url: str = field(metadata=explain("the URL to show and to link to; the same as `url` when none was fed"))
    title: str | None = field(metadata=explain("null when the document has none"))
    snippet: str = field(metadata=explain("a passage of plain text"))
    snippet_marks: list[tuple[int, int]] = field(
        metadata=explain("ranges to highlight in `snippet`, in characters from 0, the end not included")
    )
    score: float | None = field(metadata=explain("comparable within one answer only; null for all but administrators"))
    date: datetime | None = field(metadata=explain("the document's last-modified, null when unknown"))
    mimetype: str | None = field(metadata=explain("its content type"))
    language: str | None = field(metadata=explain("its language, null when unknown"))
    metadata: dict[str, list[str]] = field(metadata=explain("values by name, of the names in `getfields`"))
    missing: list[str] = field(
        default_factory=list,
        metadata=explain("words and phrases of the query that it lacks, where some of them are enough; left out for one that has all"),
    )
    explanation: dict[str, float] | None = field(
        default=None, metadata=explain("the parts of the score, for administrators who send `explain=1`")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValueShown:
    """A value of a facet, or a range."""

    value: str | None = field(metadata=explain("as most documents spell it; null for a range"))
    low: float | str | None = field(metadata=explain("where a range begins: a number, or a day; null for an open one and for a value"))
    high: float | str | None = field(metadata=explain("where a range ends, itself included"))
    count: int = field(metadata=explain("how many documents of the whole result have it"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetShown:
    """A metadata name, counted."""

    name: str
    label: str = field(metadata=explain("what to show; the name where the front end sets none"))
    type: str = field(metadata=explain("string, integer, float, currency or date"))
    values: list[FacetValueShown]
    exact: bool = field(default=True, metadata=explain("false where the counts are estimated; left out where they are exact"))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMatchShown:
    """A page that the front end offers for a query."""

    url: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """A page of results."""

    query: str
    total: int = field(metadata=explain("how many matching documents the user may see"))
    exact: bool = field(metadata=explain("whether `total` is exact"))
    results: list[ResultShown]
    facets: list[FacetShown] = field(metadata=explain("in the order of the request"))
    spelling: str | None = field(metadata=explain("the query as it may have been meant, else null"))
    keymatches: list[KeyMatchShown] = field(default_factory=list, metadata=explain("pages that the front end offers"))
    related: list[str] = field(default_factory=list, metadata=explain("queries that the front end offers"))
    next_cursor: str | None = field(
        default=None, metadata=explain("the `cursor` of the next page; null on the last, and where none was sent")
    )
    warnings: list[str] = field(metadata=explain("what was not understood or not applied, for people"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestions:
    """How what was typed could go on."""

    query: str
    suggestions: list[str] = field(metadata=explain("likeliest first"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageShown:
    """A passage of a document."""

    url: str = field(metadata=explain("the document's URL, by which it is known; `fetch` of the assistants takes it as `id`"))
    display_url: str = field(metadata=explain("the URL to show and to link to; the same as `url` when none was fed"))
    title: str = field(metadata=explain("of a document without a title, the name of its file, as on the search page"))
    text: str
    start: int = field(metadata=explain("where `text` begins in the text of the document, in characters from 0"))
    end: int = field(metadata=explain("where it ends, the character at `end` not included"))
    score: float | None = field(metadata=explain("comparable within one answer only; null for all but administrators"))
    coverage: float = field(metadata=explain("the share of the words of the query that the passage holds, from 0 to 1"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """Passages that may answer a query."""

    passages: list[PassageShown] = field(metadata=explain("best first"))
    warnings: list[str] = field(metadata=explain("what was not understood or not applied, for people"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSummary:
    """The part of a document that a user may see."""

    url: str
    display_url: str
    state: str
    searchable: bool = field(metadata=explain("whether searches find the newest version"))
    title: str | None
    mimetype: str | None
    last_modified: datetime | None
    metadata: dict[str, list[str]]
    language: str | None
    reason: str | None = field(metadata=explain("why the text is cut or missing, else null"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of a feed's log."""

    record: int | None
    line: int | None
    url: str | None
    level: str = field(metadata=explain("error, warning or notice"))
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckShown:
    """A queue in which nothing moves."""

    queue: str
    queue_code: str | None = field(default=None, metadata=explain("the same for programs, such as feeds_quick"))
    since: datetime = field(metadata=explain("since when nothing has moved there"))
    document: str | None = field(metadata=explain("the URL, or the feed, at the head of the queue"))
    reason: str = field(metadata=explain("why, as far as the server knows"))

    def describe(self, feed_id: str) -> str:
        """Returns, as a sentence, why a feed cannot finish."""
        about = f" ({self.document})" if self.document else ""
        since = f"{self.since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return f"feed {feed_id} waits in queue {self.queue}, which has not moved since {since}: {self.reason}{about}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of a feed."""

    id: str
    datasource: str
    feedtype: str
    feedtype_code: str | None = field(default=None, metadata=explain("the same for programs: full, incremental or metadata_and_url"))
    groups: bool = field(metadata=explain("whether it is a groups feed"))
    state: str = field(metadata=explain("received, in progress, completed, completed with errors or failed in error"))
    state_code: str | None = field(
        default=None, metadata=explain("the same for programs: received, in_progress, completed, completed_with_errors or failed_in_error")
    )
    received_at: datetime
    size_bytes: int
    client: str
    records: int | None = field(metadata=explain("null before the feed was read once"))
    included: int
    errors: int
    finished_at: datetime | None
    searchable_at: datetime | None = field(metadata=explain("when all of it could be found, null before"))
    stuck: StuckShown | None = field(default=None, metadata=explain("the queue that keeps the feed from its end, null while all moves"))
    log: list[LogLine] = field(metadata=explain("may be cut; `errors` stays true"))

    @property
    def is_final(self) -> bool:
        """Whether its state will not change any more."""
        return self.state in ("completed", "completed with errors", "failed in error")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalShown:
    """One line of an ACL."""

    scope: str
    access: str
    namespace: str
    name: str
    case_sensitive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AclShown:
    """An ACL as it was fed."""

    inheritance_type: str
    inherit_from: str | None
    principals: list[PrincipalShown]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventShown:
    """Something that happened to a document."""

    at: datetime
    event: str
    event_code: str | None = field(default=None, metadata=explain("the same for programs, such as taken_over"))
    feed: str | None
    line: int | None
    detail: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDetails:
    """All that is known of a document, for feed clients."""

    url: str
    display_url: str
    datasource: str
    state: str
    state_code: str | None = field(default=None, metadata=explain("the same for programs, such as waiting_for_extraction"))
    searchable: bool
    reason: str | None
    title: str | None
    mimetype: str | None
    last_modified: datetime | None
    metadata: dict[str, list[str]]
    acl: AclShown | None
    locked: bool
    pagerank: int | None
    crawl_once: bool
    crawl_immediately: bool
    history: list[EventShown]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSourceShown:
    """A data source and what it holds."""

    name: str
    kind: str
    documents: int
    feeds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A data source whose documents are gone."""

    name: str
    feed: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a request was refused, as RFC 9457 has it."""

    type: str = field(metadata=explain("the page of the manual, relative to the search port"))
    title: str = field(metadata=explain("the kind of problem, for people"))
    status: int = field(metadata=explain("the status of the response"))
    detail: str = field(metadata=explain("what is wrong, and where"))
    code: str = field(metadata=explain("the kind of problem, for programs"))
    request_id: str | None = field(default=None, metadata=explain("the id of the request, by which the log of the server has more"))
