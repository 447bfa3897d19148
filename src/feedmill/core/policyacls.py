"""Which policy ACL is for a URL, and what it says.

One policy at most is for a URL, the first that there is of these:

1. those whose pattern is a host and a whole path, as ``^http://example.com/a.html$``: *exact*;
2. those whose pattern is a host and the beginning of a path, as ``example.com/press/``: *prefixes*, the longest path first;
3. all others (``contains:``, ``regexp:``, ``.pdf$``, ``/secret/``, a text without a slash): *patterns*, in the order of the list.

Among exact ones and among prefixes of the same path, the longer text for the host comes first (it means fewer hosts), then the order of the
list. Where letter case, ports and anchors count is said in ``patterns``.

A policy always decides: PERMIT for somebody whom it permits and does not deny, else DENY. Only where nobody signed in, or no policy is for
the URL, is the answer INDETERMINATE.

Of the mechanisms that decide early, each is asked as long as those before it say INDETERMINATE.
Source: googlegsa/secmgr, ``FlexAuthorizerImpl``, ``AclUtil``.
"""

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from feedmill.core.evaluator import decide_locally
from feedmill.core.patternrules import HostRule, OptionalWwwRule, PathRule, Rule, UrlParts, split_url
from feedmill.core.patterns import parse_pattern
from feedmill.core.principals import PrincipalKeys
from feedmill.model.access import Acl
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest
from feedmill.model.policyacl import Early, PolicyAcl, Ruling

MAX_COMPARED = 300_000
"""Of more pairs than this it is not found out which may share a URL; all count as such."""


class PatternKind(Enum):
    """How a pattern means URLs, in the order in which policies are tried."""

    EXACT = "exact"
    PREFIX = "prefix"
    PATTERN = "pattern"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A policy ready to be held against URLs. ``path`` "" for a general pattern; ``host_length`` says how few hosts are meant."""

    policy: PolicyAcl
    covers: Rule
    kind: PatternKind
    path: str = ""
    host_length: int = 0
    place: int = 0


def kind_of(pattern: str) -> PatternKind:
    """Returns how a pattern means URLs. Errors: BadRequest for what is no pattern."""
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
    """Returns whether a pattern means a whole path, and the path or its beginning; None for a pattern that anchors no path."""
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
    """Policies ready to be asked. ``policies`` stand in the order of the list. Errors: BadRequest for what is no pattern."""

    def __init__(self, policies: Sequence[PolicyAcl] = ()) -> None:
        self.policies = tuple(policies)
        self._by_number = {policy.number: policy for policy in policies}
        ready = self._ready = tuple(_prepare(policy, place) for place, policy in enumerate(policies))
        self._exact = _by_path(one for one in ready if one.kind is PatternKind.EXACT)
        self._prefixes = _by_path(one for one in ready if one.kind is PatternKind.PREFIX)
        self._lengths = sorted({len(path) for path in self._prefixes}, reverse=True)
        self._patterns = tuple(one for one in ready if one.kind is PatternKind.PATTERN)

    def find(self, url: str) -> PolicyAcl | None:
        """Finds the policy that is for a URL."""
        return next(self.iter_matching(url), None) if self.policies else None

    def find_number(self, number: int) -> PolicyAcl | None:
        """Finds a policy by its number."""
        return self._by_number.get(number)

    def iter_matching(self, url: str) -> Iterator[PolicyAcl]:
        """Yields the policies whose patterns mean a URL; the first is the one that counts."""
        parts = split_url(url)
        for one in self._iter_candidates(parts):
            if one.covers(parts):
                yield one.policy

    def _iter_candidates(self, parts: UrlParts) -> Iterator[_Ready]:
        yield from self._exact.get(parts.path, ())
        for length in self._lengths:
            if length <= len(parts.path):
                yield from self._prefixes.get(parts.path[:length], ())
        yield from self._patterns

    def find_shadowed(self, changed: Container[int], after: "PolicySet") -> set[int]:
        """Finds the numbers of the policies that may share a URL with one of those of another book that changed there."""
        others = [one for one in after._ready if one.policy.number in changed]
        if len(others) * len(self._ready) > MAX_COMPARED:
            return {one.policy.number for one in self._ready}
        return {one.policy.number for one in self._ready if any(_may_share(one, other) for other in others)}

    def digest(self) -> str:
        """Returns a text that is another whenever another policy may be for some URL; who is permitted does not matter."""
        hashed = hashlib.blake2b(digest_size=12)
        for policy in self.policies:
            hashed.update(f"{policy.number}:{len(policy.pattern)}:{policy.pattern}".encode("utf-8", "surrogatepass"))
        return hashed.hexdigest()


def _by_path(found: Iterable[_Ready]) -> Mapping[str, tuple[_Ready, ...]]:
    by_path: dict[str, list[_Ready]] = {}
    for one in found:
        by_path.setdefault(one.path, []).append(one)
    return {path: tuple(sorted(those, key=lambda one: (-one.host_length, one.place))) for path, those in by_path.items()}


def rule_on(policy: PolicyAcl | None, forms: PrincipalKeys) -> Ruling | None:
    """Returns what a policy says to somebody, None where there is no policy or nobody signed in."""
    if policy is None or not (forms.identity.users or forms.identity.groups):
        return None
    verdict, match = decide_locally(Acl(entries=policy.entries), forms)
    return Ruling(policy=policy, verdict=Verdict.PERMIT if verdict is Verdict.PERMIT else Verdict.DENY, match=match)


def settle(
    order: Sequence[Early], answers: Mapping[Early, Callable[[], Verdict]], *, permits_end: bool = True
) -> tuple[Verdict, Early | None]:
    """Returns the first answer that is not INDETERMINATE, and whose it was; mechanisms behind it are not asked.

    Without ``permits_end`` a PERMIT is a hint, which a DENY behind it beats. Source: docs/howto/bind-late.md.
    """
    hint: tuple[Verdict, Early | None] = (Verdict.INDETERMINATE, None)
    for mechanism in order:
        verdict = answers[mechanism]()
        if verdict is Verdict.DENY or (verdict is Verdict.PERMIT and permits_end):
            return verdict, mechanism
        if verdict is Verdict.PERMIT and hint[1] is None:
            hint = verdict, mechanism
    return hint


# --- what a new list may change -------------------------------------------------------------------------------------------------


def list_shadowed(before: PolicySet, after: PolicySet) -> set[int]:
    """Returns the numbers of the policies that some URL may lose to another one by a change, 0 for URLs that had none.

    Errs on the side of too many: whoever keeps documents by these numbers must not show them until he has held them against ``after``.
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
    """Returns where in a list stand those that came before another one than they did."""
    moved: set[int] = set()
    least = None
    for here in range(len(places) - 1, -1, -1):
        if least is not None and places[here] > least:
            moved.add(here)
        least = places[here] if least is None else min(least, places[here])
    return moved


def may_share(one: PolicyAcl, other: PolicyAcl) -> bool:
    """Whether there may be a URL that both patterns mean. Shape: true where that cannot be told."""
    return _may_share(_prepare(one, 0), _prepare(other, 0))


def _may_share(first: _Ready, second: _Ready) -> bool:
    if first.policy.number and first.policy.number == second.policy.number:
        return False
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
    if not isinstance(one, HostRule) or not isinstance(other, HostRule) or "@" in one.text + other.text:
        return True
    return one.text.endswith(other.text) or other.text.endswith(one.text)
