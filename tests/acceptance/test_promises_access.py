"""Users find what they may see, and nothing else: through the ports of one server, as users that a proxy names."""

import json
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.promises import post_fields, put, run_command, run_process
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record
from tests.builders.groups import make_groups_feed, make_membership
from tests.waiting import wait_for

PROXY = """
[signin.proxy]
trusted = ["127.0.0.0/8"]
[[policy_acls]]
name = "plans"
pattern = "policies.example.com/plans/"
permit_groups = ["planners"]
deny_users = ["guest"]
"""
CHILD = "child-overrides"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("secured") / "data", PROXY) as appliance:
        yield appliance


def ask(server: Appliance, path: str, user: str = "", groups: str = "", **parameters: str | int) -> tuple[int, str]:
    headers = {name: value for name, value in (("X-Forwarded-User", user), ("X-Forwarded-Groups", groups)) if value}
    status, _, body = server.request("GET", server.search_port, f"{path}?{urllib.parse.urlencode(parameters)}", None, headers)
    return status, body.decode()


def find(server: Appliance, query: str, user: str = "", groups: str = "", **parameters: str | int) -> list[str]:
    status, body = ask(server, "/api/v1/search", user, groups, q=query, **parameters)
    assert status == 200, body
    answer = json.loads(body)
    assert answer["total"] == len(answer["results"])
    return sorted(result["url"].rpartition("/")[2] for result in answer["results"])


def put_groups(server: Appliance, source: str, groups: dict[str, list[str]], feedtype: str = "full") -> None:
    attributes = 'case-sensitivity-type="EVERYTHING_CASE_INSENSITIVE" namespace="Default"'
    xml = make_groups_feed(*(make_membership(group, users, attributes=attributes) for group, users in groups.items()))
    fields = [("groupsource", source.encode()), ("feedtype", feedtype.encode()), ("data", xml)]
    status, headers, body = post_fields(server, "/xmlgroups", fields)
    assert (status, body) == (200, b"Success"), body
    assert server.wait(headers["x-feedmill-feed"])["state"] == "completed"


def run(server: Appliance, *words: str) -> str:
    code, out, err = run_command(*words, "--data", str(server.data))
    assert code == 0, err
    return out


def explain(server: Appliance, *words: str) -> dict[str, Any]:
    return dict(json.loads(run(server, "access", "explain", "--json", *words)))


def lone_acl(url: str, inside: str = "", **attributes: str) -> str:
    said = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<acl url="{url}"{said}>{inside}</acl>'


def entry(name: str, scope: str = "user", access: str = "permit") -> str:
    return f'<principal scope="{scope}" access="{access}">{name}</principal>'


def test_documents_are_found_by_users_that_their_acls_permit(secured: Appliance) -> None:
    host = "http://found.example.com"
    put(
        secured,
        "found",
        make_record(f"{host}/open", "foundword"),
        make_record(f"{host}/ann", "foundword", acl=make_acl_element("ann")),
        make_record(f"{host}/staff", "foundword", acl=f"<acl>{entry('staff', 'group')}{entry('bob', access='deny')}</acl>"),
    )
    put_groups(secured, "found", {"staff": ["CORP\\Carl", "bob"]})
    assert find(secured, "foundword") == ["open"]
    assert find(secured, "foundword", "ann") == ["ann", "open"]
    assert find(secured, "foundword", "bob") == ["open"]
    assert find(secured, "foundword", "carl@corp.example.com") == find(secured, "foundword", "dan", "staff") == ["open", "staff"]
    assert find(secured, "foundword", "bob", "staff") == ["open"]
    put_groups(secured, "found", {"staff": ["ann"]})
    assert find(secured, "foundword", "ann") == ["ann", "open", "staff"]
    assert find(secured, "foundword", "CORP\\carl") == ["open"]


