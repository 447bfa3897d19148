"""How results are served: collections, front ends, synonyms, biases. All of it can be set by file and by API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from feedmill.model.facets import Facet

DEFAULT_FRONTEND = "default_frontend"
"""The front end of whoever names none; it is always there."""

DEFAULT_COLLECTION = "default_collection"
"""The collection of all documents, unless it is set to be another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The documents whose URLs the patterns mean. Shape: lists of URL patterns; no ``include`` is every URL."""

    name: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class KeyMatchKind(Enum):
    """When a KeyMatch fits: its words stand in the query, follow one another there, or are all of it."""

    KEYWORD = "keyword"
    PHRASE = "phrase"
    EXACT = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMatch:
    """A page that is shown above the results of some queries, be it in the index or not."""

    kind: KeyMatchKind
    term: str
    url: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedQuery:
    """Another query that is offered to whoever asks for exactly ``term``."""

    term: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontEnd:
    """What one front end shows. Shape: ``stylesheet`` a path, ``bias`` a bias's name, each "" for none."""

    name: str
    stylesheet: str = ""
    remove_urls: tuple[str, ...] = ()
    keymatches: tuple[KeyMatch, ...] = ()
    related: tuple[RelatedQuery, ...] = ()
    facets: tuple[Facet, ...] = ()
    bias: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynonymSet:
    """Words that mean the same. Shape: ``two_way`` groups of equals; ``one_way`` what is searched for, then what is found too."""

    two_way: tuple[tuple[str, ...], ...] = ()
    one_way: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBias:
    """How much documents of a URL pattern are raised or lowered. Units: -10 to 10."""

    pattern: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataBias:
    """How much documents that hold a metadata value are raised or lowered; "" is any value. Units: -10 to 10."""

    name: str
    value: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bias:
    """A named result bias. Units: ``date`` 0 to 10, how much newer documents are raised."""

    name: str
    date: int = 0
    sources: tuple[SourceBias, ...] = ()
    metadata: tuple[MetadataBias, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """All of it, by name."""

    collections: Mapping[str, Collection] = field(default_factory=lambda: MappingProxyType({}))
    frontends: Mapping[str, FrontEnd] = field(default_factory=lambda: MappingProxyType({}))
    synonyms: tuple[SynonymSet, ...] = ()
    biases: Mapping[str, Bias] = field(default_factory=lambda: MappingProxyType({}))
    stop_words: tuple[str, ...] = ()

    def get_frontend(self, name: str) -> FrontEnd:
        """Returns a front end, the default one for a name that nobody set."""
        found = self.frontends.get(name) or self.frontends.get(DEFAULT_FRONTEND)
        return found or FrontEnd(name=DEFAULT_FRONTEND)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSetting:
    """A setting that was made by API: an entry of a section, as JSON, and how often it was changed."""

    section: str
    name: str
    value: str
    version: int
