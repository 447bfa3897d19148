"""Reads CSV: the first row has the names of the columns, and each further row is a document.

Rules: ``url`` is the document's URL, or what the base URL is put before. ``content``, ``title``, ``mimetype``, ``last_modified`` and
``display_url`` mean what they say, in any letter case. All other columns are metadata; empty values are none. Without a column
``content``, the text is all values. Values are separated by commas, or as the first line shows by semicolons, tabs or bars: spreadsheets
write semicolons where the comma is the decimal sign.
Source: RFC 4180.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from feedmill.model.errors import BadRequest
from feedmill.wire.recordsources.record import MAX_RECORD_BYTES, ReadRecord, SkippedRecord, SourceRecord, put_title

_OWN: Final = ("url", "content", "title", "mimetype", "last_modified", "display_url")
_DELIMITERS: Final = ",;\t|"


def iter_rows(lines: Iterable[str], base_url: str) -> Iterator[ReadRecord]:
    """Yields the documents of a table. Errors: BadRequest for a table without a column ``url``, or that is no CSV."""
    csv.field_size_limit(MAX_RECORD_BYTES)
    every = iter(lines)
    first = list(islice(every, 1))
    reader = csv.reader(chain(first, every), delimiter=_find_delimiter(first), strict=True)
    names: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as exc:
            raise BadRequest(f"line {line}: this is no CSV: {exc}") from exc
        if row is None:
            break
        if not row:
            continue
        if not names:
            names = _read_names(row, line)
        elif len(row) != len(names):
            yield SkippedRecord(place=f"line {line}", reason=f"the row has {len(row)} values, the first row {len(names)}")
        else:
            yield _make_record(names, row, base_url, line)
    if not names:
        raise BadRequest("line 1: the first row, with the names of the columns, is missing")


def _find_delimiter(first: Sequence[str]) -> str:
    """Returns the character by which the first line has a column ``url``, a comma if there is none."""
    rows = ((delimiter, row) for delimiter in _DELIMITERS for row in csv.reader(first, delimiter=delimiter))
    return next((delimiter for delimiter, row in rows if "url" in map(_fold, row)), ",")


def _fold(name: str) -> str:
    """Returns the name of a column, in lower case if it has a meaning of its own."""
    name = name.strip()
    return name.lower() if name.lower() in _OWN else name


def _read_names(row: Sequence[str], line: int) -> list[str]:
    names = [_fold(name) for name in row]
    repeated = sorted({name for name in names if names.count(name) > 1 and name in _OWN})
    if repeated:
        raise BadRequest(f"line {line}, column {len(names) - names[::-1].index(repeated[0])}: there are two columns '{repeated[0]}'")
    if "url" not in names:
        raise BadRequest(f"line {line}: there is no column 'url'; the columns are {', '.join(names)}")
    return names


def _make_record(names: Sequence[str], row: Sequence[str], base_url: str, line: int) -> ReadRecord:
    pairs = list(zip(names, row, strict=True))
    own = {name: value for name, value in pairs if name in _OWN}
    if not own["url"].strip():
        return SkippedRecord(place=f"line {line}, column {names.index('url') + 1}", reason="the url is empty")
    metadata = tuple((name, value) for name, value in pairs if name not in _OWN and name and value)
    text = own.get("content") if "content" in own else "\n".join(f"{name}: {value}" for name, value in metadata)
    given = (text or "").encode("utf-8", "replace")
    content, mimetype = put_title(own.get("title", ""), given, own.get("mimetype", "") or "text/plain")
    attributes = {"displayurl": own.get("display_url", ""), "last-modified": own.get("last_modified", "")}
    return SourceRecord(url=base_url + own["url"].strip(), content=content, mimetype=mimetype, attributes=attributes, metadata=metadata)
