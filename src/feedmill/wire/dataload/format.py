"""Thunderstone's dataload as a feed format."""

from feedmill.model.change import Change, InvalidRecord
from feedmill.ports.feedformats import FormatOptions
from feedmill.wire.dataload.adapt import Adapter, reject
from feedmill.wire.dataload.parse import DataloadParser
from feedmill.wire.dataload.schema import ROOT, Item
from feedmill.wire.xmlstream.front import find_root
from feedmill.wire.xmlstream.reader import local_name


class DataloadFormat:
    """Implements ``ports.feedformats.FeedFormat``."""

    def __init__(self, options: FormatOptions) -> None:
        self._options = options
        self._adapter = Adapter(options)

    def parse(self, skip: int) -> DataloadParser:
        """Returns a parser for one reading."""
        return DataloadParser(spool=self._options.spool, max_inflated_bytes=self._options.max_inflated_bytes, skip=skip)

    def convert(self, item: Item) -> Change:
        """Returns the change that an item requests."""
        return self._adapter.adapt(item)

    def reject(self, item: Item, reason: str) -> InvalidRecord:
        """Returns an item as one in error, and closes its contents."""
        return reject(item, reason)

    def make_repairer(self) -> None:
        """Returns None: the client learns from the reply that its XML is broken."""


def is_dataload(head: bytes) -> bool:
    """Returns whether a feed that begins with ``head`` is a dataload."""
    root = find_root(head)
    return root is not None and local_name(root) == ROOT
