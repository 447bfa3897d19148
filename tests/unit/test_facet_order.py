"""The order in which a facet lists its values."""

from feedmill.core.ranking.facets import MAX_VALUES_SHOWN, merge_spellings, order_values
from feedmill.model.facets import Facet, FacetType


def list_values(counts: dict[str, int], kind: FacetType = FacetType.STRING) -> list[str | None]:
    return [value.value for value in order_values(Facet(name="x", type=kind), merge_spellings(counts.items()))]


def test_values_of_a_facet_without_a_type_come_by_frequency_and_numbers_among_equals_by_value() -> None:
    assert list_values({"b": 1, "a": 1, "c": 3}) == ["c", "a", "b"]
    assert list_values({"draft": 1, "10": 1, "9": 1, "none": 2}) == ["none", "9", "10", "draft"]


def test_values_of_a_facet_without_a_type_come_by_value_if_all_are_of_one_kind() -> None:
    assert list_values({"10": 1, "9": 1, "2": 2, "-1.5": 1}) == ["-1.5", "2", "9", "10"]
    assert list_values({"2023": 1, "2025": 9, "2024": 4}) == ["2023", "2024", "2025"]
    assert list_values({"10 MB": 7, "9 KB": 1}) == ["9 KB", "10 MB"]
    assert list_values({"1.10.0": 1, "1.9.0": 1, "2.0.0": 5}) == ["1.9.0", "1.10.0", "2.0.0"]


def test_most_frequent_numbers_are_listed_whatever_their_value() -> None:
    many = {str(number): 1 for number in range(MAX_VALUES_SHOWN)}
    assert list_values(many | {"9999": 5})[-1] == "9999"


def test_values_that_are_left_out_do_not_depend_on_the_order_of_numbers() -> None:
    many = {str(number): 1 for number in range(MAX_VALUES_SHOWN + 50)}
    assert sorted(map(str, list_values(many))) == sorted(many)[:MAX_VALUES_SHOWN]


def test_numbers_of_a_number_facet_come_by_value() -> None:
    assert list_values({"10": 5, "9": 1, "none": 9}, FacetType.INTEGER) == ["9", "10"]
