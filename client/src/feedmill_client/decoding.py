"""Makes typed objects of decoded JSON, and JSON of typed objects.

A member that this version does not know is ignored, so that an older client understands a newer server.

Example::

    from feedmill_client.answers import Suggestions
    from feedmill_client.decoding import decode

    print(decode(Suggestions, {"query": "tra", "suggestions": ["travel"], "later": 1}).suggestions)
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from feedmill_client.errors import BadAnswer

T = TypeVar("T")
Reader = Callable[[Any], Any]
"""Makes a value of a type of decoded JSON. Errors: _Mismatch."""

_LARGEST = sys.float_info.max
_SCALARS = (str, int, float, bool, NoneType)


class _Mismatch(Exception):
    """A value is not of the type. ``path`` leads to it, from its end to its beginning."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = list[str]()


def decode(kind: type[T], value: object) -> T:
    """Returns a value as an object of a type. Errors: BadAnswer with the member that is missing or of another type."""
    wanted: Any = kind
    try:
        decoded: T = _make_reader(wanted)(value)
    except _Mismatch as exc:
        path = "".join(reversed(exc.path)).lstrip(".")
        raise BadAnswer(f"'{path or 'the answer'}' {exc.reason}") from None
    return decoded


def encode(value: object) -> Any:
    """Returns a value as JSON has it; the members of objects that are None are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        members = ((each.name, getattr(value, each.name)) for each in fields(value))
        return {name: encode(member) for name, member in members if member is not None}
    if isinstance(value, Mapping):
        return {name: encode(member) for name, member in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    return [encode(each) for each in value] if isinstance(value, (list, tuple)) else value


@cache
def _make_reader(kind: Any) -> Reader:
    """Returns the reader of a type. It is made once, since a page of results has thousands of values."""
    if is_dataclass(kind):
        return _read_objects(kind)
    makers = {UnionType: _read_unions, list: _read_lists, dict: _read_dicts, tuple: _read_tuples}
    if maker := makers.get(get_origin(kind)):
        return maker(*get_args(kind))
    return {datetime: _read_time, float: _read_float}.get(kind) or _read_scalars(kind)


def _read_scalars(kind: Any) -> Reader:
    def read(value: Any) -> Any:
        # type() and not isinstance(), since a bool is an int too
        if type(value) is not kind:
            raise _refuse(value)
        return value

    return read


def _read_float(value: Any) -> float:
    if type(value) not in (int, float) or abs(value) > _LARGEST:
        raise _refuse(value)
    return float(value)


def _read_time(value: Any) -> datetime:
    if type(value) is not str:
        raise _refuse(value)
    try:
        return datetime.fromisoformat(value)
    except ValueError as exc:
        raise _Mismatch(f"is no time: {value[:100]!a}") from exc


def _read_unions(*kinds: Any) -> Reader:
    readers = [_make_reader(kind) for kind in kinds if kind is not NoneType]

    def read(value: Any) -> Any:
        if value is None and NoneType in kinds:
            return None
        for reader in readers[:-1]:
            try:
                return reader(value)
            except _Mismatch:
                continue
        return readers[-1](value)

    return read


def _read_lists(kind: Any) -> Reader:
    reader = _make_reader(kind)

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise _refuse(value)
        number = -1
        try:
            # a loop, and no comprehension, since the number of the item in error is wanted
            made = []
            for number, each in enumerate(value):  # noqa: B007
                made.append(reader(each))
        except _Mismatch as exc:
            exc.path.append(f"[{number}]")
            raise
        return made

    return read


def _read_tuples(*kinds: Any) -> Reader:
    readers = [_make_reader(kind) for kind in kinds]

    def read(value: Any) -> Any:
        if type(value) is not list or len(value) != len(readers):
            raise _refuse(value)
        return tuple(reader(each) for reader, each in zip(readers, value, strict=True))

    return read


def _read_dicts(_name: Any, kind: Any) -> Reader:
    reader = _make_reader(kind)

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _refuse(value)
        name = ""
        try:
            made = {}
            for name, each in value.items():
                made[name] = reader(each)
        except _Mismatch as exc:
            exc.path.append(f".{name}")
            raise
        return made

    return read


def _read_objects(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    required = [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
    members = [(each.name, _find_plain(hints[each.name]), _make_reader(hints[each.name])) for each in fields(kind)]

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _Mismatch(f"is a {type(value).__name__}, not an object")
        name, given = "", {}
        try:
            for name, plain, reader in members:
                if name in value:
                    member = value[name]
                    given[name] = member if type(member) in plain else reader(member)
        except _Mismatch as exc:
            exc.path.append(f".{name}")
            raise
        if missing := next((each for each in required if each not in given), ""):
            error = _Mismatch("is missing")
            error.path.append(f".{missing}")
            raise error
        return kind(**given)

    return read


def _find_plain(kind: Any) -> frozenset[Any]:
    """Returns the types of values that JSON has already as ``kind`` wants them."""
    kinds = get_args(kind) if get_origin(kind) is UnionType else (kind,)
    return frozenset(each for each in kinds if each in _SCALARS) - {float}


def _refuse(value: object) -> _Mismatch:
    return _Mismatch(f"is a {type(value).__name__}, not as documented")
