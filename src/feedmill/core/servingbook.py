"""The settings of serving, made ready to be asked: what a request means under them.

- Collections and the URLs that a front end removes are parts of the query, so that hits, totals and all that is counted obey them.
- A front end that nobody set is the default one; it removes nothing unless it is set to.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from feedmill.core.asking import read_request
from feedmill.core.patterns import PatternSet
from feedmill.core.patternsets import node_of_patterns
from feedmill.core.sites import disregards_collections, read_site
from feedmill.model.search import And, Everything, Node, Not, ParsedQuery, SearchRequest
from feedmill.model.serving import FrontEnd, Serving


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A request under the settings. ``root`` is None where no document can match."""

    parsed: ParsedQuery
    root: Node | None
    frontend: "ReadyFrontEnd"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to tell the asker."""
        return self.parsed.warnings


class ReadyFrontEnd:
    """A front end whose patterns are read."""

    def __init__(self, frontend: FrontEnd) -> None:
        self.settings = frontend
        self._removed = PatternSet(frontend.remove_urls)
        self.kept: Node = Everything() if self._removed.is_empty else Not(node_of_patterns(frontend.remove_urls))

    def removes(self, url: str) -> bool:
        """Whether a URL is removed from this front end's results."""
        return self._removed.check(url).passes


class ServingBook:
    """Everything of one state of the settings. May be used from several threads. Errors: BadRequest for a pattern that is none."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self._frontends = {name: ReadyFrontEnd(frontend) for name, frontend in serving.frontends.items()}

    @cached_property
    def _default(self) -> ReadyFrontEnd:
        return ReadyFrontEnd(self.serving.get_frontend(""))

    def get_frontend(self, name: str) -> ReadyFrontEnd:
        """Gives a front end, the default one for a name that nobody set."""
        return self._frontends.get(name) or self._default

    def read(self, request: SearchRequest) -> Served:
        """Reads a request."""
        parsed = read_request(request)
        frontend = self.get_frontend(request.client)
        if disregards_collections(parsed.root):
            return Served(parsed=parsed, root=_narrow(parsed.root, frontend.kept), frontend=frontend)
        scope = read_site(request.site, self.serving.collections)
        told = replace(parsed, warnings=parsed.warnings + scope.warnings)
        root = None if scope.root is None else _narrow(parsed.root, scope.root, frontend.kept)
        return Served(parsed=told, root=root, frontend=frontend)


def _narrow(root: Node, *filters: Node) -> Node:
    """Returns one flat And, so that what must hold can be told from what may be left out."""
    parts: list[Node] = []
    for node in (root, *filters):
        parts += node.parts if isinstance(node, And) else (node,)
    held = tuple(part for part in parts if not isinstance(part, Everything))
    if len(held) > 1:
        return And(held)
    return held[0] if held else Everything()
