"""Light dataclasses behave as frozen ones, but for assignments, which the type checker refuses."""

import pickle
from dataclasses import replace

import pytest

from feedmill.model.lightdataclass import light_replace
from feedmill.model.results import Snippet


def test_values_with_equal_fields_are_equal_and_hash_alike() -> None:
    assert Snippet(text="a") == Snippet(text="a") != Snippet(text="b")
    assert len({Snippet(text="a"), Snippet(text="a"), Snippet(text="b")}) == 2


def test_values_can_be_replaced_and_pickled() -> None:
    changed = replace(Snippet(text="a"), marks=((0, 1),))
    assert pickle.loads(pickle.dumps(changed)) == changed == Snippet(text="a", marks=((0, 1),))


def test_light_replace_copies_and_changes() -> None:
    given = Snippet(text="a", marks=((0, 1),))
    assert light_replace(given, text="b") == Snippet(text="b", marks=((0, 1),))
    assert given == Snippet(text="a", marks=((0, 1),))
    with pytest.raises(AttributeError):
        light_replace(given, unknown=1)  # type: ignore[call-arg]
