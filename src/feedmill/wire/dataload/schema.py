"""The elements of a dataload as values, before their meaning is checked.

Source: Thunderstone Search Appliance Manual, "Submitting Content".
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from feedmill.model.change import Content

ROOT: Final = "ThunderstoneReplication"
ITEM: Final = "Item"
TYPE: Final = "Type"
FIELD_PREFIX: Final = "u"
BASE64: Final = "bin.base64"

MAX_VALUES: Final = 10_000
MAX_VALUE_CHARACTERS: Final = 4_194_304
MAX_TYPE_CHARACTERS: Final = 100

INTEGERS: Final = frozenset({"Size", "Dlsecs", "Depth", "Views", "Clicks", "Pop"})
NUMBERS: Final = frozenset({"CTR"})
DATES: Final = frozenset({"Visited", "NextCheck"})
TEXTS: Final = frozenset({"Keywords", "Description", "Meta"})
METADATA: Final = INTEGERS | NUMBERS | DATES | TEXTS | {"Category"}
"""The elements that become metadata, under their names in lower case."""

VALUES: Final = METADATA | {TYPE, "Url", "Title", "Modified", "MimeType", "Charset", "Refs", "Errors"}
"""The elements with a short text."""

CONTENTS: Final = frozenset({"Body", "RawData"})


class ItemType(Enum):
    """What an item does."""

    INSERT = "I"
    DELETE = "D"
    DELETE_PATTERN = "DP"
    UPDATE = "U"
    REFRESH = "UI"


@dataclass(frozen=True, slots=True)
class Value:
    """One element with a short text. ``data`` is the decoded text if it came as base64, None if ``text`` is what was meant."""

    name: str
    text: str
    data: bytes | None = None
    is_field: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """An ``<Item>``. Shape: values in their order. ``fault`` is the reason why it cannot be read."""

    number: int
    line: int
    values: tuple[Value, ...]
    body: Content | None = None
    is_body_encoded: bool = False
    raw: Content | None = None
    fault: str | None = None
    remarks: tuple[str, ...] = ()

    def find_value(self, name: str) -> Value | None:
        """Returns the last element of a name, None if there is none."""
        return next((value for value in reversed(self.values) if value.name == name and not value.is_field), None)


def find_type(text: str) -> ItemType | None:
    """Returns the type of an item, None for a text that is none."""
    try:
        return ItemType(text.strip().upper())
    except ValueError:
        return None
