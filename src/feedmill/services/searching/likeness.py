"""Turns ``related:URL`` into the words that the document of that URL is about, and finds the URLs that a query names.

They are the words that are frequent in it and rare elsewhere, as far as the asker sees. A document that he may not see, or that does not
exist, has none, so that nothing is like it.
"""

import math
from collections import Counter
from collections.abc import Set

from feedmill.core.plainwords import is_plain, iter_words
from feedmill.model.access import AccessFilter
from feedmill.model.query import And, Everything, Info, Node, Not, Or, Related, Some, Word
from feedmill.ports import SearchIndex

READ_CHARACTERS = 20_000
TITLE_WEIGHT = 3
MIN_CHARACTERS = 3
TRIED_WORDS = 40
KEPT_WORDS = 12

NOTHING = Not(Everything())


def list_related(root: Node) -> list[str]:
    """Lists the URLs that a query asks for what is like them."""
    if isinstance(root, Related):
        return [root.url]
    if isinstance(root, And | Or | Some):
        return [url for part in root.parts for url in list_related(part)]
    return list_related(root.part) if isinstance(root, Not) else []


def list_infos(root: Node) -> list[str]:
    """Lists the URLs that ``info:`` asks for."""
    if isinstance(root, Info):
        return [root.url]
    if isinstance(root, And | Or | Some):
        return [url for part in root.parts for url in list_infos(part)]
    return list_infos(root.part) if isinstance(root, Not) else []


def resolve_urls(root: Node, found: dict[str, Node], absent: Set[str]) -> Node:
    """Puts what was found for each ``related:`` in its place, and nothing in place of ``info:`` of an absent URL."""
    match root:
        case Related(url):
            return found.get(url, NOTHING)
        case Info(url) if url in absent:
            return NOTHING
        case And(parts):
            return And(tuple(resolve_urls(part, found, absent) for part in parts))
        case Or(parts):
            return Or(tuple(resolve_urls(part, found, absent) for part in parts))
        case Not(part):
            return Not(resolve_urls(part, found, absent))
        case _:
            return root


def find_like(index: SearchIndex, url: str, title: str, text: str, access: AccessFilter) -> Node:
    """Returns the query of what is like a document of which the asker may know title and text."""
    counts: Counter[str] = Counter()
    for part, weight in ((title, TITLE_WEIGHT), (text[:READ_CHARACTERS], 1)):
        counts.update({word: weight * times for word, times in Counter(word.folded for word in iter_words(part)).items()})
    common = [word for word, _ in counts.most_common(4 * TRIED_WORDS) if len(word) >= MIN_CHARACTERS and is_plain(word)][:TRIED_WORDS]
    everything = max(index.search(Everything(), access, start=0, num=0).total, 1)
    weights: dict[str, float] = {}
    for word in common:
        holding = index.vocabulary.count(word, access)
        if 1 < holding <= max(everything // 4, 2):
            weights[word] = math.sqrt(counts[word]) * math.log(1 + everything / holding)
    best = sorted(weights, key=lambda word: (-weights[word], word))[:KEPT_WORDS]
    if not best:
        return NOTHING
    return And((Or(tuple(Word(word) for word in best)), Not(Info(url))))
