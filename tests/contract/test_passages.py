"""``POST /api/v1/retrieve``: passages of what the user may see, with their places in the texts that ``fetch`` returns."""

import json
from pathlib import Path
from typing import Any

import pytest

from feedmill.core.access.principals import read_identity
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.passages import MAX_BODY_BYTES, MAX_NUM
from feedmill.model.access import AccessFilter
from feedmill.model.document import Attributes
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from feedmill.services.deadline import Deadline
from tests.asgi import Answer
from tests.builders.access import ANN, FOR_ANN
from tests.contract.searchharness import SearchHarness, ask, open_harness
from tests.contract.signinharness import ADMIN_TOKEN, open_signin_harness

PATH = "/api/v1/retrieve"
FILLER = "Other words that say nothing. " * 25
NO_NUM = ("0", "-1", "1.0", "true", "null", '"1"', "1e400", MAX_NUM + 1)
BOB = read_identity("bob", "Default", ["staff"])


def ask_as(harness: SearchHarness, who: Identity, **body: Any) -> list[dict[str, Any]]:
    services = harness.services()

    def identify(_request: object) -> AccessFilter:
        return services.filters.find_filter(who)

    answer = ask(search_app(services, SearchSite(identify=identify)), PATH, "", "POST", json.dumps(body))
    assert answer.status == 200, answer.text
    passages: list[dict[str, Any]] = answer.json["passages"]
    return passages


def fetch(harness: SearchHarness, url: str, who: Identity) -> str:
    services = harness.services()
    return services.retrieval.fetch(url, services.filters.find_filter(who), Deadline()).text


def send(tmp_path: Path, body: bytes | str, query: str = "") -> Answer:
    harness = open_harness(tmp_path)
    answer = ask(search_app(harness.services()), PATH, query, "POST", body if isinstance(body, str) else body.decode("latin-1"))
    harness.store.close()
    return answer


def test_passages_stand_where_they_say_in_the_text_that_fetch_returns(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    texts = {
        "astral": f"𐀀𐀁 {FILLER}\n\n😀 The travel of 𐀂 is paid. {FILLER}",
        "hebrew": f"שלום עולם. {FILLER}\n\nנסיעה travel ושלום. {FILLER}",
        "chinese": f"{'其他文字。' * 300}travel 旅行费用由公司支付。{'其他文字。' * 300}",
    }
    harness.add([harness.make(f"http://a.com/{name}", text, title=name, navigation="Home travel") for name, text in texts.items()])
    passages = ask_as(harness, ANONYMOUS_IDENTITY, query="travel", num=20)
    assert {passage["url"] for passage in passages} == {f"http://a.com/{name}" for name in texts}
    for passage in passages:
        assert fetch(harness, passage["url"], ANONYMOUS_IDENTITY)[passage["start"] : passage["end"]] == passage["text"]
    best = {passage["title"]: passage["text"] for passage in reversed(passages)}
    assert "😀 The travel of 𐀂 is paid." in best["astral"]
    assert "旅行费用" in best["chinese"]


def test_passages_are_of_documents_that_the_user_may_see(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    documents = [harness.make("http://a.com/open", "The merger is public."), harness.make("http://a.com/hers", "The merger is secret.")]
    harness.add(documents, acls={"http://a.com/hers": FOR_ANN})
    assert {passage["url"] for passage in ask_as(harness, ANN, query="merger")} == {"http://a.com/open", "http://a.com/hers"}
    for who in (ANONYMOUS_IDENTITY, BOB):
        assert {passage["url"] for passage in ask_as(harness, who, query="merger")} == {"http://a.com/open"}
        assert ask_as(harness, who, query="secret") == []


def test_document_that_became_hidden_after_it_was_indexed_is_left_out(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make("http://a.com/1", "The merger.")])
    harness.add([harness.make("http://a.com/1", "The merger.")], into_index=False, acls={"http://a.com/1": FOR_ANN})
    assert ask_as(harness, BOB, query="merger") == []


@pytest.mark.parametrize(("rule", "text"), [("noarchive", ""), ("nosnippet", "The merger.")])
def test_robots_rules_of_a_document_hold_for_passages(tmp_path: Path, rule: str, text: str) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make("http://a.com/1", "The merger.", robots=(rule,))])
    assert ask_as(harness, BOB, query="merger") == []
    assert fetch(harness, "http://a.com/1", BOB) == text


