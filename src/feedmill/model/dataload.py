"""Profiles: what the settings say about a data source that a Thunderstone client loads."""

from dataclasses import dataclass
from enum import Enum


class FieldType(Enum):
    """What the values of an additional field are."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    DATE = "date"
    SET = "set"
    ENUM = "enum"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditionalField:
    """Metadata of one type that an item may state by ``u:NAME``. ``values`` are those of an enumeration, none = any.

    ``searchable``: searches and facets find its values. ``sortable``: results can be sorted by it. ``output``: results show it.
    """

    name: str
    type: FieldType = FieldType.TEXT
    searchable: bool = True
    sortable: bool = True
    output: bool = True
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """``categories`` are those that a document may name. ``charset`` is that of text in base64 without a charset of its own."""

    name: str = ""
    categories: tuple[str, ...] = ()
    charset: str = "UTF-8"
    fields: tuple[AdditionalField, ...] = ()
