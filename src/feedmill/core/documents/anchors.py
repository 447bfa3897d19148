"""Anchor texts and link counts: what links say about the documents that they lead to.

The anchor texts of links to a document count as words of it, and the number of links improves its rank. Only public documents contribute,
so that a user cannot find a document by words that they may not read. Contributions are bounded for the source and for the target. A text
that a site repeats on every page counts as one text, however often it occurs.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from feedmill.core.access.classes import class_of
from feedmill.core.documents.presentation import has_robots_rule, is_indexed
from feedmill.core.text.analysis import fold_value
from feedmill.model.access import AccessClass
from feedmill.model.document import Document
from feedmill.model.extraction import Link

MAX_TARGETS = 100
"""The maximum number of other documents that one document contributes to."""

MAX_SOURCES = 50
"""The maximum number of documents that contribute to one document."""

MAX_TEXTS = 20
TEXT_CHARACTERS = 150
_STEPS = (50, 32, 16, 8, 4, 2, 1)
_OFTEN, _VERY_OFTEN = 4, 16


@dataclass(frozen=True, slots=True)
class IncomingLinks:
    """What links say about a document: texts (a frequent one several times), and a rank by the number of linking documents. Units: 0 to
    100.
    """

    texts: tuple[str, ...] = ()
    rank: int = 0


NO_INCOMING_LINKS = IncomingLinks()


def may_contribute(document: Document) -> bool:
    """Whether the links of a document count: it is public and indexed, and it does not declare ``nofollow``."""
    return is_indexed(document) and class_of(document) == AccessClass.PUBLIC and not has_robots_rule(document, "nofollow")


def list_link_texts(page: str, links: Iterable[Link]) -> dict[str, str]:
    """Returns the target URLs of a page's links with their texts, up to the bound. A text may be empty. Links to the page itself are
    ignored.
    """
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    for url, text in links:
        if url == page or (url not in texts and len(texts) >= MAX_TARGETS):
            continue
        known = texts[url]
        if text and not text.startswith(("http://", "https://")):
            known[text] = None
    return {url: " ".join(known)[:TEXT_CHARACTERS] for url, known in texts.items()}


def combine_link_texts(texts: Sequence[str]) -> IncomingLinks:
    """Returns the combined texts and rank. Shape: one text for each linking document, in any order. The result changes in steps, not with
    each additional link.
    """
    if not texts:
        return NO_INCOMING_LINKS
    counts: Counter[str] = Counter()
    spellings: dict[str, str] = {}
    for text in texts:
        folded = fold_value(text)
        if folded:
            counts[folded] += 1
            # The least spelling, so that the order of the documents makes no difference.
            spellings[folded] = min(text, spellings.get(folded, text))
    best = sorted(counts, key=lambda folded: (-_times(counts[folded]), folded))[:MAX_TEXTS]
    return IncomingLinks(tuple(spellings[folded] for folded in best for _ in range(_times(counts[folded]))), rank_by_links(len(texts)))


def _times(count: int) -> int:
    # In three steps, so that one more link seldom changes the entry, which would then have to be written again.
    return 1 + (count >= _OFTEN) + (count >= _VERY_OFTEN)


def rank_by_links(count: int) -> int:
    """Returns a rank by the number of linking documents. The rank rises in equal steps. Units: 0 to 100."""
    step = next((step for step in _STEPS if step <= count), 0)
    return round(100 * math.log2(1 + step) / math.log2(1 + MAX_SOURCES))
