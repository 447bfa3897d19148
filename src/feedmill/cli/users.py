"""``feedmill users``: lists, adds and changes local users."""

import getpass
import sys
from typing import Annotated, Any

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import (
    DATA,
    Config,
    Data,
    Json,
    clean,
    console,
    error_console,
    is_for_subcommand,
    make_table,
    print_json,
    print_table,
    show_in_utc,
    workplace,
)
from feedmill.core.access.principals import read_subject
from feedmill.core.signin.accounts import MAX_PASSWORD_BYTES, WEAK_BELOW_CHARACTERS, is_weak
from feedmill.core.signin.sessiondigests import digest_of_user
from feedmill.core.text.times import ZONE
from feedmill.model.access import Scope
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.userrole import UserRole

users_app = typer.Typer(invoke_without_command=True, help="List, add and change local users.", rich_markup_mode=None)

USERS_EXAMPLES = """Examples:

  feedmill users

  echo 'a good long password' | feedmill users add ann --password-stdin

  echo 'a good long password' | feedmill users add 'CORP\\ann' --namespace ad --role viewer --password-stdin

  feedmill users remove ann --json"""

_PATH = "/api/v1/users"

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user, such as ann, CORP\\ann or ann@corp.example.com.")]
Namespace = Annotated[str, typer.Option("--namespace", metavar="N", help="The namespace (credential group) of the user.")]
RoleOption = Annotated[UserRole, typer.Option("--role", help="What the user may do in addition to searching.")]
PasswordStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input, its first line.")]


@users_app.callback(epilog=USERS_EXAMPLES)
def list_users(ctx: typer.Context, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List local users with their namespace and role."""
    if is_for_subcommand(ctx):
        return
    _list_accounts(data, config, as_json=as_json)


@users_app.command("list", epilog="Example:\n\n  feedmill users list --json")
def list_again(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List local users, as 'feedmill users' does."""
    _list_accounts(data, config, as_json=as_json)


@users_app.command("add", epilog="Example:\n\n  echo 'a good long password' | feedmill users add ann --password-stdin")
def add(
    name: Name,
    namespace: Namespace = DEFAULT_NAMESPACE,
    role: RoleOption = UserRole.SEARCHER,
    password_stdin: PasswordStdin = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Add a local user. Without --password-stdin, type the password at a prompt."""
    from feedmill.bootstrap.signin import build_signing
    from feedmill.http.admin.api.accounts import render_account

    body = {"name": name, "namespace": namespace, "role": role.value, "password": _read_password(from_stdin=password_stdin)}
    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        made = place.client(server, "admin").send_json("POST", _PATH, body)
    else:
        with place.work(may_begin=True) as context:
            made = render_account(build_signing(context).accounts.add(name, body["password"], namespace=namespace, role=role))
            record_command(context, "users add", {"name": name, "namespace": namespace, "role": role.value})
    _report(made, as_json=as_json, text=f"user {made['name']} is made")


@users_app.command("passwd", epilog="Example:\n\n  echo 'another long password' | feedmill users passwd ann --password-stdin")
def passwd(
    name: Name,
    namespace: Namespace = DEFAULT_NAMESPACE,
    password_stdin: PasswordStdin = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Set a local user's password; sessions with the old one end."""
    password = _read_password(from_stdin=password_stdin)
    _change(name, namespace, {"password": password}, data, config, as_json=as_json)


@users_app.command("role", epilog="Example:\n\n  feedmill users role ann manager")
def role_of(
    name: Name,
    role: Annotated[UserRole, typer.Argument(metavar="ROLE", help="searcher, viewer, manager or administrator.")],
    namespace: Namespace = DEFAULT_NAMESPACE,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Set a local user's role; their sessions end."""
    _change(name, namespace, {"role": role.value}, data, config, as_json=as_json)


@users_app.command("remove", epilog="Example:\n\n  feedmill users remove ann --namespace ad")
def remove(name: Name, namespace: Namespace = DEFAULT_NAMESPACE, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Remove a local user, with their sessions and tokens."""
    from feedmill.bootstrap.signin import build_signing

    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        place.client(server, "admin").delete(_PATH, {"name": name, "namespace": namespace})
    else:
        with place.work() as context:
            build_signing(context).accounts.remove(name, namespace=namespace)
            record_command(context, "users remove", {"name": name, "namespace": namespace})
    _report({"name": name, "namespace": namespace, "state": "removed"}, as_json=as_json, text=f"user {name} is removed")


@users_app.command("signout", epilog="Example:\n\n  feedmill users signout ann --namespace ad")
def sign_out(name: Name, namespace: Namespace = DEFAULT_NAMESPACE, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """End all sessions of a user, local or of a provider. Passwords and tokens stay as they are."""
    from feedmill.bootstrap.signin import build_signing

    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        answer = place.client(server, "admin").send_json("POST", "/api/v1/sessions/end", {"name": name, "namespace": namespace})
        ended = int(answer["ended"])
    else:
        with place.work() as context:
            ended = build_signing(context).sessions.withdraw([digest_of_user(read_subject(Scope.USER, name, namespace))])
            record_command(context, "users signout", {"name": name, "namespace": namespace})
    _report({"name": name, "namespace": namespace, "ended": ended}, as_json=as_json, text=f"{ended} sessions of {name} have ended")


def _list_accounts(data: Data, config: Config, *, as_json: bool) -> None:
    from feedmill.http.admin.api.accounts import render_account

    with workplace(data, config).read() as context, context.store.reading() as unit:
        listed = [render_account(account) for account in unit.signin.accounts.list_all()]
    if as_json:
        print_json(listed)
        return
    table = make_table("name", "namespace", "role", f"changed ({ZONE})")
    for user in listed:
        table.add_row(clean(user["name"]), clean(user["namespace"]), user["role"], show_in_utc(user["changed_at"]))
    print_table(table)


def _change(name: str, namespace: str, body: dict[str, str], data: Data, config: Config, *, as_json: bool) -> None:
    from feedmill.bootstrap.signin import build_signing
    from feedmill.http.admin.api.accounts import render_account

    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        changed = place.client(server, "admin").send_json("PATCH", _PATH, body, {"name": name, "namespace": namespace})
    else:
        with place.work() as context:
            accounts = build_signing(context).accounts
            if "password" in body:
                changed = render_account(accounts.set_password(name, body["password"], namespace=namespace))
            else:
                changed = render_account(accounts.set_role(name, UserRole(body["role"]), namespace=namespace))
            record_command(context, "users change", {"name": name, "namespace": namespace, "changed": sorted(body)})
    _report(changed, as_json=as_json, text=f"user {changed['name']} is changed")


def _read_password(*, from_stdin: bool) -> str:
    """Returns a password. Errors: BadRequest if there is none."""
    if not from_stdin:
        if not sys.stdin.isatty():
            raise BadRequest("there is no terminal to type the password; use --password-stdin")
        return getpass.getpass("Password: ")
    raw = sys.stdin.buffer.readline(MAX_PASSWORD_BYTES + 3)
    try:
        password = raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as exc:
        raise BadRequest("the password on standard input is not UTF-8") from exc
    if not password:
        raise BadRequest("there is no password on standard input")
    if is_weak(password):
        error_console().print(f"warning: the password has less than {WEAK_BELOW_CHARACTERS} characters")
    return password


def _report(value: dict[str, Any], *, as_json: bool, text: str) -> None:
    if as_json:
        print_json(value)
    else:
        console().print(clean(text))
