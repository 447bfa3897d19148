"""Decides what the ACLs of a URL say to somebody: the reference that everything faster is held to.

One ACL (the local decision): DENY if any entry that denies names the asker, else PERMIT if any entry that permits does, else
INDETERMINATE. Users and groups count alike.

A chain is the URL's own ACL, that of the URL which it inherits from, and so on up to the root, which inherits from none. It is settled
from the bottom: what holds for the child so far is combined with the local decision of its parent by the inheritance type of the
**parent**; the root's type is therefore applied last. The type of the URL's own ACL has no say.

- child-overrides: the child's, unless INDETERMINATE, then the parent's.
- parent-overrides: the parent's, unless INDETERMINATE, then the child's.
- and-both-permit: PERMIT if both are, else DENY, also where both are INDETERMINATE.

The end, the first that holds:

1. the URL has no ACL: INDETERMINATE;
2. the chain is broken (a parent is unknown or has no ACL), comes back to itself, is longer than the bound, or has a leaf-node ACL that is
   a parent: INDETERMINATE, whatever its ACLs say;
3. the only ACL is completely empty (no entry but blank ones, no parent, leaf-node): INDETERMINATE, as if there were none;
4. the chain says PERMIT or DENY: that;
5. the chain says INDETERMINATE: DENY, since there are ACLs and none permits.

INDETERMINATE never shows a document: it leaves it to later mechanisms, the last of which refuses. Nothing is kept between calls, so a
parent that arrives mends the chain at once.
Source: Feeds Protocol Developer's Guide, "Per-URL ACLs and ACL Inheritance"; googlegsa/library, ``Acl``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedmill.core.derivation import describe_reason
from feedmill.core.principals import PrincipalKeys, forms_of, is_blank
from feedmill.model.access import Access, Acl, InheritanceType
from feedmill.model.decision import Cause, Decision, EntryMatch, Step, Verdict
from feedmill.model.identity import Identity

FindAcl = Callable[[str], Acl | None]
"""Returns the ACL that stands for a URL, compared character by character; None where there is none."""

MAX_CHAIN = 512
"""A chain of more ACLs counts as broken. Real ones mirror folders and have ten or twenty."""

_PERMIT, _DENY, _INDETERMINATE = Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE
_OF_ENTRIES = {_PERMIT: Cause.PERMITTED, _DENY: Cause.DENIED, _INDETERMINATE: Cause.UNNAMED}


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What holds for a chain so far, by which rule, and by which of its ACLs."""

    verdict: Verdict
    cause: Cause
    step: Step | None = None


def decide(url: str, identity: Identity, find_acl: FindAcl, *, max_chain: int = MAX_CHAIN) -> Decision:
    """Decides what the ACLs of a URL say to somebody. Errors: those of ``find_acl``."""
    return decide_for(url, forms_of(identity), find_acl, max_chain=max_chain)


def decide_for(url: str, forms: PrincipalKeys, find_acl: FindAcl, *, max_chain: int = MAX_CHAIN) -> Decision:
    """Decides as ``decide`` does, for somebody whose forms are worked out already. Errors: those of ``find_acl``."""
    path, state = _decide(url, forms, find_acl, max_chain)
    return Decision(
        url=url,
        verdict=state.verdict,
        cause=state.cause,
        reason=describe_reason(state.cause, state.step),
        path=path,
        decisive=state.step,
    )


def decide_verdict(url: str, forms: PrincipalKeys, find_acl: FindAcl, *, max_chain: int = MAX_CHAIN) -> Verdict:
    """Returns the verdict of ``decide_for``, where nobody asks for the reason. Errors: those of ``find_acl``."""
    return _decide(url, forms, find_acl, max_chain)[1].verdict


def _decide(url: str, forms: PrincipalKeys, find_acl: FindAcl, max_chain: int) -> tuple[tuple[Step, ...], _State]:
    chain, fault = _climb(url, find_acl, max_chain)
    path = tuple(_judge(owner, acl, forms) for owner, acl in chain.items())
    if fault:
        return path, _State(verdict=_INDETERMINATE, cause=fault, step=path[-1] if path else None)
    return path, _check(path) or _settle(path)


