"""What an index stores of a text: its folded words, their stems, and the accented words with their accents.

The engine only splits at blanks, so that all engines index the same words. A run of a spaceless script is indexed by its characters,
which makes phrases exact. In the stems it is indexed by its neighbouring characters, which approximate words.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import filterfalse
from operator import add

from feedmill.adapters.index.stemming import CompoundStems, Stems
from feedmill.core.text.analysis import (
    GRAM_SIZES,
    fold_spaced,
    fold_words,
    has_spaceless,
    lay_out,
    list_characters,
    list_grams,
    list_raw_words,
    space_out,
    split_words,
    without_typography,
)
from feedmill.core.text.analysis import fold_value as fold_value
from feedmill.core.text.compounds import iter_hyphenated
from feedmill.core.text.typedvalues import fold_name, name_digest
from feedmill.core.text.wildcards import fold_wildcard, is_wildcard
from feedmill.core.text.wordforms import ACCENTED, FOLDED, find_accented, fold_all, write_all
from feedmill.model.lightdataclass import light_dataclass
from feedmill.model.query import And, AnyOf, InText, InTitle, Node, Or, Phrase, Wildcard, Word

__all__ = ["AnalyzedText", "fold_words", "highlight_terms", "lay_out_whole", "split_words", "tagged_words"]

ONLY_ACCENTED = "~"
"""The prefix of a word, in the field of accented words, that a document has only with accents. No word begins with it."""

NAVIGATION_WORD, NAVIGATION_STEM = "~n:", "~s:"
"""The prefixes of the words and stems of navigation."""

MAX_TERMS = 100
MANY_WORDS = 20_000
"""If a text has at least this many different words, their forms are computed together and not cached."""


@light_dataclass(frozen=True, slots=True)
class AnalyzedText:
    """A text as an index takes it. Each field is a line of words joined by blanks; ``folded`` has the accented words unaccented."""

    words: str
    stems: str
    accented: str
    folded: str = ""


@light_dataclass(frozen=True, slots=True)
class _Forms:
    """The forms of a text's words, by the words in lower case."""

    folded: Mapping[str, str]
    stems: Mapping[str, str]
    accented: Mapping[str, str]


def lay_out_whole(text: str, stems: Stems) -> AnalyzedText:
    """Returns the words, stems and accented words of a text."""
    spaced = lay_out(text) if text.isascii() else space_out(text)
    if spaced is None:
        return _lay_out_searched(without_typography(text), stems)
    raw = spaced.split()
    forms = _list_forms(raw, stems)
    stemmed = " ".join(map(forms.stems.__getitem__, raw))
    # a word that is too long for an index has no stem
    if "  " in f" {stemmed} ":
        return _join_forms([word for word in raw if forms.stems[word]], forms)
    # no accents
    if spaced.isascii():
        return AnalyzedText(spaced, stemmed, "")
    return AnalyzedText(fold_spaced(spaced), stemmed, *_list_accented_words(raw, forms))


def _lay_out_searched(text: str, stems: Stems) -> AnalyzedText:
    """Does the same for a text whose words have to be searched for."""
    raw = list_raw_words(text)
    if has_spaceless(text):
        return _lay_out_mixed(raw, stems)
    return _join_forms(raw, _list_forms(raw, stems))


def _join_forms(raw: list[str], forms: _Forms) -> AnalyzedText:
    words = " ".join(map(forms.folded.__getitem__, raw))
    return AnalyzedText(words, " ".join(map(forms.stems.__getitem__, raw)), *_list_accented_words(raw, forms))


def _list_forms(raw: list[str], stems: Stems) -> _Forms:
    """Returns the forms of a text's words, from the cache unless there are very many different words."""
    # A text with fewer words cannot have so many different ones, so no set is made for it.
    different = list(set(raw)) if len(raw) >= MANY_WORDS else []
    if len(different) < MANY_WORDS:
        return _Forms(FOLDED, stems, ACCENTED)
    folded, written = fold_all(different), write_all(different)
    accented = map(find_accented, folded, written)
    made = stems.make_all(different, folded, written)
    return _Forms(*(dict(zip(different, forms, strict=True)) for forms in (folded, made, accented)))


