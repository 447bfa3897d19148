"""The formats of feeds by their names. A line here registers a format; docs/howto/add-a-protocol.md shows all steps of a new protocol."""

from typing import Final

from feedmill.ports.feedformats import FeedFormats, RegisteredFormat
from feedmill.wire.dataload.format import DataloadFormat, is_dataload
from feedmill.wire.gsafeed.format import GsaFeedFormat, is_gsafeed
from feedmill.wire.gsagroups.format import GsaGroupsFormat, is_gsagroups

GSAFEED: Final = "gsafeed"
GSAGROUPS: Final = "gsagroups"
DATALOAD: Final = "dataload"

FORMATS: Final = FeedFormats(
    documents={
        GSAFEED: RegisteredFormat(open=GsaFeedFormat, recognizes=is_gsafeed),
        DATALOAD: RegisteredFormat(open=DataloadFormat, recognizes=is_dataload),
    },
    groups={GSAGROUPS: RegisteredFormat(open=GsaGroupsFormat, recognizes=is_gsagroups)},
)
