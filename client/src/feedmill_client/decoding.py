"""Makes typed objects of decoded JSON, and JSON of typed objects.

A member that this version does not know is ignored, so that an older client understands a newer server.

Example::

    from feedmill_client.answers import Suggestions
    from feedmill_client.decoding import decode

    print(decode(Suggestions, {"query": "tra", "suggestions": ["travel"], "later": 1}).suggestions)
"""

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from feedmill_client.errors import BadAnswer

T = TypeVar("T")

_LARGEST = sys.float_info.max


def decode(kind: type[T], value: object) -> T:
    """Returns a value as an object of a type. Errors: BadAnswer with the member that is missing or of another type."""
    decoded: T = _decode(kind, value, "")
    return decoded


def encode(value: object) -> Any:
    """Returns a value as JSON has it; the members of objects that are None are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        members = ((each.name, getattr(value, each.name)) for each in fields(value))
        return {name: encode(member) for name, member in members if member is not None}
    if isinstance(value, Mapping):
        return {name: encode(member) for name, member in value.items()}
    return [encode(each) for each in value] if isinstance(value, (list, tuple)) else value


def _decode(kind: Any, value: Any, path: str) -> Any:
    origin = get_origin(kind)
    if origin is UnionType:
        return _decode_union(get_args(kind), value, path)
    if is_dataclass(kind):
        return _decode_object(kind, value, path)
    if origin is list and isinstance(value, list):
        (inner,) = get_args(kind)
        return [_decode(inner, each, f"{path}[{number}]") for number, each in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        _, inner = get_args(kind)
        return {name: _decode(inner, each, f"{path}.{name}") for name, each in value.items()}
    if origin is tuple and isinstance(value, list) and len(value) == len(get_args(kind)):
        return tuple(_decode(inner, each, path) for inner, each in zip(get_args(kind), value, strict=True))
    if kind is datetime and isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError as exc:
            raise BadAnswer(f"'{path}' is no time: {value[:100]!r}") from exc
    if kind is float and type(value) in (int, float) and abs(value) <= _LARGEST:
        return float(value)
    # type() and not isinstance(), since a bool is an int too
    if origin is None and type(value) is kind:
        return value
    raise BadAnswer(f"'{path.lstrip('.') or 'the answer'}' is a {type(value).__name__}, not as documented")


def _decode_union(kinds: tuple[Any, ...], value: Any, path: str) -> Any:
    if value is None and NoneType in kinds:
        return None
    *firsts, last = (kind for kind in kinds if kind is not NoneType)
    for kind in firsts:
        try:
            return _decode(kind, value, path)
        except BadAnswer:
            continue
    return _decode(last, value, path)


def _decode_object(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise BadAnswer(f"'{path.lstrip('.') or 'the answer'}' is a {type(value).__name__}, not an object")
    given = {}
    for name, inner, is_required in _list_members(kind):
        if name in value:
            given[name] = _decode(inner, value[name], f"{path}.{name}".lstrip("."))
        elif is_required:
            raise BadAnswer(f"'{f'{path}.{name}'.lstrip('.')}' is missing")
    return kind(**given)


@cache
def _list_members(kind: Any) -> list[tuple[str, Any, bool]]:
    hints = get_type_hints(kind)
    return [(each.name, hints[each.name], each.default is MISSING and each.default_factory is MISSING) for each in fields(kind)]
