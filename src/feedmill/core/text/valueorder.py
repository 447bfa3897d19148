"""The order of values that are all numbers, sizes of files, versions or dates, whatever their texts.

Source: Semantic Versioning 2.0.0, 11, for what stands behind the numbers of a version.
"""

import re
from collections.abc import Callable, Sequence

from feedmill.core.text.dates import parse_date
from feedmill.core.text.measures import read_measure

Place = tuple[float | str, ...]
"""What values of one kind are compared by."""

_SIZE = re.compile(r"\s*(\d{1,15}(?:[.,]\d{1,9})?)\s?(?:bytes?|octets?|([kmgtpe]?)(i?)[bo])\s*", re.IGNORECASE)
_VERSION = re.compile(r"\s*[vV]?(\d{1,9}(?:\.\d{1,9}){1,9})(?:[-+~.]?([0-9A-Za-z][0-9A-Za-z.+~-]{0,60}))?\s*")
_DOTTED_DAY = re.compile(r"\s*\d{1,2}\.\d{1,2}\.\d{4}\s*")
_PREFIXES = "kmgtpe"


def find_places(values: Sequence[str]) -> list[Place] | None:
    """Returns what to compare the values by, None if they are not all of one kind, or only one. Numbers with units have the same unit."""
    if len(values) < 2:
        return None
    readers: tuple[Callable[[str], Place | None], ...] = (_read_number_of_unit(values[0]), _read_size, _read_version, _read_date)
    for read in readers:
        places: list[Place] = []
        for value in values:
            place = read(value)
            if place is None:
                break
            places.append(place)
        else:
            return places
    return None


def _read_number_of_unit(first: str) -> Callable[[str], Place | None]:
    known = read_measure(first)

    def read(value: str) -> Place | None:
        found = read_measure(value)
        return (found.number,) if found is not None and known is not None and found.unit == known.unit else None

    return read


def _read_size(value: str) -> Place | None:
    found = _SIZE.fullmatch(value)
    if found is None:
        return None
    power = _PREFIXES.index(found[2].lower()) + 1 if found[2] else 0
    return (float(found[1].replace(",", ".")) * (1024 if found[3] else 1000) ** power,)


def _read_version(value: str) -> Place | None:
    found = _VERSION.fullmatch(value)
    if found is None or _DOTTED_DAY.fullmatch(value):
        return None
    numbers = [float(part) for part in found[1].split(".")]
    # a version with a word behind its numbers comes before the one without it
    numbers += [0.0] * (10 - len(numbers))
    return (*numbers, 0.0 if found[2] else 1.0, found[2] or "")


def _read_date(value: str) -> Place | None:
    moment = parse_date(value)
    return None if moment is None else (moment.timestamp(),)
