"""Who brings a change of a document. The rules of ownership depend on it: docs/explanation/ownership.md."""

from dataclasses import dataclass
from enum import Enum


class ProvenanceKind(Enum):
    """The ways in which a change reaches a document."""

    FEED = "feed"
    """A client pushed it in a feed."""
    FETCH = "fetch"
    """The crawler fetched it from the server of the document."""
    RUN = "run"
    """A run of a pull source listed it."""
    MAINTENANCE = "maintenance"
    """The server itself changes a stored document, for example after its settings have changed. It brings no documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who brings a change: the way, the data source in whose name it comes, and the feed or the run. Either id is None for another way.

    A fetch has the source of the crawler. It counts only for URLs that no source named: a fetch never changes who owns a document.
    """

    kind: ProvenanceKind
    datasource: str = ""
    feed_id: int | None = None
    run_id: int | None = None


MAINTENANCE = Provenance(kind=ProvenanceKind.MAINTENANCE)


def from_feed(feed_id: int, datasource: str) -> Provenance:
    """Returns the provenance of the changes of a feed."""
    return Provenance(kind=ProvenanceKind.FEED, datasource=datasource, feed_id=feed_id)


def from_run(datasource: str, run_id: int | None = None) -> Provenance:
    """Returns the provenance of the changes of a pull source's run."""
    return Provenance(kind=ProvenanceKind.RUN, datasource=datasource, run_id=run_id)


def from_fetch(datasource: str) -> Provenance:
    """Returns the provenance of the changes of a crawl."""
    return Provenance(kind=ProvenanceKind.FETCH, datasource=datasource)
