"""Which of several answers about one document counts: the strictest, a denial, then indecision, then a permit."""

from feedmill.model.decision import Verdict

_ORDER = (Verdict.PERMIT, Verdict.INDETERMINATE, Verdict.DENY)


def stricter(one: Verdict, other: Verdict) -> Verdict:
    """Returns the stricter of two."""
    return max(one, other, key=_ORDER.index)
