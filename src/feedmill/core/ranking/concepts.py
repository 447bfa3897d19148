"""Compares documents by their words, and names groups of similar documents.

A word weighs more if it is frequent in the document and rare in the others. Words of the query do not count, nor do words that nearly all
documents or only one of them contain.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from feedmill.core.text.plainwords import iter_words

MIN_CHARACTERS = 3
COMMON_SHARE = 0.6
MIN_LIKENESS = 0.08
MIN_LABEL_DOCUMENTS = 2
PHRASE_WORTH = 1.8

Vector = dict[str, float]


@dataclass(frozen=True, slots=True)
class Edge:
    """Two documents, by position, and their similarity. Units: 0 to 1."""

    one: int
    other: int
    likeness: float


def weigh_words(texts: Sequence[str], query: str) -> list[Vector]:
    """Returns the weighted words of each text, each vector of length 1 or empty."""
    left_out = {word.folded for word in iter_words(query)}
    counts = [Counter(word for word in _words(text) if word not in left_out) for text in texts]
    held = Counter(word for count in counts for word in count)
    most = max(COMMON_SHARE * len(texts), 2)
    # The inverse document frequency. The addend leaves a weight to the common words of two texts, if there are only two.
    weights = {word: math.log(len(texts) / number) + 0.1 for word, number in held.items() if 1 < number <= most}
    # The logarithm of the count: a word that occurs ten times as often is not ten times as important.
    return [_unit({word: (1 + math.log(times)) * weights[word] for word, times in count.items() if word in weights}) for count in counts]


def _words(text: str) -> Iterable[str]:
    return (word.folded for word in iter_words(text) if len(word.folded) >= MIN_CHARACTERS and not word.folded.isdigit())


def _unit(vector: Vector) -> Vector:
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {word: weight / length for word, weight in vector.items()} if length else {}


def find_alike(vectors: Sequence[Vector]) -> list[Edge]:
    """Returns the pairs of similar documents."""
    holding: dict[str, list[int]] = {}
    for place, vector in enumerate(vectors):
        for word in vector:
            holding.setdefault(word, []).append(place)
    likeness: defaultdict[tuple[int, int], float] = defaultdict(float)
    for word, places in holding.items():
        # The cosine of two vectors of length 1 is the sum of products over common words. Going word by word visits no pair without one.
        for at, one in enumerate(places):
            for other in places[at + 1 :]:
                likeness[one, other] += vectors[one][word] * vectors[other][word]
    return [Edge(one, other, value) for (one, other), value in sorted(likeness.items()) if value >= MIN_LIKENESS]


def name_group(titles: Sequence[str], texts: Sequence[str], others: Sequence[str], query: str) -> str | None:
    """Returns a word or phrase, as it is written, that is frequent in a group's documents and rare in others; None if there is none."""
    left_out = {word.folded for word in iter_words(query)}
    inside, spelt = _count_terms([f"{title}\n{text}" for title, text in zip(titles, texts, strict=True)], left_out)
    outside, _ = _count_terms(others, left_out)
    in_titles, _ = _count_terms(titles, left_out)
    worth = {
        term: (number + in_titles[term]) * number / (number + outside[term]) * (PHRASE_WORTH if " " in term else 1.0)
        for term, number in inside.items()
        if number >= MIN_LABEL_DOCUMENTS
    }
    return spelt[min(worth, key=lambda term: (-worth[term], term))] if worth else None


def _count_terms(texts: Iterable[str], left_out: set[str]) -> tuple[Counter[str], dict[str, str]]:
    """Counts the texts that contain each word and each pair of neighbours, and returns the counts with the first spelling of each."""
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for text in texts:
        words = [word for word in iter_words(text) if not word.folded.isdigit()]
        terms: set[str] = set()
        for word in words:
            if word.folded not in left_out and len(word.folded) >= MIN_CHARACTERS + 1:
                terms.add(word.folded)
                spelt.setdefault(word.folded, text[word.start : word.end])
        for one, other in pairwise(words):
            is_phrase = text[one.end : other.start] == " " and min(len(one.folded), len(other.folded)) >= MIN_CHARACTERS
            if is_phrase and not {one.folded, other.folded} <= left_out:
                terms.add(f"{one.folded} {other.folded}")
                spelt.setdefault(f"{one.folded} {other.folded}", text[one.start : other.end])
        counts.update(terms)
    return counts, spelt
