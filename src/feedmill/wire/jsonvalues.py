"""The form of documents' values in every JSON response."""

import re
from datetime import UTC, datetime

from feedmill.model.document import Metadata

_NO_LETTERS = re.compile("[^a-z0-9]+")


def write_code(words: str) -> str:
    """Returns words for people in the spelling for programs: "known, not crawled" is known_not_crawled."""
    return _NO_LETTERS.sub("_", words.lower()).strip("_")


def group_metadata(metadata: Metadata) -> dict[str, list[str]]:
    """Returns the values of each name, names by their first use, values in order."""
    grouped: dict[str, list[str]] = {}
    for name, value in metadata:
        grouped.setdefault(name, []).append(value)
    return grouped


def render_time(time: datetime | None) -> str | None:
    """Returns a time as ISO 8601 in UTC with a ``Z``, None for none."""
    if time is None:
        return None
    return (time if time.tzinfo is UTC else time.astimezone(UTC)).isoformat().removesuffix("+00:00") + "Z"
