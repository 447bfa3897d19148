"""A running server names each request in its answer, its log and its audit log."""

import json
from collections.abc import Iterator

import pytest

from tests import programs
from tests.appliance import Appliance, running
from tests.waiting import wait_until

SETTINGS = '[signin.client_address]\ntrusted = ["127.0.0.1"]\n'
GIVEN = {"X-Request-Id": "given-7b1f"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("ids") / "data", SETTINGS) as appliance:
        yield appliance


def test_every_port_names_the_request_also_where_it_refuses(server: Appliance) -> None:
    for port in (server.gate, server.dtd, server.search_port, server.admin):
        ids = []
        for path, headers, status in (("/healthz", {}, 200), ("/api/v1/nothing", {}, 404), ("/healthz", {"Host": "other.example"}, 421)):
            expected = 401 if port == server.admin and path.startswith("/api") else status
            found, answer, body = server.request("GET", port, path, headers=headers)
            assert found == expected
            ids.append(answer["x-request-id"])
            if path.startswith("/api"):
                assert json.loads(body)["request_id"] == ids[-1]
        assert len(set(ids)) == 3


def test_proxy_of_the_settings_may_name_the_request(server: Appliance) -> None:
    for port in (server.gate, server.search_port, server.admin):
        assert server.request("GET", port, "/healthz", headers=GIVEN)[1]["x-request-id"] == GIVEN["X-Request-Id"]


def test_log_and_audit_log_name_the_request(server: Appliance) -> None:
    status, answer, _ = server.request("POST", server.gate, "/api/v1/documents?datasource=no%20name", b"[]")
    assert status == 400
    wait_until(lambda: f'"request_id": "{answer["x-request-id"]}"' in server.log.read_text(), "the refusal in the log, with its request")
    status, answer, _ = server.request("DELETE", server.admin, "/api/v1/users?name=ann")
    assert status == 401
    done = programs.run("audit", "export", "--kind", "admin.refused", "--data", server.data)
    refused = [json.loads(line)["details"] for line in done.stdout.splitlines()]
    assert [details["request_id"] for details in refused if details["method"] == "DELETE"] == [answer["x-request-id"]]
