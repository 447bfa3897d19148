"""The settings of dataloads: the profiles that Thunderstone clients name."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator

from feedmill.core.documents.submission import WEB
from feedmill.core.urls.networks import parse_allowed
from feedmill.model.dataload import AdditionalField, FieldType, Profile
from feedmill.model.errors import BadRequest
from feedmill.settings.keypaths import Fault
from feedmill.settings.section import Section, SourceName
from feedmill.wire.dataload.schema import METADATA
from feedmill.wire.xmlstream.charset import find_codec

_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def _check_allowed(text: str) -> str:
    try:
        parse_allowed((text,))
    except BadRequest as exc:
        raise ValueError(str(exc)) from exc
    return text


def _check_charset(text: str) -> str:
    if find_codec(text) is None:
        raise ValueError(f"'{text}' is no charset; give an IANA name such as UTF-8 or ISO-8859-1")
    return text


def _check_field_name(text: str) -> str:
    if not _FIELD_NAME.fullmatch(text):
        raise ValueError(f"'{text}' is no name of an XML element; it begins with a letter or _, then letters, digits, _ and -")
    if text.casefold() in {name.casefold() for name in METADATA}:
        raise ValueError(f"'{text}' is metadata of every document; give the field another name")
    return text


class FieldSettings(Section):
    """One additional field of a profile. ``values`` are those of an enumeration, none = any."""

    name: Annotated[str, AfterValidator(_check_field_name)]
    type: Literal["text", "number", "integer", "date", "set", "enum"] = "text"
    searchable: bool = True
    sortable: bool = True
    output: bool = True
    values: tuple[str, ...] = ()

    def as_field(self) -> AdditionalField:
        """Returns the field as the reader of dataloads takes it."""
        return AdditionalField(
            name=self.name,
            type=FieldType(self.type),
            searchable=self.searchable,
            sortable=self.sortable,
            output=self.output,
            values=self.values,
        )


class ProfileSettings(Section):
    """One profile, which is a data source. ``allowed`` are the addresses that may load it."""

    name: SourceName
    allowed: tuple[Annotated[str, AfterValidator(_check_allowed)], ...] = ("127.0.0.0/8", "::1")
    categories: tuple[str, ...] = ()
    charset: Annotated[str, AfterValidator(_check_charset)] = "UTF-8"
    fields: tuple[FieldSettings, ...] = ()

    def as_profile(self) -> Profile:
        """Returns the profile as the reader of dataloads takes it."""
        return Profile(
            name=self.name,
            categories=self.categories,
            charset=self.charset,
            fields=tuple(field.as_field() for field in self.fields),
        )


class DataloadSettings(Section):
    """The profiles of dataloads; without one, every dataload is refused."""

    profiles: tuple[ProfileSettings, ...] = ()

    def find_profile(self, name: str) -> Profile | None:
        """Returns the profile of a data source, None if it has none."""
        return next((profile.as_profile() for profile in self.profiles if profile.name == name), None)


def check_dataload(dataload: DataloadSettings) -> Iterator[Fault]:
    """Yields faults between the profiles."""
    names: set[str] = set()
    for place, profile in enumerate(dataload.profiles):
        path = ("dataload", "profiles", place, "name")
        if profile.name in names:
            yield path, f"'{profile.name}' is there already"
        if profile.name == WEB:
            yield path, f"'{WEB}' is the data source of web feeds; give the profile another name"
        names.add(profile.name)
        yield from _check_fields(profile, place)


def _check_fields(profile: ProfileSettings, place: int) -> Iterator[Fault]:
    names: set[str] = set()
    for number, field in enumerate(profile.fields):
        path = ("dataload", "profiles", place, "fields", number)
        if field.name.casefold() in names:
            yield (*path, "name"), f"'{field.name}' is there already"
        if field.values and field.type != "enum":
            yield (*path, "values"), "only a field of type enum has values"
        names.add(field.name.casefold())
