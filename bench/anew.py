"""Questions that were never asked before. An index keeps its last answers, and what is to be measured is how they are found."""

import itertools

_turns = itertools.count()


def new_word() -> str:
    """Returns a word that no document holds and that was not given before."""
    return f"zz{next(_turns)}zz"


def anew(question: str) -> str:
    """Returns a question that finds the same and was never asked before."""
    return f"{question} -{new_word()}"
