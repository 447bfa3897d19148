"""The tree of a query: what is asked of an index, whatever it was typed as."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Word:
    """One word as typed; matches in title, body, URL and metadata. ``is_fixed``: a plus stood in front, it means itself and must occur."""

    text: str
    is_fixed: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must follow one another."""

    text: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A word of which only pieces are given: ``*`` stands for any characters, none too. Shape: it does not begin with one."""

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
    """``filetype:``: the ending of the URL's path, or the kind of the content, by the ending that it usually has."""

    ending: str


@dataclass(frozen=True, slots=True)
class LinksTo:
    """``link:``: documents that link to exactly this URL."""

    url: str


@dataclass(frozen=True, slots=True)
class NumberRange:
    """``LOW..HIGH``: a number that stands in title or text, both ends included; ``unit`` as ``core.units`` names it, "" for any."""

    low: float
    high: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class DateRange:
    """``daterange:``: the document's date, both days included; None where the range is open. Units: days in UTC."""

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
    """``related:``: documents that are about the same as the one of exactly this URL. No index answers it: it is resolved before."""

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
    """``inmeta:NAME~TEXT``: a value of the name holds the words, in order; ``is_prefix``: the last one may go on."""

    name: str
    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class MetaNumbers:
    """``inmeta:NAME:LOW..HIGH``: a value of the name is a number in the range, both ends included; None where it is open.

    ``unit`` as ``core.units`` names it, "" for any.
    """

    name: str
    low: float | None
    high: float | None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class MetaDates:
    """``inmeta:NAME:daterange:FIRST..LAST``: a value of the name is a date in the range; None where it is open. Units: days in UTC."""

    name: str
    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class UnderPattern:
    """The URL is one that a URL pattern of the settings means; nothing that can be typed."""

    pattern: str


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of the parts."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of the parts; what holds all of them comes before what holds some."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """None of what the part matches."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class Everything:
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
)
Node = Plain | Restriction | And | Or | Some | Not | Everything
