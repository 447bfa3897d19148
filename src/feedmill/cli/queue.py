"""``feedmill queue`` and ``feedmill recrawl``: the URLs of the crawler."""

from itertools import islice
from typing import Annotated, Any

import typer
from rich.table import Table

from feedmill.bootstrap.crawllinks import build_crawl_requests
from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, Json, clean, console, is_for_subcommand, print_json, workplace
from feedmill.http.admin.api.crawling import read_group, render_crawl_entry, render_life, render_overview
from feedmill.model.crawling import CrawlGroup

LISTED_AT_ONCE = 1_000

queue_app = typer.Typer(invoke_without_command=True, help="Show the crawl queue, pause the crawler, remove URLs.", rich_markup_mode=None)

QUEUE_EXAMPLES = """Examples:

  feedmill queue

  feedmill queue --group error --limit 20

  feedmill queue show http://intranet.example.com/a.html

  feedmill queue pause"""

RECRAWL_EXAMPLES = """Examples:

  feedmill recrawl http://intranet.example.com/a.html

  feedmill recrawl intranet.example.com/news/"""

Matching = Annotated[str, typer.Argument(metavar="URL-OR-PATTERN", help="A URL, or a pattern of URLs.")]


@queue_app.callback(epilog=QUEUE_EXAMPLES)
def show_queue(
    ctx: typer.Context,
    group: Annotated[str, typer.Option(help="Only URLs that are waiting, crawled, error or excluded.")] = "",
    prefix: Annotated[str, typer.Option(help="Only URLs that begin with this text.")] = "",
    limit: Annotated[int, typer.Option(min=0, max=1_000_000, help="How many URLs at most.")] = 20,
    after: Annotated[str, typer.Option(help="Only URLs behind this one, to continue a list.")] = "",
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show how many URLs each site has in which state, and list URLs."""
    if is_for_subcommand(ctx):
        return
    wanted = read_group(group)
    with workplace(data, config).read() as context:
        requests = build_crawl_requests(context)
        overview = render_overview(requests.read_overview())
        listed: list[dict[str, Any]] = []
        while limit > len(listed):
            at_once = min(limit - len(listed), LISTED_AT_ONCE)
            found = requests.list_entries(prefix=prefix, group=wanted, after=after, limit=at_once)
            listed += [render_crawl_entry(entry) for entry in found]
            if len(found) < at_once:
                break
            after = found[-1].url
    if as_json:
        print_json(overview | {"entries": listed})
        return
    _print_overview(overview)
    _print_entries(listed)


@queue_app.command("show", epilog="Example:\n\n  feedmill queue show http://intranet.example.com/a.html --json")
def show_url(
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL, exactly as it was named.")],
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show the life of a URL: its state, its last ten fetches, when it is due, and which pages link to it."""
    with workplace(data, config).read() as context:
        shown = render_life(build_crawl_requests(context).get_life(url))
    if as_json:
        print_json(shown)
    else:
        _print_life(shown)


@queue_app.command("remove", epilog="Example:\n\n  feedmill queue remove old.example.com/")
def remove(matching: Matching, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Remove URLs from the queue, with the documents that were crawled from them."""
    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        count = place.client(server, "admin").send_json("DELETE", "/api/v1/crawl/queue", {}, {"url": matching})["removed"]
    else:
        with place.work() as context:
            record_command(context, "queue remove", {"url": matching})
            count = build_crawl_requests(context).remove(matching)
    _report(count, "removed", as_json=as_json)


@queue_app.command("pause", epilog="Example:\n\n  feedmill queue pause")
def pause(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Stop the crawler until it is resumed."""
    _pause(data, config, is_paused=True, as_json=as_json)


@queue_app.command("resume", epilog="Example:\n\n  feedmill queue resume")
def resume(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Let the crawler continue."""
    _pause(data, config, is_paused=False, as_json=as_json)


def recrawl(matching: Matching, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Crawl every known URL that matches again, as soon as possible."""
    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        client = place.client(server, "admin")
        count = client.send_json("POST", "/api/v1/crawl/recrawl", {}, {"url": matching})["requested"]
    else:
        with place.work() as context:
            record_command(context, "recrawl", {"url": matching})
            count = build_crawl_requests(context).recrawl(matching)
    _report(count, "requested", as_json=as_json)


def _pause(data: Data, config: Config, *, is_paused: bool, as_json: bool) -> None:
    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        place.client(server, "admin").post_json(f"/api/v1/crawl/{'pause' if is_paused else 'resume'}")
    else:
        with place.work(may_begin=True) as context:
            record_command(context, f"queue {'pause' if is_paused else 'resume'}", {})
            build_crawl_requests(context).pause(is_paused=is_paused)
    if as_json:
        print_json({"paused": is_paused})
    else:
        console().print(f"the crawler is {'paused' if is_paused else 'resumed'}")


def _report(count: int, done: str, *, as_json: bool) -> None:
    if as_json:
        print_json({done: count})
    else:
        console().print(f"{count} URL{'' if count == 1 else 's'} {done}")


def _print_overview(overview: dict[str, Any]) -> None:
    out = console()
    out.print(f"due now:  {overview['due']}{', paused' if overview['paused'] else ''}")
    for site in overview["failing_sites"]:
        out.print(clean(f"failing:  {site['site']} since {site['failed_at']}, next attempt {site['retry_at']}: {site['reason'] or ''}"))
    groups = [group.value for group in CrawlGroup]
    table = Table("site", *groups, box=None, header_style="bold", pad_edge=False)
    for site in islice(overview["sites"], LISTED_AT_ONCE):
        table.add_row(clean(site["site"]), *(str(site[group]) for group in groups))
    out.print(table)


def _print_entries(listed: list[dict[str, Any]]) -> None:
    for entry in listed:
        # the longest column is last, so that rows stay in line
        typer.echo(clean(f"{entry['due_at'] or 'not due':<28} {entry['code']:>2} {entry['state']:<44} {entry['url']}"))


def _print_life(shown: dict[str, Any]) -> None:
    out = console()
    for key, value in shown.items():
        if key not in ("history", "referrers", "duplicates"):
            out.print(clean(f"{key + ':':<19}{'' if value is None else value}"))
    for referrer in shown["referrers"]:
        out.print(clean(f"linked by:         {referrer}"))
    for duplicate in shown["duplicates"]:
        out.print(clean(f"duplicate:         {duplicate}"))
    for record in shown["history"]:
        status = f", HTTP {record['http_status']}" if record["http_status"] else ""
        reason = f": {record['reason']}" if record["reason"] else ""
        out.print(
            clean(f"fetch:             {record['at']} {record['state']}{status}, {record['bytes']} bytes, {record['seconds']} s{reason}")
        )
