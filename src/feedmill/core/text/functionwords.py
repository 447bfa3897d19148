"""Function words, which say little about a text's subject: articles, pronouns, question words, auxiliaries; and the fillers of questions.

They are never dropped: "to be or not to be" must find itself. In a query with content words they have a low weight, since the function
words of a question are often rarer in the texts than the words that matter. The lists are short on purpose, since an index knows by itself
which other words are frequent.

A filler (``much``, ``find``, ``viele``) counts as a function word only in a query that has a function word too, and is a question then:
``how much does it cost``. Elsewhere it is what the user looks for, as in ``may bank holiday``.
"""

from collections.abc import Iterable
from functools import cache

from feedmill.core.text.wordforms import FOLDED
from feedmill.core.text.wordlists import list_names, read_list

LANGUAGES = tuple(sorted(list_names("function")))
"""Languages with a list, by ISO 639-1, in order. To add one, add its file to the folder."""

_WITH_FILLERS = list_names("filler")


@cache
def list_function_words(language: str) -> frozenset[str]:
    """Returns the function words of a language, folded; none for a language without a list."""
    # Bokmål and Nynorsk share a list.
    code = {"nb": "no", "nn": "no"}.get(language, language)
    return frozenset(FOLDED[word] for word in read_list(f"function/{code}")) if code in LANGUAGES else frozenset()


@cache
def list_all_function_words() -> frozenset[str]:
    """Returns the function words of all languages, folded."""
    return frozenset[str]().union(*map(list_function_words, LANGUAGES))


@cache
def list_fillers(language: str) -> frozenset[str]:
    """Returns the fillers of questions in a language, folded; none for a language without a list."""
    return frozenset(FOLDED[word] for word in read_list(f"filler/{language}")) if language in _WITH_FILLERS else frozenset()


def find_function_words(words: Iterable[str], languages: Iterable[str]) -> frozenset[str]:
    """Returns which folded words of a query are function words, or fillers beside them: by the language that has most of them, the earlier
    one among equals.

    Shape: none where nothing else would be left of the query, and no fillers where function words alone would leave something.
    """
    given = frozenset(words)
    best: frozenset[str] = frozenset()
    if given.isdisjoint(list_all_function_words()):
        return best
    for language in languages:
        functions = given & list_function_words(language)
        found = functions | given & list_fillers(language) if functions else functions
        found = functions if found == given else found
        if len(found) > len(best):
            best = found
    return best if best != given else frozenset()
