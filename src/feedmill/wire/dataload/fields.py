"""Reads the values of additional fields by their types.

Source: Thunderstone Search Appliance Manual, "Field Types".
"""

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from feedmill.core.text.dates import parse_date
from feedmill.model.dataload import AdditionalField, FieldType
from feedmill.wire.tokens import Unreadable

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3})?")
_INTEGER: Final = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})")
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1


def is_number(text: str) -> bool:
    """Whether a text is a decimal number, perhaps with a power of ten, in the range of a double."""
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def read_field(field: AdditionalField, text: str, read_local: Callable[[datetime], datetime]) -> tuple[str, ...]:
    """Returns the values of a field in a text, as they are stored. Errors: Unreadable, with what the text is not."""
    match field.type:
        case FieldType.TEXT:
            return (text,)
        case FieldType.NUMBER:
            return (_read_number(text),)
        case FieldType.INTEGER:
            return (_read_integer(text),)
        case FieldType.DATE:
            return (_read_date(text, read_local),)
        case FieldType.SET:
            return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
        case FieldType.ENUM:
            return (_read_enum(field, text),)


def _read_number(text: str) -> str:
    if not is_number(text):
        raise Unreadable("no number")
    # The index reads decimals only. A number too small for a double is zero.
    return text if "e" not in text.lower() else format(Decimal(text), "f") if float(text) else "0"


def _read_integer(text: str) -> str:
    if not _INTEGER.fullmatch(text):
        raise Unreadable("no integer")
    value = int(text, 16 if "x" in text.lower() else 10)
    if not _SMALLEST <= value <= _LARGEST:
        raise Unreadable("no integer of 32 bits")
    return str(value)


def _read_date(text: str, read_local: Callable[[datetime], datetime]) -> str:
    """Returns a date in UTC in one form, so that dates sort as texts. Without a time it stays a day if that day begins in UTC too."""
    try:
        moment = datetime.fromisoformat(text)
        utc = moment.astimezone(UTC) if moment.tzinfo else read_local(moment)
        if _is_day(text) and utc.replace(tzinfo=None) == moment:
            return moment.date().isoformat()
    except (ValueError, OverflowError):
        parsed = parse_date(text)
        if parsed is None:
            raise Unreadable("no date") from None
        utc = parsed
    return utc.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _read_enum(field: AdditionalField, text: str) -> str:
    if not field.values:
        return text
    found = next((value for value in field.values if value.casefold() == text.casefold()), None)
    if found is None:
        raise Unreadable(f"none of {', '.join(field.values)[:200]}")
    return found
