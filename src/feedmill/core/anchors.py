"""What links say of the documents that they lead to.

A document is told of by those that link to it: their anchor texts are words of it as well, and their number speaks for it. Only what
everybody may see tells of others, so that nobody finds a document by words that he must not read. How much one document tells, and is
told, is bounded; what a site repeats on every page is one text, however often it stands there.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from feedmill.core.access import class_of
from feedmill.core.analysis import fold_value
from feedmill.core.shown import has_robots_rule, is_indexed
from feedmill.model.access import AccessClass
from feedmill.model.document import Document
from feedmill.model.extraction import Link

MAX_TARGETS = 100
"""Of how many others one document tells."""

MAX_SOURCES = 50
"""By how many others one document is told of."""

MAX_TEXTS = 20
TEXT_CHARACTERS = 150
_STEPS = (50, 32, 16, 8, 4, 2, 1)
_OFTEN, _VERY_OFTEN = 4, 16


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a document: texts, a frequent one several times, and a rank by the number of those who tell. Units: rank 0 to 100."""

    texts: tuple[str, ...] = ()
    rank: int = 0


NOTHING_TOLD = Told()


def may_tell(document: Document) -> bool:
    """Whether a document tells of others: everybody may see and find it, and it does not ask for its links to be left alone."""
    return is_indexed(document) and class_of(document) == AccessClass.PUBLIC and not has_robots_rule(document, "nofollow")


def list_told(page: str, links: Iterable[Link]) -> dict[str, str]:
    """Returns of which URLs a page tells and with which text, the first ones; a text may be empty. Links to itself tell nothing."""
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    for url, text in links:
        if url == page or (url not in texts and len(texts) >= MAX_TARGETS):
            continue
        known = texts[url]
        if text and not text.startswith(("http://", "https://")):
            known[text] = None
    return {url: " ".join(known)[:TEXT_CHARACTERS] for url, known in texts.items()}


def gather_told(texts: Sequence[str]) -> Told:
    """Returns what is told by one text for each document that tells, in any order. It changes by steps, not with each one that joins."""
    if not texts:
        return NOTHING_TOLD
    counts: Counter[str] = Counter()
    spellings: dict[str, str] = {}
    for text in texts:
        folded = fold_value(text)
        if folded:
            counts[folded] += 1
            spellings[folded] = min(text, spellings.get(folded, text))
    best = sorted(counts, key=lambda folded: (-_times(counts[folded]), folded))[:MAX_TEXTS]
    return Told(tuple(spellings[folded] for folded in best for _ in range(_times(counts[folded]))), rank_by_links(len(texts)))


def _times(count: int) -> int:
    return 1 + (count >= _OFTEN) + (count >= _VERY_OFTEN)


def rank_by_links(count: int) -> int:
    """Returns a rank by how many others link to a document: in steps, each as far as the one before. Units: 0 to 100."""
    step = next((step for step in _STEPS if step <= count), 0)
    return round(100 * math.log2(1 + step) / math.log2(1 + MAX_SOURCES))
