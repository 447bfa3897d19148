"""The parameter ``site=``: the collections to search.

    site = clause { "." clause }        results are in a collection of every clause
    clause = NAME { "|" NAME }          binds tighter than the dot, as OR does in a query

- Names consist of letters, digits, ``_`` and ``-``. Any other character, or a missing name, finds nothing.
- A collection that is not configured is empty. ``default_collection``, unless configured, and an empty parameter mean all documents.
- ``info:``, ``link:`` and ``cache:`` ignore the collection.
Source: Search Protocol Reference, "site".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from feedmill.core.query.patternsets import node_of_patterns
from feedmill.model.messages import message
from feedmill.model.query import And, Info, LinksTo, MatchAll, Node, Or
from feedmill.model.serving import DEFAULT_COLLECTION, Collection

MAX_NAMES = 100

_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteScope:
    """The documents that ``site=`` selects. ``root`` is None if it selects none."""

    root: Node | None
    warnings: tuple[str, ...] = ()


EVERYWHERE = SiteScope(root=MatchAll())


def is_collection_name(text: str) -> bool:
    """Whether a text is a valid name of a collection or a front end."""
    return _NAME.fullmatch(text) is not None


def read_site(text: str, collections: Mapping[str, Collection]) -> SiteScope:
    """Returns the scope that the parameter selects. Errors: none."""
    text = text.strip()
    if not text:
        return EVERYWHERE
    clauses = [clause.split("|") for clause in text.split(".")]
    names = [name for clause in clauses for name in clause]
    if len(names) > MAX_NAMES or not all(is_collection_name(name) for name in names):
        return SiteScope(root=None, warnings=(message("site= is no list of collections; write names with | for or and . for and"),))
    unknown = tuple(dict.fromkeys(name for name in names if name not in collections and name != DEFAULT_COLLECTION))
    warnings = tuple(message("there is no collection %(name)s", name=name) for name in unknown)
    parts: list[Node] = []
    for clause in clauses:
        known = [name for name in clause if name not in unknown]
        if not known:
            return SiteScope(root=None, warnings=warnings)
        nodes = tuple(dict.fromkeys(_node_of(name, collections) for name in known))
        if not any(isinstance(node, MatchAll) for node in nodes):
            parts.append(nodes[0] if len(nodes) == 1 else Or(nodes))
    if not parts:
        return SiteScope(root=MatchAll(), warnings=warnings)
    return SiteScope(root=parts[0] if len(parts) == 1 else And(tuple(parts)), warnings=warnings)


def _node_of(name: str, collections: Mapping[str, Collection]) -> Node:
    collection = collections.get(name)
    return MatchAll() if collection is None else node_of_patterns(collection.include, collection.exclude)


def disregards_collections(root: Node) -> bool:
    """Whether a query looks up a URL or the links to one, in any collection."""
    if isinstance(root, And):
        return any(isinstance(part, Info | LinksTo) for part in root.parts)
    return isinstance(root, Info | LinksTo)
