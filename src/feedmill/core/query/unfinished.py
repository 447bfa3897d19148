"""Queries whose last word is still being typed: it matches itself, and every word that begins with it.

The word itself scores beside the wildcard, so documents that hold it come before those that hold longer words. Of a hyphenated word the
last part is unfinished. The last word is finished if a character follows that is no letter or digit, and if the last term is no plain word:
a value of an operator, an excluded word, one with a plus, a phrase in quotes. A single letter begins too many words to tell anything, and
so does a function word behind others: ``how much is the``.
"""

import re
from collections.abc import Sequence

from feedmill.core.query.nodes import join_all, parts_of
from feedmill.core.text.functionwords import LANGUAGES, list_function_words
from feedmill.core.text.plainwords import fold_word
from feedmill.core.text.wildcards import is_wildcard
from feedmill.model.query import And, Node, Or, Phrase, Wildcard, Word

_LAST_HYPHEN = re.compile(r"[-\u2010\u2011](?=[^-\u2010\u2011]*$)")


def complete_last_word(root: Node, text: str) -> Node:
    """Returns the tree of a query whose last word may go on. Shape: ``text`` is what was typed."""
    if not text[-1:].isalnum():
        return root
    *before, last = parts_of(root)
    if isinstance(last, Word) and _is_function_word(last, before):
        return root
    return join_all([*before, _complete(last, text)])


def _is_function_word(last: Word, before: Sequence[Node]) -> bool:
    """Whether a word is a function word of a language of which another word before it is one too."""
    word, others = fold_word(last.text), {fold_word(part.text) for part in before if isinstance(part, Word)}
    return any(word in functions and not functions.isdisjoint(others - {word}) for functions in map(list_function_words, LANGUAGES))


def _complete(node: Node, typed: str) -> Node:
    match node:
        case Word(text, is_fixed=False) if is_wildcard(f"{text}*") and typed.endswith(text):
            return Or((node, Wildcard(f"{text}*")))
        case Phrase(text) if len(pieces := _LAST_HYPHEN.split(text)) == 2 and is_wildcard(f"{pieces[1]}*"):
            return Or((node, And((Word(pieces[0]), Wildcard(f"{pieces[1]}*")))))
        case Or(parts):
            last = _complete(parts[-1], typed)
            return Or((*parts[:-1], *(last.parts if isinstance(last, Or) else (last,))))
        case _:
            return node
