"""The names of local users: how they are read, and under which key an account is found.

A name is split by the notation rules of ``principals``: ``CORP\\ann``, ``CORP/ann`` and ``ann@CORP`` are one account. Letter case does not
count in finding an account; the spelling that it was made with is the one that ACLs are compared with.
"""

from unicodedata import combining, normalize

from feedmill.core.folding import fold
from feedmill.core.principals import read_subject, split_name
from feedmill.model.access import Scope
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE, Subject

MAX_NAME_CHARACTERS = 200
WEAK_BELOW_CHARACTERS = 8
MAX_PASSWORD_BYTES = 1_024


def read_user(text: str, namespace: str = DEFAULT_NAMESPACE) -> Subject:
    """Reads the name of an account to be made. Errors: BadRequest."""
    user = read_subject(Scope.USER, text, namespace)
    if not user.name.strip():
        raise BadRequest("a user needs a name")
    if len(text) > MAX_NAME_CHARACTERS or len(namespace) > MAX_NAME_CHARACTERS:
        raise BadRequest(f"names of users and namespaces have at most {MAX_NAME_CHARACTERS} characters")
    if not text.isprintable() or not namespace.isprintable() or ":" in text:
        raise BadRequest("a user's name holds no colon and no control characters")
    if not namespace.strip() or namespace != namespace.strip():
        raise BadRequest("a namespace is not empty and has no blanks at its ends")
    return user


def account_key(user: Subject) -> str:
    """Returns the key under which an account is found within its namespace."""
    return f"{fold(user.domain)}\\{fold(user.name)}"


def guess_key(text: str) -> str:
    """Returns the one form of a name under which wrong passwords are counted.

    Domains, letter case, accents and blanks do not count: servers differ in what they take for the same name, and whoever guesses may
    choose how he writes it.
    """
    bare, _ = split_name(text.strip())
    apart = normalize("NFKD", fold(bare))
    return " ".join("".join(character for character in apart if not combining(character)).split()) or fold(text.strip())


def write_user(user: Subject) -> str:
    """Writes a user as people read it, with the namespace where that is not the default."""
    name = f"{user.domain}\\{user.name}" if user.domain else user.name
    return name if user.namespace == DEFAULT_NAMESPACE else f"{name} ({user.namespace})"


def is_weak(password: str) -> bool:
    """Whether a password is so short that people should be told. Source: NIST SP 800-63B, 3.1.1.2."""
    return len(password) < WEAK_BELOW_CHARACTERS


def check_password(password: str) -> str:
    """Returns a password that may be set. Errors: BadRequest."""
    if not password:
        raise BadRequest("a password is not empty")
    if len(password.encode("utf-8", "surrogatepass")) > MAX_PASSWORD_BYTES:
        raise BadRequest(f"a password has at most {MAX_PASSWORD_BYTES} bytes")
    return password
