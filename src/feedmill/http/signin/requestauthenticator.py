"""Finds the user of a request by all its headers.

The first of these that the request has decides:

1. headers of a trusted proxy, to which a session may add other namespaces: the proxy has checked ``Authorization`` already;
2. ``Authorization: Basic``, or ``Bearer`` with a token. Wrong credentials are refused; such a request is never anonymous;
3. the cookie of a session. A request with an unknown session is anonymous, because the session may have expired.
"""

import base64
import binascii
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from starlette.datastructures import Headers
from starlette.types import Scope

from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.currentuser import SIGNED_OUT, CurrentUser, SignInMethod
from feedmill.http.common.proxyheaders import ProxyTrust, read_proxy_identity
from feedmill.http.signin.cookies import SESSION, Cookies
from feedmill.model.authorization import Login
from feedmill.model.identity import Identity
from feedmill.model.signin import Credential
from feedmill.model.userrole import UserRole
from feedmill.services.signin.passwordcheck import Attempt
from feedmill.services.signin.passwordcheckcache import PasswordCheckCache
from feedmill.services.signin.sessions import SessionService
from feedmill.services.signin.tokencheck import TokenCheck

REALM = "feedmill"
BASIC_CHALLENGE = f'Basic realm="{REALM}", charset="UTF-8"'
BEARER_CHALLENGE = f'Bearer realm="{REALM}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The reason why a request is refused: status, text and headers of the response."""

    status: int
    text: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAuthenticator:
    """Authenticates requests. Each check may block."""

    proxy: ProxyTrust
    clients: Clients
    cookies: Cookies
    passwords: PasswordCheckCache
    sessions: SessionService
    tokens: TokenCheck
    admin_token: str
    takes_basic: bool = True

    def find_user(self, scope: Scope) -> CurrentUser | Refusal:
        """Returns the user of a request. Errors: Busy."""
        by_session = self.find_by_session(scope)
        named = read_proxy_identity(scope, self.proxy)
        if named is not None:
            return CurrentUser(
                identity=_unite(named, by_session.identity), role=by_session.role or UserRole.SEARCHER, method=SignInMethod.PROXY
            )
        return self.find_by_header(scope) or by_session

    def find_by_header(self, scope: Scope) -> CurrentUser | Refusal | None:
        """Returns the user of a request by ``Authorization`` alone; None without that header. Errors: Busy."""
        lines = Headers(scope=scope).getlist("authorization")
        if not lines:
            return None
        scheme, _, given = lines[0].strip().partition(" ")
        # Programs between the client and this server could each read another one of them.
        if len(lines) > 1:
            return self.refuse("the header Authorization stands twice")
        if scheme.lower() == "basic" and self.takes_basic:
            return self._find_by_basic(scope, given.strip())
        if scheme.lower() == "bearer":
            return self._find_by_token(given.strip())
        return self.refuse("sign in with HTTP Basic or a bearer token")

    def refuse(self, text: str) -> Refusal:
        """Returns the response to missing or wrong credentials."""
        return Refusal(status=401, text=text, headers={"www-authenticate": self.challenge})

    @property
    def challenge(self) -> str:
        """The value of ``WWW-Authenticate`` for a request without credentials."""
        return BASIC_CHALLENGE if self.takes_basic else BEARER_CHALLENGE

    def find_by_session(self, scope: Scope) -> CurrentUser:
        """Returns the user of a request by the cookie of a session alone."""
        text = self.cookies.read(scope, SESSION)
        session = self.sessions.find(text) if text else None
        return SIGNED_OUT if session is None else current_user_of(session.credentials, SignInMethod.SESSION)

    def _find_by_basic(self, scope: Scope, given: str) -> CurrentUser | Refusal:
        pair = read_basic(given)
        if pair is None:
            return self.refuse("the header Authorization holds no name and password")
        client = self.clients.find_client(scope)
        attempt = Attempt(name=pair[0], password=pair[1], address=client.address, is_shared=client.is_shared, method="basic")
        outcome = self.passwords.check_attempt(attempt)
        if outcome.wait_seconds:
            return refuse_for_now(outcome.wait_seconds)
        if not outcome.credentials:
            return self.refuse("name or password is wrong")
        namespaces = tuple(credential.user.namespace for credential in outcome.credentials)
        return replace(
            current_user_of(outcome.credentials, SignInMethod.BASIC), login=Login(name=pair[0], password=pair[1], namespaces=namespaces)
        )

    def _find_by_token(self, given: str) -> CurrentUser | Refusal:
        if self.admin_token and hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.admin_token.encode()):
            return CurrentUser(role=UserRole.ADMINISTRATOR, method=SignInMethod.TOKEN, label="admin.token")
        holder = self.tokens.find_token_holder(given)
        if holder is None:
            challenge = f'{BEARER_CHALLENGE}, error="invalid_token"'
            return Refusal(status=401, text="the token is unknown or has expired", headers={"www-authenticate": challenge})
        identity = Identity(users=(holder.user,)) if holder.user is not None else Identity()
        return CurrentUser(identity=identity, role=holder.role, method=SignInMethod.TOKEN, label=f"token {holder.label}")


def refuse_for_now(wait_seconds: float) -> Refusal:
    """Returns the response after too many wrong passwords."""
    # Rounded up, because a client that returns a moment too early is refused again.
    wait = max(int(wait_seconds + 0.999), 1)
    return Refusal(status=429, text=f"too many wrong passwords; try again in {wait} seconds", headers={"retry-after": str(wait)})


def current_user_of(credentials: Sequence[Credential], method: SignInMethod) -> CurrentUser:
    """Returns the user of all these credentials together."""
    identity = Identity(
        users=tuple(credential.user for credential in credentials),
        groups=tuple(dict.fromkeys(group for credential in credentials for group in credential.groups)),
    )
    role = max((credential.role for credential in credentials), key=list(UserRole).index)
    return CurrentUser(identity=identity, role=role, method=method)


def read_basic(given: str) -> tuple[str, str] | None:
    """Returns name and password of HTTP Basic; None if the text is malformed. Source: RFC 7617, section 2."""
    try:
        raw = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        return None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    name, found, password = text.partition(":")
    return (name, password) if found else None


def _unite(first: Identity, second: Identity) -> Identity:
    """Returns both identities as one. If both have a user in a namespace, the first counts."""
    taken = {subject.namespace for subject in (*first.users, *first.groups)}
    users = tuple(user for user in second.users if user.namespace not in taken)
    groups = tuple(group for group in second.groups if group.namespace not in taken)
    return Identity(users=first.users + users, groups=first.groups + groups)
