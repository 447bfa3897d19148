"""Answers the challenges of HTTP authentication with an account and its password or keytab: Basic, Digest, NTLM, Negotiate.

- Of the schemes that a server offers and the rule permits, the strongest is used. A password is never sent before a server has requested
  it, unless Basic is the only scheme that the rule permits.
- What a server requested is remembered, so that later requests begin with it.
- NTLM and Negotiate prove who uses a connection. All legs go over the same connection, which serves no other request meanwhile.
- Negotiate means Kerberos. Where there is no ticket for the server, NTLM is used if the server accepts it, but not with a password that the
  KDC rejects. A server that is not reached by TLS has to prove by Kerberos who it is.
- After three rejections in a row no password is sent for a while, so that the account is not locked.
Source: RFC 9110, 11; RFC 7616 and 7617; RFC 4559; MS-NTHT.
"""

import base64
import binascii
import hashlib
import secrets
import struct
import time
from dataclasses import dataclass, field
from typing import Final

import spnego
from spnego.exceptions import SpnegoError

from feedmill.adapters.crawling.blockingreads import call_in_thread
from feedmill.adapters.crawling.kerberos import Handshake, KerberosFailure, Problem, Tickets
from feedmill.adapters.crawling.options import AccessRule, AccessScheme
from feedmill.adapters.crawling.transport import Headers
from feedmill.adapters.http.errors import ExchangeFailure
from feedmill.core.urls.targets import Target
from feedmill.model.errors import UpstreamFailure
from feedmill.ports.http import HttpResponse

MAX_REJECTIONS: Final = 3
PAUSE_SECONDS: Final = 300.0
_MAX_LEGS: Final = 6

_HASHES: Final = {"md5": "md5", "sha-256": "sha256", "sha-512-256": "sha512_256"}
_TOKEN_ERRORS: Final = (SpnegoError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError, struct.error)
"""What pyspnego raises for tokens that a server has made up, in addition to its own errors."""
_CONNECTION_SCHEMES: Final = (AccessScheme.NEGOTIATE, AccessScheme.NTLM)


class AccessRejected(UpstreamFailure):
    """A server does not accept the credentials of the settings."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge of ``WWW-Authenticate``. ``token`` is that of NTLM and Negotiate; names of parameters are in lower case."""

    scheme: str
    token: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def parse_challenges(response: HttpResponse) -> list[Challenge]:
    """Returns the challenges of a response. Errors: none; what cannot be read is left out."""
    found: list[Challenge] = []
    for name, value in response.headers:
        if name == "www-authenticate":
            for part in _split_unquoted(value.decode("latin-1")):
                _read_part(part.strip(), found)
    return found


def _split_unquoted(text: str) -> list[str]:
    """Splits at commas that are not in quotes."""
    parts, begin, is_quoted, at = [], 0, False, 0
    while at < len(text):
        if text[at] == "\\" and is_quoted:
            at += 1
        elif text[at] == '"':
            is_quoted = not is_quoted
        elif text[at] == "," and not is_quoted:
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
    return [*parts, text[begin:]]


def _read_part(part: str, found: list[Challenge]) -> None:
    head, _, rest = part.partition(" ")
    if "=" not in head and head:
        found.append(Challenge(head.lower()))
        part = rest.strip()
        if part and (" " not in part) and ("=" not in part.rstrip("=")):
            found[-1] = Challenge(head.lower(), part)
            return
    name, sign, value = (text.strip() for text in part.partition("="))
    if sign and found:
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        found[-1].parameters[name.lower()] = value


