"""``feedmill sources``: lists data sources, deletes or destroys one. The commands of pull sources are in ``pulling``."""

from pathlib import Path
from typing import Annotated

import typer

from feedmill.cli import pulling
from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, Json, console, is_for_subcommand, make_table, print_json, print_table, workplace
from feedmill.cli.working import get_feed, work_until
from feedmill.model.errors import NotFound

sources_app = typer.Typer(
    invoke_without_command=True, help="List data sources, delete or destroy one; run pull sources.", rich_markup_mode=None
)

SOURCES_EXAMPLES = """Examples:

  feedmill sources

  feedmill sources delete hr

  feedmill sources destroy hr --json

  feedmill sources run staff --full"""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The data source.")]


@sources_app.callback(epilog=SOURCES_EXAMPLES)
def list_sources(ctx: typer.Context, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List data sources with their kind, documents and feeds."""
    if not is_for_subcommand(ctx):
        _list_sources(data, config, as_json=as_json)


@sources_app.command("list", epilog="Example:\n\n  feedmill sources list --json")
def list_again(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List data sources, as 'feedmill sources' does."""
    _list_sources(data, config, as_json=as_json)


def _list_sources(data: Path, config: Path | None, *, as_json: bool) -> None:
    from feedmill.bootstrap.pullrequests import build_pull_requests
    from feedmill.http.admin.api.pullsources import render_pull_source
    from feedmill.http.feeds.receipts import render_source

    with workplace(data, config).read() as context, context.store.reading() as unit:
        listed = [render_source(source) for source in unit.feeds.sources.list()]
        pulled = {source.name: render_pull_source(source) for source in build_pull_requests(context).list_sources()}
    named = {source["name"] for source in listed}
    listed += [{"name": name, "kind": "content", "documents": 0, "feeds": 0} for name in pulled if name not in named]
    listed = [source | ({"pull": pulled[source["name"]]} if source["name"] in pulled else {}) for source in listed]
    if as_json:
        print_json(listed)
        return
    table = make_table("name", "kind", "documents", "feeds", "pulled")
    for source in listed:
        pulled_text = pulling.describe_pull(source["pull"]) if "pull" in source else ""
        table.add_row(source["name"], source["kind"], str(source["documents"]), str(source["feeds"]), pulled_text)
    print_table(table)


@sources_app.command("delete", epilog="Example:\n\n  feedmill sources delete hr")
def delete(name: Name, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Remove a data source's documents; its name and feeds stay for the record."""
    _remove(name, data, config, destroy=False, as_json=as_json)


@sources_app.command("destroy", epilog="Example:\n\n  feedmill sources destroy hr")
def destroy(name: Name, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Remove a data source's documents, its feeds and its name."""
    _remove(name, data, config, destroy=True, as_json=as_json)


sources_app.command("run", epilog="Example:\n\n  feedmill sources run staff --dry-run --json")(pulling.run)
sources_app.command("runs", epilog="Example:\n\n  feedmill sources runs staff")(pulling.list_runs)
sources_app.command("pause", epilog="Example:\n\n  feedmill sources pause staff")(pulling.pause)
sources_app.command("resume", epilog="Example:\n\n  feedmill sources resume staff")(pulling.resume)


def _remove(name: str, data: Data, config: Config, *, destroy: bool, as_json: bool) -> None:
    from feedmill_client.port import quote_name

    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        place.client(server, "admin").delete(f"/api/v1/datasources/{quote_name(name)}", {"destroy": "1"} if destroy else None)
    else:
        _remove_here(name, data, config, destroy=destroy)
    done = "destroyed" if destroy else "deleted"
    if as_json:
        print_json({"name": name, "state": done})
    else:
        console().print(f"{name} is {done}")


def _remove_here(name: str, data: Data, config: Config, *, destroy: bool) -> None:
    from feedmill.bootstrap.intake import build_intake

    with workplace(data, config).work() as context:
        record_command(context, f"sources {'destroy' if destroy else 'delete'}", {"name": name})
        feed_id = build_intake(context).request_removal(name, destroy=destroy, client="command line")

        def _is_gone() -> bool:
            try:
                return get_feed(context, feed_id).searchable_at is not None
            except NotFound:
                return True

        work_until(context, _is_gone)
