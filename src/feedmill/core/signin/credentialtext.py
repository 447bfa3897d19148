"""Serializes credentials as one text, as sessions store them."""

import json
from datetime import datetime
from typing import Any

from feedmill.model.access import Scope
from feedmill.model.errors import Corrupt
from feedmill.model.identity import Subject
from feedmill.model.signin import Credential, ProviderSession
from feedmill.model.userrole import UserRole


def write_credentials(credentials: tuple[Credential, ...]) -> str:
    """Returns credentials as one JSON text."""
    written = [
        {
            "provider": credential.provider,
            "namespace": credential.user.namespace,
            "user": [credential.user.name, credential.user.domain],
            "groups": [[group.name, group.domain, group.namespace] for group in credential.groups],
            "role": credential.role.value,
            "epoch": credential.epoch,
            **_write_session(credential.session),
        }
        for credential in credentials
    ]
    return json.dumps(written, separators=(",", ":"))


def read_credentials(text: str) -> tuple[Credential, ...]:
    """Parses credentials that ``write_credentials`` wrote. Errors: Corrupt."""
    try:
        return tuple(_read_credential(held) for held in json.loads(text))
    except (ValueError, KeyError, TypeError) as exc:
        raise Corrupt(f"a session's credentials cannot be read: {exc}") from exc


def _read_credential(held: dict[str, Any]) -> Credential:
    name, domain = held["user"]
    return Credential(
        provider=held["provider"],
        user=Subject(scope=Scope.USER, name=name, domain=domain, namespace=held["namespace"]),
        groups=tuple(Subject(scope=Scope.GROUP, name=group, domain=of, namespace=within) for group, of, within in held["groups"]),
        role=UserRole(held["role"]),
        epoch=held["epoch"],
        session=_read_session(held.get("session")),
    )


def _write_session(session: ProviderSession | None) -> dict[str, list[str]]:
    if session is None:
        return {}
    ends_at = session.ends_at.isoformat() if session.ends_at is not None else ""
    return {"session": [session.name, session.index, session.details, ends_at]}


def _read_session(held: list[str] | None) -> ProviderSession | None:
    if held is None:
        return None
    name, index, details, ends_at = held
    return ProviderSession(name=name, index=index, details=details, ends_at=datetime.fromisoformat(ends_at) if ends_at else None)
