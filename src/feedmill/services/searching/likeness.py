"""Replaces ``related:URL`` by the characteristic words of that URL's document, and finds the URLs that a query names.

These words are frequent in the document and rare in the other documents that the user may see. A document that the user may not see, or
that does not exist, has no such words, so nothing is similar to it.
"""

import math
from collections import Counter
from collections.abc import Set

from feedmill.core.documents.presentation import shown_title
from feedmill.core.text.plainwords import is_plain, iter_words
from feedmill.model.access import AccessFilter
from feedmill.model.query import And, AnyOf, Info, MatchAll, Node, Not, Or, Related, Word
from feedmill.ports import SearchIndex
from feedmill.services.searching.resultmaking import READ_CHARACTERS, ResultMaker
from feedmill.services.searching.searchstate import PlannedSearch
from feedmill.services.searching.visibledocuments import VisibleDocuments

TITLE_WEIGHT = 3
MAX_RELATED = 3
MIN_CHARACTERS = 3
TRIED_WORDS = 40
MAX_QUERY_WORDS = 12

NOTHING = Not(MatchAll())


def resolve_urls(index: SearchIndex, root: Node, search: PlannedSearch, documents: VisibleDocuments, maker: ResultMaker) -> Node:
    """Replaces ``related:`` by a query for similar documents, and ``info:`` of a document that the user may not see by nothing.

    The engine therefore never searches for the URL of a hidden document: its response time would reveal whether it holds that URL.
    """
    infos, urls = dict.fromkeys(list_urls(root, Info)), list_urls(root, Related)[:MAX_RELATED]
    if not urls and not infos:
        return root
    absent = documents.find_absent(list(infos), search.access)
    found: dict[str, Node] = {}
    for url in urls:
        document = documents.find_typed(url, search.access, search.deadline)
        if document is not None:
            found[url] = find_like(index, document.url, shown_title(document) or "", maker.read_text(document), search.access)
    return replace_urls(root, found, absent)


def list_urls(root: Node, kind: type[Info] | type[Related]) -> list[str]:
    """Lists the URLs of the ``info:`` or the ``related:`` parts of a query."""
    if isinstance(root, kind):
        return [root.url]
    if isinstance(root, And | Or | AnyOf):
        return [url for part in root.parts for url in list_urls(part, kind)]
    return list_urls(root.part, kind) if isinstance(root, Not) else []


def replace_urls(root: Node, found: dict[str, Node], absent: Set[str]) -> Node:
    """Replaces each ``related:`` by the query found for it, and ``info:`` of an absent URL by a query that matches nothing."""
    match root:
        case Related(url):
            return found.get(url, NOTHING)
        case Info(url) if url in absent:
            return NOTHING
        case And(parts):
            return And(tuple(replace_urls(part, found, absent) for part in parts))
        case Or(parts):
            return Or(tuple(replace_urls(part, found, absent) for part in parts))
        case Not(part):
            return Not(replace_urls(part, found, absent))
        case _:
            return root


def find_like(index: SearchIndex, url: str, title: str, text: str, access: AccessFilter) -> Node:
    """Returns a query for documents that are similar to a document whose title and text the user may see."""
    counts: Counter[str] = Counter()
    for part, weight in ((title, TITLE_WEIGHT), (text[:READ_CHARACTERS], 1)):
        counts.update({word: weight * times for word, times in Counter(word.folded for word in iter_words(part)).items()})
    common = [word for word, _ in counts.most_common(4 * TRIED_WORDS) if len(word) >= MIN_CHARACTERS and is_plain(word)][:TRIED_WORDS]
    everything = max(index.search(MatchAll(), access, start=0, num=0).total, 1)
    weights: dict[str, float] = {}
    for word in common:
        holding = index.vocabulary.count(word, access)
        if 1 < holding <= max(everything // 4, 2):
            weights[word] = math.sqrt(counts[word]) * math.log(1 + everything / holding)
    best = sorted(weights, key=lambda word: (-weights[word], word))[:MAX_QUERY_WORDS]
    if not best:
        return NOTHING
    return And((Or(tuple(Word(word) for word in best)), Not(Info(url))))
