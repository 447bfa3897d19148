"""Builds the one tree of a whole request from its query, the fields of the advanced form, and the metadata filters.

- The last word of the query may be half typed (``core.query.unfinished``).
- The words of the form are added to the query: all words and the phrase as they are, any words as an OR, and no words each excluded. A
  phrase in quotes is one term in each field.
- If words must be in the title or the URL, this applies to all plain words and phrases of the query and of the form.
- Facet selections (``dnavs``) are restrictions, each of which must hold; words in them are ignored.
- Selections of facets (``select``) are read, but are no part of the tree: a facet is counted without its own selections.
- The languages of ``lr`` narrow a query. Alone they are no query, since front ends send them with every request.
- ``sitesearch`` and a data source restrict a query and are no query by themselves.
- ``as_lq`` finds pages that link to a URL and replaces the rest of the form and the query; metadata filters still apply.
Source: Search Protocol Reference, "Request Format" and "Filtering by metadata".
"""

import re
from dataclasses import dataclass, replace

from feedmill.core.query.fields import is_tree, read_fields, read_tree
from feedmill.core.query.language import parse_query
from feedmill.core.query.nodes import join_all, parts_of
from feedmill.core.query.selections import read_selections
from feedmill.core.query.unfinished import complete_last_word
from feedmill.model.facets import SelectionReadings
from feedmill.model.messages import message
from feedmill.model.query import (
    And,
    FileType,
    FromSource,
    InTitle,
    InUrl,
    Language,
    LinksTo,
    MatchAll,
    Node,
    Not,
    Or,
    Phrase,
    Plain,
    Site,
    Wildcard,
    Word,
)
from feedmill.model.search import AdvancedSearch, Occurrence, ParsedQuery, SearchRequest

_BLANK = ParsedQuery(root=MatchAll())

