"""Records commands that work without a server in the audit log."""

import os
from typing import TYPE_CHECKING

from feedmill.model.audit import AuditKind, Details

if TYPE_CHECKING:
    from feedmill.bootstrap.context import AppContext


def record_command(context: "AppContext", command: str, details: Details, kind: AuditKind = AuditKind.COMMANDED) -> None:
    """Writes a command that runs without a server to the audit log."""
    from feedmill.bootstrap.audit import open_auditing

    open_auditing(context.data, context.settings).log_event(
        kind, actor=f"command line, uid {os.getuid()}", details={"command": command, **details}
    )
