"""``feedmill feeds``: lists received feeds, shows the receipt and the log of one, and sends one again."""

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
    make_table,
    print_json,
    print_table,
    show_time,
    show_value,
    workplace,
)
from feedmill.cli.push import LOG_LINES, Wait, apply_here, explain_stuck, find_client, follow, print_entry, print_receipt, report
from feedmill.cli.working import get_feed
from feedmill.core.text.times import ZONE, write_in_utc
from feedmill.model.feed import Feed, FeedTarget

if TYPE_CHECKING:
    from feedmill.bootstrap.context import AppContext
    from feedmill.cli.serverport import ServerPort
    from feedmill.services.queues import QueueWatch

MAX_FEEDS = 1_000

FEEDS_EXAMPLES = """Examples:

  feedmill feeds

  feedmill feeds --datasource hr --limit 5

  feedmill feeds show 17

  feedmill feeds log 17 --json

  feedmill feeds resend 17 --wait"""

feeds_app = typer.Typer(invoke_without_command=True, help="List feeds, show one and its log, send one again.", rich_markup_mode=None)

FeedId = Annotated[
    int, typer.Argument(metavar="ID", min=1, callback=check_number, help="The id that the push printed, and 'feedmill feeds' lists.")
]
Source = Annotated[str, typer.Option("--datasource", metavar="NAME", help="Only feeds of this data source or group source.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=MAX_FEEDS, help="How many feeds at most.")]
Receipt = dict[str, Any]


@feeds_app.callback(epilog=FEEDS_EXAMPLES)
def list_feeds(
    ctx: typer.Context, datasource: Source = "", limit: Limit = 20, data: Data = DATA, config: Config = None, as_json: Json = False
) -> None:
    """List feeds, newest first, with their state and counts."""
    if not is_for_subcommand(ctx):
        _list_feeds(data, config, datasource, limit, as_json=as_json)


@feeds_app.command("list", epilog="Example:\n\n  feedmill feeds list --datasource hr")
def list_again(datasource: Source = "", limit: Limit = 20, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List feeds, as 'feedmill feeds' does."""
    _list_feeds(data, config, datasource, limit, as_json=as_json)


@feeds_app.command("show", epilog="Example:\n\n  feedmill feeds show 17")
def show(feed_id: FeedId, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Show the receipt of a feed: its state, its counts and its errors."""
    from feedmill.bootstrap.context import utc_now
    from feedmill.bootstrap.queues import build_queue_watch
    from feedmill.runtime.runstate import find_start

    with workplace(data, config).read() as context:
        watch = build_queue_watch(context, lambda: find_start(data) or utc_now())
        receipt = _read_receipt(context, feed_id, watch)
    if as_json:
        print_json(receipt)
    else:
        _print_feed(receipt)


@feeds_app.command("log", epilog="Example:\n\n  feedmill feeds log 17")
def show_log(feed_id: FeedId, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Print the log of a feed: records in error, repairs and notices, each with its line."""
    with workplace(data, config).read() as context:
        receipt = _read_receipt(context, feed_id)
    if as_json:
        print_json(receipt["log"])
        return
    for entry in receipt["log"]:
        print_entry(entry)


@feeds_app.command("resend", epilog="Example:\n\n  feedmill feeds resend 17 --wait")
def resend(feed_id: FeedId, wait: Wait = False, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Apply a feed again, as a new feed of its data source and feed type.

    A full feed replaces everything that its data source has pushed since.
    """
    from feedmill.bootstrap.intake import build_intake

    place = workplace(data, config)
    client = find_client(place)
    if client is not None:
        _resend_there(client, feed_id, wait=wait, as_json=as_json)
        return
    with place.work() as context:
        resent_id = build_intake(context).resend(get_feed(context, feed_id), client="command line")
        report(apply_here(context, resent_id), as_json=as_json)


def _list_feeds(data: Path, config: Path | None, datasource: str, limit: int, *, as_json: bool) -> None:
    from feedmill.http.feeds.receipts import render_feed

    with workplace(data, config).read() as context, context.store.reading() as unit:
        feeds = unit.feeds.reader.list_newest(datasource or None, limit)
    if as_json:
        print_json([render_feed(feed, ()) for feed in feeds])
        return
    # narrow enough for a terminal of 80 characters, so that no state is broken over two lines
    table = make_table("id", "source", "type", f"received ({ZONE})", "records", "errors", "state")
    for feed in feeds:
        kind = f"{feed.kind.operation.value} groups" if feed.kind.target is FeedTarget.GROUPS else feed.kind.operation.value
        records = "" if feed.records is None else str(feed.records)
        received = write_in_utc(feed.received_at)
        table.add_row(str(feed.id), feed.datasource, kind, received, records, str(feed.errors or ""), _describe_state(feed))
    print_table(table)


def _describe_state(feed: Feed) -> str:
    if feed.state.is_final and feed.searchable_at is None:
        return f"{feed.state.value}, not searchable yet"
    return feed.state.value


def _read_receipt(context: "AppContext", feed_id: int, watch: "QueueWatch | None" = None) -> Receipt:
    from feedmill.http.feeds.receipts import render_feed

    with context.store.reading() as unit:
        feed, log = unit.feeds.reader.get(feed_id), unit.feeds.log.list_log(feed_id, LOG_LINES)
    return render_feed(feed, log, None if watch is None else watch.find_for(feed))


def _print_feed(receipt: Receipt) -> None:
    out = console()
    received, client = show_time(receipt["received_at"]), receipt["client"] or "this machine"
    out.print(clean(f"received: {received} from {client}, {receipt['size_bytes']} bytes"))
    for name, key in (("finished", "finished_at"), ("searchable", "searchable_at")):
        out.print(f"{name}: {show_value(key, receipt[key]) or 'not yet'}")
    print_receipt(receipt)
    if stuck := explain_stuck(receipt):
        out.print(clean(stuck))


def _resend_there(client: "ServerPort", feed_id: int, *, wait: bool, as_json: bool) -> None:
    receipt = client.post_json(f"/api/v1/feeds/{feed_id}/resend")
    if wait:
        report(follow(client, receipt["id"]), as_json=as_json)
    elif as_json:
        print_json({"id": receipt["id"]})
    else:
        console().print(receipt["id"])