# ISO 639-1, with an optional prefix of the appliance and a narrower part
_LANGUAGE_CODE = re.compile(r"(?:lang_)?([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE)
_NEWER_CODES = {"iw": ("he",), "in": ("id",), "ji": ("yi",), "jw": ("jv",), "mo": ("ro",), "sh": ("sr", "hr"), "tl": ("tl", "fil")}
_NORWEGIAN = ("no", "nb", "nn")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """The texts of a request as trees."""

    #: the tree of the whole request
    root: Node
    #: the tree of the query text alone
    typed: Node
    #: what the user selected rather than typed
    selected: tuple[Node, ...]
    #: what the user selected of facets; ``root`` is without it
    selections: tuple[SelectionReadings, ...]
    warnings: tuple[str, ...]


def read_request(request: SearchRequest) -> ParsedRequest:
    """Returns the trees of a request and the warnings for the user. Each text is parsed once. Errors: none."""
    advanced = request.advanced
    typed = _parse_or_blank(request.query)
    if advanced.links_to.strip():
        texts = []
        parts: list[Node] = [LinksTo(advanced.links_to.strip())]
    else:
        texts = [typed, *map(_parse_or_blank, (advanced.all_words, advanced.any_words, advanced.no_words))]
        query, added, some, none = (text.root for text in texts)
        query = complete_last_word(query, request.query) if request.is_unfinished else query
        parts = [query, added, *_phrase_of(advanced), *_any_of(some), *_none_of(none)]
        parts = [*(_place(part, advanced.occurrence) for part in parts), *_restrictions_of(advanced)]
    navigation = _parse_or_blank(request.navigation)
    selected = tuple(part for part in parts_of(navigation.root) if not isinstance(part, MatchAll))
    parts += [part for part in selected if not isinstance(part, Plain)]
    warnings = tuple(warning for text in (*texts, navigation) for warning in text.warnings)
    for text, is_partial in ((request.required_fields, False), (request.partial_fields, True)):
        node, remarks = read_fields(text, is_partial=is_partial)
        parts += [node] if node is not None else []
        warnings += remarks
    root = join_all(parts)
    languages, remarks = read_languages(request.languages)
    within: list[Node] = [Site(advanced.within.strip())] if advanced.within.strip() else []
    within += [FromSource(request.datasource)] if request.datasource else []
    selections, passed_over = read_selections(request)
    # Alone, a language or a site would list all its documents.
    if selections or not isinstance(root, MatchAll):
        root = join_all([root, *([languages] if languages is not None else []), *within])
    return ParsedRequest(
        root=root,
        typed=typed.root,
        selected=selected,
        selections=selections,
        warnings=tuple(dict.fromkeys(warnings + remarks + passed_over)),
    )


def _parse_or_blank(text: str) -> ParsedQuery:
    return parse_query(text) if text else _BLANK


def _phrase_of(advanced: AdvancedSearch) -> list[Node]:
    phrase = advanced.phrase.replace('"', " ").strip()
    return [Phrase(phrase)] if phrase else []


def _any_of(root: Node) -> list[Node]:
    some = _terms_of(root)
    return [Or(some)] if len(some) > 1 else [*some]


def _none_of(root: Node) -> list[Node]:
    return [term if isinstance(term, Not) else Not(term) for term in _terms_of(root)]


def _terms_of(root: Node) -> tuple[Node, ...]:
    """Returns the typed terms one by one, whatever joined them."""
    if isinstance(root, And | Or):
        return tuple(term for part in root.parts for term in _terms_of(part))
    return () if isinstance(root, MatchAll) else (root,)


def _restrictions_of(advanced: AdvancedSearch) -> list[Node]:
    found: list[Node] = []
    if site := advanced.site.strip():
        found.append(Not(Site(site)) if advanced.excludes_site else Site(site))
    if ending := advanced.filetype.strip():
        found.append(Not(FileType(ending)) if advanced.excludes_filetype else FileType(ending))
    return found


def _place(node: Node, occurrence: Occurrence) -> Node:
    match node:
        case _ if occurrence is Occurrence.ANYWHERE:
            return node
        case Word(text) | Phrase(text) | Wildcard(text):
            return InTitle(text) if occurrence is Occurrence.TITLE else InUrl(text)
        case And(parts) | Or(parts):
            return replace(node, parts=tuple(_place(part, occurrence) for part in parts))
        case Not(part):
            return Not(_place(part, occurrence))
        case _:
            return node


def read_languages(text: str) -> tuple[Node | None, tuple[str, ...]]:
    """Returns the restriction of ``lr=``, None for nothing, and the warnings for the user. Errors: none.

        lr       = clause { "." clause }          as in ``core.query.fields``: "|" joins alternatives, "-" excludes, parentheses group
        language = [ "-" ] [ "lang_" ] CODE

    A code is one of ISO 639-1, in any letter case. Older and narrower codes are mapped to the codes that documents have: ``iw`` to ``he``,
    ``zh-TW`` to ``zh``. A document whose language is unknown matches none. An invalid code demands nothing and causes a warning.
    Source: Search Protocol Reference, "Language Filters".
    """
    unknown: list[str] = []

    def read_term(piece: str) -> Node | None:
        node = _read_language(piece)
        if node is None:
            unknown.append(piece)
        return node

    node, is_cut = read_tree(text, read_term)
    warnings = [message("lr=: %(text)s is no language and was passed over", text=piece[:50]) for piece in unknown[:3]]
    return node, (*warnings, *((message("%(parameter)s= is too long and was cut", parameter="lr"),) if is_cut else ()))


def is_language_list(text: str) -> bool:
    """Whether ``read_languages`` reads all of a text as the grammar has it."""
    return is_tree(text, _read_language)


def is_navigation(text: str) -> bool:
    """Whether a text holds restrictions alone: a word in it would be ignored."""
    return not any(isinstance(part, Plain | MatchAll) for part in parts_of(_parse_or_blank(text).root))


def _read_language(piece: str) -> Node | None:
    """Returns the restriction to a language, None for a text that names none."""
    found = _LANGUAGE_CODE.fullmatch(piece.removeprefix("-").strip())
    if found is None:
        return None
    node = _language_of(found[1].lower())
    return Not(node) if piece.startswith("-") else node


def _language_of(code: str) -> Node:
    codes = _NORWEGIAN if code in _NORWEGIAN else _NEWER_CODES.get(code, (code,))
    return Language(codes[0]) if len(codes) == 1 else Or(tuple(Language(one) for one in codes))
