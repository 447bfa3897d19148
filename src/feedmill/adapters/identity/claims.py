"""What other providers tell of somebody, as users and groups of ours: split by the notation rules, as proxy headers are.

Groups that are left out, cut short or cannot be read let nobody in: one that is missing could be one that is denied.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol
from unicodedata import category

from feedmill.core.principals import read_subject
from feedmill.model.access import Scope
from feedmill.model.errors import Denied
from feedmill.model.identity import Subject

MAX_GROUPS = 20_000
MAX_NAME_CHARACTERS = 1_000
GROUPS_LINK = "http://schemas.microsoft.com/claims/groups.link"
"""What Microsoft Entra ID tells in an assertion in place of more groups than it likes to. Source: Microsoft, "Group overages"."""


class Naming(Protocol):
    """Where the provider's names belong: their namespace, and the domain of those that come without one."""

    @property
    def namespace(self) -> str:
        """The namespace."""

    @property
    def domain(self) -> str:
        """The domain, "" for none."""


def read_user(told: object, naming: Naming) -> Subject | None:
    """Reads a user; None for what names nobody."""
    return _read(Scope.USER, told, naming)


def read_groups(told: Mapping[str, Any], claim: str, naming: Naming) -> tuple[Subject, ...]:
    """Reads groups: a list of texts, or one text; blank ones are none. Errors: Denied."""
    elsewhere, listed = told.get("_claim_names"), told.get(claim)
    texts = listed if isinstance(listed, list) else [listed] if listed is not None else []
    is_elsewhere = isinstance(elsewhere, dict) and claim in elsewhere
    is_too_long = listed is None and (told.get("hasgroups") in (True, "true") or GROUPS_LINK in told)
    if len(texts) > MAX_GROUPS or is_elsewhere or is_too_long:
        raise Denied("the provider leaves groups out, since there are too many; let it tell fewer, such as those of this application")
    groups: list[Subject] = []
    for text in texts:
        if not isinstance(text, str) or not _is_readable(text):
            raise Denied(f"the provider tells groups in {claim} that are no names: {str(text)[:100]!a}")
        group = _read(Scope.GROUP, text, naming)
        groups += [] if group is None else [group]
    return tuple(dict.fromkeys(groups))


def _read(scope: Scope, told: object, naming: Naming) -> Subject | None:
    if not isinstance(told, str) or not told.strip() or not _is_readable(told):
        return None
    subject = read_subject(scope, told, naming.namespace)
    if not subject.name.strip():
        return None
    return subject if subject.domain else replace(subject, domain=naming.domain)


def _is_readable(text: str) -> bool:
    """Whether a text could be a name: spaces and marks of any script are, control characters and halves of characters are not."""
    return len(text) <= MAX_NAME_CHARACTERS and all(category(character) not in ("Cc", "Cs") for character in text.strip())
