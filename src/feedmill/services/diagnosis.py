"""Says why searches find a URL or do not: for everyone, for one user, for one query.

The causes are in the order in which a document passes through the server: was it received, crawled, extracted, indexed, may the user see
it, does the collection hold it, does the query match it, at which rank.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from feedmill.core.access.classes import class_of
from feedmill.core.access.explanation import NO_ONE_NAMED
from feedmill.core.crawling.reasons import describe_crawl
from feedmill.core.documents.urlstate import Rules
from feedmill.core.query.matching import ENOUGH, loosen
from feedmill.core.query.nodes import join_all, parts_of
from feedmill.core.text.times import write_time
from feedmill.model.access import AccessClass, AccessFilter
from feedmill.model.crawling import CrawlEntry, CrawlState
from feedmill.model.decision import Verdict
from feedmill.model.document import AuthMethod, Document, Event
from feedmill.model.errors import NotFound
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from feedmill.model.policyacl import EarlyDecision
from feedmill.model.query import AnyOf, Info, MatchAll, Node, Not, Or, Phrase, Related, Wildcard, Word
from feedmill.model.search import Match, SearchRequest
from feedmill.ports import SearchIndex, Store, UnitOfWork
from feedmill.services.access.explaining import AccessQuestion, Explaining
from feedmill.services.crawling.requesting import is_paused
from feedmill.services.inspection import find_url_history, inspect_url
from feedmill.services.searching.searcher import find_hits
from feedmill.services.searching.searchservices import SearchServices
from feedmill.services.searching.searchstate import PlannedSearch

RANKED: Final = 10_000
"""Up to this rank a document is looked for in the results of a query."""
RANKED_AT_ONCE: Final = 1_000
RUNS: Final = 20
"""How many runs of a pull source are searched for the reason why a document could not be applied."""
MAX_MISSING: Final = 20
"""How many parts of a query are named that do not match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisQuestion:
    """A question about a URL. ``identity`` None: it is not about a user; ``query`` and ``collection`` "": not about a search."""

    url: str
    identity: Identity | None = None
    query: str = ""
    collection: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMatch:
    """How a query finds a document. ``rank`` counts from 1 in what the user may see, None if it is not among the results."""

    query: str
    matches: bool
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlDiagnosis:
    """Why searches find a URL or do not. ``causes`` are sentences about what helps or prevents it, in the order of the
    checks; ``searchable`` decides.

    - ``visible``: whether the user of the question may see it, None without a user, or if another server decides.
    - ``document`` is None if there is none now; ``history`` is its events, oldest first, also of one that is gone.
    - ``entry`` is its entry in the crawl queue.
    """

    url: str
    searchable: bool
    state: str
    causes: tuple[str, ...]
    visible: bool | None = None
    decision: EarlyDecision | None = None
    match: QueryMatch | None = None
    document: Document | None = None
    history: tuple[Event, ...] = field(default=())
    entry: CrawlEntry | None = None


class Diagnosing:
    """Answers questions about URLs. ``open_search`` opens the services that answer searches; it is called when a query is first given."""

    def __init__(self, store: Store, rules: Rules, explaining: Explaining, open_search: Callable[[], SearchServices]) -> None:
        self._store = store
        self._rules = rules
        self._explaining = explaining
        self._open_search = open_search
        self._search: SearchServices | None = None

    def diagnose(self, question: DiagnosisQuestion) -> UrlDiagnosis:
        """Returns the whole answer. Errors: Denied for a user in too many groups; Busy; those of the index."""
        found = diagnose_url(self._store, self._rules, question.url)
        if question.identity is not None:
            found = self._add_access(found, question.identity)
        if (question.query or question.collection) and found.document is not None:
            found = self._add_search(found, found.document, question)
        return found

    def _add_access(self, found: UrlDiagnosis, identity: Identity) -> UrlDiagnosis:
        decision = self._explaining.explain_with_policy(AccessQuestion(url=found.url, identity=identity))
        if found.document is None:
            return replace(found, decision=decision)
        visible, cause = _judge_access(decision)
        return replace(found, decision=decision, visible=visible, causes=(*found.causes, *([cause] if cause else [])))

    def _add_search(self, found: UrlDiagnosis, document: Document, question: DiagnosisQuestion) -> UrlDiagnosis:
        own = AccessFilter(permitted=frozenset({class_of(document)}))
        search = self._open().searcher.prepare(SearchRequest(query=question.query, match=Match.AUTO), own)
        index, match = search.state.index, QueryMatch(query=question.query, matches=False) if question.query else None
        if index is None or not _matches(index, MatchAll(), document, own):
            return replace(found, causes=(*found.causes, "the index has no entry of it"), match=match)
        causes = list(found.causes)
        is_held = self._is_held(search, index, document, question.collection, own)
        if not is_held:
            causes.append(f"the collection {question.collection[:200]} does not hold it")
        if question.query:
            said, matches = _explain_query(index, search, document, own)
            rank = None
            if matches and question.identity is None and class_of(document) != AccessClass.PUBLIC:
                said.append("the query finds it for users who may see it; name one to learn its rank")
            elif matches and is_held and found.visible is not False:
                rank = self._find_rank(index, search, document, question)
                said.append(_describe_rank(rank))
            causes += said
            match = QueryMatch(query=question.query, matches=matches, rank=rank)
        return replace(found, causes=tuple(causes), match=match)

    def _is_held(self, search: PlannedSearch, index: SearchIndex, document: Document, collection: str, own: AccessFilter) -> bool:
        scope = search.state.config.find_scope(collection, "")
        return not collection or (scope is not None and _matches(index, scope, document, own))

    def _find_rank(self, index: SearchIndex, search: PlannedSearch, document: Document, question: DiagnosisQuestion) -> int | None:
        """Returns the rank of a document in what the user may see without another server."""
        identity = question.identity or ANONYMOUS_IDENTITY
        access = self._open().filters.find_filter(identity).without_late()
        request = SearchRequest(query=question.query, site=question.collection, match=Match.AUTO, num=RANKED_AT_ONCE)
        plan = search.state.config.plan(request)
        if plan.root is None:
            return None
        for start in range(0, RANKED, RANKED_AT_ONCE):
            hits = find_hits(index, plan.root, plan.at(start, RANKED_AT_ONCE), access).hits
            place = next((place for place, hit in enumerate(hits.hits, start + 1) if hit.key == document.id), None)
            if place is not None or len(hits.hits) < RANKED_AT_ONCE:
                return place
        return None

    def _open(self) -> SearchServices:
        if self._search is None:
            self._search = self._open_search()
        return self._search


