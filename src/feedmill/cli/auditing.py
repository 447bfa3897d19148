"""What commands did, or looked at, without a server goes into the audit log too."""

import os

from feedmill.bootstrap.audit import open_auditing
from feedmill.bootstrap.context import AppContext
from feedmill.model.audit import AuditKind, Details


def record_command(context: AppContext, command: str, details: Details, kind: AuditKind = AuditKind.COMMANDED) -> None:
    """Puts a command that no server was asked for into the audit log."""
    open_auditing(context.data, context.settings).tell(
        kind, actor=f"command line, uid {os.getuid()}", details={"command": command, **details}
    )
