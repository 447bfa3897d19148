"""Digests of secret texts, and the check whether a credential still counts."""

from hashlib import sha256

from feedmill.core.signin.accounts import account_key
from feedmill.model.signin import LOCAL, Credential
from feedmill.ports import UnitOfWork


def digest_of_secret(text: str) -> bytes:
    """Returns the digest that the store holds of a cookie's, a token's or a code's text."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def is_account_as_it_was(unit: UnitOfWork, credential: Credential) -> bool:
    """Whether the account of a credential is unchanged since sign-in; true for credentials of other providers."""
    if credential.provider != LOCAL:
        return True
    account = unit.signin.accounts.find(credential.user.namespace, account_key(credential.user))
    return account is not None and account.epoch == credential.epoch
