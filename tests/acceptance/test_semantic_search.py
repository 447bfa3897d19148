"""A running server finds documents by what they mean, with the embeddings of a server of models."""

import json
import os
import signal
import urllib.parse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record
from tests.embeddingserver import EmbeddingServer, embedding_server
from tests.waiting import wait_for, wait_until

SETTINGS = """
[signin.proxy]
trusted = ["127.0.0.0/8"]
[semantic]
url = "{url}"
model = "concepts"
key = "env:MODEL_KEY"
seconds = 20.0
"""
HOST = "http://docs.test"
FLEET = f"{HOST}/fleet"
SECRET = f"{HOST}/secret"


class Model:
    """The server of the model, which a test can end and start again at the same port."""

    def __init__(self) -> None:
        self.server = EmbeddingServer()
        self._running = ExitStack()

    def start(self) -> None:
        self._running.enter_context(embedding_server(self.server.port, self.server))

    def stop(self) -> None:
        self._running.close()

    def recover(self) -> None:
        """Makes it answer well and at once, whatever a test did to it."""
        self.stop()
        self.server.fault, self.server.seconds = "", 0.0
        self.start()


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    made = Model()
    made.start()
    yield made
    made.stop()


@contextmanager
def serving(model: Model, data: Path) -> Iterator[Appliance]:
    with running(data, SETTINGS.format(url=model.server.url), {"MODEL_KEY": "secretkey"}) as made:
        yield made


