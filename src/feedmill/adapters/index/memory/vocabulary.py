"""The words of an index in memory, by the contract of the port."""

from collections import Counter
from collections.abc import Callable, Sequence

from feedmill.adapters.index.analysis import split_words
from feedmill.adapters.index.similarwords import MAX_START_CHARACTERS, Counted, choose_alike
from feedmill.model.access import AccessFilter
from feedmill.model.query import Node
from feedmill.model.search import IndexDocument

Find = Callable[[Node, AccessFilter], Sequence[IndexDocument]]


class MemoryVocabulary:
    """Reads the words of documents in memory. ``find`` returns the matching documents that a user may see."""

    def __init__(self, documents: Sequence[IndexDocument], find: Find) -> None:
        self._documents = documents
        self._find = find

    def complete(self, start: str, within: Node, access: AccessFilter, limit: int) -> list[Counted]:
        """Finds words of titles with this start."""
        folded = split_words(start[:MAX_START_CHARACTERS])
        if not folded:
            return []
        counts: Counter[str] = Counter()
        for document in self._find(within, access):
            words = set(split_words(document.title))
            if words.issuperset(folded[:-1]):
                counts.update(word for word in words if word.startswith(folded[-1]))
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def count(self, word: str, access: AccessFilter) -> int:
        """Counts the documents that hold a word and that the user may see."""
        folded = split_words(word)
        visible = (document for document in self._documents if document.access_class in access.permitted)
        return sum(len(folded) == 1 and folded[0] in _words(document) for document in visible)

    def find_alike(self, word: str, access: AccessFilter, more_than: int) -> str | None:
        """Finds the likeliest similar word."""
        folded = split_words(word)
        if len(folded) != 1:
            return None
        known = Counter(one for document in self._documents for one in _words(document))
        return choose_alike(folded[0], known, lambda near: self.count(near, access), more_than)


def _words(document: IndexDocument) -> set[str]:
    return {*split_words(document.title), *split_words(document.body)}