def test_num_and_site_bound_the_passages_and_titles_and_urls_are_shown(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    shown = Attributes(display_url="http://show.com/1")
    text = "\n\n".join(f"Merger {number}. {FILLER}" for number in range(9))
    harness.add([harness.make("http://a.com/1", text, attributes=shown), harness.make("http://a.com/2", text, title="Two")])
    assert len(ask_as(harness, BOB, query="merger", num=3)) == 3
    named = {(passage["url"], passage["display_url"], passage["title"]) for passage in ask_as(harness, BOB, query="merger")}
    assert named == {("http://a.com/1", "http://show.com/1", "1"), ("http://a.com/2", "http://a.com/2", "Two")}
    assert ask_as(harness, BOB, query="merger", site="nowhere") == []


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "larger"),
        ("[" * 60_000, "no JSON"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ("{}", "member query is missing"),
        ('{"query": " "}', "member query is missing"),
        ('{"query": null}', "member query is no text"),
        ('{"query": ["x"]}', "member query is no text"),
        ('{"query": "\\ud800"}', "member query holds half"),
        ('{"query": "x", "site": 1}', "member site is no text"),
        ('{"query": "x", "nmu": 1}', "member 'nmu' is unknown"),
        ('{"query": "x", "query": "y"}', "member 'query' is given twice"),
        *(
            (f'{{"query": "x", "num": {value}}}', "member num is ")
            for value in ("0", "-1", "1.0", "true", "null", '"1"', "1e400", MAX_NUM + 1)
        ),
        (json.dumps({"query": "x" * 10_001}), "member query is longer"),
    ],
)
def test_body_that_means_nothing_is_a_problem_that_names_the_member(tmp_path: Path, body: str, named: str) -> None:
    answer = send(tmp_path, body)
    assert answer.status == (413 if len(body) > MAX_BODY_BYTES else 400)
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json["detail"]


def test_bytes_that_are_no_text_are_no_json(tmp_path: Path) -> None:
    assert "no JSON" in send(tmp_path, b'{"query": "\xff"}'.decode("latin-1") + "\x00").json["detail"]


def test_scores_are_for_administrators_and_each_request_is_audited(tmp_path: Path) -> None:
    harness = open_signin_harness(tmp_path)
    harness.search.add([harness.search.make("http://a.com/1", "The merger is public.")])
    app = search_app(harness.search.services(), SearchSite(signin=harness.site, auditing=harness.signing.auditing))
    body = json.dumps({"query": "merger secretword"})
    [found] = ask(app, PATH, "", "POST", body, authorization=f"Bearer {ADMIN_TOKEN}").json["passages"]
    assert found["score"] > 0
    [found] = ask(app, PATH, "", "POST", body).json["passages"]
    assert found["score"] is None
    assert found["coverage"] == 0.5
    assert ask(app, PATH, "", "POST", body, authorization="Bearer wrong").status == 401
    assert ask(app, PATH, "", "POST", body, origin="https://evil.example.org").status == 403
    events = [entry.event for entry in harness.signing.auditing.iter_entries(kind="assistant.")]
    assert [(event.actor, dict(event.details)) for event in events] == [
        (actor, {"passages": 1, "urls": ["http://a.com/1"]}) for actor in ("admin.token", "")
    ]


def test_texts_are_read_once_for_passages_and_never_for_a_list_of_documents(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(f"http://a.com/{number}", f"The merger {number}.", title="Merger") for number in range(12)])
    read: list[bytes] = []
    whole = harness.blobs.read
    harness.blobs.read = lambda ref: read.append(found := whole(ref)) or found  # type: ignore[func-returns-value,method-assign]
    retrieval, anyone = harness.services().retrieval, harness.services().filters.find_filter(ANONYMOUS_IDENTITY)
    assert len(retrieval.search("merger", anyone, Deadline()).results) == 12
    assert read == []
    assert len(retrieval.retrieve("merger", 20, "", anyone, Deadline()).passages) == 12
    assert len(read) == len(set(read)) == 12


def test_text_that_cannot_be_read_costs_only_its_passages(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(f"http://a.com/{number}", f"The merger {number}.") for number in range(3)])
    read = harness.blobs.read
    harness.blobs.read = lambda ref: b"no line end" if b"merger 1" in read(ref) else read(ref)  # type: ignore[method-assign]
    assert sorted(passage["url"] for passage in ask_as(harness, BOB, query="merger")) == ["http://a.com/0", "http://a.com/2"]