@pytest.fixture(scope="module")
def shared(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with serving(model, tmp_path_factory.mktemp("semantic") / "data") as made:
        yield made


@pytest.fixture
def server(shared: Appliance, model: Model) -> Iterator[Appliance]:
    """Returns a server without documents whose model works."""
    yield shared
    model.recover()
    shared.feed(make_feed(), feedtype="full")
    wait_for_embeddings(shared, 0)
    wait_until(lambda: queue_of(shared)["waiting"] == 0, "an empty queue")
    wait_until(lambda: ask(shared, "car")["warnings"] == [], "an answer with the model")


def page(text: str, title: str) -> bytes:
    return f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>".encode()


def feed(server: Appliance, *records: str) -> None:
    assert server.feed(make_feed(*records))["state"] == "completed"


def queue_of(server: Appliance) -> dict[str, Any]:
    return next(queue for queue in read_status(server)["queues"] if queue["name"] == "embed")


def read_status(server: Appliance) -> dict[str, Any]:
    token = (server.data / "admin.token").read_text().strip()
    code, _, body = server.request("GET", server.admin, "/api/v1/status", headers={"Authorization": f"Bearer {token}"})
    assert code == 200, body
    return dict(json.loads(body))


def wait_for_embeddings(server: Appliance, documents: int) -> None:
    wait_until(
        lambda: read_status(server)["semantic"]["embedded"] == documents, lambda: f"embeddings, and saw {read_status(server)['semantic']}"
    )


def ask(server: Appliance, query: str, user: str = "", **parameters: str | int) -> dict[str, Any]:
    headers = {"X-Forwarded-User": user} if user else {}
    path = "/api/v1/search?" + urllib.parse.urlencode({"q": query, **parameters})
    code, _, body = server.request("GET", server.search_port, path, None, headers)
    assert code == 200, body
    return dict(json.loads(body))


def find(server: Appliance, query: str, user: str = "", **parameters: str | int) -> list[str]:
    return [result["url"] for result in ask(server, query, user, **parameters)["results"]]


def test_document_without_a_word_of_the_query_is_found_by_its_meaning(server: Appliance, model: Model) -> None:
    feed(
        server,
        make_record(FLEET, content=page("Every employee may use an automobile.", "Fleet")),
        make_record(f"{HOST}/food", content=page("Lunch is served at noon.", "Canteen")),
    )
    wait_for_embeddings(server, 2)
    answer = ask(server, "company car")
    assert [result["url"] for result in answer["results"]] == [FLEET]
    assert (answer["total"], answer["warnings"]) == (1, [])
    assert answer["results"][0]["snippet"] == "Every employee may use an automobile."
    assert find(server, "company car", match="any") == [FLEET]
    assert find(server, "company car", match="all") == []
    assert set(model.server.keys) == {"Bearer secretkey"}
    assert "secretkey" not in json.dumps(read_status(server)) + server.log.read_text()


def test_user_without_permission_does_not_find_by_meaning(server: Appliance) -> None:
    feed(server, make_record(FLEET, content=page("an automobile", "Fleet")))
    feed(server, make_record(SECRET, content=page("an automobile for the board", "Board"), acl=make_acl_element("ann")))
    wait_for_embeddings(server, 2)
    assert sorted(find(server, "car", "ann")) == [FLEET, SECRET]
    assert find(server, "car", "bob") == [FLEET]
    assert ask(server, "car", "bob")["total"] == 1


def test_search_goes_on_by_words_while_the_model_is_gone(server: Appliance, model: Model) -> None:
    feed(server, make_record(FLEET, content=page("an automobile", "Fleet")), make_record(f"{HOST}/car", content=page("a car", "Wheels")))
    wait_for_embeddings(server, 2)
    assert sorted(find(server, "car sedan", match="any")) == sorted([FLEET, f"{HOST}/car"])
    model.stop()
    answer = ask(server, "car sedan", match="any")
    assert [result["url"] for result in answer["results"]] == [f"{HOST}/car"]
    assert "semantic" in " ".join(answer["warnings"])
    feed(server, make_record(f"{HOST}/new", content=page("the physician", "Health")))
    model.start()
    wait_for_embeddings(server, 3)
    wait_until(lambda: find(server, "doctor") == [f"{HOST}/new"], "a result by meaning")
    assert ask(server, "doctor")["warnings"] == []


def test_model_that_answers_wrongly_costs_no_search_its_results(server: Appliance, model: Model) -> None:
    feed(server, make_record(f"{HOST}/car", content=page("a car", "Wheels")))
    wait_for_embeddings(server, 1)
    for number, fault in enumerate(("status", "html", "nan", "words", "count", "deep", "null", "indexes", "huge", "dimensions")):
        model.server.fault = fault
        answer = ask(server, f"car number{number}", match="any")
        assert [result["url"] for result in answer["results"]] == [f"{HOST}/car"], fault
        assert "semantic" in " ".join(answer["warnings"]), fault
    feed(server, make_record(FLEET, content=page("an automobile", "Fleet")))
    assert find(server, "automobile", match="all") == [FLEET]
    model.server.fault = ""
    wait_until(lambda: sorted(find(server, "vehicle")) == [f"{HOST}/car", FLEET], "results by meaning")


def test_killed_embedder_loses_nothing(server: Appliance, model: Model) -> None:
    model.server.seconds, requests = 0.1, model.server.requests
    urls = [f"{HOST}/{number}" for number in range(120)]
    feed(server, *(make_record(url, content=page(f"automobile number {place}", "Fleet")) for place, url in enumerate(urls)))
    wait_until(lambda: model.server.requests > requests, "a request to the model")
    for pid in server.role_pids()["embedder"]:
        os.kill(pid, signal.SIGKILL)
    wait_for_embeddings(server, len(urls))
    wait_until(lambda: queue_of(server)["waiting"] == 0, "an empty queue")
    assert len(find(server, "car", num=200)) == 100


def test_changed_document_is_embedded_again_and_an_unchanged_one_is_not(server: Appliance, model: Model) -> None:
    feed(server, make_record(FLEET, content=page("an automobile", "Fleet")))
    wait_for_embeddings(server, 1)
    feed(server, make_record(FLEET, content=page("the physician", "Health")))
    wait_until(lambda: find(server, "doctor") == [FLEET], "a result by meaning")
    assert find(server, "car") == []
    texts = len(model.server.texts)
    feed(server, make_record(FLEET, content=page("the physician", "Health"), metadata=[("kind", "policy")]))
    wait_until(lambda: queue_of(server)["waiting"] == 0, "an empty queue")
    assert find(server, "medic inmeta:kind=policy") == [FLEET]
    assert model.server.texts[texts:] == ["medic"]
    feed(server, make_record(FLEET, action="delete"))
    assert find(server, "medic") == []
    wait_for_embeddings(server, 0)


def test_settings_turn_semantic_search_off_and_another_model_on(model: Model, tmp_path: Path) -> None:
    with serving(model, tmp_path / "data") as server:
        feed(server, make_record(FLEET, content=page("an automobile", "Fleet")))
        wait_for_embeddings(server, 1)
        server.reload("")
        wait_for(False, lambda: "embedder" in server.role_pids())
        assert find(server, "car") == []
        assert read_status(server)["semantic"] is None
        feed(server, make_record(FLEET, content=page("the physician", "Health")))
        requests = model.server.requests
        server.reload(SETTINGS.format(url=model.server.url).replace('"concepts"', '"others"'))
        wait_for_embeddings(server, 1)
        wait_until(lambda: find(server, "doctor") == [FLEET], "a result by meaning")
        assert find(server, "car") == []
        assert model.server.requests > requests
        assert set(model.server.models[requests:]) == {"others"}
