"""The tree of a query for an index, independent of how the user typed it."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Word:
    """One word as typed; matches in title, body, URL and metadata. ``is_fixed``: it has a leading plus, is not expanded and must occur."""

    text: str
    is_fixed: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must follow one another."""

    text: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A word of which only pieces are given: ``*`` means any characters or none. Shape: it does not begin with one."""

    text: str


@dataclass(frozen=True, slots=True)
class Site:
    """``site:``: a host (its subdomains too) and, after a slash, a path prefix."""

    value: str


@dataclass(frozen=True, slots=True)
class InUrl:
    """``inurl:``: words of the URL, in order."""

    text: str


@dataclass(frozen=True, slots=True)
class InTitle:
    """``intitle:``: words of the title, in order."""

    text: str


@dataclass(frozen=True, slots=True)
class InText:
    """``intext:``: words of the text, in order."""

    text: str


@dataclass(frozen=True, slots=True)
class FileType:
    """``filetype:``: the ending of the URL's path, or the usual ending of the content's type."""

    ending: str


@dataclass(frozen=True, slots=True)
class LinksTo:
    """``link:``: documents that link to exactly this URL."""

    url: str


@dataclass(frozen=True, slots=True)
class NumberRange:
    """``LOW..HIGH``: a number in title or text, both ends included; ``unit`` as ``core.text.units`` names it, "" for any."""

    low: float
    high: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class DateRange:
    """``daterange:``: the document's date, both days included; None for an open end. Units: days in UTC."""

    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class Language:
    """``lr=``: the document is written in this language, by its ISO 639-1 code."""

    code: str


@dataclass(frozen=True, slots=True)
class Info:
    """``info:``: the document of exactly this URL."""

    url: str


@dataclass(frozen=True, slots=True)
class Related:
    """``related:``: documents about the same subject as the one of exactly this URL. It is resolved before the query reaches an index."""

    url: str


@dataclass(frozen=True, slots=True)
class MetaEquals:
    """``inmeta:NAME=VALUE``: one whole value of a metadata name, both in any letter case."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class MetaExists:
    """``inmeta:NAME``: the document has the name."""

    name: str


@dataclass(frozen=True, slots=True)
class MetaStarts:
    """``NAME:VALUE*``: a value of a metadata name begins with this text."""

    name: str
    start: str


@dataclass(frozen=True, slots=True)
class MetaContains:
    """``inmeta:NAME~TEXT``: a value of the name contains the words, in order; ``is_prefix``: the last one may continue."""

    name: str
    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class MetaNumbers:
    """``inmeta:NAME:LOW..HIGH``: a value of the name is a number in the range, both ends included; None for an open end.

    ``unit`` as ``core.text.units`` names it, "" for any.
    """

    name: str
    low: float | None
    high: float | None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class MetaDates:
    """``inmeta:NAME:daterange:FIRST..LAST``: a value of the name is a date in the range; None for an open end. Units: days in UTC."""

    name: str
    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class UnderPattern:
    """The URL matches a URL pattern of the settings; users cannot type this restriction."""

    pattern: str


@dataclass(frozen=True, slots=True)
class FromSource:
    """The document is of this data source; users cannot type this restriction."""

    datasource: str


@dataclass(frozen=True, slots=True)
class BuiltInEquals:
    """The document has this value of a built-in facet, in any letter case. Users cannot type this restriction.

    Shape: ``name`` is one of ``model.facets.BuiltIn``, but not ``@date``.
    """

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Among:
    """The document has one of these numbers; users cannot type this restriction."""

    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of the parts."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts; documents with all of them come before those with some."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The documents that the part does not match."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Every document; stands for an empty query."""


Plain = Word | Phrase | Wildcard
Restriction = (
    Site
    | InUrl
    | InTitle
    | InText
    | FileType
    | LinksTo
    | NumberRange
    | DateRange
    | Language
    | Info
    | Related
    | MetaEquals
    | MetaExists
    | MetaStarts
    | MetaContains
    | MetaNumbers
    | MetaDates
    | UnderPattern
    | FromSource
    | Among
    | BuiltInEquals
)
Node = Plain | Restriction | And | Or | AnyOf | Not | MatchAll
