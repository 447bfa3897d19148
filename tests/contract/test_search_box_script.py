"""The script of the search box: small, at an address that stays, and loadable by pages of every site."""

from pathlib import Path

from feedmill.http.search.app import search_app
from tests.asgi import ask_app
from tests.contract.searchharness import open_harness

MAX_BYTES = 20_000


def test_script_is_small_cacheable_and_open_to_other_sites(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services())
    answer = ask_app(app, "GET", "/search-box.js")
    assert answer.status == 200
    assert 0 < len(answer.body) < MAX_BYTES
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["cache-control"] == "public, max-age=3600"
    packed = ask_app(app, "GET", "/search-box.js", headers={"accept-encoding": "br"})
    assert packed.headers["content-encoding"] == "br"
    assert len(packed.body) < MAX_BYTES / 3
    for tag in (answer.headers["etag"], packed.headers["etag"], f'"x", {answer.headers["etag"]}'):
        again = ask_app(app, "GET", "/search-box.js", headers={"if-none-match": tag})
        assert (again.status, again.body) == (304, b"")
    harness.store.close()
