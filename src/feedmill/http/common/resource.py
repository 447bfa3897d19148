"""How the JSON resources of the ports are declared: what a request may send, and what it gets."""

from dataclasses import dataclass
from typing import Any, Final

SEARCH_PORT: Final = "http://localhost:8080"
FEED_PORT: Final = "http://localhost:19900"
ADMIN_PORT: Final = "http://localhost:8000"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a request. It is in the path if the path names it.

    An integer is from ``at_least`` to ``at_most``. ``values`` are the only ones of a text, in any letter case, and
    ``pattern`` fits all of it; empty = any text.
    """

    name: str
    meaning: str
    kind: str = "string"
    default: str | int | None = None
    is_required: bool = False
    is_repeatable: bool = False
    at_least: int = 0
    at_most: int = 0
    values: tuple[str, ...] = ()
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource and its response with status ``status``.

    ``answer`` is its JSON type, a dataclass or a model of Pydantic, None for bytes of ``media_type``; a response with 204 is empty.
    ``adds``: it may add something, which is answered with 201. ``body`` is what a request sends: a JSON type, or the media type of bytes.
    """

    port: str
    path: str
    name: str
    summary: str
    answer: type[Any] | None
    is_list: bool = False
    method: str = "get"
    status: int = 200
    adds: bool = False
    media_type: str = "application/octet-stream"
    body: type[Any] | str | None = None
    is_body_list: bool = False
    parameters: tuple[Parameter, ...] = ()
    errors: tuple[int, ...] = ()
