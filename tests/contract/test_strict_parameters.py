"""The JSON resources refuse what they do not know, and say so as RFC 9457 has it; the protocols of the appliance stay lenient."""

from collections.abc import Iterator

import pytest

from feedmill.http.search.app import search_app
from tests.contract.searchharness import SearchHarness, ask, open_harness

REFUSED = {
    "nun=5": "'nun' is unknown; the parameters of this resource are: q, start, num,",
    "num=ten": "num is 'ten'; give a whole number from 0 to 1000",
    "num=1001": "num is '1001'; give a whole number from 0 to 1000",
    "num=-1": "num is '-1'",
    "num=%D9%A3": r"num is '\u0663'",
    "start=100001": "start is '100001'; give a whole number from 0 to 100000",
    "num=1&num=2": "num is given 2 times; give it once",
    "match=some": "match is 'some'; give one of: auto, all, any",
    "as_occt=body": "as_occt is 'body'; give one of: any, title, url",
    "sort=newest": "sort is 'newest'; it is `date:D:S:d1`",
    "sort=meta:": "sort is 'meta:'",
    "sort=meta:size:Z": "sort is 'meta:size:Z'",
    "sort=meta:size:A:X": "sort is 'meta:size:A:X'",
    "lr=lang_english1": "lr is 'lang_english1'; give languages such as lang_fr or -lang_zh-TW, joined by | or .",
    "lr=lang_de%7C%3F": "lr is 'lang_de|?'",
    "site=(": "site is '('; give names of collections, joined by | or .",
    "site=a%7C": "site is 'a|'",
    "lr=(lang_de": "lr is '(lang_de'",
    "client=nosuch": "client is 'nosuch', which is no front end of the settings",
    "requiredfields=(department:sales": "requiredfields is '(department:sales'; give NAME, NAME:VALUE or NAME?WORDS",
    "requiredfields=a)": "requiredfields is 'a)'",
    "requiredfields=a.": "requiredfields is 'a.'",
    "requiredfields=a%7C%7Cb": "requiredfields is 'a||b'",
    "requiredfields=()": "requiredfields is '()'",
    "requiredfields=(a)(b)": "requiredfields is '(a)(b)'",
    "requiredfields=-.a": "requiredfields is '-.a'",
    "requiredfields=:x": "requiredfields is ':x'",
    "requiredfields=" + "(" * 21 + "a" + ")" * 21: "requiredfields is '((((",
    "requiredfields=" + ".".join(["a"] * 201): "requiredfields is 'a.a.",
    "partialfields=((a:b)": "partialfields is '((a:b)'; give NAME or NAME:WORDS",
    "dnavs=inmeta:a%3Db+word": "dnavs is 'inmeta:a=b word'; give restrictions such as inmeta:NAME=VALUE",
    "getfields=" + "a." * 200: "getfields is 'a.a.",
    "cursor=*&start=5": "cursor lists by number; leave out start",
    "cursor=*&sort=date:D:S:d1": "cursor lists by number; leave out sort",
    "explain=yes": "explain is 'yes'; give one of: 0, 1",
    "%3Cscript%3E=1": "'<script>' is unknown",
    "q=caf%E9": "'q' is not UTF-8; percent-encode the bytes of its UTF-8 form",
    "q=x&%FF=1": r"'\ufffd' is not UTF-8",
}
TAKEN = ["", "q=", "num=0", "num=1000", "match=ALL", "facet=a&facet=b", "sort=date:D:S:d1", "sort=meta:size:D", "as_dt=i", "num=&start="]
TAKEN += [
    "sort=meta:size",
    "sort=meta:size::ED:en:W:M",
    "lr=lang_fr%7C-lang_zh-TW",
    "lr=(fr).de",
    "site=a.-(b%7Cc)",
    "site=%20",
    "cursor=*&start=0&sort=",
    "client=default_frontend",
    "requiredfields=-(a:b%7Cc).-d.e%3Fx y*",
    "partialfields=((a:b).c)",
    "dnavs=inmeta:a%3Db inmeta:c",
    "as_dt=E&as_ft=I&as_occt=URL",
]


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path_factory.mktemp("strict"))
    yield made
    made.store.close()


@pytest.mark.parametrize("query", REFUSED)
def test_search_refuses_and_names_the_parameter(harness: SearchHarness, query: str) -> None:
    answer = ask(search_app(harness.services()), "/api/v1/search", query)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert REFUSED[query] in problem.pop("detail")
    assert problem == {"type": "/manual/reference/errors.html#bad_request", "title": "Bad request", "status": 400, "code": "bad_request"}


@pytest.mark.parametrize("query", TAKEN)
def test_search_takes_what_it_declares(harness: SearchHarness, query: str) -> None:
    assert ask(search_app(harness.services()), "/api/v1/search", query).status == 200


@pytest.mark.parametrize("query", REFUSED)
def test_protocol_of_the_appliance_stays_lenient(harness: SearchHarness, query: str) -> None:
    assert ask(search_app(harness.services()), "/search", f"{query}&q=x&output=xml").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/suggest?num=51",
        "/api/v1/suggest?site=(",
        "/api/v1/suggest?client=nosuch",
        "/api/v1/documents?url=http://a/&user=ann",
        "/api/v1/openapi.json?v=1",
    ],
)
def test_other_resources_refuse_too(harness: SearchHarness, path: str) -> None:
    name, _, query = path.partition("?")
    assert ask(search_app(harness.services()), name, query).status == 400
