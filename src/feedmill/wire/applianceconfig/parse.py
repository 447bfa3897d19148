"""Reads the files with KeyMatches, related queries and synonyms that the old appliance's console exports.

- KeyMatches: comma-separated lines ``TERM,KIND,URL,TITLE``; KIND is KeywordMatch, PhraseMatch or ExactMatch, the title is optional.
- Related queries: comma-separated lines ``TERM,QUERY``.
- Synonyms: lines ``TERM = TERM`` (each finds the other), ``TERM > TERM`` (the first finds the second) and ``{TERM, TERM, ...}`` (all find
  one another).

Empty lines and lines that begin with ``#`` are ignored. A file with faults is refused as a whole, with the line of each fault.
Source: the appliance's manual, "Using KeyMatches", "Using Related Queries", "Using Query Expansion".
"""

import csv
import io
from collections.abc import Callable, Iterator
from typing import TypeVar

from feedmill.model.errors import BadRequest
from feedmill.model.serving import KeyMatch, KeyMatchKind, RelatedQuery, SynonymSet
from feedmill.wire.applianceconfig.faults import refuse_faults

_KINDS = {
    "keywordmatch": KeyMatchKind.KEYWORD,
    "phrasematch": KeyMatchKind.PHRASE,
    "exactmatch": KeyMatchKind.EXACT,
    **{kind.value: kind for kind in KeyMatchKind},
}
_T = TypeVar("_T")


def read_keymatches(text: str) -> tuple[KeyMatch, ...]:
    """Returns KeyMatches. Errors: BadRequest with the faults and their lines."""
    return tuple(_read_all(_rows(text), _read_keymatch))


def read_related(text: str) -> tuple[RelatedQuery, ...]:
    """Returns related queries. Errors: as above."""
    return tuple(_read_all(_rows(text), _read_related))


def read_synonyms(text: str) -> SynonymSet:
    """Returns synonyms. Errors: as above."""
    lines = ((number, [line.strip()]) for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1))
    read = _read_all(((number, row) for number, row in lines if row[0] and not row[0].startswith("#")), _read_synonym)
    two_way = tuple(group for is_two_way, group in read if is_two_way)
    return SynonymSet(two_way=two_way, one_way=tuple(group for is_two_way, group in read if not is_two_way))


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), skipinitialspace=True, strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells) and not cells[0].startswith("#"):
                yield reader.line_num, cells
    except csv.Error as exc:
        raise BadRequest(f"line {reader.line_num}: {exc}") from exc


def _read_all(rows: Iterator[tuple[int, list[str]]], read: Callable[[list[str]], _T]) -> list[_T]:
    found: list[_T] = []
    faults: list[str] = []
    for number, cells in rows:
        try:
            found.append(read(cells))
        except BadRequest as exc:
            faults.append(f"line {number}: {exc}")
    refuse_faults(faults)
    return found


def _read_keymatch(cells: list[str]) -> KeyMatch:
    if len(cells) not in (3, 4):
        raise BadRequest(f"{len(cells)} fields; a line is TERM,KIND,URL,TITLE, and a field with commas stands in quotes")
    kind = _KINDS.get(cells[1].lower())
    if kind is None:
        raise BadRequest(f"'{cells[1][:80]}' is no kind; it is KeywordMatch, PhraseMatch or ExactMatch")
    if not cells[0] or not cells[2]:
        raise BadRequest("term or url is missing")
    return KeyMatch(kind=kind, term=cells[0], url=cells[2], title=cells[3] if len(cells) == 4 else "")


def _read_related(cells: list[str]) -> RelatedQuery:
    if len(cells) != 2 or not all(cells):
        raise BadRequest("a line is TERM,QUERY, and a field with commas stands in quotes")
    return RelatedQuery(term=cells[0], query=cells[1])


def _split_group(text: str) -> list[str]:
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as exc:
        raise BadRequest(f"{exc}; a term that holds a comma stands in quotes") from exc


def _read_synonym(cells: list[str]) -> tuple[bool, tuple[str, ...]]:
    """Returns whether a line applies in both directions, and its terms."""
    line = cells[0]
    if line.startswith("{") and line.endswith("}"):
        terms, is_two_way = _split_group(line[1:-1]), True
    else:
        divider = next((sign for sign in ("=", ">") if sign in line), "")
        terms, is_two_way = line.split(divider) if divider else [line], divider == "="
        if len(terms) != 2:
            raise BadRequest("a line is TERM = TERM, TERM > TERM or {TERM, TERM, ...}")
    clean = tuple(" ".join(term.split()) for term in terms)
    if len(clean) < 2 or not all(clean):
        raise BadRequest("a term is missing")
    return is_two_way, clean
