"""The admin port: who may do what, and what of it is written down."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedmill.http.common.requirements import requirements_of
from feedmill.model.signin import TokenScope
from feedmill.model.userrole import UserRole
from tests.builders.requests import PASSWORD, make_basic
from tests.contract.signinharness import ADMIN_TOKEN, Browser, SignInHarness, opened_with_all_roles

BEARER = f"Bearer {ADMIN_TOKEN}"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SignInHarness]:
    with opened_with_all_roles(tmp_path) as opened:
        yield opened


def ask(harness: SignInHarness, method: str, path: str, authorization: str = BEARER, body: object = None) -> tuple[int, object]:
    raw = b"" if body is None else json.dumps(body).encode()
    answer = Browser(harness.admin(), peer="127.0.0.1").send(method, path, raw, {"authorization": authorization})
    return answer.status, answer.json if answer.body else None


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/api/v1/status", UserRole.VIEWER),
        ("GET", "/metrics", UserRole.VIEWER),
        ("POST", "/api/v1/access/explain", UserRole.VIEWER),
        ("POST", "/api/v1/reindex", UserRole.MANAGER),
        ("DELETE", "/api/v1/datasources/hr", UserRole.MANAGER),
        ("PUT", "/api/v1/settings/collections/press", UserRole.MANAGER),
        ("GET", "/api/v1/settings/policy_acls/plans", UserRole.VIEWER),
        ("PUT", "/api/v1/settings/policy_acls/plans", UserRole.ADMINISTRATOR),
        ("DELETE", "/api/v1/settings/policy_acls/plans", UserRole.ADMINISTRATOR),
        ("POST", "/api/v1/policy-acls/import", UserRole.ADMINISTRATOR),
        ("GET", "/api/v1/users", UserRole.ADMINISTRATOR),
        ("GET", "/api/v1/tokens", UserRole.ADMINISTRATOR),
        ("GET", "/api/v1/audit/verify", UserRole.ADMINISTRATOR),
        ("GET", "/api/v1/access/list/nobody", UserRole.VIEWER),
        ("POST", "/api/v1/sessions/end", UserRole.ADMINISTRATOR),
        ("POST", "/api/v1/something", UserRole.ADMINISTRATOR),
    ],
)
def test_admin_port_lets_in_those_whose_role_is_enough(harness: SignInHarness, method: str, path: str, needed: UserRole) -> None:
    scope = {"type": "http", "method": method, "path": path, "root_path": ""}
    assert requirements_of(harness.admin()).find_route_requirement(scope).role_for(method) is needed
    for role in UserRole:
        status, _ = ask(harness, method, path, make_basic(role.value))
        assert (status != 403) == role.may_act_as(needed), role
    assert ask(harness, method, path, make_basic("administrator", "wrong password"))[0] == 401
    assert ask(harness, method, path)[0] not in (401, 403)


@pytest.mark.parametrize(("scope", "status"), [(TokenScope.SEARCH, 403), (TokenScope.VIEW, 200), (TokenScope.ADMINISTER, 200)])
def test_admin_port_takes_tokens_by_their_scope(harness: SignInHarness, scope: TokenScope, status: int) -> None:
    made = harness.signing.tokens.add("x", [scope])
    assert ask(harness, "GET", "/api/v1/status", f"Bearer {made.text}")[0] == status


def test_tokens_for_pushing_are_made_and_audited_and_open_nothing_here(harness: SignInHarness) -> None:
    status, made = ask(harness, "POST", "/api/v1/tokens", body={"label": "x", "scopes": ["push"], "datasources": ["wiki", "hr"]})
    assert status == 201
    assert isinstance(made, dict)
    assert made["datasources"] == ["hr", "wiki"]
    assert ask(harness, "GET", "/api/v1/status", f"Bearer {made['token']}")[0] == 401
    details = [entry.event.details for entry in harness.signing.auditing.iter_entries(kind="admin.request")]
    assert (details[-1]["label"], details[-1]["scopes"], details[-1]["datasources"]) == ("x", ["push"], ["hr", "wiki"])
    assert made["token"] not in str(details)
    for datasources in ("hr", [1], ["no name"]):
        assert ask(harness, "POST", "/api/v1/tokens", body={"label": "x", "scopes": ["push"], "datasources": datasources})[0] == 400


def test_token_of_a_user_may_never_do_more_than_the_user(harness: SignInHarness) -> None:
    made = harness.signing.tokens.add("x", [TokenScope.ADMINISTER], user="viewer")
    assert ask(harness, "GET", "/api/v1/status", f"Bearer {made.text}")[0] == 200
    assert ask(harness, "POST", "/api/v1/reindex", f"Bearer {made.text}")[0] == 403


def test_administrators_end_the_sessions_of_a_user(harness: SignInHarness) -> None:
    browser = harness.browser()
    browser.sign_in("viewer")
    assert ask(harness, "POST", "/api/v1/sessions/end", body={"name": "VIEWER"}) == (200, {"ended": 1})
    assert ask(harness, "POST", "/api/v1/sessions/end", body={"name": "viewer"}) == (200, {"ended": 0})
    assert ask(harness, "POST", "/api/v1/sessions/end", body={})[0] == 400
    browser.get("/?q=x")
    assert not harness.seen[-1].is_signed_in


def test_admin_port_is_closed_to_sessions_and_to_headers_of_proxies(harness: SignInHarness) -> None:
    browser = harness.browser(peer="127.0.0.1")
    browser.sign_in("administrator")
    inside = Browser(harness.admin(), peer="127.0.0.1", cookies=browser.cookies)
    assert inside.get("/api/v1/status", x_forwarded_user="administrator").status == 401


def test_users_are_made_changed_listed_and_removed(harness: SignInHarness) -> None:
    made = ask(harness, "POST", "/api/v1/users", body={"name": r"CORP\ann", "namespace": "ad", "password": PASSWORD, "role": "viewer"})
    assert made[0] == 201
    assert isinstance(made[1], dict)
    assert (made[1]["name"], made[1]["namespace"], made[1]["role"]) == (r"CORP\ann", "ad", "viewer")
    assert "password" not in json.dumps(made[1])
    assert ask(harness, "POST", "/api/v1/users", body={"name": "ann@corp", "namespace": "ad", "password": PASSWORD})[0] == 409
    assert ask(harness, "PATCH", "/api/v1/users?name=corp/ann&namespace=ad", body={"role": "manager"})[0] == 200
    assert ask(harness, "DELETE", "/api/v1/users?name=corp/ann&namespace=ad")[0] == 204
    assert ask(harness, "DELETE", "/api/v1/users?name=corp/ann&namespace=ad")[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"name": "x"},
        {"name": "x", "password": ""},
        {"name": "", "password": PASSWORD},
        {"name": " ", "password": PASSWORD},
        {"name": "a:b", "password": PASSWORD},
        {"name": "a\nb", "password": PASSWORD},
        {"name": "x" * 300, "password": PASSWORD},
        {"name": "x", "password": PASSWORD, "namespace": " "},
        {"name": "x", "password": PASSWORD, "role": "god"},
        {"name": "x", "password": "x" * 2_000},
        {"name": 1, "password": PASSWORD},
    ],
    ids=lambda body: json.dumps(body)[:40],
)
def test_user_that_cannot_be_is_refused(harness: SignInHarness, body: object) -> None:
    assert ask(harness, "POST", "/api/v1/users", body=body)[0] == 400


def test_tokens_are_shown_once(harness: SignInHarness) -> None:
    status, made = ask(harness, "POST", "/api/v1/tokens", body={"label": "x", "scopes": ["search"], "user": "viewer", "days": 3})
    assert status == 201
    assert isinstance(made, dict)
    listed = ask(harness, "GET", "/api/v1/tokens")[1]
    assert isinstance(listed, list)
    assert (listed[0]["label"], listed[0]["user"]) == ("x", "viewer")
    assert made["token"] not in json.dumps(listed)
    assert ask(harness, "DELETE", f"/api/v1/tokens/{made['id']}")[0] == 204
    for wrong in ("0", "x", "9" * 30):
        assert ask(harness, "DELETE", f"/api/v1/tokens/{wrong}")[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        {"label": "x"},
        {"label": "x", "scopes": []},
        {"label": "x", "scopes": ["all"]},
        {"label": "", "scopes": ["search"]},
        {"label": "x", "scopes": ["search"], "days": 0},
        {"label": "x", "scopes": ["search"], "days": True},
        {"label": "x", "scopes": [[]]},
    ],
    ids=lambda body: json.dumps(body)[:50],
)
def test_token_that_cannot_be_is_refused(harness: SignInHarness, body: object) -> None:
    assert ask(harness, "POST", "/api/v1/tokens", body=body)[0] == 400


def test_what_administrators_do_is_written_down_without_secrets(harness: SignInHarness) -> None:
    ask(harness, "POST", "/api/v1/users", make_basic("administrator"), {"name": "ann", "password": "the secret of ann"})
    ask(harness, "POST", "/api/v1/reindex", make_basic("viewer"))
    ask(harness, "GET", "/api/v1/status", "Bearer wrong")
    ask(harness, "GET", "/api/v1/access/explain?url=http://x/&user=ann", make_basic("viewer"))
    ask(harness, "GET", "/api/v1/status")
    entries = [entry.event for entry in harness.signing.auditing.iter_entries() if not entry.event.kind.value.startswith("signin")]
    assert [(event.kind.value, event.actor, event.details["status"]) for event in entries] == [
        ("admin.request", "administrator", 201),
        ("admin.refused", "viewer", 403),
        ("admin.refused", "", 401),
        ("decision.asked", "viewer", 404),
    ]
    assert entries[3].details["query"] == "url=http://x/&user=ann"
    assert "the secret of ann" not in str(entries)
    status, checked = ask(harness, "GET", "/api/v1/audit/verify")
    assert status == 200
    assert isinstance(checked, dict)
    assert checked["entries"] == len(harness.events())


def test_audit_log_is_exported_to_administrators(harness: SignInHarness) -> None:
    ask(harness, "POST", "/api/v1/reindex", make_basic("viewer"))
    browser = Browser(harness.admin(), peer="127.0.0.1")
    answer = browser.send("GET", "/api/v1/audit/export?since=2001-01-01&kind=admin", b"", {"authorization": BEARER})
    [line] = answer.body.splitlines()
    assert (answer.status, json.loads(line)["kind"]) == (200, "admin.refused")
    assert browser.send("GET", "/api/v1/audit/export?since=x", b"", {"authorization": BEARER}).status == 400
    assert browser.send("GET", "/api/v1/audit/export", b"", {"authorization": make_basic("viewer")}).status == 403
