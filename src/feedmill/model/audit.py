"""The audit log's words: what happened, who did it, and how entries hang together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum


class AuditKind(Enum):
    """What happened."""

    SIGNED_IN = "signin.accepted"
    SIGN_IN_FAILED = "signin.failed"
    SIGN_IN_REFUSED = "signin.refused"
    SIGNED_OUT = "signout"
    ADMINISTERED = "admin.request"
    ADMINISTRATION_REFUSED = "admin.refused"
    PUSH_REFUSED = "push.refused"
    COMMANDED = "command"
    DECISION_ASKED = "decision.asked"
    SETTINGS_READ = "settings.read"
    TRIMMED = "audit.trimmed"


Detail = str | int | bool | list[str]
Details = Mapping[str, Detail]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One thing that happened. Shape: ``actor`` is who did it, "" where nobody is known; ``address`` is his, "" on this machine itself."""

    kind: AuditKind
    at: datetime
    actor: str = ""
    address: str = ""
    details: Details = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An event in its place. Shape: ``number`` counts from 1; hashes are SHA-256 in hex, ``previous`` that of the entry before."""

    number: int
    event: AuditEvent
    previous: str
    digest: str