def _list_accented_words(raw: Iterable[str], forms: _Forms) -> tuple[str, str]:
    """Returns the accented words of a text, with and without their accents."""
    pairs = [(accented, forms.folded[word]) for word in filterfalse(str.isascii, raw) if (accented := forms.accented[word])]
    return " ".join([accented for accented, _ in pairs]), _join([folded for _, folded in pairs])


def _lay_out_mixed(raw: list[str], stems: Stems) -> AnalyzedText:
    words: list[str] = []
    stemmed: list[str] = []
    sizes = list(map(GRAM_SIZES.__getitem__, [token[0] for token in raw]))
    spaced = [token for token, size in zip(raw, sizes, strict=True) if not size]
    forms = _list_forms(spaced, stems)
    for token, size in zip(raw, sizes, strict=True):
        if size:
            characters = list_characters(token)
            words += characters
            stemmed += _list_neighbours(characters, size)
        else:
            words.append(forms.folded[token])
            stemmed.append(forms.stems[token])
    return AnalyzedText(" ".join(words), " ".join(stemmed), *_list_accented_words(spaced, forms))


def _list_neighbours(characters: list[str], size: int) -> list[str]:
    """Returns the neighbours in a run that approximate words; for Han and kana also single characters, since many words have only one."""
    if size == 2 and len(characters) > 1:
        return [*characters, *map(add, characters, characters[1:])]
    return list_grams("".join(characters), size)


def _join(words: Iterable[str]) -> str:
    return " ".join(filter(None, words))


def list_accented(parts: Sequence[AnalyzedText]) -> list[str]:
    """Returns the accented words of a document's parts, and, with the prefix, those that it never holds without accents."""
    accented = [part.accented for part in parts if part.accented]
    counts = Counter(word for part in parts for word in part.folded.split())
    if not counts:
        return []
    held = Counter(word for part in parts for word in filter(counts.__contains__, part.words.split()))
    # The accented words are among the words too, without their accents. A larger count there means that some had none.
    marks = " ".join(f"{ONLY_ACCENTED}{word}" for word, count in counts.items() if word and held[word] <= count)
    return [*accented, marks] if marks else accented


def tagged_words(name: str, value: str) -> list[str]:
    """Returns the words of a metadata value, each after its name, so that one field holds all names."""
    tag = name_digest(fold_name(name))
    return [f"{tag}:{word}" for word in split_words(value)]


def navigation_words(words: Iterable[str], sign: str) -> list[str]:
    """Returns words of navigation, each after a sign that no name of metadata has, so that they share the field of metadata words."""
    return [f"{sign}{word}" for word in words]


def list_compound_stems(text: str, words: str, compounds: CompoundStems) -> str:
    """Returns the stems of what the compounds of a text contain, and of its hyphenated words as they are written together.

    Shape: ``words`` are the folded words of the text in a line, as in ``AnalyzedText``.
    """
    joined = [compounds.stem_joined(word) for word, _, _ in iter_hyphenated(text)]
    return _join([*map(compounds.__getitem__, words.split()), *joined])


def highlight_terms(query: Node) -> tuple[str, ...]:
    """Returns what a query would highlight, each term once, in the order of the query.

    Shape: words, phrases as their words joined by blanks, and wildcards with their stars.
    """
    found: dict[str, None] = {}
    _gather(query, found)
    return tuple(found)[:MAX_TERMS]


def _gather(node: Node, found: dict[str, None]) -> None:
    match node:
        case Wildcard(text):
            found[fold_wildcard(text)] = None
        case InTitle(text) | InText(text) if is_wildcard(text):
            found[fold_wildcard(text)] = None
        case Word(text) | Phrase(text) | InTitle(text) | InText(text):
            if words := split_words(text):
                found[" ".join(words)] = None
        case And(parts) | Or(parts) | AnyOf(parts):
            for part in parts:
                _gather(part, found)
        case _:
            pass
