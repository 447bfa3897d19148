"""Two hundred records, three of which a fault point recognizes by their URL."""

from feedmill.model.change import Change
from tests.builders.changes import put

MARKED = (3, 77, 199)


def name_of(number: int) -> str:
    return f"marked{number}" if number in MARKED else f"good{number}"


def records(content: str | None = "body", *, whole: bool = False) -> list[Change]:
    return [put(name_of(number), content, record=number + 1, whole=whole) for number in range(200)]
