"""What other providers tell of somebody, as users and groups of ours: split by the notation rules, as proxy headers are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from feedmill.core.principals import read_subject
from feedmill.model.access import Scope
from feedmill.model.errors import Denied
from feedmill.model.identity import Subject

MAX_GROUPS = 20_000
MAX_NAME = 1_000


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
    """Reads groups: a list of texts, or one text. What is no text is passed over.

    Errors: Denied where the list is cut, since a shortened one could leave out a denial.
    """
    elsewhere = told.get("_claim_names")
    listed = told.get(claim)
    texts = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    if len(texts) > MAX_GROUPS or (isinstance(elsewhere, dict) and claim in elsewhere):
        raise Denied("the provider leaves groups out, since there are too many; let it tell fewer, such as those of this application")
    groups = [_read(Scope.GROUP, text, naming) for text in texts]
    return tuple(dict.fromkeys(group for group in groups if group is not None))


def _read(scope: Scope, told: object, naming: Naming) -> Subject | None:
    if not isinstance(told, str) or not told.strip() or len(told) > MAX_NAME or not told.isprintable():
        return None
    subject = read_subject(scope, told, naming.namespace)
    if not subject.name.strip():
        return None
    return subject if subject.domain else replace(subject, domain=naming.domain)
