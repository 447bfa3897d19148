"""``feedmill groups``: shows the group sources, the members of a group, and the groups of a user."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import (
    DATA,
    Config,
    Data,
    Groups,
    Json,
    Namespace,
    clean,
    console,
    is_for_subcommand,
    make_table,
    print_json,
    print_table,
    workplace,
)
from feedmill.core.access.explanation import describe_path, describe_principal, describe_subject
from feedmill.core.access.principals import read_identity, read_subject
from feedmill.model.access import Principal, Scope
from feedmill.model.audit import AuditKind, Details
from feedmill.model.errors import BadFeed, NotFound
from feedmill.model.identity import DEFAULT_NAMESPACE, Subject
from feedmill.wire.decisions import render_principal

if TYPE_CHECKING:
    from feedmill.ports import SourcedDefinition
    from feedmill.services.access.grouplookup import GroupLookup

GROUPS_EXAMPLES = """Examples:

  feedmill groups

  feedmill groups show 'CORP\\sales'

  feedmill groups of 'CORP\\ann' --json"""

groups_app = typer.Typer(invoke_without_command=True, help="Show group sources, a group's members, a user's groups.", rich_markup_mode=None)


@groups_app.callback(epilog=GROUPS_EXAMPLES)
def list_sources(ctx: typer.Context, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List the group sources with the number of their groups and memberships."""
    if not is_for_subcommand(ctx):
        _list_sources(data, config, as_json=as_json)


@groups_app.command("list", epilog="Example:\n\n  feedmill groups list --json")
def list_again(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List the group sources, as 'feedmill groups' does."""
    _list_sources(data, config, as_json=as_json)


def _list_sources(data: Path, config: Path | None, *, as_json: bool) -> None:
    from feedmill.bootstrap.access import build_group_lookup

    with workplace(data, config).read() as context:
        sources = build_group_lookup(context).list_sources()
    if as_json:
        print_json(
            [
                {
                    "name": source.name,
                    "feeds": [str(feed_id) for feed_id in source.feeds],
                    "groups": source.definitions,
                    "memberships": source.memberships,
                }
                for source in sources
            ]
        )
        return
    table = make_table("group source", "groups", "memberships", "newest feed")
    for source in sources:
        table.add_row(clean(source.name), str(source.definitions), str(source.memberships), str(source.feeds[-1]))
    print_table(table)


@groups_app.command("show", epilog="Example:\n\n  feedmill groups show 'CORP\\sales'")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The group: NAME, DOMAIN\\NAME or NAME@DOMAIN, in its own letter case.")],
    namespace: Annotated[str, typer.Option("--namespace", metavar="N", help="The namespace of the group.")] = DEFAULT_NAMESPACE,
    limit: Annotated[int, typer.Option("--limit", min=1, max=3_000_000, help="How many members of each source at most.")] = 100,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show who is in a group, by which source and feed, and which groups contain it."""
    from feedmill.bootstrap.access import build_group_lookup

    group = read_subject(Scope.GROUP, name, namespace)
    with workplace(data, config).read() as context:
        record_command(context, "groups show", {"group": name, "namespace": namespace}, AuditKind.DECISION_REQUESTED)
        lookup = build_group_lookup(context)
        details = lookup.get_group(group)
        definitions = [_render_definition(lookup, group, definition, limit) for definition in details.definitions]
    if as_json:
        print_json({"group": _render_subject(group), "definitions": definitions, "parents": _render_paths(details.parents)})
        return
    out = console()
    for definition in definitions:
        out.print(clean(f"{definition['source']}, feed {definition['feed']}: {definition['memberships']} members"))
        for member in definition["members"] or ():
            out.print(clean(f"  {member['description']}"))
        if definition["members"] is None:
            out.print(clean(f"  their names are not known: {definition['reason']}"))
        elif len(definition["members"]) < definition["memberships"]:
            out.print("  and more; --limit shows them")
    _print_paths("in these groups:", details.parents)


@groups_app.command("of", epilog="Example:\n\n  feedmill groups of 'CORP\\ann'")
def list_of(
    user: Annotated[str, typer.Argument(metavar="USER", help="The user: NAME, DOMAIN\\NAME or NAME@DOMAIN.")],
    namespace: Namespace = DEFAULT_NAMESPACE,
    groups: Groups = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List the groups that the groups database adds to a user, each with the path to it."""
    from feedmill.bootstrap.access import build_group_lookup

    with workplace(data, config).read() as context:
        details: Details = {"user": user, "namespace": namespace, "groups": groups or []}
        record_command(context, "groups of", details, AuditKind.DECISION_REQUESTED)
        paths = build_group_lookup(context).list_groups_of(read_identity(user, namespace, groups or ()))
    if as_json:
        print_json({"user": user, "groups": _render_paths(paths)})
    elif paths:
        _print_paths("", paths)
    else:
        console().print(clean(f"no groups feed names {user}; letter case, domain and namespace count where the feed says so"))


def _render_definition(lookup: "GroupLookup", group: Subject, definition: "SourcedDefinition", limit: int) -> dict[str, Any]:
    """Returns a definition; without its feed, ``members`` is null and ``reason`` says why."""
    members: list[Principal] | None = None
    reason = None
    try:
        members = lookup.list_members(group, definition, limit)
    except (NotFound, BadFeed) as exc:
        reason = str(exc)
    return {
        "source": definition.source,
        "feed": str(definition.feed_id),
        "memberships": definition.memberships,
        "members": None if members is None else [_render_member(member) for member in members],
        "reason": reason,
    }


def _render_member(member: Principal) -> dict[str, Any]:
    return {**render_principal(member), "description": describe_principal(member)}


def _render_subject(subject: Subject) -> dict[str, Any]:
    return {"scope": subject.scope.value, "name": subject.name, "domain": subject.domain, "namespace": subject.namespace}


def _render_paths(paths: Sequence[tuple[Subject, ...]]) -> list[dict[str, Any]]:
    return [{**_render_subject(path[-1]), "path": [describe_subject(subject) for subject in path]} for path in paths]


def _print_paths(title: str, paths: Sequence[tuple[Subject, ...]]) -> None:
    out = console()
    if title and paths:
        out.print(title)
    for path in paths:
        through = f"  through {describe_path(path[1:-1])}" if len(path) > 2 else ""
        out.print(clean(f"{'  ' if title else ''}{describe_subject(path[-1])}{through}"))
