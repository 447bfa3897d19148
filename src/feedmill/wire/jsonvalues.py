"""The form of documents' values in every JSON response."""

from datetime import UTC, datetime

from feedmill.model.document import Metadata


def group_metadata(metadata: Metadata) -> dict[str, list[str]]:
    """Returns the values of each name, names by their first use, values in order."""
    grouped: dict[str, list[str]] = {}
    for name, value in metadata:
        grouped.setdefault(name, []).append(value)
    return grouped


def render_time(time: datetime | None) -> str | None:
    """Returns a time as ISO 8601 in UTC with a ``Z``, None for none."""
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")
