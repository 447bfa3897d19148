"""Checks a name and a password against the local users and the directories.

Rules:

1. If a local user of the name exists, local users decide: each namespace whose account has this password is verified. Directories are not
   queried then, so no local password leaves this server.
2. Otherwise each directory is queried, and each that accepts the password verifies its namespace. If the request names a namespace, only
   its directory is queried.
3. An unknown name takes as long as a wrong password: one hash is computed in either case, also if no directory accepts the password.
4. After too many failures every attempt is refused unchecked for a while (``throttle``). A directory that does not answer verifies nothing
   and is reported as unavailable, not as a wrong password.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from feedmill.core.access.principals import read_subject
from feedmill.core.signin.accounts import MAX_NAME_CHARACTERS, MAX_PASSWORD_BYTES, account_key, guess_key, write_user
from feedmill.model.access import Scope
from feedmill.model.audit import AuditEvent, AuditKind, Detail
from feedmill.model.errors import Busy
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.signin import LOCAL, Account, Credential
from feedmill.ports import Clock, Store
from feedmill.ports.signin import Directory, PasswordHasher
from feedmill.services.signin.throttle import Throttle

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A name and a password as they were sent.

    ``namespace`` is None for any. ``is_shared`` is set if many users share the address, such as that of a proxy.
    """

    name: str
    password: str = field(repr=False)
    namespace: str | None = None
    address: str = ""
    is_shared: bool = False
    method: str = "page"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an attempt: the verified credentials, and the seconds to wait if it was refused unchecked."""

    credentials: tuple[Credential, ...] = ()
    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordCheckDependencies:
    """The dependencies of the check; ``record`` writes an event to the audit log."""

    store: Store
    hasher: PasswordHasher
    throttle: Throttle
    clock: Clock
    record: Callable[[AuditEvent], None]
    directories: tuple[Directory, ...] = ()


class PasswordCheck:
    """Checks passwords. May be used from several threads; each call takes a good tenth of a second."""

    def __init__(self, tools: PasswordCheckDependencies) -> None:
        self._tools = tools
        self._placeholder_hash = ""

    def check_attempt(self, attempt: Attempt) -> Outcome:
        """Returns the credentials that a name and a password verify.

        Errors: Busy, when a directory does not answer and nothing else accepts the password.
        """
        key, place = _counted_as(attempt)
        passage = self._tools.throttle.begin(key, place)
        if passage.wait_seconds:
            # Only the first refusal is recorded: a guesser must not be able to fill the audit log.
            if passage.is_first:
                self._record(AuditKind.SIGN_IN_REFUSED, attempt)
            return Outcome(wait_seconds=passage.wait_seconds)
        try:
            verified = self._prove(attempt)
        except Busy:
            # Nothing was checked, so this attempt is no failure.
            self._tools.throttle.take_back(key, place, has_succeeded=False)
            raise
        if verified:
            self._tools.throttle.take_back(key, place, has_succeeded=True)
        self._record(AuditKind.SIGNED_IN if verified else AuditKind.SIGN_IN_FAILED, attempt, verified)
        return Outcome(credentials=tuple(verified))

    def is_refused(self, attempt: Attempt) -> bool:
        """Whether an attempt would be refused unchecked, after too many failures. Does not count as an attempt."""
        return self._tools.throttle.is_refusing(*_counted_as(attempt))

    def list_namespaces(self) -> list[str]:
        """Returns the namespaces in which users can sign in with a name and a password, Default first."""
        with self._tools.store.reading() as unit:
            local = unit.signin.accounts.list_namespaces()
        known = {*local, *(directory.namespace for directory in self._tools.directories)}
        return sorted(known, key=lambda name: (name != DEFAULT_NAMESPACE, name))

    def _prove(self, attempt: Attempt) -> list[Credential]:
        if not attempt.name.strip() or not attempt.password:
            return []
        if len(attempt.name) > MAX_NAME_CHARACTERS or len(attempt.password.encode("utf-8", "surrogatepass")) > MAX_PASSWORD_BYTES:
            return []
        accounts = self._find_accounts(attempt)
        if accounts:
            return [_credential_of(account) for account in accounts if self._matches(account, attempt.password)]
        directories = [each for each in self._tools.directories if attempt.namespace in (None, each.namespace)]
        if not directories:
            self._spend_time(attempt.password)
            return []
        verified = self._ask(directories, attempt)
        if not verified:
            with suppress(Busy):  # the answer stands, and counts as a failure
                self._spend_time(attempt.password)
        return verified

    def _find_accounts(self, attempt: Attempt) -> Sequence[Account]:
        key = account_key(read_subject(Scope.USER, attempt.name))
        with self._tools.store.reading() as unit:
            if attempt.namespace is None:
                return unit.signin.accounts.find_everywhere(key)
            account = unit.signin.accounts.find(attempt.namespace, key)
            return [] if account is None else [account]

    def _matches(self, account: Account, password: str) -> bool:
        if not self._tools.hasher.is_match(account.password_hash, password):
            return False
        if self._tools.hasher.is_outdated(account.password_hash):
            self._hash_again(account, password)
        return True

    def _hash_again(self, account: Account, password: str) -> None:
        fresh = self._tools.hasher.hash(password)
        with self._tools.store.writing() as unit:
            now = unit.signin.accounts.find(account.user.namespace, account_key(account.user))
            # Another process may have changed the password meanwhile. Its hash must not be replaced by that of the old one.
            if now == account:
                unit.signin.accounts.save(replace(account, password_hash=fresh))

    def _spend_time(self, password: str) -> None:
        if not self._placeholder_hash:
            # Made on first use: hashing takes a tenth of a second, which the start need not wait for.
            self._placeholder_hash = self._tools.hasher.hash("the password of no user")
        self._tools.hasher.is_match(self._placeholder_hash, password)

    def _ask(self, directories: Sequence[Directory], attempt: Attempt) -> list[Credential]:
        verified: dict[str, Credential] = {}
        silent: list[str] = []
        for directory in directories:
            try:
                credential = directory.verify(attempt.name.strip(), attempt.password)
            except Busy as exc:
                log.warning("directory_unanswered", directory=directory.name, reason=str(exc))
                silent.append(directory.name)
                continue
            if credential is not None:
                verified.setdefault(credential.user.namespace, credential)
        # A directory that does not answer is no wrong password, and must not count as one.
        if silent and not verified:
            raise Busy(f"the directory {silent[0]} does not answer; try again later")
        return list(verified.values())

    def _record(self, kind: AuditKind, attempt: Attempt, verified: Sequence[Credential] = ()) -> None:
        details: dict[str, Detail] = {"name": attempt.name[:MAX_NAME_CHARACTERS], "way": attempt.method}
        if verified:
            details["proved"] = [f"{credential.provider}:{credential.user.namespace}" for credential in verified]
        elif attempt.namespace is not None:
            details["namespace"] = attempt.namespace
        actor = write_user(verified[0].user) if verified else ""
        self._tools.record(AuditEvent(kind=kind, at=self._tools.clock(), actor=actor, address=attempt.address, details=details))


def _counted_as(attempt: Attempt) -> tuple[str, str]:
    """Returns the name and the address under which failures are counted."""
    return guess_key(attempt.name[: 2 * MAX_NAME_CHARACTERS])[:MAX_NAME_CHARACTERS], "" if attempt.is_shared else attempt.address


def _credential_of(account: Account) -> Credential:
    return Credential(provider=LOCAL, user=account.user, role=account.role, epoch=account.epoch)
