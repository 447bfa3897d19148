"""Combines several verdicts about one document: the strictest counts, DENY before INDETERMINATE before PERMIT."""

from feedmill.model.decision import Verdict

_ORDER = (Verdict.PERMIT, Verdict.INDETERMINATE, Verdict.DENY)


def stricter(one: Verdict, other: Verdict) -> Verdict:
    """Returns the stricter verdict: DENY before INDETERMINATE before PERMIT."""
    return max(one, other, key=_ORDER.index)
