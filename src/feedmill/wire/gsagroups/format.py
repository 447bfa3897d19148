"""The groups feed of the Google Search Appliance as a feed format."""

from feedmill.model.change import GroupChange, InvalidRecord
from feedmill.ports.feedformats import FormatOptions
from feedmill.wire.gsagroups.parse import GroupsParser
from feedmill.wire.xmlstream.front import find_root
from feedmill.wire.xmlstream.repair import Repairer


class GsaGroupsFormat:
    """Implements ``ports.feedformats.FeedFormat``. The parser returns changes, so converting is the identity."""

    def __init__(self, _options: FormatOptions) -> None:
        return

    def parse(self, skip: int) -> GroupsParser:
        """Returns a parser for one reading."""
        return GroupsParser(skip=skip)

    def convert(self, item: GroupChange) -> GroupChange:
        """Returns the item."""
        return item

    def reject(self, item: GroupChange, reason: str) -> InvalidRecord:
        """Returns a membership as one in error; its group stays as it was."""
        return InvalidRecord(place=item.place, url=None, reason=reason, group=item.group)

    def make_repairer(self) -> Repairer:
        """Returns a repairer for XML that is not well-formed."""
        return Repairer()


def is_gsagroups(head: bytes) -> bool:
    """Returns whether a feed that begins with ``head`` is a groups feed."""
    return find_root(head) == "xmlgroups"
