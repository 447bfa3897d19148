"""Completes what the user types, from titles of documents that the user may see, and by single words of their texts where no title helps.

Queries of other users are never suggested: they may hold what this user must not know. The store permits each title's document to the
user, so that a suggestion shows no more than a search would. For each word the newest documents that hold it are read, which costs less
than ranking the best ones. No word is taken from a text that must not be quoted.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from feedmill.core.documents.presentation import has_robots_rule, shown_title
from feedmill.core.text.analysis import is_spaceless
from feedmill.core.text.phrases import complete_from
from feedmill.core.text.plainwords import iter_words, without_accents
from feedmill.core.text.wildcards import is_wildcard
from feedmill.model.access import AccessFilter
from feedmill.model.document import Document
from feedmill.model.errors import OutOfTime
from feedmill.model.query import And, InTitle, Node, Wildcard, Word
from feedmill.model.search import Sort
from feedmill.services.deadline import Deadline
from feedmill.services.isolation.batches import attempt
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.searching.searchstate import SearchStates
from feedmill.services.searching.visibledocuments import VisibleDocuments

MAX_TYPED_CHARACTERS = 200
MAX_TYPED_WORDS = 10
MAX_SUGGESTIONS = 50
COMPLETED_WORDS = 10
TITLES_A_WORD = 8
FOR_A_WORD = 4
MIN_TEXT_CHARACTERS = 3
"""A shorter start of a word is the start of too many words of texts to tell anything."""
TEXTS_READ = 4
READ_CHARACTERS = 100_000

SUGGEST_STEP = "suggest"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionRequest:
    """The typed text with its collections and front end; ``limit`` is the maximum number of completions.

    ``is_strict``: a front end that does not exist is an error, else the default one.
    """

    text: str
    limit: int
    site: str = ""
    client: str = ""
    is_strict: bool = False


ReadText = Callable[[Document], str]
"""Reads the text of a document; "" if there is none that can be read."""


def suggest(
    states: SearchStates,
    visible: VisibleDocuments,
    read_text: ReadText,
    typing: SuggestionRequest,
    access: AccessFilter,
    deadline: Deadline | None = None,
) -> tuple[str, ...]:
    """Returns completions, likeliest first; none if nothing was typed; at the deadline, those found by then.

    Errors: BadRequest, for a strict request alone.
    """
    typed, limit = typing.text, min(typing.limit, MAX_SUGGESTIONS)
    deadline = deadline or Deadline()
    state = states.read_search_state(deadline)
    if typing.is_strict:
        state.config.check_frontend(typing.client)
    index, scope = state.index, state.config.find_scope(typing.site, typing.client)
    words = [typed[word.start : word.end] for word in iter_words(typed[:MAX_TYPED_CHARACTERS])][:MAX_TYPED_WORDS]
    if index is None or scope is None or not words or limit <= 0:
        return ()
    before: list[Node] = [scope, *(InTitle(word) for word in words[:-1])]
    within = And(tuple(before))
    completed: list[str] = []
    with suppress(OutOfTime):
        completed = [word for word, _ in index.vocabulary.complete(words[-1], within, access, COMPLETED_WORDS)]
    if any(is_spaceless(character) for character in words[-1]):
        completed = [words[-1]]
    keys: dict[int, None] = {}
    with suppress(OutOfTime):
        for word in completed:
            holding = And((*before, InTitle(word)))
            keys.update((hit.key, None) for hit in index.search(holding, access, start=0, num=TITLES_A_WORD, sort=Sort()).hits)
    documents = visible.list_visible(list(keys), access, deadline=deadline)
    found = _complete(documents, typed[:MAX_TYPED_CHARACTERS])
    if found or not typed[-1:].isalnum() or len(words[-1]) < MIN_TEXT_CHARACTERS or not is_wildcard(f"{words[-1]}*"):
        return tuple(_in_order(found, completed, len(words))[:limit])
    holding = And((scope, *map(Word, words[:-1]), Wildcard(f"{words[-1]}*")))
    keys = {}
    with suppress(OutOfTime):
        keys = dict.fromkeys(hit.key for hit in index.search(holding, access, start=0, num=TEXTS_READ, sort=Sort()).hits)
    return tuple(_complete_by_texts(visible.list_visible(list(keys), access, deadline=deadline), words, read_text)[:limit])


def _complete_by_texts(documents: Sequence[Document], words: Sequence[str], read_text: ReadText) -> list[str]:
    """Returns the typed words with the last one completed by words of texts: those of most documents first, then the shorter ones."""
    *before, last = (word.lower() for word in words)
    beginning = re.compile(rf"(?<![^\W_]){re.escape(last)}[^\W_]+", re.IGNORECASE)

    def list_words(document: Document) -> list[str]:
        fault_point(SUGGEST_STEP, document.url)
        return [] if has_robots_rule(document, "nosnippet") else beginning.findall(read_text(document)[:READ_CHARACTERS])

    nothing: list[str] = []
    each = [attempt(partial(list_words, one), nothing, step=SUGGEST_STEP, url=one.url) for one in documents]
    counts = Counter(word for found in each for word in {one.lower() for one in found})
    return [" ".join([*before, word]) for word in sorted(counts, key=lambda word: (-counts[word], len(word), word))][:FOR_A_WORD]


def _in_order(found: dict[str, str], completed: list[str], size: int) -> list[str]:
    """Sorts completions by their completed words, which the index has counted in all documents; a few for each word."""
    of_word: dict[str, list[str]] = {word: [] for word in completed}
    for folded, text in found.items():
        of_word.setdefault(without_accents(" ".join(folded.split()[size - 1 : size])), []).append(text)
    for texts in of_word.values():
        texts.sort(key=lambda text: len(text.split()) > size)
    return [text for texts in of_word.values() for text in texts[:FOR_A_WORD]] + [
        text for texts in of_word.values() for text in texts[FOR_A_WORD:]
    ]


def _complete(documents: Sequence[Document], typed: str) -> dict[str, str]:
    """Returns completions from titles; if that fails, those of each title by itself, without the ones that fail."""
    found = attempt(lambda: _complete_from(documents, typed), None, step=SUGGEST_STEP)
    if found is not None:
        return found
    nothing: dict[str, str] = {}
    each = [attempt(partial(_complete_from, [one], typed), nothing, step=SUGGEST_STEP, url=one.url) for one in documents]
    return {folded: text for completions in reversed(each) for folded, text in completions.items()}


def _complete_from(documents: Sequence[Document], typed: str) -> dict[str, str]:
    for document in documents:
        fault_point(SUGGEST_STEP, document.url)
    return complete_from([title for document in documents if (title := shown_title(document))], typed)
