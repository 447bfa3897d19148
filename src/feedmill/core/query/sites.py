"""The parameter ``site=``: the collections to search.

    site   = clause { "." clause }                          results are in every clause
    clause = term { "|" term }                              binds tighter than the dot, as OR does in a query
    term   = NAME | "-" NAME | "(" site ")" | "-(" site ")" a minus excludes

- Names consist of letters, digits, ``_`` and ``-``, and do not begin with ``-``. Any other character, or a missing name, finds nothing.
- A collection that is not configured is empty. ``default_collection``, unless configured, and an empty parameter mean all documents.
- ``info:``, ``link:`` and ``cache:`` ignore the collection.
Source: Search Protocol Reference, "site"; Admin Console Help, "Collections", for the minus and the parentheses.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from feedmill.core.query.patternsets import node_of_patterns
from feedmill.model.messages import message
from feedmill.model.query import And, Info, LinksTo, MatchAll, Node, Not, Or
from feedmill.model.serving import DEFAULT_COLLECTION, Collection

MAX_NAMES = 100
NAME_RULE = "1 to 200 letters, digits, _ and -, and begins without -"
"""What a valid name of a collection or a front end has, for the texts of errors."""

MAX_DEPTH = 20

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,199}")
_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*|.", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteScope:
    """The documents that ``site=`` selects. ``root`` is None if it selects none."""

    root: Node | None
    warnings: tuple[str, ...] = ()


EVERYWHERE = SiteScope(root=MatchAll())


def is_collection_name(text: str) -> bool:
    """Whether a text is a valid name of a collection or a front end."""
    return _NAME.fullmatch(text) is not None


def is_site_list(text: str) -> bool:
    """Whether a text is a list of collections, configured or not."""
    try:
        _Reader(text, {}).read()
    except ValueError:
        return False
    return True


def read_site(text: str, collections: Mapping[str, Collection]) -> SiteScope:
    """Returns the scope that the parameter selects. Errors: none."""
    text = text.strip()
    if not text:
        return EVERYWHERE
    reader = _Reader(text, collections)
    try:
        root = reader.read()
    except ValueError:
        return SiteScope(root=None, warnings=(message("site= is no list of collections; write names with | for or and . for and"),))
    return SiteScope(root=root, warnings=tuple(message("there is no collection %(name)s", name=name) for name in reader.unknown))


class _Reader:
    """Reads the parameter. A tree is None if no document matches it. Errors of the methods: ValueError if it is no list of collections."""

    def __init__(self, text: str, collections: Mapping[str, Collection]) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0
        self._names = 0
        self._collections = collections
        self.unknown: dict[str, None] = {}

    def read(self) -> Node | None:
        root = self._read_all(0)
        if self._at < len(self._tokens):
            raise ValueError(self._tokens[self._at])
        return root

    def _read_all(self, depth: int) -> Node | None:
        parts = [self._read_any(depth)]
        while self._skip("."):
            parts.append(self._read_any(depth))
        return _intersect(parts)

    def _read_any(self, depth: int) -> Node | None:
        parts = [self._read_term(depth)]
        while self._skip("|"):
            parts.append(self._read_term(depth))
        return _unite(parts)

    def _read_term(self, depth: int) -> Node | None:
        is_out = self._skip("-")
        if self._skip("("):
            if depth == MAX_DEPTH:
                raise ValueError("(")
            node = self._read_all(depth + 1)
            if not self._skip(")"):
                raise ValueError("(")
        else:
            node = self._read_name()
        return _exclude(node) if is_out else node

    def _read_name(self) -> Node | None:
        name = self._tokens[self._at] if self._at < len(self._tokens) else ""
        self._at += 1
        self._names += 1
        if not is_collection_name(name) or self._names > MAX_NAMES:
            raise ValueError(name)
        if name in self._collections:
            return _node_of(self._collections[name])
        if name == DEFAULT_COLLECTION:
            return MatchAll()
        self.unknown[name] = None
        return None

    def _skip(self, token: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == token:
            self._at += 1
            return True
        return False


def _intersect(parts: Sequence[Node | None]) -> Node | None:
    nodes = tuple(dict.fromkeys(part for part in parts if part is not None and not isinstance(part, MatchAll)))
    if None in parts:
        return None
    if not nodes:
        return MatchAll()
    return nodes[0] if len(nodes) == 1 else And(nodes)


def _unite(parts: Sequence[Node | None]) -> Node | None:
    nodes = tuple(dict.fromkeys(part for part in parts if part is not None))
    if not nodes:
        return None
    if any(isinstance(node, MatchAll) for node in nodes):
        return MatchAll()
    return nodes[0] if len(nodes) == 1 else Or(nodes)


def _exclude(node: Node | None) -> Node | None:
    if node is None:
        return MatchAll()
    return None if isinstance(node, MatchAll) else Not(node)


def _node_of(collection: Collection) -> Node:
    return node_of_patterns(collection.include, collection.exclude)


def disregards_collections(root: Node) -> bool:
    """Whether a query looks up a URL or the links to one, in any collection."""
    if isinstance(root, And):
        return any(isinstance(part, Info | LinksTo) for part in root.parts)
    return isinstance(root, Info | LinksTo)