@dataclass(slots=True)
class ServerMemory:
    """What the crawler knows of a server that asks for a password."""

    scheme: AccessScheme | None = None
    digest: dict[str, str] = field(default_factory=dict)
    nonce_uses: int = 0
    rejections: int = 0
    paused_until: float = 0.0

    def check(self) -> None:
        """Refuses to send a password that was rejected again and again. Errors: AccessRejected."""
        if self.paused_until > time.monotonic():
            raise AccessRejected("it rejects the credentials of [[crawl.access]]; they are tried again in some minutes")

    def note_outcome(self, *, is_accepted: bool) -> None:
        """Notes whether credentials were accepted."""
        self.rejections = 0 if is_accepted else self.rejections + 1
        if self.rejections >= MAX_REJECTIONS:
            self.paused_until, self.rejections = time.monotonic() + PAUSE_SECONDS, 0


class PasswordAuthentication:
    """Implements ``transport.Authentication`` for one request. Units: ``deadline`` in seconds of the monotonic clock."""

    def __init__(
        self, rule: AccessRule, target: Target, method: str, memory: ServerMemory, *, tickets: Tickets | None = None, deadline: float
    ) -> None:
        self._rule = rule
        self._target = target
        self._method = method
        self._memory = memory
        self._tickets = tickets
        self._deadline = deadline
        self._attempts = 0
        self._legs = 0
        # requests at the same time may be answered for other realms
        self._digest: dict[str, str] = {}
        self._context: spnego.ContextProxy | None = None
        self._handshake: Handshake | None = None
        self._no_ticket: KerberosFailure | None = None
        # A connection of NTLM may be authenticated already.
        self.is_used = memory.scheme in _CONNECTION_SCHEMES

    async def begin(self) -> Headers:
        """Returns the headers for the first attempt. Errors: AccessRejected."""
        self._memory.check()
        scheme = AccessScheme.BASIC if self._rule.schemes == (AccessScheme.BASIC,) else self._memory.scheme
        if scheme is AccessScheme.BASIC:
            return self._make_basic()
        if scheme is AccessScheme.DIGEST and self._memory.digest:
            return self._make_digest()
        return {}

    async def answer(self, response: HttpResponse) -> Headers | None:
        """Returns the headers for another attempt, None if the response is final. Errors: AccessRejected."""
        challenges = {challenge.scheme: challenge for challenge in reversed(parse_challenges(response))}
        if response.status != 401:
            if self._handshake is not None:
                await self._check_server(self._handshake, challenges, response.status)
            if self.is_used:
                self._memory.note_outcome(is_accepted=True)
            return None
        if self._handshake is not None:
            return await self._continue_kerberos(self._handshake, challenges)
        if self._context is not None:
            return await self._continue(challenges)
        # the rule lists its schemes by strength, so the first that the server offers is the strongest
        scheme = next((each for each in self._rule.schemes if each.value in challenges), None)
        is_new = scheme is AccessScheme.DIGEST and self._is_new_digest(challenges["digest"].parameters)
        was_tried = self._attempts > 0 and scheme is self._memory.scheme and not is_new
        if scheme is None or was_tried or self._attempts > 1:
            if self._attempts:
                self._memory.note_outcome(is_accepted=False)
            return None
        self._memory.scheme = scheme
        if scheme is AccessScheme.BASIC:
            return self._make_basic()
        if scheme is AccessScheme.DIGEST:
            # a new nonce: its uses are counted from 1
            self._memory.digest, self._memory.nonce_uses = challenges["digest"].parameters, 0
            return self._make_digest()
        return await self._start_kerberos(challenges) if scheme is AccessScheme.NEGOTIATE else await self._start(scheme)

    def _is_new_digest(self, parameters: dict[str, str]) -> bool:
        """Returns whether the server did not reject the password: the nonce has expired, or the URL is in another realm.

        Source: RFC 7616, 3.3 (stale); RFC 9110, 11.5 (realms).
        """
        used = self._digest
        is_stale = parameters.get("stale", "").lower() == "true"
        return is_stale or any(parameters.get(key, "") != used.get(key, "") for key in ("realm", "algorithm"))

    def _make_basic(self) -> Headers:
        self._attempts += 1
        self.is_used = True
        name = f"{self._rule.domain}\\{self._rule.user}" if self._rule.domain else self._rule.user
        return {"Authorization": "Basic " + base64.b64encode(f"{name}:{self._rule.password}".encode()).decode()}

    def _make_digest(self) -> Headers:
        self._attempts += 1
        self.is_used = True
        self._memory.nonce_uses += 1
        self._digest = self._memory.digest
        value = make_digest(
            self._digest,
            user=self._rule.user,
            password=self._rule.password,
            method=self._method,
            path=self._target.path,
            uses=self._memory.nonce_uses,
            client_nonce=secrets.token_hex(16),
        )
        return {"Authorization": value}

    async def _start_kerberos(self, challenges: dict[str, Challenge]) -> Headers:
        self._attempts += 1
        self.is_used = True
        try:
            if self._tickets is None:
                raise KerberosFailure("Kerberos has no account", Problem.UNUSABLE)
            self._handshake = await self._tickets.open(self._target.host, self._left())
            return _make_negotiate(await self._handshake.step(None, self._left()))
        except KerberosFailure as exc:
            self._handshake, self._no_ticket = None, exc
        if self._no_ticket.problem is Problem.REJECTED or not self._rule.password:
            raise _translate(self._no_ticket)
        return await self._start(self._choose_ntlm(challenges) or AccessScheme.NEGOTIATE)

    def _choose_ntlm(self, challenges: dict[str, Challenge]) -> AccessScheme | None:
        """Returns NTLM if the server offers it and the rule permits it."""
        is_offered = AccessScheme.NTLM in self._rule.schemes and AccessScheme.NTLM.value in challenges
        return AccessScheme.NTLM if is_offered and self._rule.password else None

    async def _continue_kerberos(self, handshake: Handshake, challenges: dict[str, Challenge]) -> Headers | None:
        challenge = challenges.get(AccessScheme.NEGOTIATE.value)
        if challenge is not None and challenge.token and self._legs < _MAX_LEGS:
            self._legs += 1
            try:
                token = await handshake.step(_read_token(challenge), self._left())
            except KerberosFailure as exc:
                self._no_ticket = exc
            else:
                if token:
                    return _make_negotiate(token)
        # the server may have new keys
        self._handshake = None
        if self._tickets is not None:
            self._tickets.forget()
        if ntlm := self._choose_ntlm(challenges):
            return await self._start(ntlm)
        self._memory.note_outcome(is_accepted=False)
        if self._no_ticket is not None:
            raise _translate(self._no_ticket)
        return None

    async def _check_server(self, handshake: Handshake, challenges: dict[str, Challenge], status: int) -> None:
        """Checks that the server has authenticated itself. TLS does that too, and a failure has no document. Errors: AccessRejected."""
        challenge = challenges.get(AccessScheme.NEGOTIATE.value)
        if challenge is not None and challenge.token:
            try:
                await handshake.step(_read_token(challenge), self._left())
            except KerberosFailure as exc:
                raise _translate(exc) from exc
        if not handshake.is_proven and not self._target.is_tls and status < 400:
            raise AccessRejected("it does not prove by Kerberos who it is; give its https address")

    async def _start(self, scheme: AccessScheme) -> Headers:
        """Starts NTLM, in the tokens of Negotiate or without."""
        self._attempts += 1
        self.is_used = True
        self._memory.scheme = scheme
        name = f"{self._rule.domain}\\{self._rule.user}" if self._rule.domain else self._rule.user
        # not a pair of name and text, since pyspnego takes a text that looks like a hash for one
        account = spnego.Password(name, self._rule.password)
        options = spnego.NegotiateOptions.use_ntlm if scheme is AccessScheme.NTLM else spnego.NegotiateOptions.use_negotiate
        try:
            self._context = spnego.client(account, hostname=self._target.host, service="HTTP", protocol=scheme.value, options=options)
        except (SpnegoError, ImportError) as exc:
            raise AccessRejected(f"{scheme.value} cannot be used: {type(exc).__name__}") from exc
        return await self._step(scheme, None)

    async def _continue(self, challenges: dict[str, Challenge]) -> Headers | None:
        scheme = self._memory.scheme
        challenge = challenges.get(scheme.value if scheme else "")
        if scheme is None or challenge is None or not challenge.token or self._legs > _MAX_LEGS:
            if self._no_ticket is not None and self._legs == 1:
                # it does not accept NTLM: it did not look at the password
                raise _translate(self._no_ticket)
            self._memory.note_outcome(is_accepted=False)
            return None
        return await self._step(scheme, _read_token(challenge))

    async def _step(self, scheme: AccessScheme, token: bytes | None) -> Headers:
        self._legs += 1
        context = self._context
        if context is None:
            return {}
        try:
            # within Negotiate, pyspnego tries Kerberos first where it has the libraries
            out = await call_in_thread(lambda: context.step(token)) if scheme is AccessScheme.NEGOTIATE else context.step(token)
        except _TOKEN_ERRORS as exc:
            if self._no_ticket is not None and self._legs <= 2:
                raise _translate(self._no_ticket) from exc
            raise AccessRejected(f"{scheme.value} fails: {type(exc).__name__}") from exc
        return _make_negotiate(out or b"", "NTLM" if scheme is AccessScheme.NTLM else "Negotiate")

    def _left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)


