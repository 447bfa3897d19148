"""When a request is tried again. Source: RFC 9110, 10.2.3 (Retry-After); "Exponential Backoff And Jitter" (full jitter), AWS, 2015."""

import math
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

from feedmill_client.options import Retries

REFUSED: Final = frozenset({429, 503})
"""The server has not begun with the request, so it can be sent again whatever it does."""
FAILED: Final = frozenset({502, 504})
"""A proxy does not know what the server has done, so only a request that has the same effect twice can be sent again."""


def read_retry_after(text: str, now: datetime) -> float | None:
    """Returns how long a response asks to wait, None if it does not say so. Shape: seconds, or a date. Units: seconds, at least 0."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    # a date without a zone, which RFC 9110 does not allow, is meant as UTC
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=now.tzinfo)) - now).total_seconds())


def choose_pause(retries: Retries, attempt: int, spent_seconds: float, retry_after: float | None, chance: float) -> float | None:
    """Returns how long to wait after the failed ``attempt``, None to give up.

    ``attempt`` counts from 1, ``spent_seconds`` since the first one began, and ``chance`` is from 0 to 1.
    """
    if attempt >= retries.attempts:
        return None
    # 2 ** 1000 is still a float
    highest = min(retries.longest_seconds, retries.first_seconds * math.pow(2.0, min(attempt - 1, 1000)))
    # where the server names a time, chance spreads the clients that it named the same time
    pause = chance * highest if retry_after is None else retry_after + chance * retries.first_seconds
    return pause if spent_seconds + pause <= retries.total_seconds else None
