"""Suggests spellings: similar words from documents that the user may see, if they find more.

Only words that hardly any document holds are replaced, and only a few of them; never the function words of a query, which are often rarer
than the words that matter, and never by function words; nor words that are parts of compounds, which find these. A suggestion is offered if
the corrected query finds more than the original one, for the same user and with the same restrictions; or, where no document holds all of
either, if each corrected word stands beside another word of the query. Where no word is misspelt, two words may be one (``pay slip``), or
one may be two (``e1042``).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from feedmill.core.query.matching import ENOUGH, is_plain, loosen
from feedmill.core.query.nodes import join_all, parts_of
from feedmill.core.ranking.scoring import HOLDS_TELLING_BONUS
from feedmill.core.text.functionwords import LANGUAGES, find_function_words, list_all_function_words
from feedmill.core.text.plainwords import fold_word, iter_words, without_accents
from feedmill.core.text.plainwords import is_plain as is_plain_text
from feedmill.model.access import AccessFilter
from feedmill.model.query import And, AnyOf, InTitle, Node, Or, Phrase, Wildcard, Word
from feedmill.model.search import Match
from feedmill.ports import SearchIndex

MIN_CHARACTERS = 3
MAX_COUNTED = 12
MAX_DOUBTED = 3
TIMES_MORE = 10
SPELT_BY = 5
MIN_CHARACTERS_IN_PART = 5
"""A shorter word that no document holds is a word of another subject as likely as a misspelt one."""
MIN_CHARACTERS_IN_COMPOUND = 5
"""A shorter word begins too many others by chance."""
_CODE = re.compile(r"([^\W\d_]+)(\d+)|(\d+)([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class BetterSpelling:
    """A better spelling of a query.

    ``replaces_nothing``: no document that the user may see holds all of what was typed, whether or not it holds the function words.
    """

    query: str
    replaces_nothing: bool


ReadTexts = Callable[[Sequence[int]], list[str]]
"""Returns titles and texts of documents by id, if the user may see them."""


def find_spelling(
    index: SearchIndex, query: str, root: Node, total: int, access: AccessFilter, read_texts: ReadTexts
) -> BetterSpelling | None:
    """Returns a better spelling of the query, None if there is none.

    Shape: ``root`` is its tree with every word required, ``total`` how many documents match that.
    """
    doubted = _list_doubted(index, root, access)
    # Most words have none that is alike and better, so this is asked first.
    better = {
        word: found
        for word, own in doubted
        if (found := _find_better(index, word, own, access))
        and not _is_in_title(index, word, own, access)
        and not index.vocabulary.is_in_compound(word, access)
        and not _is_repeated(index, word, own, access, read_texts)
    }
    if better:
        corrected = index.search(_replace(root, better), access, start=0, num=SPELT_BY)
        if corrected.total > total:
            texts = read_texts([hit.key for hit in corrected.hits])
            spelling = _rewrite(query, {word: _find_spelling(good, texts) for word, good in better.items()})
            return BetterSpelling(spelling, replaces_nothing=not total and not _is_held_but_for_function_words(index, root, access))
    if total:
        return None
    unheld = {word: better[word] for word, own in doubted if word in better and not own}
    return _divide(index, query, root, access) or _correct_parts(index, query, root, unheld, access)


def _divide(index: SearchIndex, query: str, root: Node, access: AccessFilter) -> BetterSpelling | None:
    """Writes two neighbouring words as one, or a word of letters and digits as two, where documents hold all of the query then."""
    for typed, written, divided in islice(_iter_divided(root), MAX_COUNTED):
        at = query.find(typed)
        if at >= 0 and index.search(divided, access, start=0, num=0).total:
            spelling = query[:at] + written + query[at + len(typed) :]
            return BetterSpelling(spelling, replaces_nothing=not _is_held_but_for_function_words(index, root, access))
    return None


def _correct_parts(index: SearchIndex, query: str, root: Node, better: Mapping[str, str], access: AccessFilter) -> BetterSpelling | None:
    """Corrects words that no document holds by words that stand beside another word of the query."""
    fixed = [part for part in parts_of(root) if not is_plain(part)]
    plain = [part for part in parts_of(root) if is_plain(part)]
    functions = find_function_words((fold_word(part.text) for part in plain if isinstance(part, Word)), LANGUAGES)
    held = {}
    for word, good in better.items():
        known = {word, *functions}
        others = tuple(part for part in plain if not (isinstance(part, Word) and not known.isdisjoint((part.text, fold_word(part.text)))))
        is_long = len(word) >= MIN_CHARACTERS_IN_PART
        if is_long and others and index.search(join_all([*fixed, Word(good), Or(others)]), access, start=0, num=0).total:
            held[word] = good
    return BetterSpelling(_rewrite(query, held), replaces_nothing=False) if held else None


def _iter_divided(root: Node) -> Iterator[tuple[str, str, Node]]:
    """Yields what was typed, how it may be written, and the tree with that."""
    parts = parts_of(root)
    for place, part in enumerate(parts):
        if isinstance(part, Word) and (code := _CODE.fullmatch(part.text)):
            written = "-".join(piece for piece in code.groups() if piece)
            yield part.text, written, join_all([*parts[:place], Phrase(written), *parts[place + 1 :]])
    for place, (one, other) in enumerate(pairwise(parts)):
        if isinstance(one, Word) and isinstance(other, Word) and is_plain_text(one.text) and is_plain_text(other.text):
            # a German word is written small inside of another
            joined = one.text + (other.text.lower() if other.text.istitle() and not one.text.isupper() else other.text)
            yield f"{one.text} {other.text}", joined, join_all([*parts[:place], Word(joined), *parts[place + 2 :]])


def _is_held_but_for_function_words(index: SearchIndex, root: Node, access: AccessFilter) -> bool:
    loosened = loosen(root, Match.AUTO)
    hits = index.search(loosened, access, start=0, num=1).hits if loosened is not None else ()
    return bool(hits) and hits[0].score >= HOLDS_TELLING_BONUS


def _find_spelling(folded: str, texts: Sequence[str]) -> str:
    """Returns the form of a folded word in one of the texts, with its accents."""
    if not all(map(str.isascii, texts)):
        for text in texts:
            for word in iter_words(text):
                if without_accents(word.folded) == folded:
                    return text[word.start : word.end].lower()
    return folded


def _list_words(root: Node) -> list[str]:
    if isinstance(root, Word):
        return [root.text] if len(root.text) >= MIN_CHARACTERS and is_plain_text(root.text) else []
    if isinstance(root, And | Or | AnyOf):
        return list(dict.fromkeys(word for part in root.parts for word in _list_words(part)))
    return []


def _list_doubted(index: SearchIndex, root: Node, access: AccessFilter) -> list[tuple[str, int]]:
    """Returns the first words that few documents hold, each with how many do."""
    words = _list_words(root)
    functions = find_function_words(map(fold_word, words), LANGUAGES)
    telling = [word for word in words if fold_word(word) not in functions][:MAX_COUNTED]
    counted = ((word, index.vocabulary.count(word, access)) for word in telling)
    return list(islice(((word, own) for word, own in counted if own < ENOUGH), MAX_DOUBTED))


def _find_better(index: SearchIndex, word: str, own: int, access: AccessFilter) -> str | None:
    """Returns a similar word of many more documents. A word of three letters is another word more likely than a slip of other letters."""
    found = index.vocabulary.find_alike(word, access, own * TIMES_MORE)
    if found is None or (found in list_all_function_words() and fold_word(word) not in list_all_function_words()):
        return None
    if not own and _begins_compounds(index, word, found, access):
        return None
    return found if len(word) > MIN_CHARACTERS or sorted(found) == sorted(fold_word(word)) else None


def _begins_compounds(index: SearchIndex, word: str, found: str, access: AccessFilter) -> bool:
    """Whether a word that no document holds begins others, as ``Urlaub`` does ``Urlaubsantrag``, and not just lacks the last letters."""
    if len(word) < MIN_CHARACTERS_IN_COMPOUND or found.startswith(fold_word(word)):
        return False
    return index.search(Wildcard(f"{word}*"), access, start=0, num=0).total > 0


def _is_in_title(index: SearchIndex, word: str, own: int, access: AccessFilter) -> bool:
    """Whether a document has a word in its title, which its author hardly misspelt."""
    return own > 0 and index.search(InTitle(word), access, start=0, num=0).total > 0


def _is_repeated(index: SearchIndex, word: str, own: int, access: AccessFilter, read_texts: ReadTexts) -> bool:
    """Whether a document has a word more than once, as one that its author misspelt hardly has it."""
    if not own:
        return False
    texts = read_texts([hit.key for hit in index.search(Word(word), access, start=0, num=SPELT_BY).hits])
    folded = fold_word(word)
    return any(_holds_twice(text, folded) for text in texts)


def _holds_twice(text: str, folded: str) -> bool:
    """Whether a text holds a folded word more than once. Splitting it into words takes long, and most texts need not be."""
    if text.isascii() and text.lower().count(folded) < 2:
        return False
    return sum(without_accents(word.folded) == folded for word in iter_words(text)) > 1


def _replace(node: Node, better: dict[str, str]) -> Node:
    if isinstance(node, Word):
        return Word(better.get(node.text, node.text))
    if isinstance(node, And):
        return And(tuple(_replace(part, better) for part in node.parts))
    if isinstance(node, Or):
        return Or(tuple(_replace(part, better) for part in node.parts))
    return node


def _rewrite(query: str, better: dict[str, str]) -> str:
    """Replaces the corrected words and leaves everything else as it was typed."""
    pieces: list[str] = []
    position = 0
    folded = {next((one.folded for one in iter_words(word)), word): good for word, good in better.items()}
    for word in iter_words(query):
        good = folded.get(word.folded)
        if good is not None and query[word.start - 1 : word.start] not in (":", "=", "~", "-", "."):
            pieces += (query[position : word.start], good)
            position = word.end
    return "".join([*pieces, query[position:]])
