"""The formats of feeds by their names: a new format is one line here. docs/howto/add-a-protocol.md shows the steps."""

from typing import Final

from feedmill.ports.feedformats import FeedFormats, RegisteredFormat
from feedmill.wire.gsafeed.format import GsaFeedFormat, is_gsafeed
from feedmill.wire.gsagroups.format import GsaGroupsFormat, is_gsagroups

GSAFEED: Final = "gsafeed"
GSAGROUPS: Final = "gsagroups"

FORMATS: Final = FeedFormats(
    documents={GSAFEED: RegisteredFormat(open=GsaFeedFormat, recognizes=is_gsafeed)},
    groups={GSAGROUPS: RegisteredFormat(open=GsaGroupsFormat, recognizes=is_gsagroups)},
)
