"""The feed port's HTTP protocol: uvicorn's, and a way for the application to drop its connection."""

from feedmill.http.answers import DROP_EXTENSION
from feedmill.http.deadlines import STEADY_BODIES
from feedmill.http.draining import DrainingProtocol


class GateProtocol(DrainingProtocol):
    """To be given to uvicorn as ``http=GateProtocol``."""

    body_rule = STEADY_BODIES

    def on_message_begin(self) -> None:
        """Adds the extension to the request's scope."""
        super().on_message_begin()
        self.scope["extensions"] = {DROP_EXTENSION: {"drop": self._drop}}

    def _drop(self) -> None:
        if not self.transport.is_closing():
            self.cut_off()
