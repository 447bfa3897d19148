"""Cursors as texts: ``cursor=*`` begins a listing, and each answer says how it goes on.

A cursor belongs to its query: it carries a digest of everything that decides what is listed. It gives nothing that a search would not
give, so that it needs no secret.
"""

import base64
import hashlib
import re
from dataclasses import astuple

from feedmill.model.errors import BadRequest
from feedmill.model.search import Cursor, SearchRequest

FIRST = "*"
MAX_CHARACTERS = 200
_BARE = re.compile(r"(\d{1,18})\.([01])\.([0-9a-f]{12})")


def read_cursor(text: str, request: SearchRequest) -> Cursor:
    """Reads a cursor. Errors: BadRequest for what is none, and for one of another query."""
    if text == FIRST:
        return Cursor()
    try:
        bare = base64.urlsafe_b64decode(text[:MAX_CHARACTERS] + "=" * (-len(text[:MAX_CHARACTERS]) % 4)).decode("ascii")
    except ValueError:
        bare = ""
    found = _BARE.fullmatch(bare)
    if found is None:
        raise BadRequest("cursor= is none that was given; begin with cursor=* and go on with next_cursor of each answer")
    if found[3] != _digest(request):
        raise BadRequest("cursor= belongs to another query; go on with the parameters that it began with, or begin with cursor=*")
    return Cursor(after=int(found[1]), is_loosened=found[2] == "1")


def write_cursor(cursor: Cursor | None, request: SearchRequest) -> str | None:
    """Writes a cursor, None where there is none."""
    if cursor is None:
        return None
    bare = f"{cursor.after}.{int(bool(cursor.is_loosened))}.{_digest(request)}"
    return base64.urlsafe_b64encode(bare.encode("ascii")).decode("ascii").rstrip("=")


def _digest(request: SearchRequest) -> str:
    """Returns a digest of what decides which documents match, and nothing else of a request.

    The order of the parts and the constants between them are part of the format: clients hold cursors over an upgrade.
    """
    fields = (request.required_fields, request.partial_fields, None, astuple(request.advanced), request.navigation, None, ())
    scope = (request.site, request.client, 0, request.expands, request.languages, False)
    parts = (request.query, 0, 0, request.match, (), *fields, *scope)
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:12]
