"""A running server shares its search port with the origins of its settings, and no other port."""

import http.client
from collections.abc import Iterator

import pytest

from tests.appliance import Appliance

ALLOWED = "https://www.example.com"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    appliance = Appliance(tmp_path_factory.mktemp("shared") / "data", f'[search]\nallow_origins = ["{ALLOWED}"]\n').start()
    yield appliance
    appliance.stop()


def ask(port: int, method: str, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 200), ({"host": "other.example.com"}, 421), ({"authorization": "Bearer wrong"}, 401)],
    ids=["found", "name", "token"],
)
def test_search_port_shares_results_and_errors(server: Appliance, headers: dict[str, str], status: int) -> None:
    for origin, allowed in ((ALLOWED, ALLOWED), ("https://evil.example.org", None)):
        answer = ask(server.search_port, "GET", "/api/v1/search?q=word", origin=origin, **headers)
        assert answer.status == status
        assert answer.headers["access-control-allow-origin"] == allowed
        assert "Origin" in answer.headers["vary"]


def test_preflights_are_answered_under_known_names_alone(server: Appliance) -> None:
    asked = {"access-control-request-method": "POST", "origin": ALLOWED}
    assert ask(server.search_port, "OPTIONS", "/search", **asked).status == 204
    assert ask(server.search_port, "OPTIONS", "/search", **asked, host="other.example.com").status == 421


def test_other_ports_share_nothing(server: Appliance) -> None:
    for port, path in ((server.gate, "/api/v1/feeds"), (server.admin, "/api/v1/status"), (server.dtd, "/getdtd")):
        assert "access-control-allow-origin" not in ask(port, "GET", path, origin=ALLOWED).headers
        preflight = ask(port, "OPTIONS", path, origin=ALLOWED, access_control_request_method="GET")
        assert preflight.status == 403
        assert not [name for name in preflight.headers if name.lower().startswith("access-control")]


def test_type_of_an_error_opens_on_every_port(server: Appliance) -> None:
    for port in (server.search_port, server.gate, server.admin):
        answer = ask(port, "GET", "/manual/reference/errors.html")
        if port != server.search_port:
            assert answer.headers["location"] == f"http://127.0.0.1:{server.search_port}/manual/reference/errors.html"
            answer = ask(server.search_port, "GET", "/manual/reference/errors.html")
        assert answer.status == 200
