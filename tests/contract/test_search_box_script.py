"""The script of the search box: small, at an address that stays, and loadable by pages of every site."""

import re
from pathlib import Path

import pytest

from feedmill.http.pages.languages import list_tags
from feedmill.http.search.app import SearchSite, search_app
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


@pytest.mark.parametrize("tag", list_tags())
def test_texts_of_every_language_are_those_of_the_script(tmp_path: Path, tag: str) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services(), SearchSite(allow_origins=("https://www.example.com",)))
    answer = ask_app(app, "GET", "/search-box.json", query=f"lang={tag}", headers={"origin": "https://www.example.com"})
    assert answer.status == 200
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers["content-language"] == tag
    script = ask_app(app, "GET", "/search-box.js").text
    names = re.findall(r"(?<!\")\b(\w+): [\"{]", script[script.index("const TEXTS") : script.index("const read ")])
    assert set(names) - {"one", "other"} == set(answer.json)
    for name, text in answer.json.items():
        forms = text.values() if isinstance(text, dict) else [text]
        wanted = {
            "none": ["query"],
            "meant": ["query"],
            "about": ["first", "last"],
            "many": ["total"],
            "offered": ["count"],
            "without": ["words"],
        }.get(name, [])
        assert all(re.findall(r"\{(\w+)\}", form) == wanted and "%" not in form for form in forms), name
    assert answer.json["many"]["other"]
    again = ask_app(app, "GET", "/search-box.json", query=f"lang={tag}", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    harness.store.close()


@pytest.mark.parametrize(
    ("wanted", "tag"), [("", "en"), ("xx", "en"), ("zh-TW", "zh-Hant"), ("pt-BR", "pt"), ("%00", "en"), ("../de", "en")]
)
def test_texts_of_a_narrower_language_are_found_and_others_are_english(tmp_path: Path, wanted: str, tag: str) -> None:
    harness = open_harness(tmp_path)
    answer = ask_app(search_app(harness.services()), "GET", "/search-box.json", query=f"lang={wanted}")
    assert (answer.status, answer.headers["content-language"]) == (200, tag)
    harness.store.close()
