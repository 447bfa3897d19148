"""What the headers of a fetched document say."""

from dataclasses import dataclass

from feedmill.model.access import Acl
from feedmill.model.document import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsDirectives:
    """What ``X-Robots-Tag`` forbids."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what is forbidden."""
        return tuple(name for name in ("noindex", "nofollow", "noarchive", "nosnippet") if getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlHeaders:
    """What the headers of a response say about its document. None means that no header says it.

    - ``metadata`` replaces all external metadata that the document had; an empty one removes it.
    - ``states_acl``: the headers say which ACL the document has; ``acl`` None is none. Otherwise the stored ACL stays.
    - ``legacy_acl`` is that of ``google:acl*`` entries of the metadata, as older adaptors send it.
    - ``anchors`` are texts and URLs; the text may be empty.
    - ``is_secure`` is ``X-Gsa-Serve-Security``: whether a document without an ACL is closed.
    - ``keeps_content``: metadata and ACL are new, the content is not (status 204).
    - ``canonical`` is the URL of the same document that its server prefers, "" for none.
    - ``faults`` say what could not be read.
    """

    metadata: Metadata | None = None
    states_acl: bool = False
    acl: Acl | None = None
    legacy_acl: Acl | None = None
    display_url: str | None = None
    crawl_once: bool | None = None
    lock: bool | None = None
    scoring: str | None = None
    anchors: tuple[tuple[str, str], ...] = ()
    is_secure: bool | None = None
    keeps_content: bool = False
    robots: RobotsDirectives = RobotsDirectives()
    canonical: str = ""
    faults: tuple[str, ...] = ()

    @property
    def describes(self) -> bool:
        """Whether an adaptor describes the document, which is then one of its own whatever its content is."""
        return self.metadata is not None or self.states_acl or self.legacy_acl is not None or self.is_secure is not None
