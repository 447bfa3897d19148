"""``feedmill policies``: lists the policy ACLs in force, finds those of a URL, and imports and exports them."""

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.importing import as_body, read_exported
from feedmill.cli.options import DATA, Config, Data, InputFile, Json, clean, console, print_json, workplace

policies_app = typer.Typer(help="Look at policy ACLs, import and export them.", no_args_is_help=True, rich_markup_mode=None)

POLICIES_EXAMPLES = """Examples:

  feedmill policies list --url http://intranet.example.com/plans/42

  feedmill policies import policies.txt --replace"""


@policies_app.callback()
def _group() -> None:
    """Look at policy ACLs, import and export them."""


@policies_app.command("list", epilog=POLICIES_EXAMPLES)
def list_policies(
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Only those for a URL, the one that counts first.")] = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List the policy ACLs in force."""
    from feedmill.http.admin.api.policies import describe_policies

    with workplace(data, config).read() as context:
        answer = describe_policies(context.store, url)
    if as_json:
        print_json(answer)
        return
    for policy in answer["policies"]:
        console().print(clean(f"{policy['name']}  {policy['kind']}  {policy['pattern']}  {_describe_principals(policy)}"))
    if not answer["obeyed"]:
        console().print("documents are still being moved to the classes of changed patterns")


def _describe_principals(policy: dict[str, Any]) -> str:
    named = [f"{one['access']} {one['scope']} {one['name']}" for one in policy["principals"]]
    return ", ".join(named[:5] + ([f"and {len(named) - 5} more"] if len(named) > 5 else [])) or "denies everybody"


@policies_app.command("export", epilog="Example:\n\n  feedmill policies export > policies.txt")
def export(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Write the policy ACLs in force to standard output, as lines of text."""
    from feedmill.http.admin.api.policies import export_policies

    with workplace(data, config).read() as context:
        text = export_policies(context.store)
    if as_json:
        print_json({"text": text})
    else:
        sys.stdout.write(text)


@policies_app.command("import", epilog=POLICIES_EXAMPLES)
def import_file(
    file: InputFile,
    replace: Annotated[bool, typer.Option("--replace", help="Remove all others that were set by API or import.")] = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Set the policy ACLs of a file, as if by API; an existing pattern gets the file's users and groups."""
    from feedmill.settings.editing import SettingsEditor
    from feedmill.settings.policyfiles import import_policies

    content = read_exported(file)
    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        client, fields = place.client(server, "admin"), {"replace": "1"} if replace else {}
        answer = client.send_json("POST", "/api/v1/policy-acls/import", as_body(content), fields)
    else:
        with place.work(may_begin=True) as context:
            editor = SettingsEditor(context.store, place.load, context.notifier)
            answer = asdict(import_policies(editor, content, replaces=replace))
            record_command(context, "policies import", {"added": answer["added"], "changed": answer["changed"], "replaced": replace})
    if as_json:
        print_json(answer)
    else:
        console().print(
            clean(f"{answer['added']} new, {answer['changed']} changed, {answer['removed']} given up, {answer['total']} in all")
        )
