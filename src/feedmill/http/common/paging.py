"""Pages of the lists among the JSON resources: ``limit`` says how many items a page has, ``cursor`` where it begins.

A list without ``cursor``, or with ``*``, begins at its first item. If items remain, the header ``Link`` of the response leads to the next
page (``rel="next"``), and an object that holds a list has the cursor as ``next_cursor`` too. A cursor is opaque to clients: it holds the
key of the last item of a page, so that items which come or go in between move no other item to another page.
Source: RFC 8288, section 3.3, "next".
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote, urlencode

from starlette.requests import Request

from feedmill.http.common.bodies import is_whole
from feedmill.http.common.resource import Parameter
from feedmill.model.errors import BadRequest

FIRST: Final = "*"
MAX_LIMIT: Final = 1_000
NO_CURSOR: Final = "is no cursor of this list; send that of the link to the next page, or * for the first page"
_MAX_INTEGER: Final = 2**63 - 1
_MAX_CURSOR_CHARACTERS: Final = 12_000
CURSOR: Final = Parameter("cursor", "where the page begins: from `Link` of the page before; absent or `*` for the first page")

Key = int | str | Sequence[int | str]
"""What orders the items of a list."""

T = TypeVar("T")


def make_limit(default: int | None) -> Parameter:
    """Returns the parameter for the number of items; without a default a page has all of them."""
    meaning = "how many" if default is not None else "how many; all by default"
    return Parameter("limit", meaning, "integer", default, at_least=1, at_most=MAX_LIMIT)


def read_limit(request: Request, default: int) -> int:
    """Returns the number of items of a page; the value was checked already."""
    return int(request.query_params.get("limit") or default)


def read_cursor(request: Request, kind: type[T]) -> T | None:
    """Returns the key behind which a page begins, None for the first page. Errors: BadRequest for a text that is no cursor of this list."""
    text = request.query_params.get("cursor", "")
    if text in ("", FIRST):
        return None
    try:
        key = json.loads(base64.urlsafe_b64decode(text[:_MAX_CURSOR_CHARACTERS] + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        key = None
    if not isinstance(key, kind) or not _is_key(key):
        raise BadRequest(f"parameter cursor {NO_CURSOR}")
    return key


def _is_key(key: object) -> bool:
    """Whether the store takes a key: clients may write any."""
    if isinstance(key, list):
        return all(not isinstance(part, list) and _is_key(part) for part in key)
    if isinstance(key, str):
        return is_whole(key)
    return isinstance(key, int) and not isinstance(key, bool) and abs(key) <= _MAX_INTEGER


def write_cursor(key: Key) -> str:
    """Returns the cursor of the page behind a key."""
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode("ascii")).decode("ascii").rstrip("=")


def link_next(request: Request, cursor: str | None) -> dict[str, str]:
    """Returns the header that leads to the next page of a list; none without a cursor."""
    if cursor is None:
        return {}
    others = [pair for pair in request.query_params.multi_items() if pair[0] not in ("cursor", "after")]
    query = urlencode([*others, ("cursor", cursor)], errors="replace")
    return {"link": f'<{quote(request.scope["path"])}?{query}>; rel="next"'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A page of a list, and the header that leads to the next one."""

    items: list[T]
    headers: dict[str, str]


def cut_page(request: Request, items: Sequence[T], key_of: Callable[[T], Any], *, default: int | None = None) -> Page[T]:
    """Returns the page of a list that a request asks for. ``items`` are in the order of their keys."""
    after = read_cursor(request, object)
    limit = read_limit(request, default or max(len(items), 1))
    try:
        behind = [item for item in items if after is None or key_of(item) > after]
    except TypeError as exc:
        raise BadRequest(f"parameter cursor {NO_CURSOR}") from exc
    page = list(behind[:limit])
    return Page(items=page, headers=link_next(request, write_cursor(key_of(page[-1])) if len(behind) > limit else None))
