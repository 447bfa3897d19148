"""Local users, sessions, tokens and values for one use; one suite for every database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from feedmill.adapters.store.engine import SqlStore
from feedmill.core.signin.accounts import account_key
from feedmill.core.signin.sessiondigests import digest_of_session, digest_of_user
from feedmill.model.access import Scope
from feedmill.model.identity import Subject
from feedmill.model.signin import LOCAL, Account, ApiToken, Credential, ProviderSession, Session, TokenScope
from feedmill.model.userrole import UserRole

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def user(name: str, domain: str = "", namespace: str = "Default") -> Subject:
    return Subject(scope=Scope.USER, name=name, domain=domain, namespace=namespace)


def an_account(who: Subject) -> Account:
    return Account(user=who, role=UserRole.VIEWER, password_hash="$argon2id$x", epoch=7, created_at=NOW, changed_at=NOW)


def a_session(digest: bytes, *credentials: Credential) -> Session:
    return Session(digest=digest, credentials=credentials, created_at=NOW, seen_at=NOW, expires_at=NOW + timedelta(hours=1))


def test_accounts_are_found_by_namespace_and_key(store: SqlStore) -> None:
    ann, other = an_account(user("Ann", "CORP", "ad")), an_account(user("ann", "corp"))
    key = account_key(ann.user)
    with store.writing() as unit:
        unit.signin.accounts.save(ann)
        unit.signin.accounts.save(other)
        unit.signin.accounts.save(an_account(user("bob")))
    with store.reading() as unit:
        assert unit.signin.accounts.find("ad", key) == ann
        assert unit.signin.accounts.find("AD", key) is None
        assert unit.signin.accounts.find_everywhere(key) == [other, ann]
        assert [account.user.name for account in unit.signin.accounts.list_all()] == ["bob", "ann", "Ann"]
        assert unit.signin.accounts.list_namespaces() == ["Default", "ad"]


def test_account_saved_again_is_replaced_but_for_its_first_time(store: SqlStore) -> None:
    ann = an_account(user("ann"))
    later = replace(ann, role=UserRole.MANAGER, epoch=8, created_at=NOW + timedelta(days=1), changed_at=NOW + timedelta(days=1))
    with store.writing() as unit:
        unit.signin.accounts.save(ann)
        unit.signin.accounts.save(later)
        assert unit.signin.accounts.find("Default", account_key(ann.user)) == replace(later, created_at=NOW)


def test_account_that_is_removed_takes_its_tokens_along(store: SqlStore) -> None:
    ann, bob = user("ann"), user("bob")
    with store.writing() as unit:
        for who in (ann, bob):
            unit.signin.accounts.save(an_account(who))
            unit.signin.api_tokens.add(
                ApiToken(id=0, label=who.name, digest=who.name.encode(), scopes=frozenset({TokenScope.SEARCH}), created_at=NOW, user=who)
            )
        assert unit.signin.accounts.remove("Default", account_key(ann))
        assert not unit.signin.accounts.remove("Default", account_key(ann))
        assert [token.label for token in unit.signin.api_tokens.list_all()] == ["bob"]


def test_sessions_keep_credentials_of_every_kind(store: SqlStore) -> None:
    groups = tuple(Subject(scope=Scope.GROUP, name=f"größe\u2028{number}", domain="d", namespace="ad") for number in range(3))
    session = a_session(
        b"1", Credential(provider=LOCAL, user=user("ann"), epoch=3), Credential(provider="x", user=user("a", "D", "ad"), groups=groups)
    )
    with store.writing() as unit:
        unit.signin.sessions.save(session)
        unit.signin.sessions.save(replace(session, seen_at=NOW + timedelta(seconds=5)))
    with store.reading() as unit:
        assert unit.signin.sessions.find(b"1") == replace(session, seen_at=NOW + timedelta(seconds=5))
        assert unit.signin.sessions.find(b"2") is None


def test_sessions_end_by_removal_and_by_time(store: SqlStore) -> None:
    with store.writing() as unit:
        for digest in (b"1", b"2"):
            unit.signin.sessions.save(a_session(digest, Credential(provider=LOCAL, user=user("ann"))))
        unit.signin.sessions.remove(b"1")
        unit.signin.sessions.remove(b"9")
        assert unit.signin.sessions.remove_expired(NOW) == 0
        assert unit.signin.sessions.remove_expired(NOW + timedelta(hours=1)) == 1
        assert unit.signin.sessions.find(b"2") is None


def test_sessions_are_found_by_their_user_and_by_the_providers_name(store: SqlStore) -> None:
    held = ProviderSession(name="a", index="7", details="more")
    ann = Credential(provider=LOCAL, user=user("Ann", "CORP"))
    federated = Credential(provider="saml:x", user=user("a", "", "ad"), session=held)
    with store.writing() as unit:
        unit.signin.sessions.save(a_session(b"1", ann, federated))
        unit.signin.sessions.save(a_session(b"2", replace(federated, session=replace(held, index="8"))))
        unit.signin.sessions.save(a_session(b"3", Credential(provider=LOCAL, user=user("ann", "corp", "ad"))))
    with store.reading() as unit:
        assert unit.signin.sessions.find(b"1") == a_session(b"1", ann, federated)
        assert unit.signin.sessions.list_by_name_digest(digest_of_user(user("ANN", "corp"))) == [b"1"]
        assert unit.signin.sessions.list_by_name_digest(digest_of_session("saml:x", "a")) == [b"1", b"2"]
        assert unit.signin.sessions.list_by_name_digest(digest_of_session("saml:x", "a", "8")) == [b"2"]
        assert unit.signin.sessions.list_by_name_digest(digest_of_session("saml:x", "", "7")) == [b"1"]
        assert unit.signin.sessions.list_by_name_digest(digest_of_session("saml:y", "a")) == []
    with store.writing() as unit:
        unit.signin.sessions.save(a_session(b"1", ann))
        unit.signin.sessions.remove(b"2")
        assert unit.signin.sessions.list_by_name_digest(digest_of_session("saml:x", "a")) == []
        assert unit.signin.sessions.remove_expired(NOW + timedelta(hours=1)) == 2
        assert unit.signin.sessions.list_by_name_digest(digest_of_user(user("ann", "corp"))) == []


def test_tokens_are_found_by_digest_and_keep_their_use(store: SqlStore) -> None:
    token = ApiToken(id=0, label="a", digest=b"d", scopes=frozenset(TokenScope), created_at=NOW, expires_at=NOW, user=user("a", "D", "n"))
    with store.writing() as unit:
        number = unit.signin.api_tokens.add(token)
        other = unit.signin.api_tokens.add(replace(token, digest=b"e", user=None, expires_at=None))
        unit.signin.api_tokens.touch(number, NOW)
        assert unit.signin.api_tokens.find(b"d") == replace(token, id=number, used_at=NOW)
        assert unit.signin.api_tokens.remove(other)
        assert not unit.signin.api_tokens.remove(other)
        assert unit.signin.api_tokens.find(b"e") is None


def test_one_time_values_are_put_once_and_taken_once_while_they_last(store: SqlStore) -> None:
    with store.writing() as unit:
        assert unit.signin.one_time_values.put(b"1", "value", NOW + timedelta(seconds=10))
        assert not unit.signin.one_time_values.put(b"1", "other", NOW + timedelta(seconds=10))
        assert unit.signin.one_time_values.put(b"2", "old", NOW)
        assert unit.signin.one_time_values.take(b"1", NOW) == "value"
        assert unit.signin.one_time_values.take(b"1", NOW) is None
        assert unit.signin.one_time_values.take(b"2", NOW) is None
        assert unit.signin.one_time_values.put(b"3", "x", NOW)
        assert unit.signin.one_time_values.remove_expired(NOW) == 1