def _make_negotiate(token: bytes, scheme: str = "Negotiate") -> Headers:
    return {"Authorization": f"{scheme} {base64.b64encode(token).decode()}"}


def _read_token(challenge: Challenge) -> bytes:
    try:
        return base64.b64decode(challenge.token, validate=True)
    except binascii.Error as exc:
        raise AccessRejected("it sends a token that cannot be read") from exc


def _translate(failure: KerberosFailure) -> UpstreamFailure:
    return ExchangeFailure(str(failure)) if failure.problem is Problem.TEMPORARY else AccessRejected(str(failure))


def make_digest(challenge: dict[str, str], *, user: str, password: str, method: str, path: str, uses: int, client_nonce: str) -> str:
    """Returns the value of ``Authorization`` for a Digest challenge. Errors: AccessRejected. Source: RFC 7616, 3.4."""
    algorithm = challenge.get("algorithm", "MD5")
    name = _HASHES.get(algorithm.lower().removesuffix("-sess"))
    qops = [qop.strip().lower() for qop in challenge.get("qop", "").split(",") if qop.strip()]
    if name is None or (qops and "auth" not in qops):
        raise AccessRejected("it asks for a Digest of a kind that is not supported")

    def digest(text: str) -> str:
        return hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()

    realm, nonce, count = challenge.get("realm", ""), challenge.get("nonce", ""), f"{uses:08x}"
    # RFC 7616, 3.4.2: A1, of the session for algorithms that end in -sess; 3.4.3: A2; 3.4.1: the response of both
    first = digest(f"{user}:{realm}:{password}")
    if algorithm.lower().endswith("-sess"):
        first = digest(f"{first}:{nonce}:{client_nonce}")
    second = digest(f"{method}:{path}")
    # without qop the server follows RFC 2069, which has no count and no nonce of the client
    middle = f"{nonce}:{count}:{client_nonce}:auth" if qops else nonce
    fields = {"username": user, "realm": realm, "nonce": nonce, "uri": path, "response": digest(f"{first}:{middle}:{second}")}
    fields |= {"cnonce": client_nonce} if qops else {}
    fields |= {"opaque": challenge["opaque"]} if "opaque" in challenge else {}
    written = [f'{key}="{_escape(value)}"' for key, value in fields.items()] + [f"algorithm={algorithm}"]
    return "Digest " + ", ".join([*written, *(["qop=auth", f"nc={count}"] if qops else [])])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
