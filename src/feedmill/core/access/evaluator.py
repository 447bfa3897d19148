"""Decides what the ACLs of a URL say about a user. This is the reference for every faster implementation.

One ACL (the local decision): DENY if any denying entry names the user, else PERMIT if any permitting entry does, else INDETERMINATE.
Entries for users and for groups count alike.

A chain is the URL's own ACL, the ACL of the URL that it inherits from, and so on up to the root, which inherits from none. It is resolved
from the bottom: the child's result so far is combined with the local decision of its parent by the inheritance type of the **parent**. The
root's type is therefore applied last. The type of the URL's own ACL has no effect.

- child-overrides: the child's, unless INDETERMINATE, then the parent's.
- parent-overrides: the parent's, unless INDETERMINATE, then the child's.
- and-both-permit: PERMIT if both are, else DENY, also if both are INDETERMINATE.

The first of these rules that applies determines the result:

1. the URL has no ACL: INDETERMINATE;
2. the chain is broken (a parent is unknown or has no ACL), circular, longer than the bound, or has a leaf-node ACL as a parent:
   INDETERMINATE, whatever its ACLs say;
3. the only ACL is completely empty (only blank entries, no parent, leaf-node): INDETERMINATE, as if there were none;
4. the chain says PERMIT or DENY: that;
5. the chain says INDETERMINATE: DENY, since there are ACLs and none permits.

INDETERMINATE never shows a document: it leaves the decision to later mechanisms, and the last of them denies. Nothing is cached between
calls, so a parent that arrives repairs the chain at once.
Source: Feeds Protocol Developer's Guide, "Per-URL ACLs and ACL Inheritance"; googlegsa/library, ``Acl``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedmill.core.access.explanation import describe_reason
from feedmill.core.access.principals import PrincipalKeys, is_blank, principal_keys_of
from feedmill.model.access import Access, Acl, InheritanceType
from feedmill.model.decision import Cause, Decision, EntryMatch, Step, Verdict
from feedmill.model.identity import Identity

FindAcl = Callable[[str], Acl | None]
"""Returns the ACL of a URL, compared character by character; None if there is none."""

MAX_CHAIN = 512
"""A chain of more ACLs counts as broken. Real chains mirror folders and have ten or twenty ACLs."""

_PERMIT, _DENY, _INDETERMINATE = Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE
_OF_ENTRIES = {_PERMIT: Cause.PERMITTED, _DENY: Cause.DENIED, _INDETERMINATE: Cause.UNNAMED}


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The result of a chain so far, the rule that produced it, and the ACL that decided."""

    verdict: Verdict
    cause: Cause
    step: Step | None = None


def decide(url: str, identity: Identity, find_acl: FindAcl, *, max_chain: int = MAX_CHAIN) -> Decision:
    """Decides what the ACLs of a URL say about a user. Errors: those of ``find_acl``."""
    return decide_for(url, principal_keys_of(identity), find_acl, max_chain=max_chain)


def decide_for(url: str, principal_keys: PrincipalKeys, find_acl: FindAcl, *, max_chain: int = MAX_CHAIN) -> Decision:
    """Decides as ``decide`` does, with principal keys that are already computed. Errors: those of ``find_acl``."""
    path, state = _decide(url, principal_keys, find_acl, max_chain)
    return Decision(
        url=url,
        verdict=state.verdict,
        cause=state.cause,
        reason=describe_reason(state.cause, state.step),
        path=path,
        decisive=state.step,
    )


def decide_verdict(url: str, principal_keys: PrincipalKeys, find_acl: FindAcl, *, max_chain: int = MAX_CHAIN) -> Verdict:
    """Returns the verdict of ``decide_for`` without the reason. Errors: those of ``find_acl``."""
    return _decide(url, principal_keys, find_acl, max_chain)[1].verdict


def _decide(url: str, principal_keys: PrincipalKeys, find_acl: FindAcl, max_chain: int) -> tuple[tuple[Step, ...], _State]:
    chain, fault = _climb(url, find_acl, max_chain)
    path = tuple(_evaluate_acl(owner, acl, principal_keys) for owner, acl in chain.items())
    if fault:
        return path, _State(verdict=_INDETERMINATE, cause=fault, step=path[-1] if path else None)
    return path, _check_chain(path) or _combine_chain(path)


