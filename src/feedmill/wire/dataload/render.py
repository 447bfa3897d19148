"""Writes the reply to a dataload: what became of each item.

Source: Thunderstone Search Appliance Manual, "Reply Format".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import Final

from feedmill import __version__
from feedmill.wire.xmltext import clean_text

REPLICATION_ID: Final = "000000000"
"""Clients ignore it."""

_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<ThunderstoneReplicationResult>\n'


class Status(Enum):
    """What became of an item, or of a request as a whole."""

    OK = "OK"
    FAIL = "FAIL"
    UNKNOWN_TYPE = "FAIL_UNKNOWNTYPE"
    NO_DATA = "NODATA"
    NOT_ALLOWED = "Not Allowed"
    NO_PROFILE = "No Profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """What became of one item. ``type`` is None if the request was refused as a whole, ``deleted`` unless it deleted by a pattern."""

    status: Status
    type: str | None = None
    deleted: int | None = None
    info: str = ""


def render_reply(results: Iterable[ItemResult]) -> Iterator[bytes]:
    """Yields the reply to a request whose items were read."""
    yield _HEAD.encode()
    rows = 0
    for result in results:
        rows += 1
        yield _render_result(result).encode("utf-8", "replace")
    yield _render_foot(rows).encode()


def render_refusal(status: Status, info: str = "") -> bytes:
    """Returns the reply to a request that was refused as a whole: no item was read."""
    parts = (_HEAD, _render_result(ItemResult(status=status, info=info)), _render_foot(0))
    return "".join(parts).encode("utf-8", "replace")


def _render_result(result: ItemResult) -> str:
    parts = [f"<rid>{REPLICATION_ID}</rid>"]
    if result.type is not None:
        parts.append(f"<Type>{_text(result.type)}</Type>")
    if result.deleted is not None:
        parts.append(f"<DP>{result.deleted}</DP>")
    parts.append(f"<Status>{result.status.value}</Status>")
    if result.info:
        parts.append(f"<Info>{_text(result.info)}</Info>")
    return f"<ItemResult>{''.join(parts)}</ItemResult>\n"


def _render_foot(rows: int) -> str:
    return f"<Rows>{rows}</Rows>\n<Version>Feedmill {__version__}</Version>\n</ThunderstoneReplicationResult>\n"


def _text(text: str) -> str:
    return escape(clean_text(text), quote=False)