def _explain_query(index: SearchIndex, search: PlannedSearch, document: Document, own: AccessFilter) -> tuple[list[str], bool]:
    """Returns what the query says about a document, and whether it finds the document, with all of its words or some."""
    plan = search.plan
    said = list(plan.warnings)
    if plan.is_empty or plan.root is None:
        return [*said, "the query is empty, which finds nothing"], False
    if any(isinstance(part, Related) for part in parts_of(plan.root)):
        return [*said, "related: lists documents by their likeness, which is not explained"], False
    if plan.removes(document.url):
        return [*said, "the front end removes its url from all results"], False
    if _matches(index, plan.root, document, own):
        return said, True
    missing = [_describe_part(part) for part in parts_of(plan.root) if not _matches(index, part, document, own)]
    said += missing[:MAX_MISSING] or ["the query as a whole does not match it"]
    loosened = loosen(plan.root, Match.AUTO)
    if loosened is None or not _matches(index, loosened, document, own):
        return said, False
    return [*said, f"it is found by the other words where fewer than {ENOUGH} documents hold all of them"], True


def _matches(index: SearchIndex, query: Node, document: Document, own: AccessFilter) -> bool:
    hits = index.search(join_all([query, Info(document.url)]), own, start=0, num=1).hits
    return any(hit.key == document.id for hit in hits)


def _describe_part(part: Node) -> str:
    match part:
        case Word(text=text) | Wildcard(text=text):
            return f"the word '{text[:200]}' is not in it"
        case Phrase(text=text):
            return f"the phrase '{text[:200]}' is not in it"
        case Not():
            return f"the query excludes it: {_name(part.part)}"
        case Or() | AnyOf():
            return "none of these is in it: " + ", ".join(_name(each) for each in part.parts)[:500]
        case _:
            return f"the restriction {_name(part)} does not hold for it"


def _name(part: Node) -> str:
    match part:
        case Word(text=text) | Wildcard(text=text) | Phrase(text=text):
            return f"'{text[:200]}'"
        case _:
            return str(part)[:200]


def _judge_access(early: EarlyDecision) -> tuple[bool | None, str]:
    """Returns whether the user may see a document, and why not or by what; a public document needs no reason."""
    if early.is_public:
        return True, ""
    policy = early.policy_decision
    by_policy = "" if policy is None else f"; the policy {policy.policy.name} says {policy.verdict.value}"
    if early.verdict is Verdict.PERMIT:
        return True, f"the user may see it: {early.decision.reason}{by_policy}"
    if early.verdict is Verdict.DENY:
        return False, f"the user may not see it: {early.decision.reason}{by_policy}"
    reason = f"{early.decision.reason}{by_policy}"
    return None, f"neither acl nor policy decides whether the user may see it, so only another server can permit it: {reason}"


def _describe_rank(rank: int | None) -> str:
    return f"the query finds it, but not among the first {RANKED:,} results that the user may see" if rank is None else f"ranked at {rank}"


# --- the document itself --------------------------------------------------------------------------------------------------------


