"""The formats of feeds by their names. A line here registers a format; docs/howto/add-a-protocol.md shows all steps of a new protocol."""

from typing import Final

from feedmill.ports.feedformats import FeedFormats, RegisteredFormat
from feedmill.wire.dataload.format import DataloadFormat, is_dataload
from feedmill.wire.gsafeed.format import GsaFeedFormat, is_gsafeed
from feedmill.wire.gsagroups.format import GsaGroupsFormat, is_gsagroups
from feedmill.wire.jsondocuments.format import is_array, is_lines, open_array, open_lines

GSAFEED: Final = "gsafeed"
GSAGROUPS: Final = "gsagroups"
DATALOAD: Final = "dataload"
JSON_ARRAY: Final = "jsonarray"
JSON_LINES: Final = "jsonlines"

FORMATS: Final = FeedFormats(
    documents={
        GSAFEED: RegisteredFormat(open=GsaFeedFormat, recognizes=is_gsafeed),
        DATALOAD: RegisteredFormat(open=DataloadFormat, recognizes=is_dataload),
        JSON_ARRAY: RegisteredFormat(open=open_array, recognizes=is_array),
        JSON_LINES: RegisteredFormat(open=open_lines, recognizes=is_lines),
    },
    groups={GSAGROUPS: RegisteredFormat(open=GsaGroupsFormat, recognizes=is_gsagroups)},
)
