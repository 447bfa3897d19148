"""Reads the ACL tokens of a user, as the authverify service of a seedlist's server lists them.

Rules:

1. The root is ``groupsforuser``, or another name for a list of tokens or ACLs. Letter case, prefixes, hyphens and underscores do not count.
2. Each element without elements inside is a token, trimmed and otherwise as it is, except those that describe the user: users choose
   their names and addresses themselves, and could choose the token of others. A token that is longer than any ACL may name is left out.
3. A page of HTML is the sign-in page of the server: it does not know the user.
4. Bytes, depth and tokens are limited; a document type declaration is refused (``wire/xmlstream/small``).

Source: HCL Connections, "Securing access to seedlist SPIs".
"""

import re
from typing import Final

from feedmill.model.errors import Rejected, UpstreamFailure
from feedmill.wire.tokens import MAX_NAME_CHARACTERS, shorten
from feedmill.wire.xmlstream.errors import NotWellFormed
from feedmill.wire.xmlstream.small import SmallReader

MAX_TOKENS: Final = 20_000
_ROOTS: Final = frozenset({"groupsforuser", "acltokens", "tokens", "usertokens", "acls", "groups"})
_ABOUT_THE_USER: Final = frozenset({"name", "displayname", "username", "email", "mail", "validated"})
_PAGE: Final = re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE)


def parse_user_tokens(data: bytes) -> tuple[str, ...]:
    """Returns the tokens. Errors: Rejected for a sign-in page; UpstreamFailure; no other for any bytes."""
    if _PAGE.match(data.removeprefix(b"\xef\xbb\xbf")):
        raise Rejected("it answers with a page, to sign in")
    reading = _Reading()
    try:
        reading.read_whole_document(data)
    except NotWellFormed as exc:
        raise UpstreamFailure(f"line {exc.line} of its answer: {exc.reason}") from exc
    return tuple(reading.tokens)


class _Reading(SmallReader):
    """Collects the tokens."""

    def __init__(self) -> None:
        super().__init__(has_namespaces=False)
        self.tokens: dict[str, None] = {}
        self._text: list[str] = []
        self._size = 0
        self._is_leaf = False

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        """Begins an element."""
        if len(self.path) == 1 and _plain(name) not in _ROOTS:
            raise UpstreamFailure(f"its answer is <{shorten(name)}>, no list of tokens")
        self._text, self._size, self._is_leaf = [], 0, True

    def end(self, name: str) -> None:
        """Adds a token."""
        token = "".join(self._text).strip()
        is_token = self._is_leaf and len(self.path) > 1 and _plain(name) not in _ABOUT_THE_USER
        # no ACL has a longer token (``adapt``)
        if is_token and token and self._size <= MAX_NAME_CHARACTERS:
            self.tokens[token] = None
            if len(self.tokens) > MAX_TOKENS:
                raise UpstreamFailure(f"its answer has more than {MAX_TOKENS} tokens")
        self._text, self._size, self._is_leaf = [], 0, False

    def take_text(self, text: str) -> None:
        """Collects the text of the open element."""
        self._size += len(text)
        if self._size <= MAX_NAME_CHARACTERS:
            self._text.append(text)


def _plain(name: str) -> str:
    return name.rpartition(":")[2].replace("-", "").replace("_", "").lower()
