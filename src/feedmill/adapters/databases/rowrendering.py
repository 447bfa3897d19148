"""One row of a query: its values by name, as texts, as XML and as a page.

The XML is that of the appliance: one element for each column, with its type. NULL is an empty element with ``ISNULL="true"``, and binary
columns are base64. Source: googlegsa/database (release 4), ``TupleReader`` and ``dbdefault.xsl``.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from html import escape
from typing import Final, TypeGuard

MAX_METADATA_CHARACTERS = 4_096
"""A longer value is cut in metadata. Source: googlegsa/database."""

_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NO_NAME = re.compile(r"[^\w.-]")
_TYPES: Final = (
    (bool, "BOOLEAN"),
    (int, "INTEGER"),
    (Decimal, "DECIMAL"),
    (float, "DOUBLE"),
    (datetime, "TIMESTAMP"),
    (date, "DATE"),
    (time, "TIME"),
)


class Row:
    """The values of one row. Names are found in any letter case, since databases fold them differently.

    Shape: ``names`` in their order; of two columns with one name the first counts.
    """

    def __init__(self, names: Sequence[str], values: Sequence[object]) -> None:
        self.names = names
        self.values = values
        self._places = {name.casefold(): place for place, name in reversed(list(enumerate(names)))}

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name.casefold() in self._places

    def get(self, name: str) -> object:
        """Returns a value, None for NULL. Errors: KeyError."""
        return self.values[self._places[name.casefold()]]

    def list_texts(self, *, without: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
        """Returns names and values as metadata: without NULL, binary columns, and the columns whose folded names are in ``without``."""
        found = []
        for name, value in zip(self.names, self.values, strict=True):
            text = None if name.casefold() in without or is_binary(value) else text_of(value)
            if text is not None:
                found.append((name, text[:MAX_METADATA_CHARACTERS]))
        return found

    def digest(self, beginning: bytes, *, without: frozenset[str] = frozenset()) -> bytes:
        """Returns the digest of names and values, with what else decides how the document looks, which comes at the beginning.

        Columns whose folded names are in ``without`` do not count.
        """
        digest = hashlib.blake2b(beginning, digest_size=16)
        for name, value in zip(self.names, self.values, strict=True):
            if name.casefold() in without:
                continue
            # a value may be very large, so that bytes are not copied
            data = memoryview(value).cast("B") if is_binary(value) else (text_of(value) or "").encode("utf-8", "surrogatepass")
            kind = b"n" if value is None else b"b" if is_binary(value) else b"t"
            # lengths keep neighbouring values apart
            digest.update(f"{len(name)}:{name}:{len(data)}:".encode("utf-8", "surrogatepass") + kind)
            digest.update(data)
        return digest.digest()


def is_binary(value: object) -> TypeGuard[bytes | bytearray | memoryview]:
    """Returns whether a value is bytes, as the drivers represent them."""
    return isinstance(value, bytes | bytearray | memoryview)


def size_of(values: Sequence[object]) -> int:
    """Returns about how many bytes the values of a row take in memory."""
    return sum(len(value) if isinstance(value, str) or is_binary(value) else 16 for value in values)


def text_of(value: object) -> str | None:
    """Returns a value as text, None for NULL. Dates are ISO 8601."""
    match value:
        case None:
            return None
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
        case dict() | list() | tuple():
            return json.dumps(value, ensure_ascii=False, default=str)
    return base64.b64encode(bytes(value)).decode() if is_binary(value) else str(value)


def render_xml(row: Row, url: str, mimetype: str, *, without: frozenset[str] = frozenset()) -> bytes:
    """Returns a row as the appliance's XML."""
    parts = ["<database><table><table_rec>"]
    for name, value in zip(row.names, row.values, strict=True):
        if name.casefold() not in without:
            parts.append(_render_column(name, value))
    parts.append(f'<_url SQLType="VARCHAR">{_escape(url)}</_url><_mimetype SQLType="VARCHAR">{_escape(mimetype)}</_mimetype>')
    parts.append("</table_rec></table></database>")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + "".join(parts).encode()


def _render_column(name: str, value: object) -> str:
    element = _NO_NAME.sub("_", name) or "_"
    element = element if element[0].isalpha() or element[0] == "_" else f"_{element}"
    if value is None:
        return f'<{element} SQLType="VARCHAR" ISNULL="true"/>'
    if is_binary(value):
        return f'<{element} SQLType="BLOB" encoding="base64binary">{text_of(value)}</{element}>'
    kind = next((name for base, name in _TYPES if isinstance(value, base)), "VARCHAR")
    return f'<{element} SQLType="{kind}">{_escape(text_of(value) or "")}</{element}>'


def render_html(row: Row, title: str, *, max_characters: int, without: frozenset[str] = frozenset()) -> bytes:
    """Returns a row as a page: a table with one line for each column. A longer value is cut."""
    lines = []
    for name, value in zip(row.names, row.values, strict=True):
        text = None if name.casefold() in without or is_binary(value) else text_of(value)
        if text is not None:
            # the names of columns are the same on every page, so no search is to find them
            head = f"<!--googleoff: index--><th>{_escape(name)}</th><!--googleon: index-->"
            lines.append(f"<tr>{head}<td>{_escape(text[:max_characters])}</td></tr>\n")
    head = f'<meta charset="utf-8"><title>{_escape(title)}</title>'
    return f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body><table>\n{''.join(lines)}</table></body></html>\n".encode()


def _escape(text: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", text))


def find_title(row: Row, named: str, keys: Mapping[str, str]) -> str:
    """Returns the title of a row's page: its column ``title`` if it has one, else the source and the keys."""
    title = text_of(row.get("title")) if row.has("title") else None
    return title or f"{named} {' '.join(keys.values())}"
