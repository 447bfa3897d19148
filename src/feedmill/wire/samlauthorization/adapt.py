"""Converts statements to a decision for each document that was queried; fails closed.

A statement counts for the query that it answers, by id. It counts only for that query's document and user, in its validity period, and
if this server is in its audience. Of several statements for a query the strictest counts (``core.access.strictness``). A statement that no
query requested changes nothing.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from feedmill.core.access.strictness import stricter
from feedmill.model.decision import Verdict
from feedmill.wire.samlauthorization.schema import Query, Statement

LEEWAY = timedelta(minutes=5)
"""The permitted difference between the clocks of two servers."""


def match_statements(
    queries: Sequence[Query], statements: Iterable[Statement], *, subject: str, issuer: str, now: datetime
) -> tuple[dict[Query, Verdict], tuple[str, ...]]:
    """Returns the verdict for each query, INDETERMINATE without a valid statement, and why statements were ignored, each reason once."""
    queried: dict[str, set[str]] = {}
    for query in queries:
        queried.setdefault(query.id, set()).add(query.resource)
    found: dict[Query, Verdict] = {}
    reasons: dict[str, None] = {}
    for statement in statements:
        reason = _find_fault(queried.get(statement.in_response_to), statement, subject, now)
        # Every restriction must be met, each by any one of its audiences (SAML 2.0 core, 2.5.1.4).
        if not reason and not all(issuer in audience for audience in statement.audiences):
            reason = "an answer is meant for another recipient"
        if reason:
            reasons[reason] = None
            continue
        answered = Query(id=statement.in_response_to, resource=statement.resource)
        found[answered] = stricter(found.get(answered, Verdict.PERMIT), statement.verdict)
    missing = len(set(queries) - found.keys())
    if missing:
        reasons[f"{missing} of {len(set(queries))} questions are not answered"] = None
    return {query: found.get(query, Verdict.INDETERMINATE) for query in queries}, tuple(reasons)


def _find_fault(resources: set[str] | None, statement: Statement, subject: str, now: datetime) -> str:
    if resources is None:
        return "an answer is to no question of the request"
    if statement.resource not in resources:
        return "an answer is about another document than its question"
    if statement.subject is not None and statement.subject != subject:
        return "an answer is about another user"
    if statement.not_before is not None and statement.not_before - LEEWAY > now:
        return "an answer does not hold yet"
    # The end itself is outside (``NotOnOrAfter``).
    if statement.not_after is not None and statement.not_after + LEEWAY <= now:
        return "an answer holds no more"
    return ""
