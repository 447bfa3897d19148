"""What a browser loads for the first page: how much, once, and never from elsewhere."""

import re
from pathlib import Path

import brotli

from feedmill.http.pages.rendering import STATIC, find_asset
from feedmill.http.search.app import search_app
from tests.contract.searchharness import ask, open_harness

MAX_FIRST_LOAD_BYTES = 13_500


def test_first_page_is_small_and_its_files_are_kept(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services())
    page = ask(app, "/", accept_encoding="br")
    loaded = len(page.body)
    addresses = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', brotli.decompress(page.body).decode()))
    assert {address.partition("?")[0] for address in addresses} >= {"/static/search.css", "/static/search.js", "/static/icon.svg"}
    for address in addresses:
        path, _, query = address.partition("?")
        answer = ask(app, path, query, accept_encoding="br")
        assert answer.status == 200
        assert answer.headers["cache-control"] == "public, max-age=2592000, immutable"
        assert "Accept-Encoding" in answer.headers["vary"]
        loaded += len(answer.body)
    assert loaded < MAX_FIRST_LOAD_BYTES
    harness.store.close()


def test_scripts_and_stylesheets_come_without_their_comments(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services())
    for path in STATIC.iterdir():
        answer = ask(app, f"/static/{path.name}")
        assert answer.headers["content-length"] == str(len(answer.body))
        assert not re.search(r"^ *//|/\*", answer.text, re.MULTILINE)
        assert ask(app, f"/static/{path.name}", if_none_match=answer.headers["etag"]).status == 304
    harness.store.close()


def test_address_of_each_file_holds_its_digest() -> None:
    addresses = {find_asset(path.name) for path in STATIC.iterdir()}
    assert all(re.fullmatch(r"/static/[a-z]+\.[a-z]+\?v=[0-9a-f]{12}", address) for address in addresses)
    assert len({address.partition("=")[2] for address in addresses}) == len(addresses)


def test_templates_name_no_file_without_its_digest() -> None:
    templates = "".join(path.read_text() for path in (STATIC.parent / "templates").glob("*.html"))
    assert '"/static/' not in templates