def test_old_protocol_shows_public_secure_or_all(secured: Appliance) -> None:
    host = "http://old.example.com"
    put(secured, "old", make_record(f"{host}/open", "oldword"), make_record(f"{host}/ann", "oldword", acl=make_acl_element("ann")))

    def urls(user: str, **parameters: str) -> tuple[list[str], bool]:
        status, body = ask(secured, "/search", user, q="oldword", filter="0", **parameters)
        assert status == 200
        return sorted(url for url in ("open", "ann") if f"<U>{host}/{url}</U>" in body), "<M>" in body

    assert urls("ann") == urls("ann", access="p") == (["open"], True)
    assert urls("ann", access="s") == (["ann"], False)
    assert urls("ann", access="a") == (["ann", "open"], False)
    assert urls("ann", access="a", secure_estimates="1") == (["ann", "open"], True)
    assert urls("bob", access="s") == ([], False)


def test_folder_that_changes_or_arrives_later_counts_for_the_next_search(secured: Appliance) -> None:
    host = "http://folders.example.com"
    folder = f"{host}/folder?shareAcl"
    put(secured, "folders", make_record(f"{host}/a", "folderword", acl=f'<acl inherit-from="{folder}"/>'))
    assert find(secured, "folderword", "ann") == []
    assert explain(secured, f"{host}/a", "--user", "ann")["decision"] == "INDETERMINATE"

    put(secured, "shares", lone_acl(folder, entry("ann"), inheritance_type=CHILD))
    assert find(secured, "folderword", "ann") == ["a"]
    put(secured, "shares", lone_acl(folder, entry("bob"), inheritance_type=CHILD))
    assert (find(secured, "folderword", "ann"), find(secured, "folderword", "bob")) == ([], ["a"])

    assert secured.document(folder) is None
    secured.feed(make_feed(make_record(folder, action="delete")), "folders")
    assert find(secured, "folderword", "bob") == ["a"]
    secured.feed(make_feed(make_record(folder, action="delete")), "shares")
    assert find(secured, "folderword", "bob") == []


def test_acl_of_another_source_stays_when_the_document_goes_and_comes_again(secured: Appliance) -> None:
    url = "http://stays.example.com/a"
    put(secured, "stays", make_record(url, "stayword"))
    put(secured, "guards", lone_acl(url, entry("ann")))
    assert (find(secured, "stayword"), find(secured, "stayword", "ann")) == ([], ["a"])
    secured.feed(make_feed(make_record(url, action="delete")), "stays")
    put(secured, "stays", make_record(url, "stayword"))
    assert (find(secured, "stayword"), find(secured, "stayword", "ann")) == ([], ["a"])
    put(secured, "guards", feedtype="full")
    assert find(secured, "stayword") == ["a"]


def test_explain_reports_decision_and_derivation(secured: Appliance) -> None:
    host = "http://why.example.com"
    put(
        secured,
        "why",
        make_record(f"{host}/doc", "whyword", acl=f'<acl inherit-from="{host}/folder">{entry("ann", access="deny")}</acl>'),
        lone_acl(f"{host}/folder", entry("crew", "group"), inheritance_type="parent-overrides"),
        make_record(f"{host}/open", "whyword"),
    )
    put_groups(secured, "why", {"crew": ["ann"]})
    output = explain(secured, f"{host}/doc", "--user", "ann")
    assert (output["url"], output["user"], output["decision"]) == (f"{host}/doc", "ann", "PERMIT")
    assert [(step["url"], step["inheritance_type"], step["local"]) for step in output["path"]] == [
        (f"{host}/doc", "leaf-node", "DENY"),
        (f"{host}/folder", "parent-overrides", "PERMIT"),
    ]
    assert output["path"][1]["entry"]["name"] == "crew"
    assert output["path"][1]["entry"]["through"] == ['user "ann"', 'group "crew"']
    assert "crew" in output["reason"]
    assert explain(secured, f"{host}/doc", "--user", "eve")["decision"] == "DENY"
    assert explain(secured, f"{host}/doc", "--group", "crew")["decision"] == "PERMIT"
    assert explain(secured, f"{host}/doc", "--group", "crew", "--namespace", "other")["decision"] == "DENY"
    assert explain(secured, f"{host}/folder", "--user", "ann")["decision"] == "PERMIT"
    for url in (f"{host}/open", f"{host}/unknown"):
        assert (explain(secured, url, "--user", "ann")["decision"], explain(secured, url)["path"]) == ("INDETERMINATE", [])


