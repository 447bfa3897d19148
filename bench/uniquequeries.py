"""Queries that no cache has seen. An index caches its last results, and a benchmark measures how results are found."""

import itertools

_turns = itertools.count()


def new_word() -> str:
    """Returns a word that no document holds and that was not given before."""
    return f"zz{next(_turns)}zz"


def make_unique(question: str) -> str:
    """Returns a query that finds the same and that no cache has seen."""
    return f"{question} -{new_word()}"
