"""Explains a decision in words, for administrators who want to know why a user does or does not see a document.

A text names the entry and the URL whose ACL contains it. If the entry names a group, the text also names the path from the user to that
group.
"""

from feedmill.model.access import Access, Principal
from feedmill.model.decision import Cause, EntryMatch, Step
from feedmill.model.identity import DEFAULT_NAMESPACE, Subject

_WAY_SUBJECTS = 10
"""Longer paths are described by their two ends."""

NO_ONE_NAMED = "neither an acl nor a policy says who may see it: no user finds it, unless another server permits it"
"""Why nobody finds a closed document."""


def describe_reason(cause: Cause, step: Step | None) -> str:
    """Returns the reason of a decision. Shape: lower case, no full stop; ``step`` as in ``Decision.decisive``."""
    if step is None:
        return "the URL has no ACL" if cause is Cause.NO_ACL else "no entry of the chain names the user"
    if step.match is not None and cause in (Cause.PERMITTED, Cause.DENIED):
        return f"{describe_match(step.match)}, in the ACL of {step.url}"
    return _TEXTS[cause].format(url=step.url, parent=step.acl.inherit_from)


_TEXTS = {
    Cause.NOT_BOTH: "the ACL of {url} is and-both-permit, and not both it and what inherits from it permit",
    Cause.EMPTY_ACL: "the ACL of {url} is empty, which counts as none",
    Cause.MISSING_PARENT: "the chain is broken: the ACL of {url} inherits from {parent}, which has none",
    Cause.CYCLE: "the chain is a circle: the ACL of {url} inherits from {parent}, which stands below it or is the same",
    Cause.LEAF_PARENT: "the chain is broken: the ACL of {url} is leaf-node, from which nothing may inherit",
    Cause.TOO_DEEP: "the chain is broken: it is longer than is looked at, up to the ACL of {url}",
}


def describe_match(match: EntryMatch) -> str:
    """Describes which entry names the user, and through which groups."""
    verb = "denied" if match.entry.access is Access.DENY else "permitted"
    text = f"{verb} by {describe_principal(match.entry.principal)}"
    return text if len(match.path) == 1 else f"{text}, through {describe_path(match.path)}"


def describe_principal(principal: Principal) -> str:
    """Describes a principal as it was written, with its unusual properties."""
    extras = [] if principal.case_sensitive else ["in any letter case"]
    return " ".join([principal.scope.value, f'"{principal.name}"', *_describe_namespace(principal.namespace), *extras])


def describe_subject(subject: Subject) -> str:
    """Describes the user or one of their groups."""
    name = f"{subject.domain}\\{subject.name}" if subject.domain else subject.name
    return " ".join([subject.scope.value, f'"{name}"', *_describe_namespace(subject.namespace)])


def describe_path(path: tuple[Subject, ...]) -> str:
    """Describes how a group was reached."""
    parts = [describe_subject(subject) for subject in path]
    if len(parts) > _WAY_SUBJECTS:
        parts = [parts[0], f"{len(parts) - 2} groups", parts[-1]]
    return " > ".join(parts)


def _describe_namespace(namespace: str) -> list[str]:
    return [] if namespace == DEFAULT_NAMESPACE else [f'of namespace "{namespace}"']
