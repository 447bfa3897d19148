"""Readers of feeds in the appliance's formats."""

import io
import tempfile
from collections.abc import Callable
from typing import BinaryIO, cast

from feedmill.model.change import Change, GroupChange
from feedmill.model.feed import FeedType
from feedmill.ports import FeedFiles
from feedmill.ports.feedformats import FormatOptions
from feedmill.services.feeds.reading import PIECE_BYTES, FeedReader
from feedmill.wire.inflation import DEFAULT_RATIO
from feedmill.wire.registry import FORMATS, GSAFEED, GSAGROUPS


def _open_spool() -> BinaryIO:
    return cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=1_048_576))


GIVEN = FormatOptions(
    feedtype=FeedType.FULL,
    spool=_open_spool,
    max_inflated_bytes=1_073_741_824,
    max_inflation=DEFAULT_RATIO,
)
"""Options as in the default settings."""


def gsafeed_reader(
    opener: Callable[[], BinaryIO], options: FormatOptions = GIVEN, *, files: FeedFiles | None = None, piece_bytes: int = PIECE_BYTES
) -> FeedReader[Change]:
    """Returns a reader of a feed of documents, by default of a full one."""
    return FeedReader(opener=opener, format=FORMATS.documents[GSAFEED].open(options), files=files, piece_bytes=piece_bytes)


def gsagroups_reader(data: bytes, *, piece_bytes: int = PIECE_BYTES) -> FeedReader[GroupChange]:
    """Returns a reader of a groups feed."""
    return FeedReader(opener=lambda: io.BytesIO(data), format=FORMATS.groups[GSAGROUPS].open(GIVEN), piece_bytes=piece_bytes)
