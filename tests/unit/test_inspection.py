"""Where a document stands."""

from dataclasses import replace

import pytest

from feedmill.model.document import BlobRef, Document, Origin, Text
from feedmill.ports import IndexTask, Lane, Stage
from feedmill.services.inspection import DocumentStatus, find_status
from tests.builders.documents import make_document

FED = make_document("http://example.com/", id=1, content=BlobRef("a"), content_bytes=1, text=Text(source=BlobRef("a")))
NAMED = replace(FED, origin=Origin.WEB, content=None, text=None)


def mark(stage: Stage) -> IndexTask:
    return IndexTask(document_id=1, version=1, stage=stage, lane=Lane.BULK, feed_id=1, datasource="hr")


@pytest.mark.parametrize(
    ("document", "waits", "state", "searchable"),
    [
        (FED, None, "indexed", True),
        (replace(FED, content=None, text=None), None, "indexed", True),
        (FED, Stage.EXTRACT, "waiting for extraction", False),
        (FED, Stage.INDEX, "waiting for the index", False),
        (replace(FED, text=None), None, "waiting for extraction", False),
        (replace(FED, text=Text(source=BlobRef("a"), robots=frozenset({"noindex"}))), None, "not indexed", False),
        (NAMED, None, "known, not crawled", False),
        (NAMED, Stage.INDEX, "known, not crawled", False),
        (replace(NAMED, content=BlobRef("a"), text=Text(source=BlobRef("a"))), None, "indexed", True),
    ],
)
def test_judge_document_returns_state_and_whether_it_is_found(
    document: Document, waits: Stage | None, state: str, searchable: bool
) -> None:
    status = find_status(document, mark(waits) if waits else None)
    assert (status.state, status.searchable) == (state, searchable)
    assert searchable is (status.reason is None)


def test_judge_document_that_is_only_written_again_is_found_meanwhile() -> None:
    assert find_status(FED, replace(mark(Stage.INDEX), is_refresh=True)).searchable


def test_judge_document_whose_text_was_cut_says_so() -> None:
    cut = replace(FED, text=Text(source=BlobRef("a"), reason="cut at 30 MB"))
    assert find_status(cut, None) == DocumentStatus(state="indexed", searchable=True, reason="cut at 30 MB")