def decide_locally(acl: Acl, forms: PrincipalKeys) -> tuple[Verdict, EntryMatch | None]:
    """Returns what one ACL says taken alone, and the first entry that makes it say so."""
    permit: EntryMatch | None = None
    for entry in acl.entries:
        if permit is not None and entry.access is Access.PERMIT:
            continue
        subject = forms.find(entry.principal)
        if subject is None:
            continue
        match = EntryMatch(entry=entry, way=forms.trace(subject))
        if entry.access is Access.DENY:
            return _DENY, match
        permit = match
    return (_INDETERMINATE, None) if permit is None else (_PERMIT, permit)


def combine(rule: InheritanceType, *, parent: Verdict, child: Verdict) -> Verdict:
    """Returns what two decisions come to by the inheritance type of the parent. Shape: a leaf-node parent gives INDETERMINATE."""
    if rule is InheritanceType.CHILD_OVERRIDES:
        return parent if child is _INDETERMINATE else child
    if rule is InheritanceType.PARENT_OVERRIDES:
        return child if parent is _INDETERMINATE else parent
    if rule is InheritanceType.AND_BOTH_PERMIT:
        return _PERMIT if parent is child is _PERMIT else _DENY
    return _INDETERMINATE


def is_empty(acl: Acl) -> bool:
    """Whether an ACL says nothing at all and counts as none. Source: googlegsa/library, ``Acl``."""
    says_nothing = acl.inherit_from is None and acl.inheritance_type is InheritanceType.LEAF_NODE
    return says_nothing and all(is_blank(entry.principal) for entry in acl.entries)


def _climb(url: str, find_acl: FindAcl, max_chain: int) -> tuple[dict[str, Acl], Cause | None]:
    """Returns the ACLs from the URL's own upwards, in order, and why they are no whole chain."""
    chain: dict[str, Acl] = {}
    current: str | None = url
    while current is not None:
        if current in chain:
            return chain, Cause.CYCLE
        if len(chain) == max_chain:
            return chain, Cause.TOO_DEEP
        acl = find_acl(current)
        if acl is None:
            return chain, Cause.MISSING_PARENT if chain else Cause.NO_ACL
        chain[current] = acl
        current = acl.inherit_from
    return chain, None


def _judge(url: str, acl: Acl, forms: PrincipalKeys) -> Step:
    local, match = decide_locally(acl, forms)
    return Step(url=url, acl=acl, local=local, match=match)


def _check(path: Sequence[Step]) -> _State | None:
    for step in path[1:]:
        if step.acl.inheritance_type is InheritanceType.LEAF_NODE:
            return _State(verdict=_INDETERMINATE, cause=Cause.LEAF_PARENT, step=step)
    if len(path) == 1 and is_empty(path[0].acl):
        return _State(verdict=_INDETERMINATE, cause=Cause.EMPTY_ACL, step=path[0])
    return None


def _settle(path: Sequence[Step]) -> _State:
    state = _start(path[0])
    for parent in path[1:]:
        state = _combine_states(_start(parent), state, parent)
    return _State(verdict=_DENY, cause=Cause.UNNAMED) if state.verdict is _INDETERMINATE else state


def _start(step: Step) -> _State:
    return _State(verdict=step.local, cause=_OF_ENTRIES[step.local], step=step)


def _combine_states(parent: _State, child: _State, owner: Step) -> _State:
    """Combines verdicts, and keeps of the two sides the one that has the verdict; the child where both have it."""
    rule = owner.acl.inheritance_type
    verdict = combine(rule, parent=parent.verdict, child=child.verdict)
    sides = (parent, child) if rule is InheritanceType.PARENT_OVERRIDES else (child, parent)
    for side in sides:
        if side.verdict is verdict:
            return side
    return _State(verdict=verdict, cause=Cause.NOT_BOTH, step=owner)
