"""The tables of the access manual are those of the program."""

import re
from pathlib import Path

import pytest

from feedmill.core.evaluator import MAX_CHAIN, combine
from feedmill.core.groupresolution import MAX_GROUPS
from feedmill.core.principals import split_name
from feedmill.model.access import InheritanceType
from feedmill.model.decision import Verdict

TEXT = (Path(__file__).parents[2] / "docs/explanation/access.md").read_text()
ORDER = (Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE)


def rows(heading: str) -> list[list[str]]:
    """Gives the cells of the table below a heading, without its head."""
    below = TEXT.partition(f"{heading}\n")[2]
    lines = re.findall(r"^\|(.*)\|$", re.split(r"^#", below, maxsplit=1, flags=re.MULTILINE)[0], re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


@pytest.mark.parametrize("rule", [InheritanceType.CHILD_OVERRIDES, InheritanceType.PARENT_OVERRIDES, InheritanceType.AND_BOTH_PERMIT])
def test_manual_table_of_an_inheritance_type_is_that_of_the_program(rule: InheritanceType) -> None:
    expected = [[child.value, *(combine(rule, parent=parent, child=child).value for parent in ORDER)] for child in ORDER]
    assert rows(f"### {rule.value}") == expected


def test_manual_names_are_split_as_it_says() -> None:
    told = rows("## Whom an entry means")
    assert len(told) == 7
    for written, name, domain in told:
        for text in re.findall(r"`([^`]+)`", written):
            if "unqualified" not in written:
                assert split_name(text) == (name.strip("`"), "" if domain == "none" else domain.strip("`"))


def test_manual_bounds_are_those_of_the_program() -> None:
    assert f"more than {MAX_CHAIN} ACLs" in TEXT
    assert f"more than {MAX_GROUPS:,} groups" in TEXT
