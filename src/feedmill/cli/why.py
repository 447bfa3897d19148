"""``feedmill why``: says whether searches find a URL, and why not."""

from typing import Annotated, Any

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, Groups, Json, Namespace, clean, console, print_json, show_time, workplace
from feedmill.core.access.principals import read_identity
from feedmill.model.audit import AuditKind, Detail
from feedmill.model.identity import DEFAULT_NAMESPACE

WHY_EXAMPLES = """Examples:

  feedmill why http://intranet.example.com/a.html

  feedmill why http://intranet.example.com/a.html --user 'CORP\\ann' --query 'annual report'

  feedmill why http://intranet.example.com/a.html --json"""


def why(
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL, exactly as it was named.")],
    user: Annotated[str | None, typer.Option("--user", metavar="U", help="The user: NAME, DOMAIN\\NAME or NAME@DOMAIN.")] = None,
    namespace: Namespace = DEFAULT_NAMESPACE,
    groups: Groups = None,
    query: Annotated[str, typer.Option("--query", metavar="Q", help="A query, as typed on the search page.")] = "",
    collection: Annotated[str, typer.Option("--collection", metavar="N", help="The collection that is searched.")] = "",
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Say whether searches find a URL, and why not: patterns, robots.txt, HTTP status, extraction, the index, access, the query."""
    from feedmill.bootstrap.diagnosis import build_diagnosing
    from feedmill.http.admin.api.diagnosis import render_diagnosis
    from feedmill.services.diagnosis import DiagnosisQuestion

    identity = read_identity(user, namespace, groups or ()) if user or groups else None
    with workplace(data, config).read() as context:
        if identity is not None:
            details: dict[str, Detail] = {"url": url, "user": user or "", "namespace": namespace, "groups": groups or [], "query": query}
            record_command(context, "why", details, AuditKind.DECISION_REQUESTED)
        question = DiagnosisQuestion(url=url, identity=identity, query=query, collection=collection)
        shown = render_diagnosis(build_diagnosing(context).diagnose(question), user)
    if as_json:
        print_json(shown)
    else:
        _print_diagnosis(shown)


def _print_diagnosis(shown: dict[str, Any]) -> None:
    out = console()
    out.print(clean(f"{shown['url']}: {shown['state']}, {'found by searches' if shown['searchable'] else 'not found by searches'}"))
    for cause in shown["causes"]:
        out.print(clean(f"  {cause}"))
    for event in shown["history"]:
        where = f" by feed {event['feed']}" if event["feed"] else ""
        out.print(clean(f"history: {show_time(event['at'])} {event['event']}{where}{': ' + event['detail'] if event['detail'] else ''}"))
    for record in (shown["crawl"] or {}).get("history", ()):
        status = f", HTTP {record['http_status']}" if record["http_status"] else ""
        reason = f": {record['reason']}" if record["reason"] else ""
        out.print(clean(f"fetch:   {show_time(record['at'])} {record['state']}{status}{reason}"))
