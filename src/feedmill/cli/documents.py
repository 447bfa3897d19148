"""``feedmill documents``: lists documents, and shows a single one."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.cli.options import (
    DATA,
    Config,
    Data,
    Json,
    check_number,
    clean,
    console,
    is_for_subcommand,
    print_json,
    print_json_list,
    show_time,
    show_value,
    workplace,
)
from feedmill.model.document import Document, Origin
from feedmill.model.errors import NotFound

if TYPE_CHECKING:
    from feedmill.ports import Store, UnitOfWork

LISTED_AT_ONCE = 1_000

Source = Annotated[str | None, typer.Option("--datasource", help="Of one data source only.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1_000_000, help="How many at most.")]
After = Annotated[int, typer.Option("--after", min=0, callback=check_number, help="Only documents with a greater id, to continue a list.")]

documents_app = typer.Typer(invoke_without_command=True, help="List documents, or show one.", rich_markup_mode=None)

DOCUMENTS_EXAMPLES = """Examples:

  feedmill documents --datasource hr --limit 20

  feedmill documents show http://intranet.example.com/a.html"""


@documents_app.callback(epilog=DOCUMENTS_EXAMPLES)
def list_documents(
    ctx: typer.Context,
    datasource: Source = None,
    limit: Limit = 100,
    after: After = 0,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List documents in the order in which they were first stored."""
    if not is_for_subcommand(ctx):
        _list_documents(data, config, datasource, limit, after, as_json=as_json)


@documents_app.command("list", epilog="Example:\n\n  feedmill documents list --datasource hr --limit 20")
def list_again(
    datasource: Source = None, limit: Limit = 100, after: After = 0, data: Data = DATA, config: Config = None, as_json: Json = False
) -> None:
    """List documents, as 'feedmill documents' does."""
    _list_documents(data, config, datasource, limit, after, as_json=as_json)


def _list_documents(data: Path, config: Path | None, datasource: str | None, limit: int, after: int, *, as_json: bool) -> None:
    with workplace(data, config).read() as context:
        listed = islice(_iter_rows(context.store, datasource, after, min(limit, LISTED_AT_ONCE)), limit)
        if as_json:
            print_json_list(listed)
            return
        _print_row("id", "state", "data source", "url")
        for row in listed:
            _print_row(str(row["id"]), row["state"], row["datasource"], clean(row["url"]))


def _print_row(number: str, state: str, datasource: str, url: str) -> None:
    # the longest column is last, so that rows are printed before all of them are read
    typer.echo(f"{number:<9} {state:<13} {datasource:<20} {url}")


@documents_app.command("show", epilog="Example:\n\n  feedmill documents show http://intranet.example.com/a.html --json")
def show(
    url: Annotated[str, typer.Argument(metavar="URL", help="The document's URL, exactly as it was fed.")],
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show a URL: state, metadata and ACL of its document, and its history, also after its deletion."""
    from feedmill.http.feeds.receipts import render_document, render_past
    from feedmill.services.inspection import find_url_history, inspect_url

    with workplace(data, config).read() as context:
        try:
            shown = render_document(inspect_url(context.store, url))
        except NotFound:
            shown = render_past(find_url_history(context.store, url))
    if as_json:
        print_json(shown)
    else:
        _print_document(shown)


def _iter_rows(store: "Store", datasource: str | None, after: int, at_once: int) -> Iterator[dict[str, Any]]:
    """Yields documents, a bounded number for each read. No transaction is open while the caller processes them."""
    while True:
        with store.reading() as unit:
            found = unit.documents.scan.list_live(after=after, limit=at_once, datasource=datasource)
            rows = _render_documents(unit, found)
        yield from rows
        if len(found) < at_once:
            return
        after = rows[-1]["id"]


def _render_documents(unit: "UnitOfWork", found: list[Document]) -> list[dict[str, Any]]:
    from feedmill.services.inspection import find_status

    ids = [document.id for document in found if document.id is not None]
    tasks, failures = unit.processing.index_tasks.find_many(ids), unit.processing.failures.find_many(ids)
    entries = unit.feeds.crawling.queue.find_many([document.url for document in found if document.origin is Origin.WEB])
    rows = []
    for document in found:
        status = find_status(document, tasks.get(document.id or 0), failures.get(document.id or 0), entries.get(document.url))
        row = {"id": document.id, "url": document.url, "datasource": document.datasource, "state": status.state}
        rows.append(row | {"searchable": status.searchable, "reason": status.reason})
    return rows


def _print_document(shown: dict[str, Any]) -> None:
    out = console()
    for key, value in shown.items():
        if key in ("metadata", "acl", "history"):
            continue
        out.print(clean(f"{key + ':':<19}{show_value(key, value)}"))
    for name, values in shown.get("metadata", {}).items():
        out.print(clean(f"metadata:          {name} = {'; '.join(values)}"))
    acl = shown.get("acl")
    if acl is not None:
        out.print(clean(f"acl:               {acl['inheritance_type']}, inherits from {acl['inherit_from'] or 'nothing'}"))
        for named in acl["principals"]:
            out.print(clean(f"                   {named['access']} {named['scope']} {named['name']} ({named['namespace']})"))
    for event in shown["history"]:
        where = f", feed {event['feed']}" + (f" line {event['line']}" if event["line"] else "") if event["feed"] else ""
        detail = f": {event['detail']}" if event["detail"] else ""
        out.print(clean(f"history:           {show_time(event['at'])} {event['event']}{where}{detail}"))
