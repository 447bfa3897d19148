"""Builds the service that writes and reads the audit log."""

from datetime import timedelta
from pathlib import Path

from feedmill.adapters.auditlog import FolderAuditLog
from feedmill.bootstrap.context import utc_now
from feedmill.services.auditing import Auditing
from feedmill.settings import Settings


def open_auditing(data: Path, settings: Settings) -> Auditing:
    """Opens the audit log of a data folder."""
    days = settings.audit.days
    return Auditing(FolderAuditLog(data / "audit", timedelta(days=days) if days else None), utc_now)
