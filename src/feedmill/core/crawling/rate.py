"""Counts the fetched URLs of each minute, from which a picture of the crawl rate is drawn.

The counts are a text, so that they can be stored as one value: a JSON object of counts by minutes since 1970. Minutes that are older than
an hour are dropped.
"""

import json
from datetime import datetime
from typing import Final

MINUTES: Final = 60


def add_fetches(text: str, now: datetime, count: int) -> str:
    """Returns the counts with further fetches of this minute. A text that cannot be read counts nothing."""
    minute, counts = int(now.timestamp()) // 60, _read(text)
    counts[minute] = counts.get(minute, 0) + count
    kept = {str(known): number for known, number in sorted(counts.items()) if minute - MINUTES < known <= minute}
    return json.dumps(kept, separators=(",", ":"))


def list_fetches(text: str, now: datetime) -> list[int]:
    """Lists how many URLs were fetched in each minute of the last hour, oldest first."""
    minute, counts = int(now.timestamp()) // 60, _read(text)
    return [counts.get(minute - ago, 0) for ago in range(MINUTES - 1, -1, -1)]


def _read(text: str) -> dict[int, int]:
    try:
        return {int(minute): int(count) for minute, count in json.loads(text or "{}").items()}
    except (ValueError, TypeError, AttributeError):
        return {}
