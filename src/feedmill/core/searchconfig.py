"""The settings of serving, made ready to be asked: what a request means under them.

- Collections and the URLs that a front end removes are parts of the query, so that hits, totals and all that is counted obey them.
- A front end that nobody set is the default one; it removes nothing unless it is set to.
- KeyMatches and related queries go by the query as it was typed.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from feedmill.core.biasing import prepare_bias
from feedmill.core.expansion import holds_operator, prepare_expansion
from feedmill.core.keymatches import KeyMatchTable, RelatedTable
from feedmill.core.patterns import PatternSet
from feedmill.core.patternsets import node_of_patterns
from feedmill.core.querybuilder import read_request
from feedmill.core.querylang import parse_query
from feedmill.core.querynodes import join_all
from feedmill.core.queryterms import read_words
from feedmill.core.sites import EVERYWHERE, disregards_collections, read_site
from feedmill.model.query import Everything, Node, Not
from feedmill.model.ranking import ScoreBias
from feedmill.model.search import ParsedQuery, SearchRequest
from feedmill.model.serving import FrontEnd, KeyMatch, Serving


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """A request under the settings. ``root`` is None where no document can match."""

    parsed: ParsedQuery
    root: Node | None
    frontend: "ReadyFrontEnd"
    keymatches: tuple[KeyMatch, ...] = ()
    related: tuple[str, ...] = ()
    bias: ScoreBias | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to tell the asker."""
        return self.parsed.warnings


class ReadyFrontEnd:
    """A front end whose patterns and words are read."""

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
    """Everything of one state of the settings. May be used from several threads. Errors: BadRequest for a pattern that is none."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self._expansion = prepare_expansion(serving.synonyms, serving.stop_words)
        self._biases = {name: prepare_bias(bias) for name, bias in serving.biases.items()}
        self._frontends = {name: ReadyFrontEnd(frontend) for name, frontend in serving.frontends.items()}

    @cached_property
    def _default(self) -> ReadyFrontEnd:
        return ReadyFrontEnd(self.serving.get_frontend(""))

    def get_frontend(self, name: str) -> ReadyFrontEnd:
        """Returns a front end, the default one for a name that nobody set."""
        return self._frontends.get(name) or self._default

    def read(self, request: SearchRequest) -> QueryPlan:
        """Reads a request."""
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
