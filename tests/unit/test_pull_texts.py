"""What the commands print of pull sources and their runs."""

import pytest

from feedmill.cli.pulling import describe_run

RUN = {"id": 7, "mode": "full", "state": "completed", "dry_run": False, "held": 0}
COUNTS = {"added": 12, "changed": 3, "deleted": 1, "unchanged": 5, "errors": 2}


@pytest.mark.parametrize(
    ("differences", "text"),
    [
        ({}, "run 7, full, completed: 12 added, 3 changed, 1 deleted, 5 unchanged, 2 errors"),
        ({"dry_run": True}, "dry run 7, full, completed: would add 12, change 3, delete 1, 5 unchanged, 2 errors"),
        ({"state": "held", "held": 9}, "run 7, full, held: 12 added, 3 changed, 1 deleted, 5 unchanged, 2 errors, 9 held"),
        ({"mode": None, "state": "requested"}, "run 7, requested: 12 added, 3 changed, 1 deleted, 5 unchanged, 2 errors"),
    ],
)
def test_run_is_described_in_a_line(differences: dict[str, object], text: str) -> None:
    assert describe_run({**RUN, **COUNTS, **differences}) == text
