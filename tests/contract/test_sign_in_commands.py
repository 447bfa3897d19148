"""Commands of signing in, called in this process without a server."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from feedmill.cli.main import build_app
from feedmill.model.errors import BadRequest, Conflict, Corrupt, NotFound

PASSWORD = "a good long password\n"


def run(data: Path, *words: str, given: str = "") -> Result:
    return CliRunner().invoke(build_app(), [*words, "--data", str(data), "--json"], input=given)


def add(data: Path, name: str, *more: str, given: str = PASSWORD) -> Result:
    return run(data, "users", "add", name, *more, "--password-stdin", given=given)


def test_users_are_added_listed_changed_and_removed(tmp_path: Path) -> None:
    made = add(tmp_path, r"CORP\ann", "--namespace", "ad", "--role", "manager")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["name"] == r"CORP\ann"
    assert add(tmp_path, "bob").exit_code == 0
    assert isinstance(add(tmp_path, "BOB").exception, Conflict)
    listed = json.loads(run(tmp_path, "users").stdout)
    assert [(user["namespace"], user["name"], user["role"]) for user in listed] == [
        ("Default", "bob", "searcher"),
        ("ad", r"CORP\ann", "manager"),
    ]
    assert json.loads(run(tmp_path, "users", "role", "bob", "viewer").stdout)["role"] == "viewer"
    assert run(tmp_path, "users", "passwd", "bob", "--password-stdin", given="another password\n").exit_code == 0
    assert run(tmp_path, "users", "remove", "bob").exit_code == 0
    assert isinstance(run(tmp_path, "users", "remove", "bob").exception, NotFound)
    assert len(json.loads(run(tmp_path, "users", "list").stdout)) == 1


def test_users_add_warns_of_a_short_password(tmp_path: Path) -> None:
    made = add(tmp_path, "ann", given="short")
    assert made.exit_code == 0
    assert "less than 8 characters" in made.stderr


@pytest.mark.parametrize("given", ["", "\n", "x" * 2_000 + "\n"], ids=["nothing", "empty", "long"])
def test_users_add_without_a_good_password_makes_no_user(tmp_path: Path, given: str) -> None:
    assert isinstance(add(tmp_path, "ann", given=given).exception, BadRequest)


def test_users_add_without_a_terminal_asks_for_standard_input(tmp_path: Path) -> None:
    result = run(tmp_path, "users", "add", "ann")
    assert "--password-stdin" in str(result.exception)


def test_users_add_with_an_unknown_role_is_wrong_use(tmp_path: Path) -> None:
    assert add(tmp_path, "ann", "--role", "god").exit_code == 2


def test_tokens_are_made_listed_and_removed(tmp_path: Path) -> None:
    add(tmp_path, "ann")
    made = json.loads(run(tmp_path, "tokens", "add", "portal", "--scope", "search", "--scope", "view", "--user", "ann").stdout)
    assert made["scopes"] == ["search", "view"]
    assert made["token"].startswith("fm_")
    assert [token["id"] for token in json.loads(run(tmp_path, "tokens").stdout)] == [made["id"]]
    assert run(tmp_path, "tokens", "remove", str(made["id"])).exit_code == 0
    assert isinstance(run(tmp_path, "tokens", "remove", str(made["id"])).exception, NotFound)
    assert isinstance(run(tmp_path, "tokens", "add", "x", "--scope", "view", "--user", "nobody").exception, NotFound)


def test_token_for_a_user_that_nobody_can_be_is_made_with_a_warning(tmp_path: Path) -> None:
    made = run(tmp_path, "tokens", "add", "x", "--scope", "search", "--user", "CORP\\bob")
    assert (made.exit_code, json.loads(made.stdout)["local_user"]) == (0, False)
    assert "warning: there is no local user 'CORP\\bob' in namespace Default, and the settings name no other way to sign in" in made.stderr
    add(tmp_path, "ann")
    made = run(tmp_path, "tokens", "add", "x", "--scope", "search", "--user", "ann")
    assert (json.loads(made.stdout)["local_user"], made.stderr) == (True, "")
    assert json.loads(run(tmp_path, "tokens", "add", "x", "--scope", "search").stdout)["local_user"] is None


def test_token_for_a_user_of_another_sign_in_is_made_without_a_warning(tmp_path: Path) -> None:
    config = tmp_path / "f.toml"
    config.write_text('[signin.proxy]\ntrusted = ["192.0.2.7"]\n')
    made = run(tmp_path / "d", "tokens", "add", "x", "--scope", "search", "--user", "bob", "--config", str(config))
    assert (json.loads(made.stdout)["local_user"], made.stderr) == (False, "")


def test_audit_shows_what_commands_did_and_can_be_checked(tmp_path: Path) -> None:
    add(tmp_path, "ann")
    checked = json.loads(run(tmp_path, "audit", "verify").stdout)
    note = f"{checked['last']}:{checked['hash']}"
    assert json.loads(run(tmp_path, "users", "signout", "ann").stdout)["ended"] == 0
    run(tmp_path, "users", "remove", "ann")
    assert json.loads(run(tmp_path, "audit", "verify", "--expect", note).stdout)["entries"] == 3
    assert isinstance(run(tmp_path, "audit", "verify", "--expect", "1:00").exception, Corrupt)
    assert run(tmp_path, "audit", "verify", "--expect", "x").exit_code == 2
    exported = run(tmp_path, "audit", "export", "--kind", "command", "--since", "2020-01-01").stdout
    done = [json.loads(line)["details"]["command"] for line in exported.splitlines()]
    assert done == ["users add", "users signout", "users remove"]
    assert PASSWORD.strip() not in exported
    assert run(tmp_path, "audit", "export", "--until", "2020-01-01").stdout == ""
    assert run(tmp_path, "audit", "export", "--since", "yesterday").exit_code == 2
    file = tmp_path / "export.jsonl"
    file.write_text(exported)
    assert json.loads(run(tmp_path, "audit", "verify", "--file", str(file)).stdout)["entries"] == 3
    file.write_text(exported.replace("users add", "users ad "))
    assert "export.jsonl:1" in str(run(tmp_path, "audit", "verify", "--file", str(file)).exception)
