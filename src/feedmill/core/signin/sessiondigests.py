"""Digests that find sessions without their cookie: by user, and by the provider's names for a session.

A digest has a fixed length, however long the names are, and the store holds no name twice.
"""

from hashlib import sha256

from feedmill.core.signin.accounts import account_key
from feedmill.model.identity import Subject
from feedmill.model.signin import Credential


def digest_of_user(user: Subject) -> bytes:
    """Returns the digest for all sessions of a user, whatever the spelling of their name."""
    return _digest("user", user.namespace, account_key(user))


def digest_of_session(provider: str, name: str, index: str = "") -> bytes:
    """Returns the digest for sessions that a provider began: one session if it has an index, else all sessions of that name.

    Shape: ``name`` is "" for a session that a provider identifies by its index alone.
    """
    return _digest("session", provider, name, index)


def digests_of(credential: Credential) -> frozenset[bytes]:
    """Returns the digests for the session of a credential."""
    digests = {digest_of_user(credential.user)}
    held = credential.session
    if held is not None:
        digests.add(digest_of_session(credential.provider, held.name))
        if held.index:
            digests.add(digest_of_session(credential.provider, held.name, held.index))
            digests.add(digest_of_session(credential.provider, "", held.index))
    return frozenset(digests)


def _digest(*parts: str) -> bytes:
    # With their lengths, so that ("ab", "c") and ("a", "bc") have different digests.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
