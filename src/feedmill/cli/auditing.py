"""What commands did, or looked at, without a server goes into the audit log too."""

import os

from feedmill.bootstrap import House
from feedmill.model.audit import AuditKind, Details


def tell_command(house: House, command: str, details: Details, kind: AuditKind = AuditKind.COMMANDED) -> None:
    """Puts a command that no server was asked for into the audit log."""
    house.auditing().tell(kind, actor=f"command line, uid {os.getuid()}", details={"command": command, **details})