def test_explain_batch_answers_in_order(secured: Appliance, tmp_path: Path) -> None:
    url = "http://batch.example.com/doc"
    put(secured, "batch", make_record(url, "batchword", acl=f"<acl>{entry('CORP' + chr(92) + 'ann')}{entry('crew', 'group')}</acl>"))
    questions = [
        {"url": url, "user": "ann", "domain": "CORP", "namespace": "Default"},
        {"url": url, "user": "CORP\\ann", "namespace": "Default", "groups": []},
        {"url": url, "user": "eve", "groups": [{"name": "crew", "domain": "", "namespace": "Default"}]},
        {"url": "http://batch.example.com/none", "user": None},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(question) + "\n" for question in questions))
    assert run(secured, "access", "explain", "--batch", str(file)).split() == ["PERMIT", "DENY", "PERMIT", "INDETERMINATE"]
    output = [json.loads(line) for line in run(secured, "access", "explain", "--json", "--batch", str(file)).splitlines()]
    assert [(each["user"], each["decision"]) for each in output] == [
        ("ann", "PERMIT"),
        ("CORP\\ann", "DENY"),
        ("eve", "PERMIT"),
        (None, "INDETERMINATE"),
    ]


def test_explain_batch_takes_a_mark_before_the_first_line_and_answers_what_stands_before_a_bad_one(
    secured: Appliance, tmp_path: Path
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"url": "http://batch.example.com/none"}\r\n\r\n{"url": 7}\r\n')
    code, out, err = run_command("access", "explain", "--batch", str(file), "--data", str(secured.data))
    assert (code, out) == (1, "INDETERMINATE\n")
    assert "line 3" in err


def test_explain_on_the_admin_port_answers_as_the_command(secured: Appliance) -> None:
    url = "http://adminwhy.example.com/doc"
    put(secured, "adminwhy", make_record(url, "adminwhyword", acl=make_acl_element("ann")))
    token = {"Authorization": f"Bearer {(secured.data / 'admin.token').read_text().strip()}"}
    path = "/api/v1/access/explain?" + urllib.parse.urlencode({"url": url, "user": "ann", "group": "crew"})
    status, _, body = secured.request("GET", secured.admin, path, None, token)
    assert (status, json.loads(body)) == (200, explain(secured, url, "--user", "ann", "--group", "crew"))
    lines = "".join(json.dumps({"url": url, "user": user}) + "\n" for user in ("ann", "bob")).encode()
    status, _, body = secured.request("POST", secured.admin, "/api/v1/access/explain", lines, token)
    assert [json.loads(line)["decision"] for line in body.splitlines()] == ["PERMIT", "DENY"]
    odd = [json.dumps({"url": url, "user": user}, ensure_ascii=False) for user in ("ann", "a\u2028n\x85n")]
    status, _, body = secured.request(
        "POST", secured.admin, "/api/v1/access/explain", "\r\n".join(["\ufeff" + odd[0], odd[1]]).encode(), token
    )
    assert [json.loads(line)["decision"] for line in body.splitlines()] == ["PERMIT", "DENY"]
    status, _, body = secured.request("POST", secured.admin, "/api/v1/access/explain", b'\n{"url": "\xff"}', token)
    assert (status, "line 2: no UTF-8" in body.decode()) == (400, True)
    status, _, body = secured.request("POST", secured.admin, "/api/v1/access/explain", b'{"url": 1}', token)
    assert (status, "line 1" in body.decode()) == (400, True)


