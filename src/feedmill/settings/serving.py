"""Merges the search settings of the file with the stored ones, and converts them to the model.

A stored entry replaces the whole entry of the file with the same name; other entries are added to those of the file.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from feedmill.core.ranking.facets import read_facet_range
from feedmill.core.urls.patterns import is_remark
from feedmill.model.errors import BadRequest, Corrupt, NotFound
from feedmill.model.facets import Facet, FacetType
from feedmill.model.serving import (
    Bias,
    Branding,
    Collection,
    FrontEnd,
    KeyMatch,
    KeyMatchKind,
    MetadataBias,
    RelatedQuery,
    Serving,
    SourceBias,
    StoredSetting,
    SynonymSet,
)
from feedmill.settings.faults import explain
from feedmill.settings.keypaths import dotted
from feedmill.settings.policyacls import PolicyAclSettings
from feedmill.settings.sections import Settings
from feedmill.settings.servingsections import (
    BiasSettings,
    CollectionSettings,
    FacetSettings,
    FrontEndSettings,
    QuerySettings,
    SynonymSettings,
)

SECTIONS: Mapping[str, type[BaseModel]] = MappingProxyType(
    {
        "collections": CollectionSettings,
        "frontends": FrontEndSettings,
        "synonyms": SynonymSettings,
        "biases": BiasSettings,
        "query": QuerySettings,
        "policy_acls": PolicyAclSettings,
    }
)
"""The sections that the API can store, with the model of an entry."""

FILES = ("logo", "css")
"""The keys of a front end that name files which the server sends to everybody."""

WHOLE = frozenset({"query"})
"""The sections that are one table and not a list of entries. They are stored under their own name."""


def name_of(section: str, entry: BaseModel, place: int) -> str:
    """Returns the name of an entry of the file: its own, else one made of its place in the list."""
    if section in WHOLE:
        return section
    return str(getattr(entry, "name", "")) or f"file-{place + 1}"


def read_entry(section: str, name: str, value: Any) -> BaseModel:
    """Reads an entry from JSON. Errors: NotFound, BadRequest with all faults."""
    if section in WHOLE and name != section:
        raise NotFound(f"there is no {section}/{name[:200]}; it is one table, {section}/{section}")
    if not isinstance(value, dict):
        raise BadRequest("an entry is a JSON object")
    model = SECTIONS[section]
    if "name" in model.model_fields:
        if value.get("name", name) != name:
            raise BadRequest(f"name: '{value['name']}' is not the name in the address, '{name}'; leave it out")
        value = value | {"name": name}
    try:
        entry = model.model_validate_json(json.dumps(value))
    except ValidationError as exc:
        faults = [f"{dotted(error['loc']) or 'entry'}: {explain(error)}" for error in exc.errors(include_url=False)]
        raise BadRequest("; ".join(faults)) from exc
    # An entry of the API has no file next to which a relative path could lead.
    if isinstance(entry, FrontEndSettings) and entry.stylesheet and not Path(entry.stylesheet).is_absolute():
        raise BadRequest(f"stylesheet: '{entry.stylesheet}' is no whole path; give one that begins with /")
    return entry


def list_entries(settings: Settings, section: str) -> dict[str, BaseModel]:
    """Returns the entries of a section by name."""
    held = getattr(settings, section)
    entries = [held] if section in WHOLE else held
    return {name_of(section, entry, place): entry for place, entry in enumerate(entries)}


def merge_stored(settings: Settings, stored: Sequence[StoredSetting]) -> Settings:
    """Returns the settings with stored entries in place of the file's. Errors: Corrupt for an entry that cannot be read."""
    changed: dict[str, Any] = {}
    for section in {one.section for one in stored} & set(SECTIONS):
        entries = list_entries(settings, section)
        for one in stored:
            if one.section == section:
                entries[one.name] = keep_files(entries.get(one.name), _read_stored(one))
        changed[section] = entries[section] if section in WHOLE else tuple(entries.values())
    return settings.model_copy(update=changed)


def keep_files(held: BaseModel | None, entry: BaseModel) -> BaseModel:
    """Returns an entry of the API with the files that only the settings file may name, as its entry of the same name has them."""
    if not isinstance(entry, FrontEndSettings):
        return entry
    files = {key: getattr(held, key) if isinstance(held, FrontEndSettings) else "" for key in FILES}
    return entry.model_copy(update=files)


def check_files(settings: Settings, section: str, name: str, entry: BaseModel) -> BaseModel:
    """Returns an entry of the API as it will be in force. Errors: BadRequest if it names a file that the settings file does not name."""
    kept = keep_files(list_entries(settings, section).get(name), entry)
    for key in FILES if isinstance(entry, FrontEndSettings) else ():
        if getattr(entry, key) not in ("", getattr(kept, key)):
            raise BadRequest(f"{key}: only the settings file can name this file; leave it out, and set it there")
    return kept


def _read_stored(stored: StoredSetting) -> BaseModel:
    try:
        return SECTIONS[stored.section].model_validate_json(stored.value)
    except ValidationError as exc:
        raise Corrupt(f"the setting {stored.section}/{stored.name} that was stored cannot be read: {exc.errors()[0]['msg']}") from exc


def serving_of(settings: Settings) -> Serving:
    """Returns the search settings as the model defines them."""
    return Serving(
        collections=MappingProxyType({one.name: _collection_of(one) for one in settings.collections}),
        frontends=MappingProxyType({one.name: _frontend_of(one) for one in settings.frontends}),
        synonyms=tuple(SynonymSet(two_way=one.two_way, one_way=one.one_way) for one in settings.synonyms),
        biases=MappingProxyType({one.name: _bias_of(one) for one in settings.biases}),
        stop_words=settings.query.stop_words,
    )


def _collection_of(one: CollectionSettings) -> Collection:
    return Collection(name=one.name, include=_without_remarks(one.include), exclude=_without_remarks(one.exclude))


def _without_remarks(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if not is_remark(line))


def _frontend_of(one: FrontEndSettings) -> FrontEnd:
    keymatches = (
        KeyMatch(kind=KeyMatchKind(match.type), term=match.term, url=match.url.strip(), title=match.title)
        for match in one.keymatches
        if match.url.strip()
    )
    return FrontEnd(
        name=one.name,
        stylesheet=one.stylesheet,
        remove_urls=_without_remarks(one.remove_urls),
        keymatches=tuple(keymatches),
        related=tuple(RelatedQuery(term=related.term, query=related.query) for related in one.related if related.term.strip()),
        facets=tuple(_facet_of(facet) for facet in one.facets),
        bias=one.bias,
        branding=Branding(
            title=one.title,
            logo=one.logo,
            accent=one.accent,
            help_url=one.help_url,
            footer=one.footer,
            css=one.css,
            as_you_type=one.as_you_type,
        ),
    )


def _facet_of(one: FacetSettings) -> Facet:
    kind = FacetType(one.type)
    return Facet(name=one.name, label=one.label, type=kind, ranges=tuple(read_facet_range(text, kind) for text in one.ranges))


def _bias_of(one: BiasSettings) -> Bias:
    return Bias(
        name=one.name,
        date=one.date,
        sources=tuple(SourceBias(pattern=source.pattern, weight=source.weight) for source in one.sources),
        metadata=tuple(MetadataBias(name=held.name, value=held.value, weight=held.weight) for held in one.metadata),
    )
