"""``feedmill tokens``: lists, adds and removes the tokens of programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import (
    DATA,
    Config,
    Data,
    Json,
    check_number,
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
from feedmill.cli.users import Namespace
from feedmill.core.text.times import ZONE
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.signin import TokenScope

if TYPE_CHECKING:
    from feedmill.settings.signin import SignIn

tokens_app = typer.Typer(invoke_without_command=True, help="List, make and remove tokens of programs.", rich_markup_mode=None)

TOKENS_EXAMPLES = """Examples:

  feedmill tokens

  feedmill tokens add intranet --scope search --user ann --days 90

  feedmill tokens add wiki-feeds --scope push --datasource wiki

  feedmill tokens add monitoring --scope view --json

  feedmill tokens remove 3"""

_PATH = "/api/v1/tokens"


@tokens_app.callback(epilog=TOKENS_EXAMPLES)
def list_tokens(ctx: typer.Context, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List tokens, without their texts, which appear once, when a token is made."""
    if not is_for_subcommand(ctx):
        _list_tokens(data, config, as_json=as_json)


@tokens_app.command("list", epilog="Example:\n\n  feedmill tokens list --json")
def list_again(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List tokens, as 'feedmill tokens' does."""
    _list_tokens(data, config, as_json=as_json)


def _list_tokens(data: Path, config: Path | None, *, as_json: bool) -> None:
    from feedmill.http.admin.api.accounts import render_token

    with workplace(data, config).read() as context, context.store.reading() as unit:
        listed = [render_token(token) for token in unit.signin.api_tokens.list_all()]
    if as_json:
        print_json(listed)
        return
    table = make_table("id", "label", "scopes", "for", f"expires ({ZONE})", f"used ({ZONE})")
    for token in listed:
        table.add_row(
            str(token["id"]),
            clean(token["label"]),
            " ".join(token["scopes"]),
            clean(token["user"] or " ".join(token["datasources"])),
            show_in_utc(token["expires_at"]),
            show_in_utc(token["used_at"]),
        )
    print_table(table)


@tokens_app.command("add", epilog="Example:\n\n  feedmill tokens add intranet --scope search --user ann --days 90")
def add(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The program that uses the token, for the list and the audit log.")],
    scope: Annotated[list[TokenScope], typer.Option("--scope", help="What the token permits; may be repeated.")],
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="The user in whose name it searches.")] = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    datasource: Annotated[
        list[str] | None,
        typer.Option("--datasource", metavar="NAME", help="A data source that a push token is for; may be repeated; all by default."),
    ] = None,
    days: Annotated[int | None, typer.Option("--days", help="How long it is valid; for ever by default.")] = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it; it cannot be shown again."""
    from feedmill.bootstrap.signin import build_signing
    from feedmill.http.admin.api.accounts import render_new_token

    place, sources = workplace(data, config), list(datasource or ())
    server = place.find_server()
    if server is not None:
        body = {
            "label": label,
            "scopes": [each.value for each in scope],
            "user": user,
            "namespace": namespace,
            "days": days,
            "datasources": sources,
        }
        made = place.client(server, "admin").send_json("POST", _PATH, body)
    else:
        with place.work(may_begin=True) as context:
            tokens = build_signing(context).tokens
            made = render_new_token(tokens.add(label, scope, user=user, namespace=namespace, days=days, datasources=sources))
            details = {"label": label, "scopes": made["scopes"], "user": user, "namespace": namespace, "datasources": made["datasources"]}
            record_command(context, "tokens add", details)
    if made.get("local_user") is False and not _has_other_sign_ins(place.load().settings.signin):
        named = f"there is no local user '{made['user']}' in namespace {made['namespace']}, and the settings name no other way to sign in"
        error_console().print(clean(f"warning: {named}; the token finds what this name may see; 'feedmill users add' makes a user"))
    if as_json:
        print_json(made)
    else:
        console().print(made["token"])


def _has_other_sign_ins(signin: "SignIn") -> bool:
    """Returns whether users may come from a directory, a provider or a proxy."""
    return bool(signin.ldap or signin.oidc or signin.saml or signin.proxy.trusted)


@tokens_app.command("remove", epilog="Example:\n\n  feedmill tokens remove 3")
def remove(
    token: Annotated[int, typer.Argument(metavar="ID", callback=check_number, help="The token's number, as 'feedmill tokens' lists it.")],
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Remove a token, which is invalid from now on."""
    from feedmill.bootstrap.signin import build_signing

    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        place.client(server, "admin").delete(f"{_PATH}/{token}")
    else:
        with place.work() as context:
            build_signing(context).tokens.remove(token)
            record_command(context, "tokens remove", {"id": token})
    if as_json:
        print_json({"id": token, "state": "removed"})
    else:
        console().print(f"token {token} is removed")
