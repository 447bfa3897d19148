"""Creates and changes local users, and the API tokens of programs."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from feedmill.core.documents.submission import check_datasource
from feedmill.core.signin.accounts import MAX_NAME_CHARACTERS, account_key, check_password, read_user, write_user
from feedmill.model.errors import BadRequest, Conflict, NotFound
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.signin import SEARCH_ONLY, Account, ApiToken, TokenScope
from feedmill.model.userrole import UserRole
from feedmill.ports import Clock, Store
from feedmill.ports.signin import PasswordHasher
from feedmill.services.signin.proofs import digest_of_secret

TOKEN_PREFIX = "fm_"  # noqa: S105 - what a token begins with, so that one that leaked can be recognised

MAX_SOURCES = 100
"""The largest number of data sources that a token may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A new token with its text, which is shown only once. ``is_for_local_user`` is None for a token without a user."""

    token: ApiToken
    text: str
    is_for_local_user: bool | None


class AccountService:
    """Manages the local users. Errors of all: BadRequest for invalid names and passwords."""

    def __init__(self, store: Store, hasher: PasswordHasher, clock: Clock) -> None:
        self._store = store
        self._hasher = hasher
        self._clock = clock

    def add(self, name: str, password: str, *, namespace: str = DEFAULT_NAMESPACE, role: UserRole = UserRole.SEARCHER) -> Account:
        """Creates an account. Errors: Conflict if an account of this name exists."""
        user = read_user(name, namespace)
        hashed = self._hasher.hash(check_password(password))
        now = self._clock()
        with self._store.writing() as unit:
            if unit.signin.accounts.find(namespace, account_key(user)) is not None:
                raise Conflict(f"there is a user {write_user(user)} already; 'feedmill users passwd' sets a new password")
            # an epoch from the clock, so that an account that is created again never accepts the sessions of the earlier one
            account = Account(
                user=user,
                role=role,
                password_hash=hashed,
                epoch=int(now.timestamp() * 1_000_000),
                created_at=now,
                changed_at=now,
            )
            unit.signin.accounts.save(account)
        return account

    def list(self) -> list[Account]:
        """Returns all accounts."""
        with self._store.reading() as unit:
            return unit.signin.accounts.list_all()

    def set_password(self, name: str, password: str, *, namespace: str = DEFAULT_NAMESPACE) -> Account:
        """Sets the password of an account, which ends its sessions. Errors: NotFound."""
        hashed = self._hasher.hash(check_password(password))
        return self._change(name, namespace, password_hash=hashed)

    def set_role(self, name: str, role: UserRole, *, namespace: str = DEFAULT_NAMESPACE) -> Account:
        """Sets the role of an account, which ends its sessions. Errors: NotFound."""
        return self._change(name, namespace, role=role)

    def remove(self, name: str, *, namespace: str = DEFAULT_NAMESPACE) -> None:
        """Removes an account, its sessions and tokens. Errors: NotFound."""
        user = read_user(name, namespace)
        with self._store.writing() as unit:
            if not unit.signin.accounts.remove(namespace, account_key(user)):
                raise NotFound(f"there is no user {write_user(user)}")

    def _change(self, name: str, namespace: str, *, password_hash: str | None = None, role: UserRole | None = None) -> Account:
        user = read_user(name, namespace)
        with self._store.writing() as unit:
            account = unit.signin.accounts.find(namespace, account_key(user))
            if account is None:
                raise NotFound(f"there is no user {write_user(user)}")
            changed = replace(
                account,
                password_hash=password_hash or account.password_hash,
                role=role or account.role,
                epoch=account.epoch + 1,
                changed_at=self._clock(),
            )
            unit.signin.accounts.save(changed)
        return changed


class TokenService:
    """Manages the API tokens of programs."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(
        self,
        label: str,
        scopes: Iterable[TokenScope],
        *,
        user: str = "",
        namespace: str = DEFAULT_NAMESPACE,
        days: int | None = None,
        datasources: Iterable[str] = (),
    ) -> NewToken:
        """Creates a token; its text is returned only here.

        A user who signs in elsewhere may have a token that only searches. Errors: BadRequest; NotFound for other tokens of such a user.

        Shape: ``datasources`` are the data sources for which a token of scope ``push`` is valid, none for all.
        """
        wanted = frozenset(scopes)
        if not label.strip() or len(label) > MAX_NAME_CHARACTERS or not label.isprintable():
            raise BadRequest(f"a token needs a label of at most {MAX_NAME_CHARACTERS} characters that says who uses it")
        if not wanted:
            raise BadRequest(f"a token needs a scope: {', '.join(scope.value for scope in TokenScope)}")
        sources = _check_sources(wanted, user, datasources)
        if days is not None and not 0 < days <= 36_500:
            raise BadRequest("a token is good for 1 to 36500 days")
        text = TOKEN_PREFIX + secrets.token_urlsafe(32)
        now = self._clock()
        with self._store.writing() as unit:
            subject, is_local = None, None
            if user:
                subject = read_user(user, namespace)
                account = unit.signin.accounts.find(namespace, account_key(subject))
                is_local = account is not None
                if account is not None:
                    subject = account.user
                elif wanted != SEARCH_ONLY:
                    raise NotFound(f"there is no local user {write_user(subject)}, whose role would limit what the token permits")
            token = ApiToken(
                id=0,
                label=label.strip(),
                digest=digest_of_secret(text),
                scopes=wanted,
                created_at=now,
                expires_at=now + timedelta(days=days) if days is not None else None,
                user=subject,
                datasources=sources,
            )
            token = replace(token, id=unit.signin.api_tokens.add(token))
        return NewToken(token=token, text=text, is_for_local_user=is_local)

    def list(self) -> list[ApiToken]:
        """Returns all tokens."""
        with self._store.reading() as unit:
            return unit.signin.api_tokens.list_all()

    def remove(self, token_id: int) -> None:
        """Removes a token. Errors: NotFound."""
        with self._store.writing() as unit:
            if not unit.signin.api_tokens.remove(token_id):
                raise NotFound(f"there is no token {token_id}")


def _check_sources(scopes: frozenset[TokenScope], user: str, datasources: Iterable[str]) -> frozenset[str]:
    """Checks the data sources of a new token and returns them. Errors: BadRequest."""
    listed = tuple(datasources)
    if TokenScope.PUSH in scopes and (len(scopes) > 1 or user):
        raise BadRequest("a token of scope push is for the feed port alone; make another one for other scopes or a user")
    if listed and TokenScope.PUSH not in scopes:
        raise BadRequest("data sources are for tokens of scope push")
    if len(listed) > MAX_SOURCES:
        raise BadRequest(f"a token names at most {MAX_SOURCES} data sources; one that names none is for all")
    return frozenset(check_datasource(name) for name in listed)
