"""The table of provenances in the manual says what the lifecycle does."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill.core.documents.lifecycle import apply
from feedmill.core.documents.urlstate import ApplyContext, UrlState
from feedmill.model.access import Acl
from feedmill.model.change import AclChange, Change, Delete, PutAcl, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.document import Attributes, BlobRef, Metadata, Origin
from feedmill.model.provenance import Provenance, from_feed, from_fetch, from_run
from tests.builders.access import acl, permit
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


def list_cells(heading: str = "Who brings a document") -> list[tuple[str, str, str]]:
    """Returns row, column and text of each cell."""
    section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
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


# --- which ACL a crawled document has -------------------------------------------------------------------------------------------

CRAWLED_ACLS = "Which ACL a crawled document has"
OLD, NEW = acl(permit("old")), acl(permit("new"))
NAMING, OTHER = from_feed(1, "naming"), from_feed(3, "other")
FETCH = from_fetch("crawler")
METADATA = (("k", "v"),)


def fetch(metadata: Metadata | None = None, **given: Any) -> PutDocument:
    """Returns what the crawler makes of a response."""
    content = make_content("x")
    change = AclChange(**given)
    return PutDocument(
        place=PLACE, url=URL, attributes=Attributes(), content=content, metadata=metadata, acl=change, whole=metadata is not None
    )


def name(metadata: Metadata | None = None, **given: Any) -> RequestCrawl:
    return RequestCrawl(place=PLACE, url=URL, attributes=Attributes(), metadata=metadata, acl=AclChange(**given))


def put_acl(acl: Acl | None) -> PutAcl:
    return PutAcl(place=SourcePosition(record=0), url=URL, acl=acl)


WITH_ACL: dict[str, list[tuple[Change, Provenance]]] = {
    "no ACL": [],
    "from a fetch": [(fetch(element=OLD, overwrite=True), FETCH)],
    "as `<acl>` of the naming source": [(put_acl(OLD), NAMING)],
    "as `google:acl*` metadata of the naming source": [(name(METADATA, legacy=OLD), NAMING)],
    "as `<acl>` of another source": [(put_acl(OLD), OTHER)],
}
"""What brought the ACL that a URL has, which the naming source named and the crawler fetched."""

COMES: dict[str, list[tuple[Change, Provenance]]] = {
    "a fetch with `acl=` and a value, or with `google:acl*` in `X-Gsa-External-Metadata`": [
        (fetch(element=NEW, overwrite=True), FETCH),
        (fetch(METADATA, element=NEW), FETCH),
    ],
    "a fetch with `acl=` without a value": [(fetch(overwrite=True), FETCH), (fetch(METADATA, overwrite=True), FETCH)],
    "a fetch without these, or an unchanged document (304)": [(fetch(), FETCH)],
    "a fetch with `X-Gsa-External-Metadata` without an ACL": [(fetch(METADATA), FETCH), (fetch(()), FETCH)],
    "a fetch, the page is gone": [(DELETE, FETCH)],
    "a web or metadata-and-url record with an ACL": [
        (name(element=NEW), NAMING),
        (name(METADATA, legacy=NEW), NAMING),
        (name(element=NEW), OTHER),
    ],
    "such a record with metadata and without an ACL": [(name(METADATA), NAMING)],
    'such a record with metadata and `overwrite-acls="true"`': [(name(METADATA, overwrite=True), NAMING)],
    "such a record without metadata and ACL": [(name(), NAMING)],
    "an `<acl>` of its own, from any source": [(put_acl(NEW), NAMING), (put_acl(NEW), OTHER)],
    "an `<acl>` that is deleted, from the naming source": [(put_acl(None), NAMING)],
    "an `<acl>` that is deleted, from another source": [(put_acl(None), OTHER)],
}


def test_table_of_crawled_acls_has_every_row_and_column() -> None:
    assert {(row, column) for row, column, _ in list_cells(CRAWLED_ACLS)} == {(row, column) for row in COMES for column in WITH_ACL}


@pytest.mark.parametrize(("row", "column", "cell"), list_cells(CRAWLED_ACLS))
def test_cell_says_which_acl_a_crawled_document_has(row: str, column: str, cell: str) -> None:
    state = do(do(NOTHING, name(), NAMING), fetch(), FETCH)
    for change, provenance in WITH_ACL[column]:
        state = do(state, change, provenance)
    for change, provenance in COMES[row]:
        after = do(state, change, provenance).acl
        expected = {"the new": NEW, "none": None, "unchanged": None if state.acl is None else OLD}[cell]
        assert (None if after is None else after.acl) == expected, (change, provenance)
