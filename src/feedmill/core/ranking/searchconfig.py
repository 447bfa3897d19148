"""Compiles the search settings, and plans each request under them.

- Collections and the removed URLs of a front end become parts of the query, so hits, totals and all counts respect them.
- A front end that is not configured is the default one, which removes nothing unless configured to.
- KeyMatches and related queries depend on the query as the user typed it.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from feedmill.core.query.builder import read_request
from feedmill.core.query.expansion import holds_operator, prepare_expansion
from feedmill.core.query.language import parse_query
from feedmill.core.query.nodes import join_all
from feedmill.core.query.patternsets import node_of_patterns
from feedmill.core.query.sites import EVERYWHERE, disregards_collections, read_site
from feedmill.core.query.terms import read_words
from feedmill.core.ranking.bias import prepare_bias
from feedmill.core.ranking.keymatches import KeyMatchTable, RelatedTable
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.query import Everything, Node, Not
from feedmill.model.ranking import ScoreBias
from feedmill.model.search import ParsedQuery, SearchRequest
from feedmill.model.serving import FrontEnd, KeyMatch, Serving


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """A request under the settings. ``root`` is None if no document can match."""

    parsed: ParsedQuery
    root: Node | None
    frontend: "ReadyFrontEnd"
    keymatches: tuple[KeyMatch, ...] = ()
    related: tuple[str, ...] = ()
    bias: ScoreBias | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings for the user."""
        return self.parsed.warnings


class ReadyFrontEnd:
    """A front end with its patterns and words compiled."""

    def __init__(self, frontend: FrontEnd) -> None:
        self.settings = frontend
        self.keymatches = KeyMatchTable(frontend.keymatches)
        self.related = RelatedTable(frontend.related)
        self._removed = PatternSet(frontend.remove_urls)
        self.kept: Node = Everything() if self._removed.is_empty else Not(node_of_patterns(frontend.remove_urls))

    def removes(self, url: str) -> bool:
        """Whether a URL is removed from this front end's results."""
        return not self._removed.is_empty and self._removed.check(url).passes


class CompiledSearchConfig:
    """One version of the settings, compiled. Safe to use from several threads. Errors: BadRequest for an invalid pattern."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self._expansion = prepare_expansion(serving.synonyms, serving.stop_words)
        self._biases = {name: prepare_bias(bias) for name, bias in serving.biases.items()}
        self._frontends = {name: ReadyFrontEnd(frontend) for name, frontend in serving.frontends.items()}

    @cached_property
    def _default(self) -> ReadyFrontEnd:
        return ReadyFrontEnd(self.serving.get_frontend(""))

    def get_frontend(self, name: str) -> ReadyFrontEnd:
        """Returns a front end; the default one for a name that is not configured."""
        return self._frontends.get(name) or self._default

    def read(self, request: SearchRequest) -> QueryPlan:
        """Plans a request: its query tree, scope, front end, KeyMatches, related queries and bias."""
        parsed = read_request(request)
        frontend = self.get_frontend(request.client)
        typed = parse_query(request.query)
        asked = read_words(typed)
        is_open = request.expands and not holds_operator(typed.root)
        root = self._expansion.widen(parsed.root) if is_open else self._expansion.drop_stop_words(parsed.root)
        scope = EVERYWHERE if disregards_collections(parsed.root) else read_site(request.site, self.serving.collections)
        return QueryPlan(
            parsed=replace(parsed, warnings=parsed.warnings + scope.warnings),
            root=None if scope.root is None else join_all((root, scope.root, frontend.kept)),
            frontend=frontend,
            keymatches=frontend.keymatches.find(asked, request.keymatches),
            related=frontend.related.find(asked),
            bias=self._biases.get(frontend.settings.bias),
        )
