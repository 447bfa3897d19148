"""Builds dataloads as Thunderstone's clients send them, item by item, in a file."""

import re
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from feedmill_client.errors import BadRequest
from feedmill_client.feeds import FileBuilder
from feedmill_client.xmltext import clean_text, escape, is_clean

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BEGIN: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<ThunderstoneReplication xmlns:dt="urn:schemas-microsoft-com:datatypes" xmlns:u="http://www.thunderstone.com/schemas/user">\n'
)
_END: Final = "</ThunderstoneReplication>\n"


class DataloadBuilder(FileBuilder):
    """Builds a dataload. Send it with ``Client.load``, which names its profile.

    ``elements`` are named as in the manual: ``Title``, ``Keywords``, ``Description``, ``Category``, ``Modified`` and so on. ``fields`` are
    the additional fields of the profile.

    Example::

        with DataloadBuilder() as items:
            items.insert("http://shop.example.com/1", "lamps of every kind", elements={"Title": "Lamps"}, fields={"Price": "9.50"})
            items.delete("http://shop.example.com/2")
            items.refresh()
            print(len(items.finish().read_bytes()))
    """

    def __init__(self) -> None:
        super().__init__()
        self._file.write(_BEGIN)

    def insert(
        self,
        url: str,
        body: str | None = None,
        *,
        raw_data: bytes | None = None,
        elements: Mapping[str, str | bytes] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Adds or replaces a document: its text, or a file in ``raw_data`` from which the server reads text and metadata."""
        self._add("I", url, body, raw_data, elements, fields)

    def update(
        self,
        url: str,
        body: str | None = None,
        *,
        raw_data: bytes | None = None,
        elements: Mapping[str, str | bytes] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Changes what is given of a document, and leaves the rest."""
        self._add("U", url, body, raw_data, elements, fields)

    def delete(self, url: str) -> None:
        """Deletes a document."""
        self._add("D", url)

    def delete_matching(self, pattern: str) -> None:
        """Deletes all documents of the profile that match a pattern with ``*``."""
        self._add("DP", pattern)

    def refresh(self) -> None:
        """Has the server reply only after the items before can be found."""
        self._append("<Item><Type>UI</Type></Item>\n")

    def finish(self) -> Path:
        """Ends the dataload and returns its file, which stays until the builder is closed."""
        return self._end(_END)

    def _add(
        self,
        kind: str,
        url: str,
        body: str | None = None,
        raw_data: bytes | None = None,
        elements: Mapping[str, str | bytes] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        parts = [_render("Type", kind), _render("Url", url)]
        parts += [_render(_check(name), value) for name, value in (elements or {}).items()]
        parts += [_render(f"u:{_check(name)}", value) for name, value in (fields or {}).items()]
        parts += [_render(name, value) for name, value in (("Body", body), ("RawData", raw_data)) if value is not None]
        self._append(f"<Item>{''.join(parts)}</Item>\n")


def _check(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadRequest(f"'{name}' is no name of an element; it has letters, digits, dots, hyphens and underscores")
    return name


def _render(name: str, value: str | bytes) -> str:
    """Returns an element. Bytes, and text that XML cannot hold unchanged, are written as base64."""
    if isinstance(value, str) and name in ("Url", "Type"):
        return f"<{name}>{escape(clean_text(value))}</{name}>"
    if isinstance(value, str) and is_clean(value) and "\r" not in value:
        return f"<{name}>{escape(value)}</{name}>"
    data = value if isinstance(value, bytes) else value.encode("utf-8", "replace")
    charset = "<Charset>UTF-8</Charset>" if isinstance(value, str) and name == "Body" else ""
    return f'<{name} dt:dt="bin.base64">{b64encode(data).decode("ascii")}</{name}>{charset}'
