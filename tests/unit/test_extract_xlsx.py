"""The numbers of workbooks, as their formats show them."""

import pytest

from feedmill.adapters.extract.extract import extract
from feedmill.model.extraction import ExtractionLimits, Task
from tests.officefiles import make_xlsx


def show(value: str, code: str = "", number: int = 164, properties: str = "", kind: str = "n") -> str:
    formats = f'<numFmts><numFmt numFmtId="164" formatCode="{code}"/></numFmts>' if code else ""
    styles = f'{formats}<cellXfs><xf numFmtId="0"/><xf numFmtId="{number}"/></cellXfs>'
    data = make_xlsx(f'<row><c s="1" t="{kind}"><v>{value}</v></c></row>', styles=styles, properties=properties, sheet="S")
    return extract(Task(key=1, url="http://h/a.xlsx", mimetype=None, data=data), ExtractionLimits()).text.removeprefix("S\n")


@pytest.mark.parametrize(
    ("value", "number", "shown"),
    [
        ("45000", 14, "2023-03-15"),
        ("45000.75", 22, "2023-03-15 18:00"),
        ("1", 14, "1900-01-01"),
        ("61", 14, "1900-03-01"),
        ("0.75", 20, "18:00"),
        ("0.75001", 21, "18:00:01"),
        ("1.5", 46, "36:00:00"),
        ("0.125", 9, "12%"),
        ("0.125", 10, "12.50%"),
        ("1234.5", 4, "1234.5"),
        ("42.5", 0, "42.5"),
        ("0.30000000000000004", 0, "0.3"),
        ("12345678901234567", 0, "12345678901234567"),
        ("1.2345678901234567E-10", 0, "1.23456789012346E-10"),
        ("9" * 500 + ".5", 0, "9" * 500 + ".5"),
        ("-1", 14, "-1"),
        ("1e300", 14, "1e300"),
        ("nan", 9, "nan"),
        ("text", 14, "text"),
    ],
)
def test_number_is_shown_by_its_built_in_format(value: str, number: int, shown: str) -> None:
    assert show(value, number=number) == shown


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("dd/mm/yyyy", "45000", "2023-03-15"),
        ("mmm", "45000", "2023-03-15"),
        ("[$-407]d. mmmm yyyy;@", "45000", "2023-03-15"),
        ("yyyy\\-mm\\-dd hh:mm", "45000.5", "2023-03-15 12:00"),
        ("h:mm AM/PM", "0.75", "18:00"),
        ("[h]:mm", "1.25", "30:00"),
        ("mm:ss", "0.001", "0:01:26"),
        ("0.0%", "0.125", "12.5%"),
        ("0.00&quot; days&quot;", "45000", "45000"),
        ("[Red]#,##0", "45000", "45000"),
        ("0.00E+00", "45000", "45000"),
        ("General", "45000", "45000"),
        ("@", "45000", "45000"),
    ],
)
def test_number_is_shown_by_the_code_of_its_format(code: str, value: str, shown: str) -> None:
    assert show(value, code) == shown


def test_days_count_from_1904_where_the_workbook_says_so() -> None:
    assert show("43538", number=14, properties='<workbookPr date1904="1"/>') == "2023-03-15"


def test_truth_values_and_dates_as_texts_are_shown_as_in_cells() -> None:
    assert [show(value, kind="b") for value in "01"] == ["FALSE", "TRUE"]
    assert show("2023-03-15", kind="d") == "2023-03-15"


def test_style_that_is_not_there_changes_nothing() -> None:
    data = make_xlsx('<row><c s="99"><v>45000</v></c><c s="x"><v>7</v></c></row>', sheet="S")
    assert extract(Task(key=1, url="http://h/a.xlsx", mimetype=None, data=data), ExtractionLimits()).text == "S\n45000 7"
