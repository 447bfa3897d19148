"""The parameters ``requiredfields=`` and ``partialfields=``: the metadata that documents must have.

    any      = clause { "." clause }          all clauses must hold
    clause   = term { "|" term }              binds tighter than the dot, as OR does in a query
    term     = [ "-" ] ( "(" any ")" | field )
    field    = NAME | NAME ":" VALUE | NAME "?" VALUE

- ``requiredfields``: VALUE is a whole value, ``VALUE*`` the beginning of one; after ``?`` it is whole words of a value.
- ``partialfields``: VALUE is whole words of a value, in order; with the star the last word may continue.
- The text is split first, and each name and value is percent-decoded afterwards. Front ends encode twice, so a ``%2E`` is still encoded
  after the request was decoded once, and separates nothing.
- No text is an error: unmatched parentheses are ignored. Terms and depth are bounded; terms beyond the bounds are omitted with a warning.
  ``is_field_list`` says whether a text follows the grammar within the bounds, for callers that refuse others.
Source: Search Protocol Reference, "Filtering by metadata".
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from feedmill.model.messages import message
from feedmill.model.query import And, MetaContains, MetaEquals, MetaExists, MetaStarts, Node, Not, Or

MAX_CHARACTERS = 10_000
MAX_TERMS = 200
MAX_DEPTH = 20

_TOKEN = re.compile(r"[().|]|[^().|]+")
_DIVIDER = {True: re.compile(":"), False: re.compile("[:?]")}


@dataclass(slots=True)
class _Group:
    """An open pair of parentheses: its clauses, and whether the next term joins the last one."""

    is_out: bool = False
    clauses: list[list[Node]] = field(default_factory=list)
    joins_next: bool = False

    def add(self, node: Node) -> None:
        if self.joins_next and self.clauses:
            self.clauses[-1].append(node)
        else:
            self.clauses.append([node])
        self.joins_next = False

    def close(self) -> Node | None:
        parts = [terms[0] if len(terms) == 1 else Or(tuple(terms)) for terms in self.clauses]
        if not parts:
            return None
        whole: Node = parts[0] if len(parts) == 1 else And(tuple(parts))
        return Not(whole) if self.is_out else whole


def read_fields(text: str, *, is_partial: bool) -> tuple[Node | None, tuple[str, ...]]:
    """Returns the restriction of a parameter, None for nothing, and the warnings for the user. Errors: none."""
    node, is_cut = read_tree(text, lambda piece: _read_field(piece, is_partial=is_partial))
    name = "partialfields" if is_partial else "requiredfields"
    return node, (message("%(parameter)s= is too long and was cut", parameter=name),) if is_cut else ()


def read_tree(text: str, read_term: Callable[[str], Node | None]) -> tuple[Node | None, bool]:
    """Returns the tree of the terms between the signs, None for nothing, and whether some were omitted.

    Shape: ``read_term`` receives a term as written, including its minus, and returns None for one that demands nothing.
    """
    groups, terms, is_cut, next_is_out = [_Group()], 0, len(text) > MAX_CHARACTERS, False
    for piece in _pieces(text[:MAX_CHARACTERS]):
        if piece == "(":
            if len(groups) > MAX_DEPTH:
                is_cut = True
                break
            groups.append(_Group(is_out=next_is_out))
            next_is_out = False
        elif piece == ")":
            _close_last(groups)
        elif piece in (".", "|"):
            groups[-1].joins_next = piece == "|"
        elif piece == "-":
            next_is_out = True
        elif terms >= MAX_TERMS:
            is_cut = True
            break
        elif (node := read_term(piece)) is not None:
            terms += 1
            groups[-1].add(node)
    while len(groups) > 1:
        _close_last(groups)
    return groups[0].close(), is_cut


def is_field_list(text: str, *, is_partial: bool) -> bool:
    """Whether ``read_fields`` reads all of a text as the grammar has it."""
    return is_tree(text, lambda piece: _read_field(piece, is_partial=is_partial))


def is_tree(text: str, read_term: Callable[[str], Node | None]) -> bool:
    """Whether ``read_tree`` reads all of a text as the grammar has it: each parenthesis has its match, no term is missing or invalid."""
    depth, terms, is_term_next, previous = 0, 0, True, ""
    for piece in _pieces(text):
        if (piece in ("(", "-") or piece not in (")", ".", "|")) is not is_term_next or (previous == "-" and piece != "("):
            return False
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth -= 1
        elif piece in (".", "|"):
            is_term_next = True
        elif piece != "-":
            terms, is_term_next = terms + 1, False
            if read_term(piece) is None:
                return False
        if not 0 <= depth <= MAX_DEPTH:
            return False
        previous = piece
    return depth == 0 and not is_term_next and terms <= MAX_TERMS and len(text) <= MAX_CHARACTERS


def _pieces(text: str) -> Iterator[str]:
    """Yields names with their values and the signs between them; a minus before parentheses is separate."""
    for found in _TOKEN.finditer(text):
        piece = found[0].strip()
        if piece:
            yield piece


def _close_last(groups: list[_Group]) -> None:
    if len(groups) > 1:
        node = groups.pop().close()
        if node is not None:
            groups[-1].add(node)


def _read_field(piece: str, *, is_partial: bool) -> Node | None:
    is_out = piece.startswith("-")
    bare = piece[1:] if is_out else piece
    divider = _DIVIDER[is_partial].search(bare)
    name = _decode(bare[: divider.start()] if divider else bare)
    if not name:
        return None
    node = _demand(name, bare[divider.end() :].strip(), is_partial=is_partial or divider[0] == "?") if divider else MetaExists(name)
    return Not(node) if is_out else node


def _demand(name: str, value: str, *, is_partial: bool) -> Node:
    is_prefix = value.endswith("*")
    wanted = _decode(value[:-1] if is_prefix else value)
    if not wanted:
        return MetaExists(name)
    if is_partial:
        return MetaContains(name, wanted, is_prefix=is_prefix)
    return MetaStarts(name, wanted) if is_prefix else MetaEquals(name, wanted)


def _decode(text: str) -> str:
    return unquote(text).strip()
