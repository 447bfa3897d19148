"""Which parts of a query must hold.

Only plain words and phrases (and an OR of nothing else) are optional; ``site:``, ``inurl:``, ``info:``, ``inmeta:`` and what is
excluded always hold. With ``auto`` everything must hold first; where that finds fewer than ``ENOUGH``, the loosened query is the
whole answer: it lists what holds all of the plain parts first, so pages, totals and everything counted describe one list.

Scripts that write no blanks between words leave nothing to choose from: a whole question is one word there, hence one phrase. When
loosened, such a run falls into its overlapping pairs of characters (triples where words are spelled with letters, as in Thai), which
come near to words without a dictionary.
Source: interfaces, "match=".
"""

from feedmill.core.analysis import split_runs
from feedmill.model.search import And, Match, Node, Or, Phrase, Some, Word

ENOUGH = 10
MAX_PIECES = 100


def loosen(root: Node, match: Match) -> Node | None:
    """Returns the query in which plain parts are optional, None where nothing can be left out."""
    if match is Match.ALL:
        return None
    parts = root.parts if isinstance(root, And) else (root,)
    plain = tuple(dict.fromkeys(piece for part in parts if _is_plain(part) for piece in _pieces(part)))
    if len(plain) < 2:
        return None
    optional: Node = Or(plain[:MAX_PIECES]) if match is Match.ANY else Some(plain[:MAX_PIECES])
    fixed = tuple(part for part in parts if not _is_plain(part))
    return And((*fixed, optional)) if fixed else optional


def _is_plain(part: Node) -> bool:
    if isinstance(part, Or):
        return all(_is_plain(one) or _is_run(one) for one in part.parts)
    return isinstance(part, Word | Phrase)


def _is_run(part: Node) -> bool:
    """Whether a part is several words that have synonyms together."""
    return isinstance(part, And) and all(_is_plain(one) for one in part.parts)


def _pieces(part: Node) -> list[Node]:
    if not isinstance(part, Word):
        return [part]
    runs = split_runs(part.text)
    if all(length == 0 for _, length in runs):
        return [part]
    return [piece for text, length in runs for piece in _grams(text, length)]


def _grams(text: str, length: int) -> list[Node]:
    if length == 0 or len(text) <= length:
        return [Word(text)]
    return [Word(text[start : start + length]) for start in range(len(text) - length + 1)]
