"""Adds the ACL tokens of the signed-in user to an identity, as the servers of seedlists list them at search time.

Each token is a group in the namespace of the source. Tokens can only permit, so a user without them sees less, never more: nothing is
added where the user has no proof for the server, the server does not answer in time, rejects the proof, or answers with anything but a
list.

- The proof goes to the one address of the settings, and a redirect is not followed. It is the forwarded cookies, the password of HTTP
  Basic, or a header with the user's name. No request is sent without a proof.
- Answers are cached by the proof, not by the user: signing in again at the other server causes a new request. Rejections are cached too.
- Searches for the same proof share one request. A request that takes too long goes on, and the next search uses its answer.
- A server that fails repeatedly is skipped for a while (``circuitbreaker``).

Source: HCL Connections, "Securing access to seedlist SPIs".
"""

import base64
import secrets
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

import structlog
from cachetools import LRUCache

from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import Login, TokenServer
from feedmill.model.errors import Rejected, UpstreamFailure
from feedmill.model.identity import Identity, Subject
from feedmill.model.messages import message
from feedmill.model.scope import Scope
from feedmill.ports.http import HttpClient, HttpRequest, ServerAddress
from feedmill.services.authorization.circuitbreaker import CircuitBreaker
from feedmill.services.deadline import Deadline
from feedmill.services.waiting import waiting
from feedmill.wire.seedlist.usertokens import parse_user_tokens

AGENT: Final = b"Feedmill (authorization)"
MAX_ANSWER_BYTES: Final = 4_194_304
MAX_CACHED_TOKENS: Final = 300_000
THREADS: Final = 16
MAX_WAITING: Final = 100
"""How many requests may run or wait. Beyond them a search goes on without tokens, so that a slow server does not collect searches."""

log = structlog.get_logger(__name__)

Proof = tuple[tuple[str, bytes], ...]
"""The headers that prove the user to a server."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a server said, and until when it holds."""

    tokens: tuple[str, ...]
    expires_at: float


