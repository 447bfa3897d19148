"""The marks by which sessions are found without their cookie: whom they are of, and what providers call them.

A mark is a digest, so that it takes the same room whatever the length of names, and the store holds no name twice.
"""

from hashlib import sha256

from feedmill.core.accounts import account_key
from feedmill.model.identity import Subject
from feedmill.model.signin import Credential


def mark_of_user(user: Subject) -> bytes:
    """Returns the mark of all sessions of a user, in any spelling of his name."""
    return _digest("user", user.namespace, account_key(user))


def mark_of_session(provider: str, name: str, index: str = "") -> bytes:
    """Returns the mark of what a provider began: of one session where it has an index, else of all of that name.

    Shape: ``name`` "" is for a session that a provider names by its index alone.
    """
    return _digest("session", provider, name, index)


def marks_of(credential: Credential) -> frozenset[bytes]:
    """Returns the marks that a credential puts on its session."""
    marks = {mark_of_user(credential.user)}
    held = credential.session
    if held is not None:
        marks.add(mark_of_session(credential.provider, held.name))
        if held.index:
            marks.add(mark_of_session(credential.provider, held.name, held.index))
            marks.add(mark_of_session(credential.provider, "", held.index))
    return frozenset(marks)


def _digest(*parts: str) -> bytes:
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
