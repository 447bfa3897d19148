"""The settings of dataloads: the profiles that Thunderstone clients name."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from feedmill.core.documents.submission import WEB
from feedmill.core.urls.networks import parse_allowed
from feedmill.model.dataload import Profile
from feedmill.model.errors import BadRequest
from feedmill.settings.keypaths import Fault
from feedmill.settings.section import Section, SourceName
from feedmill.wire.xmlstream.charset import find_codec


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


class ProfileSettings(Section):
    """One profile, which is a data source. ``allowed`` are the addresses that may load it."""

    name: SourceName
    allowed: tuple[Annotated[str, AfterValidator(_check_allowed)], ...] = ("127.0.0.0/8", "::1")
    categories: tuple[str, ...] = ()
    charset: Annotated[str, AfterValidator(_check_charset)] = "UTF-8"

    def as_profile(self) -> Profile:
        """Returns the profile as the reader of dataloads takes it."""
        return Profile(name=self.name, categories=self.categories, charset=self.charset)


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
