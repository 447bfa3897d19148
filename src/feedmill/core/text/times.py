"""How messages, tables and pages for people write times. JSON has times of its own (``wire/jsonvalues``)."""

from datetime import UTC, datetime

ZONE = "UTC"


def write_time(moment: datetime) -> str:
    """Returns a time such as ``2026-03-01 12:30:00 UTC``, which the options of commands accept too."""
    return f"{write_in_utc(moment)} {ZONE}"


def write_in_utc(moment: datetime) -> str:
    """Returns a time without its zone, for a column whose title names it."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")
