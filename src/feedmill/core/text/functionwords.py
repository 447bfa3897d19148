"""Function words, which say little about a text's subject: articles, pronouns, question words, auxiliaries.

They are never dropped: "to be or not to be" must find itself. In a query with content words they have a low weight, since the function
words of a question are often rarer in the texts than the words that matter. The lists are short on purpose, since an index knows by itself
which other words are frequent.
"""

from collections.abc import Iterable
from functools import cache

from feedmill.core.text.wordforms import FOLDED
from feedmill.core.text.wordlists import list_names, read_list

LANGUAGES = tuple(sorted(list_names("function")))
"""Languages with a list, by ISO 639-1, in order. To add one, add its file to the folder."""


@cache
def list_function_words(language: str) -> frozenset[str]:
    """Returns the function words of a language, folded; none for a language without a list."""
    # Bokmål and Nynorsk share a list.
    code = {"nb": "no", "nn": "no"}.get(language, language)
    return frozenset(FOLDED[word] for word in read_list(f"function/{code}")) if code in LANGUAGES else frozenset()


def find_function_words(words: Iterable[str], languages: Iterable[str]) -> frozenset[str]:
    """Returns which folded words of a query are function words: by the language that has most of them, the earlier one among equals.

    Shape: none where nothing else would be left of the query.
    """
    given = frozenset(words)
    best: frozenset[str] = frozenset()
    for language in languages:
        found = given & list_function_words(language)
        if len(found) > len(best):
            best = found
    return best if best != given else frozenset()
