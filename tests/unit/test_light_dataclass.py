"""Light dataclasses behave as frozen ones, but for assignments, which the type checker refuses."""

import pickle
from dataclasses import replace

from feedmill.model.results import Snippet


def test_values_with_equal_fields_are_equal_and_hash_alike() -> None:
    assert Snippet(text="a") == Snippet(text="a") != Snippet(text="b")
    assert len({Snippet(text="a"), Snippet(text="a"), Snippet(text="b")}) == 2


def test_values_can_be_replaced_and_pickled() -> None:
    changed = replace(Snippet(text="a"), marks=((0, 1),))
    assert pickle.loads(pickle.dumps(changed)) == changed == Snippet(text="a", marks=((0, 1),))
