"""``feedmill queue`` and ``feedmill recrawl``: the URLs of the crawler."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import (
    DATA,
    Config,
    Data,
    Json,
    amount,
    clean,
    console,
    error_console,
    is_for_subcommand,
    make_table,
    print_json,
    print_table,
    show_time,
    show_value,
    workplace,
)
from feedmill.cli.start import INTERRUPTED
from feedmill.model.crawling import CrawlGroup
from feedmill.model.errors import FeedmillError, NotFound

if TYPE_CHECKING:
    from feedmill.cli.workplace import Workplace
    from feedmill.services.crawling.requesting import CrawlRequests, DonePart

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

After = Annotated[str, typer.Option(metavar="URL", help="Only URLs behind this one, to continue an interrupted command.")]


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
    from feedmill.bootstrap.crawllinks import build_crawl_requests
    from feedmill.http.admin.api.crawling import read_group, render_crawl_entry, render_overview

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
    from feedmill.bootstrap.crawllinks import build_crawl_requests
    from feedmill.http.admin.api.crawling import render_life

    with workplace(data, config).read() as context:
        shown = render_life(build_crawl_requests(context).get_life(url))
    if as_json:
        print_json(shown)
    else:
        _print_life(shown)


@queue_app.command("remove", epilog="Example:\n\n  feedmill queue remove old.example.com/")
def remove(matching: Matching, after: After = "", data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Remove URLs from the queue, with the documents that were crawled from them."""
    _do_in_parts("removed", matching, after, workplace(data, config), as_json=as_json)


@queue_app.command("pause", epilog="Example:\n\n  feedmill queue pause")
def pause(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Stop the crawler until it is resumed."""
    _pause(data, config, is_paused=True, as_json=as_json)


@queue_app.command("resume", epilog="Example:\n\n  feedmill queue resume")
def resume(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Let the crawler continue."""
    _pause(data, config, is_paused=False, as_json=as_json)


def recrawl(matching: Matching, after: After = "", data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Crawl every known URL that matches again, as soon as possible."""
    _do_in_parts("requested", matching, after, workplace(data, config), as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Changing:
    """A command that changes all URLs that match: its route, its name in the audit log, and how it is done without a server."""

    method: str
    path: str
    command: str
    do_part: "Callable[[CrawlRequests, str, str], DonePart]"


_CHANGING = {
    "removed": _Changing(
        "DELETE", "/api/v1/crawl/queue", "queue remove", lambda requests, matching, after: requests.remove_part(matching, after)
    ),
    "requested": _Changing(
        "POST", "/api/v1/crawl/recrawl", "recrawl", lambda requests, matching, after: requests.recrawl_part(matching, after)
    ),
}


def _do_in_parts(done: str, matching: str, after: str, place: "Workplace", *, as_json: bool) -> None:
    """Changes the URLs that match, part by part, so that the command may be interrupted at any time."""
    from feedmill.bootstrap.crawllinks import build_crawl_requests
    from feedmill.http.admin.api.crawling import render_overview
    from feedmill.services.crawling.requesting import DonePart, describe_no_match

    changing = _CHANGING[done]
    server = place.find_server()
    if server is not None:
        client = place.client(server, "admin")

        def ask(after: str) -> "DonePart":
            answer = client.send_json(changing.method, changing.path, {}, {"url": matching, "after": after})
            return DonePart(count=answer[done], compared=answer["compared"], after=answer["after"] or "")

        count = follow_parts(ask, lambda: sum(client.get_json("/api/v1/crawl")["groups"].values()), after)
    else:
        with place.work() as context:
            record_command(context, changing.command, {"url": matching})
            requests = build_crawl_requests(context)
            count = follow_parts(
                lambda after: changing.do_part(requests, matching, after),
                lambda: sum(render_overview(requests.read_overview())["groups"].values()),
                after,
            )
    if not count and not after:
        raise NotFound(describe_no_match(matching))
    if as_json:
        print_json({done: count})
    else:
        console().print(f"{amount(count, 'URL')} {done}")


def follow_parts(ask: "Callable[[str], DonePart]", count_known: Callable[[], int], after: str) -> int:
    """Does part after part, with a progress bar on a terminal. Returns how many URLs matched. An interruption says how to continue."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("compared"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    is_shown, count = sys.stderr.isatty(), 0
    try:
        with Progress(*columns, console=error_console(), transient=True, disable=not is_shown) as progress:
            task = progress.add_task("", total=count_known() if is_shown and not after else None)
            while True:
                part = ask(after)
                count, after = count + part.count, part.after
                progress.advance(task, part.compared)
                if not after:
                    return count
    except (KeyboardInterrupt, FeedmillError) as error:
        if count or after:
            error_console().print(clean(f"{amount(count, 'URL')} done; to continue with the others, add --after '{after}'"))
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(INTERRUPTED) from None
        raise


def _pause(data: Data, config: Config, *, is_paused: bool, as_json: bool) -> None:
    from feedmill.bootstrap.crawllinks import build_crawl_requests

    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        place.client(server, "admin").post_json(f"/api/v1/crawl/{'pause' if is_paused else 'resume'}")
    else:
        with place.work() as context:
            record_command(context, f"queue {'pause' if is_paused else 'resume'}", {})
            build_crawl_requests(context).pause(is_paused=is_paused)
    if as_json:
        print_json({"paused": is_paused})
    else:
        console().print(f"the crawler is {'paused' if is_paused else 'resumed'}")


def _print_overview(overview: dict[str, Any]) -> None:
    out = console()
    out.print(f"due now:  {overview['due']}{', paused' if overview['paused'] else ''}")
    for site in overview["failing_sites"]:
        since, again = (show_value(key, site[key]) for key in ("failed_at", "retry_at"))
        out.print(clean(f"failing:  {site['site']} since {since}, next attempt {again}: {site['reason'] or ''}"))
    groups = [group.value for group in CrawlGroup]
    table = make_table("site", *groups)
    for site in islice(overview["sites"], LISTED_AT_ONCE):
        table.add_row(clean(site["site"]), *(str(site[group]) for group in groups))
    print_table(table)


def _print_entries(listed: list[dict[str, Any]]) -> None:
    for entry in listed:
        # the longest column is last, so that rows stay in line
        due = show_value("due_at", entry["due_at"]) or "not due"
        typer.echo(clean(f"{due:<23} {entry['code']:>2} {entry['state']:<44} {entry['url']}"))


def _print_life(shown: dict[str, Any]) -> None:
    out = console()
    for key, value in shown.items():
        if key not in ("history", "referrers", "duplicates"):
            out.print(clean(f"{key + ':':<19}{show_value(key, value)}"))
    for referrer in shown["referrers"]:
        out.print(clean(f"linked by:         {referrer}"))
    for duplicate in shown["duplicates"]:
        out.print(clean(f"duplicate:         {duplicate}"))
    for record in shown["history"]:
        status = f", HTTP {record['http_status']}" if record["http_status"] else ""
        reason = f": {record['reason']}" if record["reason"] else ""
        size = f"{record['bytes']} bytes, {record['seconds']} s"
        out.print(clean(f"fetch:             {show_time(record['at'])} {record['state']}{status}, {size}{reason}"))
