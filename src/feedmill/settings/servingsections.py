"""The sections of the settings that decide which results are shown and how. The file or the API can set each key; these models check both.

The section ``[search]``, of the search port itself, is in ``sections``.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from feedmill.core.query.selections import find_built_in
from feedmill.core.query.sites import NAME_RULE, is_collection_name
from feedmill.core.ranking.facets import read_facet_range
from feedmill.model.errors import BadRequest
from feedmill.model.facets import BuiltIn, FacetType
from feedmill.settings.section import PatternList, RulePattern, Section

MAX_TERM_CHARACTERS = 500
MAX_SYNONYM_WORDS = 8
MAX_TITLE_CHARACTERS = 100
MAX_FOOTER_CHARACTERS = 2_000

_COLOUR = re.compile(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")
_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f\"<>\\^`{|}]+", re.IGNORECASE)


def _check_name(text: str) -> str:
    if not is_collection_name(text):
        raise ValueError(f"'{text[:80]}' is no name here; it has {NAME_RULE}")
    return text


def check_name_or_none(text: str) -> str:
    """Refuses an invalid name; accepts an empty one. Errors: ValueError."""
    return text and _check_name(text)


def _check_words(text: str) -> str:
    if len(text) > MAX_TERM_CHARACTERS:
        raise ValueError(f"longer than {MAX_TERM_CHARACTERS} characters")
    if not any(character.isalnum() for character in text):
        raise ValueError(f"'{text}' holds no word")
    if len(text.split()) > MAX_SYNONYM_WORDS:
        raise ValueError(f"'{text}' has more than {MAX_SYNONYM_WORDS} words")
    return text


def _check_stop_word(text: str) -> str:
    if len(text.split()) != 1 or not _check_words(text):
        raise ValueError(f"'{text}' is not one word")
    return text


def _check_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("holds a line break or another control character")
    return text


def _check_colour(text: str) -> str:
    if text and _COLOUR.fullmatch(text) is None:
        raise ValueError(f"'{text[:80]}' is no colour here; write it as #1f5f5b or #1a6")
    return text


def _check_address(text: str) -> str:
    if text and _ADDRESS.fullmatch(text) is None:
        raise ValueError(f"'{text[:200]}' is no address of a web page; it begins with https:// or http://, and a blank is %20")
    return text


Name = Annotated[str, AfterValidator(_check_name)]
Words = Annotated[str, AfterValidator(_check_words)]
StopWord = Annotated[str, AfterValidator(_check_stop_word)]
Weight = Annotated[int, Field(ge=-10, le=10)]


class CollectionSettings(Section):
    """A collection: patterns of the URLs that belong to it, and of exceptions among them."""

    name: Name
    include: PatternList = ()
    exclude: PatternList = ()


class KeyMatchSettings(Section):
    """A page shown above the results; an entry without term and URL has no effect."""

    type: Literal["keyword", "phrase", "exact"] = "keyword"
    term: Annotated[str, Field(max_length=MAX_TERM_CHARACTERS)] = ""
    url: Annotated[str, Field(max_length=2_048)] = ""
    title: Annotated[str, Field(max_length=MAX_TERM_CHARACTERS)] = ""

    @model_validator(mode="after")
    def _check_whole(self) -> "KeyMatchSettings":
        if self.term.strip() and not self.url.strip():
            raise ValueError(f"the keymatch '{self.term}' has no url; give the page that it shows")
        if self.url.strip() and not any(character.isalnum() for character in self.term):
            raise ValueError(f"the keymatch of '{self.url}' has no term; give the words that show it")
        return self


class RelatedSettings(Section):
    """A query that is offered with another one; an entry without both has no effect."""

    term: Annotated[str, Field(max_length=MAX_TERM_CHARACTERS)] = ""
    query: Annotated[str, Field(max_length=MAX_TERM_CHARACTERS)] = ""

    @model_validator(mode="after")
    def _check_whole(self) -> "RelatedSettings":
        if bool(self.term.strip()) != bool(self.query.strip()):
            raise ValueError("a related query needs both term and query")
        return self


class FacetSettings(Section):
    """A metadata name or a built-in facet by which the results of a front end can be narrowed."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    label: str = ""
    type: Literal["string", "integer", "float", "currency", "date"] = "string"
    ranges: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_ranges(self) -> "FacetSettings":
        try:
            built_in = find_built_in(self.name)
            for text in self.ranges:
                read_facet_range(text, FacetType(self.type))
        except BadRequest as exc:
            raise ValueError(str(exc)) from exc
        if built_in is not None and self.type != ("date" if built_in is BuiltIn.DATE and self.ranges else "string"):
            raise ValueError(
                f"{self.name} has a type of its own; leave type and ranges out, or give {BuiltIn.DATE.value} ranges of the type date"
            )
        return self


class FrontEndSettings(Section):
    """A front end; ``stylesheet`` is the path of an XSLT 1.0 file, "" for the built-in page.

    ``title``, ``logo``, ``accent``, ``help_url``, ``footer`` and ``css`` brand the built-in page. ``logo`` and ``css`` are paths, which
    only the file may set: whoever may use the API must not be able to read the files of the machine. ``as_you_type``: it shows results
    while somebody types.
    """

    name: Name
    stylesheet: str = ""
    remove_urls: PatternList = ()
    keymatches: tuple[KeyMatchSettings, ...] = ()
    related: tuple[RelatedSettings, ...] = ()
    facets: tuple[FacetSettings, ...] = ()
    bias: str = ""
    title: Annotated[str, Field(max_length=MAX_TITLE_CHARACTERS), AfterValidator(_check_line)] = ""
    logo: str = ""
    accent: Annotated[str, AfterValidator(_check_colour)] = ""
    help_url: Annotated[str, Field(max_length=2_048), AfterValidator(_check_address)] = ""
    footer: Annotated[str, Field(max_length=MAX_FOOTER_CHARACTERS)] = ""
    css: str = ""
    as_you_type: bool = True


class SynonymSettings(Section):
    """Words that find each other (``two_way``), and words of which the first finds the others too (``one_way``)."""

    name: Annotated[str, AfterValidator(check_name_or_none)] = ""
    two_way: tuple[Annotated[tuple[Words, ...], Field(min_length=2)], ...] = ()
    one_way: tuple[Annotated[tuple[Words, ...], Field(min_length=2)], ...] = ()


class SourceBiasSettings(Section):
    """How much the documents of a URL pattern are raised or lowered."""

    pattern: RulePattern
    weight: Weight


class MetadataBiasSettings(Section):
    """How much the documents with a metadata value are raised or lowered; "" is any value."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    value: str = ""
    weight: Weight


class BiasSettings(Section):
    """A result bias, which front ends name. Units: ``date`` 0 to 10."""

    name: Name
    date: Annotated[int, Field(ge=0, le=10)] = 0
    sources: tuple[SourceBiasSettings, ...] = ()
    metadata: tuple[MetadataBiasSettings, ...] = ()


class QuerySettings(Section):
    """How queries are parsed."""

    stop_words: tuple[StopWord, ...] = ()
