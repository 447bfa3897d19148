"""Reads users and groups from the claims of providers. Names are split by the notation rules, as for proxy headers.

If groups are left out, cut short or unreadable, the sign-in is denied, because a missing group could be one that is denied access.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol
from unicodedata import category

from feedmill.core.access.principals import read_subject
from feedmill.model.access import Scope
from feedmill.model.errors import Denied
from feedmill.model.identity import Subject

MAX_GROUPS = 20_000
MAX_NAME_CHARACTERS = 1_000
GROUPS_LINK = "http://schemas.microsoft.com/claims/groups.link"
"""What Microsoft Entra ID sends in an assertion instead of too many groups. Source: Microsoft, "Group overages"."""


class NameDefaults(Protocol):
    """The namespace of a provider's names, and the domain of names without one."""

    @property
    def namespace(self) -> str:
        """The namespace."""

    @property
    def domain(self) -> str:
        """The domain, "" for none."""


def read_user(name: object, naming: NameDefaults) -> Subject | None:
    """Returns the user of a claim; None if the value names no user."""
    return _read_claim_value(Scope.USER, name, naming)


def read_groups(claims: Mapping[str, Any], claim: str, naming: NameDefaults) -> tuple[Subject, ...]:
    """Returns the groups of a claim: a list of texts, or one text. Blank texts are ignored. Errors: Denied."""
    elsewhere, listed = claims.get("_claim_names"), claims.get(claim)
    texts = listed if isinstance(listed, list) else [listed] if listed is not None else []
    is_elsewhere = isinstance(elsewhere, dict) and claim in elsewhere
    is_too_long = listed is None and (claims.get("hasgroups") in (True, "true") or GROUPS_LINK in claims)
    if len(texts) > MAX_GROUPS or is_elsewhere or is_too_long:
        raise Denied("the provider leaves groups out, because there are too many; configure it to send fewer")
    groups: list[Subject] = []
    for text in texts:
        if not isinstance(text, str) or not _is_readable(text):
            raise Denied(f"the provider sends groups in {claim} that are no names: {str(text)[:100]!a}")
        group = _read_claim_value(Scope.GROUP, text, naming)
        groups += [] if group is None else [group]
    return tuple(dict.fromkeys(groups))


def _read_claim_value(scope: Scope, name: object, naming: NameDefaults) -> Subject | None:
    if not isinstance(name, str) or not name.strip() or not _is_readable(name):
        return None
    subject = read_subject(scope, name, naming.namespace)
    if not subject.name.strip():
        return None
    return subject if subject.domain else replace(subject, domain=naming.domain)


def _is_readable(text: str) -> bool:
    """Returns whether a text could be a name.

    Spaces and accents of any script are allowed, control characters and lone surrogates are not.
    """
    return len(text) <= MAX_NAME_CHARACTERS and all(category(character) not in ("Cc", "Cs") for character in text.strip())
