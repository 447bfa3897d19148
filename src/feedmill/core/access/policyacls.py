"""Finds the policy ACL of a URL, and decides by it.

At most one policy applies to a URL, the first that exists of these:

1. those whose pattern is a host and a whole path, such as ``^http://example.com/a.html$``: *exact*;
2. those whose pattern is a host and the beginning of a path, such as ``example.com/press/``: *prefixes*, the longest path first;
3. all others (``contains:``, ``regexp:``, ``.pdf$``, ``/secret/``, a text without a slash): *patterns*, in the order of the list.

Among exact ones and among prefixes of the same path, the longer text for the host comes first (it matches fewer hosts), then the order of
the list. ``patterns`` defines where letter case, ports and anchors count.

A policy always decides: PERMIT if it permits the user and does not deny them, else DENY. The result is INDETERMINATE only if no user signed
in or no policy applies to the URL.

The mechanisms that decide early are evaluated in order, as long as the previous ones return INDETERMINATE.
Source: googlegsa/secmgr, ``FlexAuthorizerImpl``, ``AclUtil``.
"""

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from feedmill.core.access.evaluator import decide_locally
from feedmill.core.access.principals import PrincipalKeys
from feedmill.core.urls.patternrules import HostRule, OptionalWwwRule, PathRule, Rule, UrlParts, split_url
from feedmill.core.urls.patterns import parse_pattern
from feedmill.model.access import Acl
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest
from feedmill.model.policyacl import EarlyMechanism, PolicyAcl, PolicyDecision

MAX_COMPARED = 300_000
"""The maximum number of pairs that are compared to find policies with common URLs. Beyond it, all count as having common URLs."""


