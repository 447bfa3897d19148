"""The table of provenances in the manual says what the lifecycle does."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedmill.core.documents.lifecycle import apply
from feedmill.core.documents.urlstate import ApplyContext, UrlState
from feedmill.model.change import Change, Delete, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.document import Attributes, BlobRef, Origin
from feedmill.model.provenance import Provenance, from_feed, from_fetch, from_run
from tests.builders.changes import OPEN, make_content

PAGE = Path(__file__).parents[2] / "docs/explanation/ownership.md"
URL, PLACE = "http://docs.test/a", SourcePosition(record=1)
NOTHING = UrlState(url=URL)

DELETE = Delete(place=PLACE, url=URL)
CRAWL = RequestCrawl(place=PLACE, url=URL, attributes=Attributes())

ROWS: dict[str, list[tuple[Provenance, str]]] = {
    "a feed, content": [(from_feed(2, "own"), "put")],
    "a run of a pull source, content": [(from_run("own"), "put")],
    "a fetch of the crawler, content": [(from_fetch("own"), "put")],
    "a feed or a run, delete": [(from_feed(2, "own"), "delete"), (from_run("own"), "delete")],
    "a fetch, the page is gone": [(from_fetch("own"), "delete")],
}
"""The changes that a row of the table is about."""


def put() -> PutDocument:
    return PutDocument(place=PLACE, url=URL, attributes=Attributes(), content=make_content("x"))


def do(state: UrlState, change: Change, provenance: Provenance) -> UrlState:
    context = ApplyContext(provenance=provenance, now=datetime(2026, 3, 1, tzinfo=UTC), rules=OPEN)
    return apply(change, state, context, BlobRef(provenance.kind.value) if isinstance(change, PutDocument) else None).state


COLUMNS: dict[str, list[UrlState]] = {
    "nothing": [NOTHING],
    "owned by this source": [do(NOTHING, put(), from_feed(1, "own")), do(NOTHING, put(), from_run("own"))],
    "owned by another content source or run": [do(NOTHING, put(), from_feed(1, "other")), do(NOTHING, put(), from_run("other"))],
    "named by a web feed only": [do(NOTHING, CRAWL, from_feed(1, "web"))],
}
"""What the URL has before the change, by the head of a column."""


def describe(before: UrlState, after: UrlState) -> set[str]:
    """Returns the texts of cells that are true of a change."""
    old, new = before.live, after.live
    if new is None:
        return {"nothing, a notice"} if old is None else {"deleted"}
    if new == old:
        return {"nothing, a notice"}
    if old is None:
        return {"a document of this source"} if new.origin is Origin.CONTENT else {"a document of the crawler's source"}
    if new.datasource == old.datasource:
        return {"updated"} if old.origin is Origin.CONTENT else {"content updated, the owner stays"}
    return {"updated, and taken over"} if old.origin is Origin.CONTENT else {"taken over whole"}


def list_cells() -> list[tuple[str, str, str]]:
    """Returns row, column and text of each cell."""
    section = PAGE.read_text().partition("## Who brings a document\n")[2].partition("\n## ")[0]
    table = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in section.splitlines() if line.startswith("|")]
    head, _, *rows = table
    return [(row[0], column, cell) for row in rows for column, cell in zip(head[1:], row[1:], strict=True)]


def test_table_has_every_row_and_column() -> None:
    assert {(row, column) for row, column, _ in list_cells()} == {(row, column) for row in ROWS for column in COLUMNS}


@pytest.mark.parametrize(("row", "column", "cell"), list_cells())
def test_cell_says_what_the_change_does(row: str, column: str, cell: str) -> None:
    for provenance, action in ROWS[row]:
        for before in COLUMNS[column]:
            after = do(before, put() if action == "put" else DELETE, provenance)
            assert cell in describe(before, after), (provenance, before)