def test_changes_for_a_user_are_reported_with_their_causes(secured: Appliance) -> None:
    host, began = "http://changes.example.com", datetime.now(UTC).isoformat()
    put(
        secured,
        "changes",
        make_record(f"{host}/a", "x", acl=make_acl_element("changer")),
        make_record(f"{host}/b", "x", acl=make_acl_element("other")),
    )
    middle = datetime.now(UTC).isoformat()
    put(secured, "changes", make_record(f"{host}/a", "x", acl=make_acl_element("other")))
    lines = run(secured, "access", "changes", "--user", "changer", "--since", middle, "--json").splitlines()
    [lost] = [json.loads(line) for line in lines if host in line]
    assert (lost["change"], lost["url"], lost["cause"]["kind"]) == ("lost", f"{host}/a", "acl changed")
    assert lost["cause"]["source"] == "changes"
    assert f"gained {host}/a" in run(secured, "access", "changes", "--user", "changer", "--since", began, "--until", middle)
    token = {"Authorization": f"Bearer {(secured.data / 'admin.token').read_text().strip()}"}
    query = urllib.parse.urlencode({"user": "changer", "since": middle, "limit": 1_000})
    status, _, body = secured.request("GET", secured.admin, f"/api/v1/access/changes?{query}", None, token)
    page = json.loads(body)
    assert (status, [each for each in page["changes"] if host in each["url"]], page["next_after"]) == (200, [lost], None)
    for path, code in {
        "changes": 400,
        "changes?since=never": 400,
        "changes?since=2001-01-01": 400,
        f"explain?url={host}/a&at=never": 400,
        f"who?url={host}/a&at=2001-01-01": 400,
        f"changes?{query}1": 400,
        "who": 400,
        "list/everything": 404,
        "list/nobody?limit=0": 400,
        "list/nobody?after=x": 400,
    }.items():
        assert secured.request("GET", secured.admin, f"/api/v1/access/{path}", None, token)[0] == code, path
    status, _, body = secured.request("GET", secured.admin, f"/api/v1/access/who?url={host}/b", None, token)
    assert [each["name"] for each in json.loads(body)["principals"]] == ["other"]
    then = urllib.parse.urlencode({"url": f"{host}/a", "user": "changer", "at": middle})
    status, _, body = secured.request("GET", secured.admin, f"/api/v1/access/explain?{then}", None, token)
    assert (status, json.loads(body)["decision"]) == (200, "PERMIT")
    assert "changer" in run(secured, "access", "who", f"{host}/a", "--at", middle)
    assert "changer" not in run(secured, "access", "who", f"{host}/a")


def test_decisions_and_removals_stand_in_the_audit_log(secured: Appliance) -> None:
    host, token = "http://audited.example.com", {"Authorization": f"Bearer {(secured.data / 'admin.token').read_text().strip()}"}
    put(secured, "audited", make_record(f"{host}/a", "x", acl=make_acl_element("ann")))
    lines = b"".join(json.dumps({"url": f"{host}/a", "user": user}).encode() + b"\n" for user in ("ann", "bob", "ann"))
    assert secured.request("POST", secured.admin, "/api/v1/access/explain", lines, token)[0] == 200
    run(secured, "access", "list", "public")
    assert secured.request("DELETE", secured.gate, "/api/v1/datasources/audited")[0] == 200
    log = [json.loads(line) for line in run(secured, "audit", "export").splitlines()]
    [batch] = [each["details"] for each in log if each["details"].get("urls") == [f"{host}/a"]]
    assert (batch["questions"], batch["users"]) == (3, ["ann", "bob"])
    assert any(each["kind"] == "decision.asked" and each["details"].get("finding") == "public" for each in log)
    removals = [each["details"]["port"] for each in log if each["details"].get("path") == "/api/v1/datasources/audited"]
    assert removals == ["feed"]
    settings = next(each["details"] for each in log if each["kind"] == "settings.read")
    assert settings["on"] == "start"
    assert "gate.port" in settings["changed"]
    assert "are whole" in run(secured, "audit", "verify")


