"""The types of the JSON answers. The OpenAPI document is generated from them, and tests compare the server's answers with them.

A member that this version does not know is ignored, so that an older client understands a newer server.

Example::

    receipt = client.get_receipt(feed_id)
    reasons = [line.reason for line in receipt.log if line.level == "error"]
"""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """An object of an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ResultShown(Answer):
    """One result."""

    url: str = Field(description="the document's URL, by which it is known")
    display_url: str = Field(description="the URL to show and to link to; the same as `url` when none was fed")
    title: str | None = Field(description="null when the document has none")
    snippet: str = Field(description="a passage of plain text")
    snippet_marks: list[tuple[int, int]] = Field(description="ranges to highlight in `snippet`, in characters from 0, the end not included")
    score: float | None = Field(description="comparable within one answer only; null for all but administrators")
    date: datetime | None = Field(description="the document's last-modified, null when unknown")
    mimetype: str | None = Field(description="its content type")
    language: str | None = Field(description="its language, null when unknown")
    metadata: dict[str, list[str]] = Field(description="values by name, of the names in `getfields`")
    explanation: dict[str, float] | None = Field(
        default=None, description="the parts of the score, for administrators who send `explain=1`"
    )


class FacetValueShown(Answer):
    """A value of a facet, or a range."""

    value: str | None = Field(description="as most documents spell it; null for a range")
    low: float | str | None = Field(description="where a range begins: a number, or a day; null for an open one and for a value")
    high: float | str | None = Field(description="where a range ends, itself included")
    count: int = Field(description="how many documents of the whole result have it")


class FacetShown(Answer):
    """A metadata name, counted."""

    name: str
    label: str = Field(description="what to show; the name where the front end sets none")
    type: str = Field(description="string, integer, float, currency or date")
    values: list[FacetValueShown]
    exact: bool = Field(default=True, description="false where the counts are estimated; left out where they are exact")


class KeyMatchShown(Answer):
    """A page that the front end offers for a query."""

    url: str
    title: str


class SearchAnswer(Answer):
    """A page of results."""

    query: str
    total: int = Field(description="how many matching documents the user may see")
    exact: bool = Field(description="whether `total` is exact")
    results: list[ResultShown]
    facets: list[FacetShown] = Field(description="in the order of the request")
    spelling: str | None = Field(description="the query as it may have been meant, else null")
    keymatches: list[KeyMatchShown] = Field(default=[], description="pages that the front end offers")
    related: list[str] = Field(default=[], description="queries that the front end offers")
    next_cursor: str | None = Field(default=None, description="the `cursor` of the next page; null on the last, and where none was sent")
    warnings: list[str] = Field(description="what was not understood or not applied, for people")


class Suggestions(Answer):
    """How what was typed could go on."""

    query: str
    suggestions: list[str] = Field(description="likeliest first")


class PassageQuery(BaseModel):
    """What passages shall answer."""

    query: str = Field(min_length=1, max_length=10_000, description="words, a question, or a query in the language of searches")
    num: int = Field(default=10, ge=1, le=50, description="how many passages at most")
    site: str = Field(default="", description="collections, joined by `|` or `.`; all documents by default")


class PassageShown(Answer):
    """A passage of a document."""

    url: str = Field(description="the document's URL, by which it is known; `fetch` of the assistants takes it as `id`")
    display_url: str = Field(description="the URL to show and to link to; the same as `url` when none was fed")
    title: str = Field(description="the URL when the document has none")
    text: str
    start: int = Field(description="where `text` begins in the text of the document, in characters from 0")
    end: int = Field(description="where it ends, the character at `end` not included")
    score: float | None = Field(description="comparable within one answer only; null for all but administrators")
    coverage: float = Field(description="the share of the words of the query that the passage holds, from 0 to 1")


class Passages(Answer):
    """Passages that may answer a query."""

    passages: list[PassageShown] = Field(description="best first")
    warnings: list[str] = Field(description="what was not understood or not applied, for people")


class DocumentSummary(Answer):
    """The part of a document that a user may see."""

    url: str
    display_url: str
    state: str
    searchable: bool = Field(description="whether searches find the newest version")
    title: str | None
    mimetype: str | None
    last_modified: datetime | None
    metadata: dict[str, list[str]]
    language: str | None
    reason: str | None = Field(description="why the text is cut or missing, else null")


class LogLine(Answer):
    """A line of a feed's log."""

    record: int | None
    line: int | None
    url: str | None
    level: str = Field(description="error, warning or notice")
    reason: str


class StuckShown(Answer):
    """A queue in which nothing moves."""

    queue: str
    since: datetime = Field(description="since when nothing has moved there")
    document: str | None = Field(description="the URL, or the feed, at the head of the queue")
    reason: str = Field(description="why, as far as the server knows")


class Receipt(Answer):
    """What became of a feed."""

    id: str
    datasource: str
    feedtype: str
    feedtype_code: str | None = Field(default=None, description="the same for programs: full, incremental or metadata_and_url")
    groups: bool = Field(description="whether it is a groups feed")
    state: str = Field(description="received, in progress, completed, completed with errors or failed in error")
    state_code: str | None = Field(
        default=None, description="the same for programs: received, in_progress, completed, completed_with_errors or failed_in_error"
    )
    received_at: datetime
    size_bytes: int
    client: str
    records: int | None = Field(description="null before the feed was read once")
    included: int
    errors: int
    finished_at: datetime | None
    searchable_at: datetime | None = Field(description="when all of it could be found, null before")
    stuck: StuckShown | None = Field(default=None, description="the queue that keeps the feed from its end, null while all moves")
    log: list[LogLine] = Field(description="may be cut; `errors` stays true")

    @property
    def is_final(self) -> bool:
        """Whether its state will not change any more."""
        return self.state in ("completed", "completed with errors", "failed in error")


class PrincipalShown(Answer):
    """One line of an ACL."""

    scope: str
    access: str
    namespace: str
    name: str
    case_sensitive: bool


class AclShown(Answer):
    """An ACL as it was fed."""

    inheritance_type: str
    inherit_from: str | None
    principals: list[PrincipalShown]


class EventShown(Answer):
    """Something that happened to a document."""

    at: datetime
    event: str
    event_code: str | None = Field(default=None, description="the same for programs, such as taken_over")
    feed: str | None
    line: int | None
    detail: str | None


class DocumentDetails(Answer):
    """All that is known of a document, for feed clients."""

    url: str
    display_url: str
    datasource: str
    state: str
    state_code: str | None = Field(default=None, description="the same for programs, such as waiting_for_extraction")
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


class DataSourceShown(Answer):
    """A data source and what it holds."""

    name: str
    kind: str
    documents: int
    feeds: int


class Removed(Answer):
    """A data source whose documents are gone."""

    name: str
    feed: str
    state: str


class Problem(Answer):
    """Why a request was refused, as RFC 9457 has it."""

    type: str = Field(description="the page of the manual, relative to the search port")
    title: str = Field(description="the kind of problem, for people")
    status: int = Field(description="the status of the response")
    detail: str = Field(description="what is wrong, and where")
    code: str = Field(description="the kind of problem, for programs")