class PatternKind(Enum):
    """How a pattern matches URLs, in the order in which policies are tried."""

    EXACT = "exact"
    PREFIX = "prefix"
    PATTERN = "pattern"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A policy compiled for comparison with URLs. ``path`` is "" for a general pattern; a greater ``host_length`` matches fewer hosts."""

    policy: PolicyAcl
    covers: Rule
    kind: PatternKind
    path: str = ""
    host_length: int = 0
    place: int = 0


def kind_of(pattern: str) -> PatternKind:
    """Returns how a pattern matches URLs. Errors: BadRequest for an invalid pattern."""
    return _prepare(PolicyAcl(pattern=pattern), 0).kind


def _prepare(policy: PolicyAcl, place: int) -> _Ready:
    pattern = parse_pattern(policy.pattern)
    if pattern.is_exception:
        raise BadRequest(f"'{policy.pattern[:80]}' is an exception; a policy has one pattern, and the longest prefix counts")
    rule = pattern.covers
    text = path_of(rule)
    if text is None:
        return _Ready(policy=policy, covers=rule, kind=PatternKind.PATTERN, place=place)
    is_exact, path = text
    kind = PatternKind.EXACT if is_exact else PatternKind.PREFIX
    return _Ready(policy=policy, covers=rule, kind=kind, path=path, host_length=_host_length(rule), place=place)


def path_of(rule: Rule) -> tuple[bool, str] | None:
    """Returns whether a pattern matches a whole path, and the path or its beginning; None for a pattern that anchors no path."""
    path: Rule | None = rule
    if isinstance(rule, OptionalWwwRule):
        path = rule.rest.path
    elif isinstance(rule, HostRule):
        path = rule.path
    if not isinstance(path, PathRule) or not path.text.left:
        return None
    return path.text.right, path.text.text


def _host_length(rule: Rule) -> int:
    if isinstance(rule, HostRule):
        return len(rule.text) + len(rule.port or "") + rule.anchored
    return len(rule.protocol) + len(rule.host) if isinstance(rule, OptionalWwwRule) else 0


class PolicySet:
    """Compiled policies. ``policies`` are in the order of the list. Errors: BadRequest for an invalid pattern."""

    def __init__(self, policies: Sequence[PolicyAcl] = ()) -> None:
        self.policies = tuple(policies)
        self._by_number = {policy.number: policy for policy in policies}
        ready = self._ready = tuple(_prepare(policy, place) for place, policy in enumerate(policies))
        self._exact = _by_path(one for one in ready if one.kind is PatternKind.EXACT)
        self._prefixes = _by_path(one for one in ready if one.kind is PatternKind.PREFIX)
        self._lengths = sorted({len(path) for path in self._prefixes}, reverse=True)
        self._patterns = tuple(one for one in ready if one.kind is PatternKind.PATTERN)

    def find_policy(self, url: str) -> PolicyAcl | None:
        """Returns the policy that applies to a URL, None if there is none."""
        return next(self.iter_matching(url), None) if self.policies else None

    def find_number(self, number: int) -> PolicyAcl | None:
        """Returns the policy with this number, None if there is none."""
        return self._by_number.get(number)

    def iter_matching(self, url: str) -> Iterator[PolicyAcl]:
        """Yields the policies whose patterns match a URL; the first one applies."""
        parts = split_url(url)
        for one in self._iter_candidates(parts):
            if one.covers(parts):
                yield one.policy

    def _iter_candidates(self, parts: UrlParts) -> Iterator[_Ready]:
        yield from self._exact.get(parts.path, ())
        # One look-up for each length that occurs, the longest first, however many policies there are.
        for length in self._lengths:
            if length <= len(parts.path):
                yield from self._prefixes.get(parts.path[:length], ())
        yield from self._patterns

    def find_shadowed(self, changed: Container[int], after: "PolicySet") -> set[int]:
        """Returns the numbers of the policies that may share a URL with one of the changed policies of another set."""
        others = [one for one in after._ready if one.policy.number in changed]
        # Too many is safe: a caller checks more documents again than it needs to. Too few would show what is forbidden.
        if len(others) * len(self._ready) > MAX_COMPARED:
            return {one.policy.number for one in self._ready}
        return {one.policy.number for one in self._ready if any(_may_share(one, other) for other in others)}

    def digest(self) -> str:
        """Returns a digest that changes whenever another policy may apply to some URL; it ignores who is permitted."""
        hashed = hashlib.blake2b(digest_size=12)
        for policy in self.policies:
            # The length separates pattern and next number, whatever characters the pattern has.
            hashed.update(f"{policy.number}:{len(policy.pattern)}:{policy.pattern}".encode("utf-8", "surrogatepass"))
        return hashed.hexdigest()


def _by_path(found: Iterable[_Ready]) -> Mapping[str, tuple[_Ready, ...]]:
    by_path: dict[str, list[_Ready]] = {}
    for one in found:
        by_path.setdefault(one.path, []).append(one)
    return {path: tuple(sorted(those, key=lambda one: (-one.host_length, one.place))) for path, those in by_path.items()}


def decide_by_policy(policy: PolicyAcl | None, principal_keys: PrincipalKeys) -> PolicyDecision | None:
    """Returns the decision of a policy about a user, None without a policy or a signed-in user."""
    if policy is None or not (principal_keys.identity.users or principal_keys.identity.groups):
        return None
    verdict, match = decide_locally(Acl(entries=policy.entries), principal_keys)
    return PolicyDecision(policy=policy, verdict=Verdict.PERMIT if verdict is Verdict.PERMIT else Verdict.DENY, match=match)


def combine_by_mechanism(
    order: Sequence[EarlyMechanism], answers: Mapping[EarlyMechanism, Callable[[], Verdict]], *, permits_end: bool = True
) -> tuple[Verdict, EarlyMechanism | None]:
    """Returns the first decision that is not INDETERMINATE, and its mechanism; later mechanisms are not evaluated.

    Without ``permits_end`` a PERMIT is a hint, which a later DENY overrides. Source: docs/howto/bind-late.md.
    """
    hint: tuple[Verdict, EarlyMechanism | None] = (Verdict.INDETERMINATE, None)
    for mechanism in order:
        verdict = answers[mechanism]()
        if verdict is Verdict.DENY or (verdict is Verdict.PERMIT and permits_end):
            return verdict, mechanism
        if verdict is Verdict.PERMIT and hint[1] is None:
            hint = verdict, mechanism
    return hint


# --- effects of a new list ------------------------------------------------------------------------------------------------------


def list_shadowed(before: PolicySet, after: PolicySet) -> set[int]:
    """Returns the numbers of the policies that may lose some URL to another one by a change, 0 for URLs that had none.

    The result may contain too many numbers. A caller that caches documents by these numbers must check them against ``after`` before it
    shows them.
    """
    if before.digest() == after.digest():
        return set()
    places = {policy.number: place for place, policy in enumerate(before.policies)}
    known = [policy.number for policy in after.policies if policy.number in places]
    moved = _list_moved([places[number] for number in known])
    fresh = {policy.number for policy in after.policies if policy.number not in places}
    changed = fresh | {known[place] for place in moved}
    return before.find_shadowed(changed, after) | ({0} if fresh else set())


def _list_moved(places: Sequence[int]) -> set[int]:
    """Returns the positions of those that now precede another one that used to precede them."""
    moved: set[int] = set()
    # from the end: ``least`` is the smallest old position so far, and a greater one before it has changed places with it
    least = None
    for here in range(len(places) - 1, -1, -1):
        if least is not None and places[here] > least:
            moved.add(here)
        least = places[here] if least is None else min(least, places[here])
    return moved


def may_share(one: PolicyAcl, other: PolicyAcl) -> bool:
    """Whether some URL may match both patterns. Shape: true if it cannot be decided."""
    return _may_share(_prepare(one, 0), _prepare(other, 0))


def _may_share(first: _Ready, second: _Ready) -> bool:
    if first.policy.number and first.policy.number == second.policy.number:
        return False
    # Whether two regular expressions have a URL in common is not worth deciding; they may.
    if PatternKind.PATTERN in (first.kind, second.kind):
        return True
    return _may_share_path(first, second) and _may_share_host(first.covers, second.covers)


def _may_share_path(first: _Ready, second: _Ready) -> bool:
    one, other = first.path, second.path
    if first.kind is second.kind is PatternKind.EXACT:
        return one == other
    if first.kind is PatternKind.EXACT:
        return one.startswith(other)
    if second.kind is PatternKind.EXACT:
        return other.startswith(one)
    return one.startswith(other) or other.startswith(one)


def _may_share_host(one: Rule, other: Rule) -> bool:
    # A pattern may leave host, user or ``www.`` open. Two plain hosts have URLs in common only if one ends like the other.
    if not isinstance(one, HostRule) or not isinstance(other, HostRule) or "@" in one.text + other.text:
        return True
    return one.text.endswith(other.text) or other.text.endswith(one.text)
