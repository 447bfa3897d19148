"""Builds the one tree of a whole request from its query, the fields of the advanced form, and the metadata filters.

- The words of the form are added to the query: all words and the phrase as they are, any words as an OR, and no words each excluded. A
  phrase in quotes is one term in each field.
- If words must be in the title or the URL, this applies to all plain words and phrases of the query and of the form.
- Facet selections (``dnavs``) are restrictions, each of which must hold; words in them are ignored.
- The languages of ``lr`` narrow a query. Alone they are no query, since front ends send them with every request.
- ``sitesearch`` restricts a query and is no query by itself.
- ``as_lq`` finds pages that link to a URL and replaces the rest of the form and the query; metadata filters still apply.
Source: Search Protocol Reference, "Request Format" and "Filtering by metadata".
"""

from dataclasses import replace

from feedmill.core.query.fields import read_fields
from feedmill.core.query.language import parse_query
from feedmill.core.query.languages import read_languages
from feedmill.core.query.nodes import join_all, parts_of
from feedmill.model.query import And, Everything, FileType, InTitle, InUrl, LinksTo, Node, Not, Or, Phrase, Plain, Site, Wildcard, Word
from feedmill.model.search import Advanced, Occurrence, ParsedQuery, SearchRequest


def read_request(request: SearchRequest) -> ParsedQuery:
    """Returns the tree of a request and the warnings for the user. Errors: none."""
    advanced = request.advanced
    typed = parse_query(request.query)
    added = parse_query(advanced.all_words)
    if advanced.links_to.strip():
        typed = added = ParsedQuery(root=Everything())
        parts: list[Node] = [LinksTo(advanced.links_to.strip())]
        some = none = ParsedQuery(root=Everything())
    else:
        some, none = parse_query(advanced.any_words), parse_query(advanced.no_words)
        parts = [typed.root, added.root, *_phrase_of(advanced), *_any_of(some.root), *_none_of(none.root)]
        parts = [*(_place(part, advanced.occurrence) for part in parts), *_restrictions_of(advanced)]
    chosen = parse_query(request.navigation)
    parts += [part for part in parts_of(chosen.root) if not isinstance(part, Plain)]
    warnings = typed.warnings + added.warnings + some.warnings + none.warnings + chosen.warnings
    for text, is_partial in ((request.required_fields, False), (request.partial_fields, True)):
        node, told = read_fields(text, is_partial=is_partial)
        parts += [node] if node is not None else []
        warnings += told
    root = join_all(parts)
    is_restricted = _is_restricted(root)
    languages, told = read_languages(request.languages)
    within = [Site(advanced.within.strip())] if advanced.within.strip() else []
    if not isinstance(root, Everything):
        root = join_all([root, *([languages] if languages is not None else []), *within])
    return ParsedQuery(root=root, warnings=tuple(dict.fromkeys(warnings + told)), is_restricted=is_restricted)


def _phrase_of(advanced: Advanced) -> list[Node]:
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
    return () if isinstance(root, Everything) else (root,)


def _restrictions_of(advanced: Advanced) -> list[Node]:
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


def _is_restricted(node: Node) -> bool:
    match node:
        case Word() | Phrase() | Wildcard() | Everything():
            return False
        case And(parts) | Or(parts):
            return any(_is_restricted(part) for part in parts)
        case _:
            return True