def diagnose_url(store: Store, rules: Rules, url: str) -> UrlDiagnosis:
    """Returns the state of any URL, known or not, with the causes. Errors: Busy."""
    with store.reading() as unit:
        entry = unit.feeds.crawling.queue.find_many([url]).get(url)
        has_acl = url in unit.access.acls.find_many([url])
        held_back = _list_delays(unit, entry)
        pulled = _list_pull_errors(unit, url)
    try:
        inspection = inspect_url(store, url)
    except NotFound:
        missing = _diagnose_missing(store, rules, url, entry, has_acl=has_acl)
        return replace(missing, causes=(*pulled, *(missing.causes if entry or missing.history or not pulled else ()), *held_back))
    status = inspection.status
    causes = [status.reason] if status.reason else []
    causes += held_back
    if entry is not None and entry.failures and status.searchable:
        causes.append(f"the last crawl failed, and the copy from before is found: {describe_crawl(entry)}")
    causes += [f"{error}; the document from before stays" for error in pulled]
    if status.searchable:
        causes += _explain_class(inspection.document, rules)
    return UrlDiagnosis(
        url=url,
        searchable=status.searchable,
        state=status.state,
        causes=tuple(causes),
        document=inspection.document,
        history=tuple(inspection.history),
        entry=entry,
    )


def _explain_class(document: Document, rules: Rules) -> list[str]:
    match class_of(document):
        case AccessClass.PUBLIC:
            return []
        case AccessClass.CLOSED:
            return [f"it is not public, and {NO_ONE_NAMED}", *_name_closing(document, rules)]
        case _:
            return ["it is not public: only users that its acl or a policy permits find it"]


def _name_closing(document: Document, rules: Rules) -> list[str]:
    """Names what makes a document without an ACL secure, by the rules of ``core.access.classes`` in their order."""
    authmethod = document.attributes.authmethod
    if document.datasource in rules.secure_sources:
        return [f"its data source {document.datasource} is secure by the settings ([[datasources]])"]
    if document.attributes.server_secures:
        return ["its own server said at the last fetch that it is secure"]
    if rules.make_public(document.url) is False:
        return ["a pattern of the settings ([[crawl.access]]) makes it secure"]
    if authmethod is None or authmethod is AuthMethod.NONE:
        return []
    return [f"its record has the authmethod {authmethod.value}, which makes it secure"]


def _list_delays(unit: UnitOfWork, entry: CrawlEntry | None) -> list[str]:
    """Lists what keeps the crawler from a URL that waits for its first crawl."""
    if entry is None or entry.state is not CrawlState.WAITING:
        return []
    delays = ["the crawler is paused; 'feedmill queue resume' lets it continue"] if is_paused(unit) else []
    site = unit.feeds.crawling.sites.find_many([entry.site]).get(entry.site)
    if site is not None and site.failures and site.retry_at is not None:
        again = write_time(site.retry_at)
        delays.append(f"{site.site} failed {site.failures} times in a row ({site.reason}), so it is asked again at {again}")
    return delays


def _list_pull_errors(unit: UnitOfWork, url: str) -> list[str]:
    """Lists the pull sources whose runs have the URL and could not apply it, with the reasons as far as their logs hold them."""
    errors = []
    for state in unit.feeds.pulling.states.list():
        item = unit.feeds.pulling.items.find_many(state.source, [url]).get(url)
        if item is not None and (item.digest or item.is_deleted):
            continue
        runs = [run for run in unit.feeds.pulling.runs.list_newest(state.source, RUNS) if not run.request.is_dry]
        lines = ((run.id, line.removeprefix(f"{url}: ")) for run in runs for line in run.log if line.startswith(f"{url}: "))
        found = next(lines, None)
        if found is not None:
            errors.append(f"run {found[0]} of the pull source {state.source} could not apply it: {found[1]}")
        elif item is not None:
            errors.append(f"the last runs of the pull source {state.source} could not apply it")
    return errors


def _diagnose_missing(store: Store, rules: Rules, url: str, entry: CrawlEntry | None, *, has_acl: bool) -> UrlDiagnosis:
    causes = []
    refusal = rules.refusal(url)
    if refusal is not None:
        causes.append(refusal)
    if entry is not None:
        causes.append(describe_crawl(entry))
    history: Sequence[Event] = ()
    try:
        history = find_url_history(store, url).history
        last = history[-1]
        where = "" if last.feed_id is None else f" by feed {last.feed_id}{f', line {last.line}' if last.line else ''}"
        causes.append(f"{last.kind.value} at {write_time(last.at)}{where}{': ' + last.detail if last.detail else ''}")
        state = "gone"
    except NotFound:
        state = "never received"
    if has_acl:
        causes.append("it has an acl and no document")
    if entry is not None:
        state = "not crawled" if entry.state is not CrawlState.WAITING else "waiting for the crawler"
        state = "duplicate" if entry.duplicate_of else state
    named = tuple(causes or ("no feed, link, sitemap or start URL named this URL",))
    return UrlDiagnosis(url=url, searchable=False, state=state, causes=named, history=tuple(history), entry=entry)
