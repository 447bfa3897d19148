"""Documents that a policy decision point, or their own server, decides about, at a whole server."""

import json
import re
from pathlib import Path
from urllib.parse import urlencode

from tests import programs
from tests.appliance import WEB_PROCESSES, Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.requests import PASSWORD, make_basic
from tests.decisionpoint import DecisionPoint, running_point

PDP = "http://late.example/"


def settings_of(point: DecisionPoint) -> str:
    here = f"http://127.0.0.1:{point.port}/"
    return f"""
[[authorization]]
mechanism = "saml"
patterns = ["{PDP}"]
endpoint = "{here}saml-authz"
batch = 3
timeout_seconds = 10.0
[[authorization]]
mechanism = "head"
patterns = ["{here}"]
forward_password = true
timeout_seconds = 10.0
allow_private = ["{here}"]
[late_binding]
seconds = 20.0
cache_seconds = 0
"""


def headers_of(name: str) -> dict[str, str]:
    return {"Authorization": make_basic(name, PASSWORD)} if name else {}


def get(server: Appliance, path: str, name: str, **parameters: str) -> tuple[int, str]:
    status, _, body = server.request("GET", server.search_port, f"{path}?{urlencode(parameters)}", headers=headers_of(name))
    return status, body.decode()


def found(server: Appliance, name: str) -> tuple[list[str], int]:
    status, body = get(server, "/api/v1/search", name, q="findable", num="50")
    assert status == 200, body
    page = json.loads(body)
    return sorted(one["url"] for one in page["results"]), page["total"]


def test_documents_without_acl_are_shown_to_users_that_other_servers_permit(tmp_path: Path) -> None:
    with running_point() as point, running(tmp_path / "data", settings_of(point)) as server:
        late = [f"{PDP}{number}" for number in range(8)]
        files = [f"http://127.0.0.1:{point.port}/{name}" for name in ("mine", "hers")]
        point.files = {"/mine": {"ann"}, "/hers": {"bob"}}
        point.passwords = {"ann": PASSWORD, "bob": PASSWORD}
        point.permit("ann", *late[:2])
        point.permit("bob", *late[5:])
        secure = [make_record(url, f"findable {url[-1]}", authmethod="httpbasic") for url in (*late, *files)]
        receipt = server.feed(make_feed(make_record("http://open.example/", "findable open"), *secure))
        assert receipt["state"] == "completed", receipt
        for name in ("ann", "bob"):
            added = programs.run("users", "add", name, "--password-stdin", "--data", server.data, given=PASSWORD + "\n")
            added.check_returncode()
        assert found(server, "ann") == (sorted(["http://open.example/", *late[:2], files[0]]), 1)
        assert sorted(map(len, point.batches)) == [2, 3, 3]
        assert found(server, "bob") == (sorted(["http://open.example/", *late[5:], files[1]]), 1)
        assert found(server, "") == (["http://open.example/"], 1)
        for path in ("/cache", "/api/v1/documents"):
            statuses = [get(server, path, name, url=url)[0] for name in ("ann", "bob", "") for url in (late[0], files[0])]
            assert statuses == [200, 200, 404, 404, 404, 404]
        for query in (f"info:{late[0]}", f"cache:{late[0]}"):
            assert late[0] in get(server, "/search", "ann", q=query, access="a", output="xml_no_dtd")[1]
            assert "findable" not in get(server, "/search", "bob", q=query, access="a", output="xml_no_dtd")[1]
        xml = get(server, "/search", "ann", q="findable", access="a", output="xml_no_dtd")[1]
        assert late[1] in xml
        assert "<M>" not in xml
        point.misbehave = lambda handler: handler.connection.close()
        assert found(server, "ann") == (["http://open.example/"], 1)
        for _ in range(4 * WEB_PROCESSES):  # each process has circuits of its own
            found(server, "ann")
        headers = {"Authorization": f"Bearer {(server.data / 'admin.token').read_text().strip()}"}
        metrics = server.request("GET", server.admin, "/metrics", headers=headers)[2].decode()
        assert re.search(r'feedmill_authorization_documents_total\{mechanism="saml",outcome="permitted"\} [1-9]', metrics)
        assert re.search(r'feedmill_authorization_documents_total\{mechanism="saml",outcome="circuit_open"\} [1-9]', metrics)
        status = json.loads(server.request("GET", server.admin, "/api/v1/status", headers=headers)[2])
        assert "authorization 1" in [each["rule"] for each in status["authorization"]["open_circuits"]]
        log = server.log.read_text()
        assert "authorization_circuit_opened" in log
        assert "authorization_failed" in log
        assert PASSWORD not in log
