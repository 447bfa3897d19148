"""The order of values that are all numbers, sizes, versions or dates."""

import pytest

from feedmill.core.ranking.facets import order_values
from feedmill.core.text.valueorder import find_places
from feedmill.model.facets import Facet


def sort(*values: str) -> list[str] | None:
    places = find_places(values)
    return None if places is None else [value for _, value in sorted(zip(places, values, strict=True))]


@pytest.mark.parametrize(
    "ordered",
    [
        ("-4", "2", "10", "100"),
        ("9.5", "10", "1,000"),
        ("$5", "$10.50", "$100"),
        ("9 kg", "10 kg"),
        ("5 %", "10 %"),
        ("512 bytes", "1.5 KiB", "2 KB", "10 kB", "3 MB", "1 GB"),
        ("1.2", "1.2.3", "1.10.0", "v2.0-rc1", "2.0"),
        ("31 Dec 2024", "2025-01-02", "2025-02-01"),
        ("31.12.2024", "01.02.2025"),
    ],
)
def test_values_of_one_kind_are_in_the_order_of_their_kind(ordered: tuple[str, ...]) -> None:
    assert sort(*reversed(ordered)) == list(ordered)


@pytest.mark.parametrize("values", [(), ("10",), ("10", "many"), ("9 kg", "10 lb"), ("1.2", "next"), ("red", "green"), ("", "1")])
def test_values_of_no_kind_have_no_order(values: tuple[str, ...]) -> None:
    assert find_places(values) is None


def test_equally_frequent_values_of_one_kind_are_in_its_order() -> None:
    def sort_values(*values: str) -> list[str | None]:
        return [value.value for value in order_values(Facet(name="size"), {text: (text, 1) for text in values})]

    assert sort_values("10 KB", "9 KB", "1 MB", "512 B") == ["512 B", "9 KB", "10 KB", "1 MB"]
    assert sort_values("1.10.0", "1.9.2", "1.9") == ["1.9", "1.9.2", "1.10.0"]
    assert sort_values("3 Mar 2024", "2024-02-10", "1 April 2024") == ["2024-02-10", "3 Mar 2024", "1 April 2024"]
