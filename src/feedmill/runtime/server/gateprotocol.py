"""The HTTP protocol of the feed port, with an extension by which the application drops a connection."""

from feedmill.http.common.answers import DROP_EXTENSION
from feedmill.runtime.server.deadlines import STEADY_BODIES
from feedmill.runtime.server.draining import DrainingProtocol


class GateProtocol(DrainingProtocol):
    """Reads large bodies, and lets the application drop the connection."""

    body_rule = STEADY_BODIES

    def on_message_begin(self) -> None:
        """Adds the extension to the request's scope."""
        super().on_message_begin()
        self.set_extension(DROP_EXTENSION, {"drop": self._drop})

    def _drop(self) -> None:
        if not self.transport.is_closing():
            self.cut_off()
