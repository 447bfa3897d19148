"""Compiles the search settings, and plans each request under them.

- Collections and the removed URLs of a front end become parts of the query, so hits, totals and all counts respect them.
- A front end that is not configured is the default one, which removes nothing unless configured to. A strict request may not name one.
- KeyMatches and related queries depend on the query as the user typed it.
"""

from feedmill.core.query.builder import read_request
from feedmill.core.query.expansion import holds_operator, prepare_expansion
from feedmill.core.query.nodes import join_all
from feedmill.core.query.patternsets import node_of_patterns
from feedmill.core.query.plan import QueryPlan, select_facets
from feedmill.core.query.sites import EVERYWHERE, disregards_collections, read_site
from feedmill.core.query.terms import read_words
from feedmill.core.ranking.bias import prepare_bias
from feedmill.core.ranking.keymatches import KeyMatchTable, RelatedTable
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.errors import BadRequest
from feedmill.model.query import MatchAll, Node, Not
from feedmill.model.search import SearchRequest
from feedmill.model.serving import DEFAULT_FRONTEND, FrontEnd, Serving


class CompiledFrontEnd:
    """A front end with its patterns and words compiled."""

    def __init__(self, frontend: FrontEnd) -> None:
        self.settings = frontend
        self.keymatches = KeyMatchTable(frontend.keymatches)
        self.related = RelatedTable(frontend.related)
        self.removed = PatternSet(frontend.remove_urls)
        #: the query for the documents that it does not remove
        self.scope: Node = MatchAll() if self.removed.is_empty else Not(node_of_patterns(frontend.remove_urls))


class CompiledSearchConfig:
    """One version of the settings, compiled. Safe to use from several threads. Errors: BadRequest for an invalid pattern."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self._expansion = prepare_expansion(serving.synonyms, serving.stop_words)
        self._biases = {name: prepare_bias(bias) for name, bias in serving.biases.items()}
        frontends = {DEFAULT_FRONTEND: FrontEnd(name=DEFAULT_FRONTEND), **serving.frontends}
        self._frontends = {name: CompiledFrontEnd(frontend) for name, frontend in frontends.items()}

    def get_frontend(self, name: str) -> CompiledFrontEnd:
        """Returns a front end; the default one for a name that is not configured."""
        return self._frontends.get(name) or self._frontends[DEFAULT_FRONTEND]

    def check_frontend(self, name: str) -> None:
        """Refuses a front end that is not configured. Errors: BadRequest, naming the parameter."""
        if name and name not in self._frontends:
            raise BadRequest(f"parameter client is {name[:80]!a}, which is no front end of the settings; leave it out for the default one")

    def plan(self, request: SearchRequest) -> QueryPlan:
        """Plans a request: parses its texts, and adds what these settings say about it. Errors: BadRequest, for a strict request alone."""
        if request.is_strict:
            self.check_frontend(request.client)
        parsed, frontend = read_request(request), self.get_frontend(request.client)
        query_words = read_words(parsed.typed)
        is_open = request.expands and not holds_operator(parsed.typed)
        root = self._expansion.widen(parsed.root) if is_open else self._expansion.drop_stop_words(parsed.root)
        scope = EVERYWHERE if disregards_collections(parsed.root) else read_site(request.site, self.serving.collections)
        facets, facet_warnings = select_facets(request, frontend.settings.facets)
        return QueryPlan(
            request=request,
            typed=parsed.typed,
            selected=parsed.selected,
            selections=parsed.selections,
            root=None if scope.root is None else join_all((root, scope.root, frontend.scope)),
            is_empty=isinstance(parsed.root, MatchAll) and not parsed.selections,
            facets=facets,
            known_facets=(*frontend.settings.facets, *facets) if parsed.selections else (),
            removed=frontend.removed,
            keymatches=frontend.keymatches.find_keymatches(query_words, request.keymatches),
            related=frontend.related.find_related(query_words),
            bias=self._biases.get(frontend.settings.bias),
            warnings=parsed.warnings + scope.warnings,
            facet_warnings=facet_warnings,
        )

    def find_scope(self, site: str, client: str) -> Node | None:
        """Returns the query for the documents that collections and a front end leave, None if they leave none."""
        scope = read_site(site, self.serving.collections).root
        return None if scope is None else join_all((scope, self.get_frontend(client).scope))
