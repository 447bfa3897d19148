"""The OpenAPI documents are true: every resource stands in them, and answers are what they say."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from feedmill.http.common.openapi import RESOURCES, build_openapi
from feedmill.http.common.resource import ADMIN_PORT, FEED_PORT, SEARCH_PORT
from feedmill.http.feeds.documents import DocumentsEndpoint
from feedmill.http.feeds.resources import FeedResources
from feedmill.http.search.app import search_app
from feedmill.model.document import Attributes
from feedmill_client.answers import DocumentSummary, FacetShown, Passages, Problem, ResultShown, SearchAnswer, Suggestions
from feedmill_client.decoding import decode
from tests.contract.allports import admin_port
from tests.contract.searchharness import NOW, ask, open_harness

SELF = "/api/v1/openapi.json"


def holds_exactly(model: type[Any], answer: dict[str, Any]) -> None:
    """Checks an answer and all objects in it: nothing missing but what may be, nothing more, all of the documented types."""
    read = decode(model, answer)
    # for administrators and results without some words alone, where counts are estimated alone, and behind the port's server alone
    missing = {FacetShown: {"exact"}, Problem: {"request_id"}, ResultShown: {"explanation", "missing"}}.get(model, set())
    assert set(answer) == {each.name for each in fields(model)} - missing, model
    for name in answer:
        value = getattr(read, name)
        for inner, raw in zip(value, answer[name], strict=True) if isinstance(value, list) else [(value, answer[name])]:
            if is_dataclass(inner):
                holds_exactly(type(inner), raw)


def routes_of(app: Starlette) -> set[tuple[str, str]]:
    found = [route for route in app.routes if isinstance(route, Route) and route.path.startswith("/api/v1/")]
    return {(route.path.replace(":int}", "}"), method.lower()) for route in found for method in route.methods or () if method != "HEAD"} - {
        (SELF, "get")
    }


@pytest.mark.parametrize("port", [SEARCH_PORT, FEED_PORT, ADMIN_PORT], ids=["search", "feeds", "admin"])
def test_openapi_every_reference_leads_somewhere_and_names_are_unique(port: str) -> None:
    document = build_openapi(port)
    schemas = document["components"]["schemas"]

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if "$ref" in value else []
            return own + [found for inner in value.values() for found in references(inner)]
        return [found for inner in value for found in references(inner)] if isinstance(value, list) else []

    assert {reference.rpartition("/")[2] for reference in references(document)} <= set(schemas)
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))
    for path, methods in document["paths"].items():
        for operation in methods.values():
            in_path = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
            assert in_path == {part.strip("{}") for part in path.split("/") if part.startswith("{")}


@pytest.mark.parametrize("port", [SEARCH_PORT, FEED_PORT, ADMIN_PORT])
def test_paths_are_those_of_the_server_that_sends_the_document(port: str) -> None:
    assert build_openapi(port)["servers"] == [{"url": "/"}]


def test_openapi_names_every_resource(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    (tmp_path / "admin").mkdir()
    documented = {(resource.port, resource.path, resource.method) for resource in RESOURCES}
    routes = {(SEARCH_PORT, *pair) for pair in routes_of(search_app(harness.services()))}
    resources = FeedResources.__new__(FeedResources)
    routes |= {(FEED_PORT, *pair) for pair in routes_of(Starlette(routes=resources.routes()))}
    routes |= {(FEED_PORT, "/api/v1/documents", method.lower()) for method in DocumentsEndpoint.METHODS}
    routes |= {(ADMIN_PORT, *pair) for pair in routes_of(admin_port(tmp_path / "admin"))}
    assert documented == routes
    harness.store.close()


def test_search_port_answers_what_the_document_says(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    attributes = Attributes(last_modified=NOW)
    harness.add([harness.make(f"http://a.com/{n}", "word", title="Word", metadata=(("k", "v"),), attributes=attributes) for n in range(3)])
    app = search_app(harness.services())
    assert ask(app, SELF).json == build_openapi(SEARCH_PORT)
    answer = ask(app, "/api/v1/search", "q=word&facet=k&getfields=*&num=2&cursor=*").json
    assert len(answer["results"]) == 2
    assert answer["next_cursor"]
    holds_exactly(SearchAnswer, answer)
    holds_exactly(SearchAnswer, ask(app, "/api/v1/search", "").json)
    holds_exactly(Suggestions, ask(app, "/api/v1/suggest", "q=wo").json)
    holds_exactly(DocumentSummary, ask(app, "/api/v1/documents", "url=http://a.com/1").json)
    found = ask(app, "/api/v1/retrieve", "", "POST", '{"query": "word"}').json
    assert len(found["passages"]) == 3
    holds_exactly(Passages, found)
    for query in ("", "url=http://nowhere/"):
        problem = ask(app, "/api/v1/documents", query)
        assert problem.status in (400, 404)
        holds_exactly(Problem, problem.json)
    harness.store.close()


@pytest.mark.parametrize("port", [SEARCH_PORT, FEED_PORT, ADMIN_PORT], ids=["search", "feeds", "admin"])
def test_every_operation_says_how_other_errors_look(port: str) -> None:
    document = build_openapi(port)
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    for operation in operations:
        content = operation["responses"]["default"]["content"]
        assert content == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        # the port may want a token
        assert "401" in operation["responses"]


def test_new_entry_of_the_settings_is_answered_with_201() -> None:
    responses = build_openapi(ADMIN_PORT)["paths"]["/api/v1/settings/{section}/{name}"]["put"]["responses"]
    assert responses["201"]["content"] == responses["200"]["content"]