def decide_locally(acl: Acl, principal_keys: PrincipalKeys) -> tuple[Verdict, EntryMatch | None]:
    """Returns what one ACL alone says, and the first entry that decides it."""
    permit: EntryMatch | None = None
    for entry in acl.entries:
        # A second permit adds nothing. Only a denial can still change the decision.
        if permit is not None and entry.access is Access.PERMIT:
            continue
        subject = principal_keys.find_subject(entry.principal)
        if subject is None:
            continue
        match = EntryMatch(entry=entry, path=principal_keys.trace(subject))
        # One denial suffices, wherever it stands among the entries.
        if entry.access is Access.DENY:
            return _DENY, match
        permit = match
    return (_INDETERMINATE, None) if permit is None else (_PERMIT, permit)


def combine(rule: InheritanceType, *, parent: Verdict, child: Verdict) -> Verdict:
    """Combines two decisions by the inheritance type of the parent. Shape: a leaf-node parent results in INDETERMINATE."""
    if rule is InheritanceType.CHILD_OVERRIDES:
        return parent if child is _INDETERMINATE else child
    if rule is InheritanceType.PARENT_OVERRIDES:
        return child if parent is _INDETERMINATE else parent
    if rule is InheritanceType.AND_BOTH_PERMIT:
        # A chained comparison: both are PERMIT. Nothing else permits, also not a PERMIT beside an INDETERMINATE.
        return _PERMIT if parent is child is _PERMIT else _DENY
    return _INDETERMINATE


def is_empty(acl: Acl) -> bool:
    """Whether an ACL says nothing at all and counts as none. Source: googlegsa/library, ``Acl``."""
    says_nothing = acl.inherit_from is None and acl.inheritance_type is InheritanceType.LEAF_NODE
    return says_nothing and all(is_blank(entry.principal) for entry in acl.entries)


def _climb(url: str, find_acl: FindAcl, max_chain: int) -> tuple[dict[str, Acl], Cause | None]:
    """Returns the ACLs from the URL's own upwards, in order, and the cause if the chain is not sound."""
    chain: dict[str, Acl] = {}
    current: str | None = url
    while current is not None:
        # A circle has no root, so there is no end from which to combine.
        if current in chain:
            return chain, Cause.CYCLE
        # Checked before the next look-up: a chain of exactly ``max_chain`` ACLs is still sound.
        if len(chain) == max_chain:
            return chain, Cause.TOO_DEEP
        acl = find_acl(current)
        if acl is None:
            # The URL itself may lack an ACL. Further up, the missing one breaks the chain.
            return chain, Cause.MISSING_PARENT if chain else Cause.NO_ACL
        chain[current] = acl
        current = acl.inherit_from
    return chain, None


def _evaluate_acl(url: str, acl: Acl, principal_keys: PrincipalKeys) -> Step:
    local, match = decide_locally(acl, principal_keys)
    return Step(url=url, acl=acl, local=local, match=match)


def _check_chain(path: Sequence[Step]) -> _State | None:
    # The URL's own ACL may be a leaf node, because its type has no effect. Only those above it must not be one.
    for step in path[1:]:
        if step.acl.inheritance_type is InheritanceType.LEAF_NODE:
            return _State(verdict=_INDETERMINATE, cause=Cause.LEAF_PARENT, step=step)
    if len(path) == 1 and is_empty(path[0].acl):
        return _State(verdict=_INDETERMINATE, cause=Cause.EMPTY_ACL, step=path[0])
    return None


def _combine_chain(path: Sequence[Step]) -> _State:
    state = _start(path[0])
    # From the bottom upwards, so the root's type is applied last. Another order gives other decisions.
    for parent in path[1:]:
        state = _combine_states(_start(parent), state, parent)
    return _State(verdict=_DENY, cause=Cause.UNNAMED) if state.verdict is _INDETERMINATE else state


def _start(step: Step) -> _State:
    return _State(verdict=step.local, cause=_OF_ENTRIES[step.local], step=step)


def _combine_states(parent: _State, child: _State, owner: Step) -> _State:
    """Combines verdicts, and returns the side that has the resulting verdict; if both have it, the parent for parent-overrides, else the
    child.
    """
    rule = owner.acl.inheritance_type
    verdict = combine(rule, parent=parent.verdict, child=child.verdict)
    sides = (parent, child) if rule is InheritanceType.PARENT_OVERRIDES else (child, parent)
    for side in sides:
        if side.verdict is verdict:
            return side
    return _State(verdict=verdict, cause=Cause.NOT_BOTH, step=owner)
