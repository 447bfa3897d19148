"""The time at which the values of tests were made."""

from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)
