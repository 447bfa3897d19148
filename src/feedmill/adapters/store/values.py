"""How the store represents single values: times, texts, JSON."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any, overload

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DECODER = json.JSONDecoder()
# ``json.dumps`` makes an encoder for each value
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


@overload
def to_micros(moment: datetime) -> int: ...
@overload
def to_micros(moment: datetime | None) -> int | None: ...
def to_micros(moment: datetime | None) -> int | None:
    """Returns a time in microseconds since the epoch, or None for None."""
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND


@overload
def from_micros(micros: int) -> datetime: ...
@overload
def from_micros(micros: int | None) -> datetime | None: ...
def from_micros(micros: int | None) -> datetime | None:
    """Returns the time of stored microseconds, or None for None. Units: aware UTC."""
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)


def now_micros() -> int:
    """Returns the current time in microseconds, for the store's own timestamps, such as a queue's last progress."""
    return time.time_ns() // 1_000


def plain(text: str) -> str:
    """Returns a text with replacements for what no database takes: NUL and lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "\N{SYMBOL FOR NULL}")
    return text.encode("utf-8", "replace").decode("utf-8") if _has_half_pair(text) else text


def _has_half_pair(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def loads(text: str) -> Any:
    """Reads what ``dumps`` wrote, without the checks of ``json.loads`` for foreign texts. It runs three times for each document."""
    return _DECODER.raw_decode(text)[0]


def dumps(value: object) -> str:
    """Writes JSON that every database takes."""
    text = _encode(value)
    # Escaped to ASCII, a lone surrogate is text that every database takes, and comes back as it was.
    return json.dumps(value, separators=(",", ":")) if _has_half_pair(text) else text
