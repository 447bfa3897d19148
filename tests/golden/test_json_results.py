from datetime import UTC, datetime

from feedmill.model.results import ResultPage, Snippet
from feedmill.wire.results.json import render_page
from tests.builders.results import make_result

EMPTY = (
    '{"query":"q\\"","total":0,"exact":true,"results":[],"facets":[],"spelling":null,"keymatches":[],"related":[],'
    '"next_cursor":null,"warnings":["w"]}'
)
FULL = (
    '{"query":"käse","total":1200,"exact":false,"results":[{"url":"http://a/1","display_url":"http://b/1","title":null,'
    '"snippet":"Käse & <b>","snippet_marks":[[0,4]],"score":1.25,"date":"2026-01-02T03:04:05Z","mimetype":"text/html","language":"de",'
    '"metadata":{"Topic":["x","z"],"topic":["y"]}}],"facets":[],"spelling":null,"keymatches":[],"related":[],"next_cursor":null,"warnings":[]}'
)


def test_render_page_nothing_found() -> None:
    page = ResultPage(query='q"', start=0, total=0, is_exact=True, results=(), warnings=("w",), seconds=0.1)
    assert render_page(page).decode() == EMPTY


def test_render_page_every_member() -> None:
    result = make_result(
        "http://a/1",
        display_url="http://b/1",
        snippet=Snippet(text="Käse & <b>", marks=((0, 4),)),
        score=1.25,
        date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        mimetype="text/html",
        language="de",
        metadata=(("Topic", "x"), ("topic", "y"), ("Topic", "z")),
    )
    page = ResultPage(query="käse", start=0, total=1200, is_exact=False, results=(result,), warnings=(), seconds=0.1)
    assert render_page(page, shows_scores=True).decode() == FULL


def test_render_page_for_users_who_are_no_administrators_shows_no_scores() -> None:
    result = make_result("http://a/1", score=1.25, parts=(("words", 1.25),))
    page = ResultPage(query="x", start=0, total=1, is_exact=True, results=(result,), warnings=(), seconds=0.1)
    assert '"score":null' in render_page(page).decode()
    assert "1.25" not in render_page(page).decode()


def test_render_page_lone_surrogate_is_still_json() -> None:
    page = ResultPage(query="\ud800", start=0, total=0, is_exact=True, results=(), warnings=(), seconds=0.0)
    assert b'"query":"?"' in render_page(page)
