"""Search settings: collections, front ends, synonyms, biases. All of them can be set by file and by API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from feedmill.model.facets import Facet

DEFAULT_FRONTEND = "default_frontend"
"""The front end for requests that name none; it always exists."""

DEFAULT_COLLECTION = "default_collection"
"""The collection of all documents, unless it is configured otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The documents whose URLs match the patterns. Shape: lists of URL patterns; an empty ``include`` means every URL."""

    name: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class KeyMatchKind(Enum):
    """When a KeyMatch fits: the query contains its words, contains them as a contiguous run, or consists of them."""

    KEYWORD = "keyword"
    PHRASE = "phrase"
    EXACT = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMatch:
    """A page that is shown above the results of some queries, whether or not it is in the index."""

    kind: KeyMatchKind
    term: str
    url: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedQuery:
    """Another query to offer for the exact query ``term``."""

    term: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Branding:
    """The owner's name on the pages of a front end, each "" for that of the program.

    Shape: ``logo`` and ``css`` are paths of files, ``accent`` is a colour such as ``#1f5f5b``, ``help_url`` an http address,
    ``footer`` text with links as Markdown writes them. ``as_you_type``: results come while somebody types, where the server is quick.
    """

    title: str = ""
    logo: str = ""
    accent: str = ""
    help_url: str = ""
    footer: str = ""
    css: str = ""
    as_you_type: bool = True


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
    branding: Branding = field(default_factory=Branding)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynonymSet:
    """Words with the same meaning. Shape: ``two_way`` groups of equals; ``one_way`` the searched term, then those that are found too."""

    two_way: tuple[tuple[str, ...], ...] = ()
    one_way: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBias:
    """How much documents of a URL pattern are raised or lowered. Units: -10 to 10."""

    pattern: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataBias:
    """How much documents with a metadata value are raised or lowered; "" means any value. Units: -10 to 10."""

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
    """All search settings, by name."""

    collections: Mapping[str, Collection] = field(default_factory=lambda: MappingProxyType({}))
    frontends: Mapping[str, FrontEnd] = field(default_factory=lambda: MappingProxyType({}))
    synonyms: tuple[SynonymSet, ...] = ()
    biases: Mapping[str, Bias] = field(default_factory=lambda: MappingProxyType({}))
    stop_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSetting:
    """A setting that was made by API: an entry of a section, as JSON, and the number of its changes."""

    section: str
    name: str
    value: str
    version: int
