"""The names of local users: how they are parsed, and which key identifies an account.

Names are split by the notation rules of ``principals``: ``CORP\\ann``, ``CORP/ann`` and ``ann@CORP`` are one account. Account lookup
ignores letter case. ACLs are compared with the spelling that the account was created with.
"""

from unicodedata import combining, normalize

from feedmill.core.access.folding import fold
from feedmill.core.access.principals import read_subject, split_name
from feedmill.model.access import Scope
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE, Subject

MAX_NAME_CHARACTERS = 200
WEAK_BELOW_CHARACTERS = 8
MAX_PASSWORD_BYTES = 1_024


def read_user(text: str, namespace: str = DEFAULT_NAMESPACE) -> Subject:
    """Parses the name of a new account. Errors: BadRequest."""
    user = read_subject(Scope.USER, text, namespace)
    if not user.name.strip():
        raise BadRequest("a user needs a name")
    if len(text) > MAX_NAME_CHARACTERS or len(namespace) > MAX_NAME_CHARACTERS:
        raise BadRequest(f"names of users and namespaces have at most {MAX_NAME_CHARACTERS} characters")
    if not text.isprintable() or not namespace.isprintable() or ":" in text:
        raise BadRequest("names of users and namespaces hold no control characters, those of users no colon")
    if not namespace.strip() or namespace != namespace.strip():
        raise BadRequest("a namespace is not empty and has no blanks at its ends")
    return user


def account_key(user: Subject) -> str:
    """Returns the key that identifies an account within its namespace."""
    return f"{fold(user.domain)}\\{fold(user.name)}"


def guess_key(text: str) -> str:
    """Returns the canonical form of a name under which wrong passwords are counted.

    It ignores domains, letter case, accents and blanks. Servers differ in which names they consider equal, and an attacker may choose any
    spelling.
    """
    bare, _ = split_name(text.strip())
    apart = normalize("NFKD", fold(bare))
    return " ".join("".join(character for character in apart if not combining(character)).split()) or fold(text.strip())


def write_user(user: Subject) -> str:
    """Returns a user as readable text, with the namespace if it is not the default."""
    name = f"{user.domain}\\{user.name}" if user.domain else user.name
    return name if user.namespace == DEFAULT_NAMESPACE else f"{name} ({user.namespace})"


def is_weak(password: str) -> bool:
    """Whether a password is so short that the user should be warned. Source: NIST SP 800-63B, 3.1.1.2."""
    return len(password) < WEAK_BELOW_CHARACTERS


def check_password(password: str) -> str:
    """Returns the password if it may be set. Errors: BadRequest."""
    if not password:
        raise BadRequest("a password is not empty")
    if len(password.encode("utf-8", "surrogatepass")) > MAX_PASSWORD_BYTES:
        raise BadRequest(f"a password has at most {MAX_PASSWORD_BYTES} bytes")
    return password
