"""The feed of the Google Search Appliance as a feed format."""

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.change import Change, InvalidRecord, SourcePosition
from feedmill.ports.feedformats import FormatOptions
from feedmill.wire.gsafeed.adapt import Adapter
from feedmill.wire.gsafeed.parse import FeedParser
from feedmill.wire.gsafeed.schema import Item, Record
from feedmill.wire.xmlstream.front import find_root
from feedmill.wire.xmlstream.repair import Repairer


class GsaFeedFormat:
    """Implements ``ports.feedformats.FeedFormat``."""

    def __init__(self, options: FormatOptions) -> None:
        self._options = options
        self._adapter = Adapter(feedtype=options.feedtype, require_fqdn=options.require_fqdn)

    def parse(self, skip: int) -> FeedParser:
        """Returns a parser for one reading."""
        options = self._options
        return FeedParser(
            spool=options.spool, max_inflated_bytes=options.max_inflated_bytes, max_inflation=options.max_inflation, skip=skip
        )

    def convert(self, item: Item) -> Change:
        """Returns the change that a record or an ACL requests."""
        return self._adapter.adapt(item)

    def reject(self, item: Item, reason: str) -> InvalidRecord:
        """Returns a record or an ACL as one in error, and closes its content."""
        if isinstance(item, Record):
            attributes, place = item.attributes, SourcePosition(record=item.number, line=item.line)
            if item.content is not None:
                item.content.stream.close()
        else:
            attributes, place = item.acl.attributes, SourcePosition(record=0, line=item.acl.line)
        url = attributes.get("url", "").strip()
        return InvalidRecord(place=place, url=url if 0 < len(url) <= MAX_URL_CHARACTERS else None, reason=reason)

    def make_repairer(self) -> Repairer:
        """Returns a repairer for XML that is not well-formed."""
        return Repairer()


def is_gsafeed(head: bytes) -> bool:
    """Returns whether a feed that begins with ``head`` is a feed of documents."""
    return find_root(head) == "gsafeed"