def test_commands_without_a_server_stand_in_the_audit_log(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    for command in (["import", "synonyms", str(tmp_path / "synonyms")], ["reindex"], ["sources", "delete", "hr"]):
        (tmp_path / "synonyms").write_text("{car, automobile}\n")
        run_process(*command, *data)
    _, out, _ = run_process("audit", "export", "--kind", "command", *data)
    assert [json.loads(line)["details"]["command"] for line in out.splitlines()] == ["import", "reindex", "sources delete"]


def list_found(secured: Appliance, finding: str) -> list[dict[str, str]]:
    """Lists what the admin port finds, two at a time."""
    token = {"Authorization": f"Bearer {(secured.data / 'admin.token').read_text().strip()}"}
    found: list[dict[str, str]] = []
    after: int | None = 0
    while after is not None:
        path = f"/api/v1/access/list/{finding}?limit=2&after={after}"
        page = json.loads(secured.request("GET", secured.admin, path, None, token)[2])
        found += page["found"]
        after = page["next_after"]
    return found


def test_access_commands_list_who_and_what_stands_out(secured: Appliance) -> None:
    host = "http://lists.example.com"
    put(
        secured,
        "lists",
        make_record(f"{host}/a", "x", acl=make_acl_element("ann")),
        make_record(f"{host}/none", "x", acl="<acl/>"),
        make_record(f"{host}/open", "x"),
    )
    named = json.loads(run(secured, "access", "who", f"{host}/a", "--json"))["principals"]
    assert [(each["name"], each["decision"]) for each in named] == [("ann", "PERMIT")]
    assert "PERMIT" in run(secured, "access", "who", f"{host}/a")
    assert {"url": f"{host}/none", "datasource": "lists"} in json.loads(run(secured, "access", "list", "nobody", "--json"))
    assert f"{host}/open  lists" in run(secured, "access", "list", "public")
    put(secured, "lists", make_record(f"{host}/b", "x", acl=f"<acl>{entry('ghosts', 'group')}</acl>"))
    assert "ghosts" in [each["name"] for each in json.loads(run(secured, "access", "list", "unresolved", "--json"))]
    for finding in ("nobody", "public", "unresolved"):
        assert list_found(secured, finding) == json.loads(run(secured, "access", "list", finding, "--json"))
    now = datetime.now(UTC).isoformat()
    assert explain(secured, f"{host}/a", "--user", "ann", "--at", now)["decision"] == "PERMIT"
    code, _, err = run_command("access", "explain", f"{host}/a", "--at", "2001-01-01", "--data", str(secured.data))
    assert (code, "known from" in err) == (1, True)


def administer(server: Appliance, method: str, path: str, value: Any = None) -> tuple[int, bytes]:
    token = {"Authorization": f"Bearer {(server.data / 'admin.token').read_text().strip()}"}
    status, _, body = server.request(method, server.admin, path, None if value is None else json.dumps(value).encode(), token)
    return status, body


def test_policies_of_file_and_api_guard_what_no_acl_guards(secured: Appliance) -> None:
    host = "http://policies.example.com/plans"
    pages = [make_record(f"{host}/{name}", "policyneedle", authmethod="ntlm") for name in ("one", "two")]
    put(secured, "policies", *pages, make_record(f"{host}/own", "policyneedle", acl=make_acl_element("carl")))
    assert find(secured, "policyneedle", "bob", "planners") == ["one", "two"]
    assert find(secured, "policyneedle", "carl") == ["own"]
    assert find(secured, "policyneedle", "guest", "planners") == []
    place = "/api/v1/settings/policy_acls/two"
    assert administer(secured, "PUT", place, {"pattern": f"^{host}/two$", "permit_users": ["carl"]})[0] == 201
    assert "two" not in find(secured, "policyneedle", "bob", "planners")
    wait_for(["own", "two"], lambda: find(secured, "policyneedle", "carl"))
    wait_for(["one"], lambda: find(secured, "policyneedle", "bob", "planners"))
    assert administer(secured, "DELETE", place)[0] == 204
    assert find(secured, "policyneedle", "carl") == ["own"]
    wait_for(["one", "two"], lambda: find(secured, "policyneedle", "bob", "planners"))
