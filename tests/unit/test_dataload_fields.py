from datetime import UTC, datetime, timedelta, timezone

import pytest

from feedmill.model.dataload import AdditionalField, FieldType
from feedmill.wire.dataload.fields import is_number, read_field
from feedmill.wire.tokens import Unreadable


def read(kind: FieldType, text: str, hours: int = 0) -> str:
    def read_local(moment: datetime) -> datetime:
        return moment.replace(tzinfo=timezone(timedelta(hours=hours))).astimezone(UTC)

    (value,) = read_field(AdditionalField(name="f", type=kind), text, read_local)
    return value


@pytest.mark.parametrize(
    ("text", "stored"),
    [("19.90", "19.90"), ("1e3", "1000"), ("1e-7", "0.0000001"), ("-1.5E2", "-150"), ("1e100", "1" + 100 * "0"), ("1e-999", "0")],
)
def test_number_is_stored_without_its_power(text: str, stored: str) -> None:
    assert read(FieldType.NUMBER, text) == stored


@pytest.mark.parametrize("text", ["1e309", "-1e999", 400 * "9", "1e1000", "1e", "nan"])
def test_number_beyond_a_double_is_none(text: str) -> None:
    assert not is_number(text)
    with pytest.raises(Unreadable):
        read(FieldType.NUMBER, text)


@pytest.mark.parametrize(
    ("text", "hours", "stored"),
    [
        ("20220101", 0, "2022-01-01"),
        ("2022-01-01", 0, "2022-01-01"),
        ("2022-01-01", 2, "2021-12-31 22:00:00"),
        ("20220101T030405", 0, "2022-01-01 03:04:05"),
        ("2022-01-01 03:04:05", 0, "2022-01-01 03:04:05"),
        ("2022-01-01T03:04:05.5+02:00", 0, "2022-01-01 01:04:05"),
        ("0987-01-01 03:04", 0, "0987-01-01 03:04:00"),
        ("25 Oct 2005 11:21:07 GMT", 5, "2005-10-25 11:21:07"),
    ],
)
def test_date_is_stored_in_one_form(text: str, hours: int, stored: str) -> None:
    assert read(FieldType.DATE, text, hours) == stored
