"""Sends an XML request to the one server that a rule names."""

from collections.abc import Sequence, Set

from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import AuthorizationRule
from feedmill.model.errors import Rejected, UpstreamFailure
from feedmill.ports.http import HttpClient, HttpRequest, ServerAddress

_ANSWER_BYTES = 65_536
_BYTES_A_DOCUMENT = 20_000


class Endpoint:
    """The server that a rule names. May be used from several threads.

    Shape: ``server`` is ``host`` or ``host:port``; ``headers`` describe the kind of request; ``answered`` are the statuses of valid
    answers; ``servlet`` is the end of the path, which the rule may leave out.
    """

    def __init__(
        self, rule: AuthorizationRule, client: HttpClient, *, headers: Sequence[tuple[str, bytes]], answered: Set[int], servlet: str = ""
    ) -> None:
        target = parse_target(rule.endpoint)
        self.server = target.authority
        self._headers = (("Host", self.server.encode()), *headers, ("Accept", b"text/xml"), ("Connection", b"close"))
        self._answered = answered
        self._path = target.path.rstrip("/").removesuffix(servlet) + servlet if servlet else target.path
        self._seconds = rule.seconds
        self._client = client
        # the operator chose this server, so a private address is allowed
        self._address = ServerAddress(is_tls=target.is_tls, host=target.host, port=target.port, trust=rule.trust, allows_private=True)

    def post(self, body: bytes, *, documents: int, seconds: float) -> bytes:
        """Sends a request about so many documents over a connection of its own, and returns the answer.

        Errors: UpstreamFailure, also for any other status.
        """
        max_bytes = _ANSWER_BYTES + _BYTES_A_DOCUMENT * documents
        request = HttpRequest(method="POST", path=self._path, headers=self._headers, body=body, max_bytes=max_bytes)
        connection = self._client.open(self._address)
        try:
            response = connection.send(request, min(seconds, self._seconds))
        finally:
            connection.close()
        if 400 <= response.status < 500:
            raise Rejected(f"it answers with status {response.status}")
        if response.status not in self._answered:
            raise UpstreamFailure(f"it answers with status {response.status}")
        return response.body
