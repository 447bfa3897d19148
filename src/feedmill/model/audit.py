"""The types of the audit log: events, their actors, and chained entries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum


class AuditKind(Enum):
    """The kind of an event."""

    SIGNED_IN = "signin.accepted"
    SIGN_IN_FAILED = "signin.failed"
    SIGN_IN_REFUSED = "signin.refused"
    SIGNED_OUT = "signout"
    ADMINISTERED = "admin.request"
    ADMINISTRATION_REFUSED = "admin.refused"
    PUSH_REFUSED = "push.refused"
    COMMANDED = "command"
    DECISION_REQUESTED = "decision.asked"
    SEEDLIST_READ = "seedlist.read"
    PASSAGES_RETRIEVED = "assistant.retrieve"
    ASSISTANT_SEARCHED = "assistant.search"
    DOCUMENT_FETCHED = "assistant.fetch"
    SETTINGS_READ = "settings.read"
    TRIMMED = "audit.trimmed"


Detail = str | int | bool | list[str]
Details = Mapping[str, Detail]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One event. Shape: ``actor`` caused it, "" if unknown; ``address`` is the actor's address, "" on this machine itself."""

    kind: AuditKind
    at: datetime
    actor: str = ""
    address: str = ""
    details: Details = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An event in the chain. Shape: ``number`` counts from 1; hashes are SHA-256 in hex, ``previous`` is that of the previous entry."""

    number: int
    event: AuditEvent
    previous: str
    digest: str
