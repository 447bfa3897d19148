import pytest

from tests import thorough


def test_count_cases_counts_the_parameters_of_each_test() -> None:
    assert thorough.count_cases(["a.py::test_x[1]", "a.py::test_y", "a.py::test_x[2-[]"]) == {"a.py::test_x": 2, "a.py::test_y": 1}


def test_count_examples_tries_all_in_a_thorough_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thorough, "IS_THOROUGH", True)
    assert [thorough.count_examples(many) for many in (400, 60, 12)] == [400, 60, 12]


def test_count_examples_tries_a_quarter_else_and_never_very_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thorough, "IS_THOROUGH", False)
    assert [thorough.count_examples(many) for many in (400, 60, 20, 5)] == [100, 15, 10, 5]