class UserTokens:
    """Finds the tokens of users. May be used from several threads. Units: ``clock`` counts seconds as that of deadlines does."""

    def __init__(self, servers: Iterable[TokenServer], client: HttpClient, clock: Callable[[], float], breaker: CircuitBreaker) -> None:
        self._servers = tuple(servers)
        self._client = client
        self._clock = clock
        self._breaker = breaker
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._known: LRUCache[bytes, _Answer] = LRUCache(MAX_CACHED_TOKENS, getsizeof=lambda answer: len(answer.tokens) + 1)
        self._running: dict[bytes, Future[_Answer | None]] = {}
        self._threads = ThreadPoolExecutor(THREADS, "user-tokens")

    def add(self, identity: Identity, login: Login | None, deadline: Deadline | None = None) -> Identity:
        """Returns the identity with the tokens of its user as groups. The deadline records whose tokens are missing. Errors: none."""
        if not identity.users:
            return identity
        pending: list[tuple[TokenServer, Future[_Answer | None] | None]] = []
        groups: list[Subject] = []
        for server in self._servers:
            proof = make_proof(server, identity, login)
            if not proof:
                continue
            found = self._find(server, proof)
            if isinstance(found, _Answer):
                groups += _list_groups(server, found)
            else:
                pending.append((server, found))
        for server, future in pending:
            answer = self._await(server, future, deadline)
            if answer is not None:
                groups += _list_groups(server, answer)
            elif deadline is not None:
                names = ", ".join(server.sources)
                deadline.report_missing(
                    message(
                        "the server of %(names)s does not say now what you may see there; its secure documents are missing", names=names
                    )
                )
        return replace(identity, groups=tuple(dict.fromkeys((*identity.groups, *groups)))) if groups else identity

    def close(self) -> None:
        """Sends no more requests; does not wait for those that are running."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _find(self, server: TokenServer, proof: Proof) -> "_Answer | Future[_Answer | None] | None":
        """Returns the cached answer, or the request that will bring one; None if no request may be sent."""
        digest = self._digest(server, proof)
        with self._lock:
            known = self._known.get(digest)
            if known is not None and self._clock() < known.expires_at:
                return known
            running = self._running.get(digest)
            if running is not None:
                return running
            if len(self._running) >= MAX_WAITING:
                log.warning("user_tokens_busy", sources=server.sources, requests=MAX_WAITING)
                return None
            future = self._threads.submit(self._ask, server, proof, digest)
            self._running[digest] = future
        future.add_done_callback(lambda _: self._forget(digest))
        return future

    def _forget(self, digest: bytes) -> None:
        with self._lock:
            self._running.pop(digest, None)

    def _await(self, server: TokenServer, future: "Future[_Answer | None] | None", deadline: Deadline | None) -> _Answer | None:
        if future is None:
            return None
        until = self._clock() + server.seconds
        if deadline is not None:
            until = min(until, deadline.until_access)
        with waiting():
            wait([future], max(until - self._clock(), 0.0))
        return future.result() if future.done() and not future.cancelled() else None

    def _ask(self, server: TokenServer, proof: Proof, digest: bytes) -> _Answer | None:
        """Asks a server, and caches its answer; None if it does not give one."""
        label, name = ", ".join(server.sources), parse_target(server.url).authority
        if not self._breaker.allows_request(label, name):
            return None
        try:
            tokens = self._fetch(server, proof)
            self._breaker.succeed(label, name)
        except Rejected as exc:
            # it works, and does not know this user
            self._breaker.succeed(label, name)
            log.info("user_tokens_rejected", sources=server.sources, server=name, reason=str(exc))
            tokens = ()
        except UpstreamFailure as exc:
            self._breaker.fail(label, name, str(exc))
            log.warning("user_tokens_failed", sources=server.sources, server=name, reason=str(exc))
            return None
        except Exception:
            # whatever error this thread meets, the user has no tokens
            self._breaker.release_trial(label, name)
            log.exception("user_tokens_broken", sources=server.sources, server=name)
            return None
        answer = _Answer(tokens, self._clock() + server.cache_seconds)
        with self._lock:
            if server.cache_seconds > 0:
                self._known[digest] = answer
        return answer

    def _fetch(self, server: TokenServer, proof: Proof) -> tuple[str, ...]:
        target = parse_target(server.url)
        headers = (
            ("Host", target.authority.encode()),
            ("User-Agent", AGENT),
            ("Accept", b"application/xml, text/xml"),
            ("Connection", b"close"),
            *proof,
        )
        request = HttpRequest(method="GET", path=target.path, headers=headers, max_bytes=MAX_ANSWER_BYTES)
        # the operator chose this server, so a private address is allowed
        address = ServerAddress(is_tls=target.is_tls, host=target.host, port=target.port, trust=server.trust, allows_private=True)
        connection = self._client.open(address)
        try:
            response = connection.send(request, server.seconds)
        finally:
            connection.close()
        # a redirect leads to a sign-in page
        if response.status in (401, 403) or 300 <= response.status < 400:
            raise Rejected(f"it answers with status {response.status}")
        if response.status != 200:
            raise UpstreamFailure(f"it answers with status {response.status}")
        return parse_user_tokens(response.body)

    def _digest(self, server: TokenServer, proof: Proof) -> bytes:
        parts = [str(self._servers.index(server)).encode(), *(part for name, value in proof for part in (name.encode(), value))]
        return blake2b(b"".join(b"%d:%b" % (len(part), part) for part in parts), key=self._key, digest_size=20).digest()


def make_proof(server: TokenServer, identity: Identity, login: Login | None) -> Proof:
    """Returns the headers that prove the user to a server, none if there is nothing that may be sent to it."""
    proof: list[tuple[str, bytes]] = []
    wanted = {name.lower() for name in server.cookies}
    cookies = [pair for pair in (login.cookies if login is not None else ()) if pair[0].lower() in wanted]
    if cookies:
        proof.append(("Cookie", "; ".join(f"{name}={value}" for name, value in cookies).encode("latin-1", "replace")))
    if server.forwards_password and login is not None and server.namespace in login.namespaces:
        pair = f"{login.name}:{login.password}".encode("utf-8", "surrogatepass")
        proof.append(("Authorization", b"Basic " + base64.b64encode(pair)))
    user = next((user for user in identity.users if user.namespace == server.namespace and user.name), None)
    if server.user_header and user is not None:
        name = f"{user.name}@{user.domain}" if user.domain else user.name
        proof.append((server.user_header, name.encode("utf-8", "surrogatepass")))
    return tuple(proof)


def _list_groups(server: TokenServer, answer: _Answer) -> list[Subject]:
    return [Subject(scope=Scope.GROUP, name=token, namespace=source) for source in server.sources for token in answer.tokens]
