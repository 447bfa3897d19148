"""Runs a query as written, or loosened if it finds little and the request permits loosening."""

from feedmill.core.query.matching import ENOUGH, loosen
from feedmill.core.queryplan import QueryPlan
from feedmill.model.access import AccessFilter
from feedmill.model.errors import OutOfTime
from feedmill.model.query import Node
from feedmill.model.search import Cursor, Hits, Match
from feedmill.ports import SearchIndex

MAX_NUM = 1_000


def find_hits(index: SearchIndex, root: Node, plan: QueryPlan, access: AccessFilter) -> tuple[Node, Hits]:
    """Runs the tree of a plan as written, or loosened if the request permits that. Returns the tree that was run and its hits."""
    request = plan.request

    def ask(query: Node) -> Hits:
        num = min(request.num, MAX_NUM)
        return index.search(query, access, start=request.start, num=num, sort=request.sort, bias=plan.bias, explains=request.explains)

    loosened = loosen(root, request.match)
    if loosened is not None and request.match is Match.ANY:
        return loosened, ask(loosened)
    hits = ask(root)
    if loosened is None or hits.total >= ENOUGH:
        return root, hits
    try:
        return loosened, ask(loosened)
    except OutOfTime:
        # the hits that hold all of it were found in time
        return root, hits


def list_onwards(index: SearchIndex, root: Node, plan: QueryPlan, cursor: Cursor, access: AccessFilter) -> tuple[Node, Hits, Cursor | None]:
    """Lists the hits after a cursor, and returns where to continue, None at the end. The first page's decision to loosen holds for all."""
    request = plan.request
    loosened = loosen(root, request.match)
    is_loosened = cursor.is_loosened
    if is_loosened is None:
        is_few = request.match is Match.ANY or (loosened is not None and index.search(root, access, start=0, num=0).total < ENOUGH)
        is_loosened = loosened is not None and is_few
    asked = loosened if is_loosened and loosened is not None else root
    num = min(max(request.num, 1), MAX_NUM)
    hits = index.list_by_key(asked, access, after=cursor.after, num=num)
    onwards = Cursor(after=hits.hits[-1].key, is_loosened=is_loosened) if len(hits.hits) == num else None
    return asked, hits, onwards
