"""``feedmill access changes``: lists what changed for a user."""

from itertools import islice
from typing import Annotated

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, Groups, Json, Namespace, clean, console, print_json, read_time, workplace
from feedmill.core.access.principals import read_identity
from feedmill.core.text.times import write_time
from feedmill.model.accesschange import AccessChange, ChangeOrigin
from feedmill.model.audit import AuditKind, Detail
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.wire.decisions import render_change

CHANGES_EXAMPLES = """Examples:

  feedmill access changes --user 'CORP\\ann' --since 2026-03-02

  feedmill access changes --user ann --group staff --since 2026-03-02T09:00 --until 2026-03-02T10:00 --json"""


def list_changes(
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="The first date or time, in UTC by default.")],
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="The second date or time; now by default.")] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="U", help="The user: NAME, DOMAIN\\NAME or NAME@DOMAIN.")] = None,
    namespace: Namespace = DEFAULT_NAMESPACE,
    groups: Groups = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many at most; all by default.")] = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List documents that a user could not see at one time and can see at another, or the other way round, with the cause."""
    from feedmill.bootstrap.access import build_access_changes

    first, last = read_time(since), None if until is None else read_time(until)
    with workplace(data, config).read() as context:
        details: dict[str, Detail] = {"user": user or "", "namespace": namespace, "groups": groups or []}
        record_command(context, "access changes", {**details, "since": since, "until": until or ""}, AuditKind.DECISION_REQUESTED)
        service = build_access_changes(context)
        comparison = service.compare(read_identity(user, namespace, groups or ()), first, last)
        count = 0
        for change in islice(service.iter_changes(comparison), limit):
            count += 1
            if as_json:
                print_json(render_change(change))
            else:
                _print_change(change)
    if not count and not as_json:
        console().print("nothing changed")


def _print_change(change: AccessChange) -> None:
    out = console()
    out.print(clean(f"{'gained' if change.is_gained else 'lost'} {change.url}"))
    if change.origin is not None:
        out.print(clean(f"  {_describe_origin(change.origin)}"))
    out.print(clean(f"  before: {change.before}"))
    out.print(clean(f"  after: {change.after}"))


def _describe_origin(origin: ChangeOrigin) -> str:
    parts = [f"{write_time(origin.at)}: {origin.cause.value}", origin.url]
    parts.append(" of ".join(filter(None, (f"feed {origin.feed_id}", origin.source))) if origin.feed_id else "")
    return ", ".join(filter(None, parts))
