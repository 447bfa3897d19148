"""The names of this machine, as it knows them itself.

Its full name may need a name server. A name server that does not respond must not delay the ports. Therefore a thread looks the full
name up, and it is known a moment later than the short one.
"""

import socket
import threading
from typing import Final

import structlog

from feedmill.core.urls.hostnames import LOCALHOST, find_host, is_address

PATIENCE_SECONDS: Final = 2.0

log = structlog.get_logger(__name__)


class OwnNames:
    """Finds the names of this machine. Waits for the full one for a moment only."""

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        short = socket.gethostname()
        self._names = _normalize(LOCALHOST, short, short.partition(".")[0])
        asking = threading.Thread(target=self._ask, args=(short,), name="own-name", daemon=True)
        asking.start()
        asking.join(patience_seconds)
        if asking.is_alive():
            log.warning("full_name_unknown", host=short, reason="the name server has not answered yet")

    def list_names(self) -> frozenset[str]:
        """Returns the names known so far, normalized."""
        return self._names

    def _ask(self, short: str) -> None:
        self._names |= _normalize(socket.getfqdn(short))


def _normalize(*names: str) -> frozenset[str]:
    found = (find_host(name) for name in names)
    return frozenset(name for name in found if name is not None and not is_address(name))
