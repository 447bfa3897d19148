"""``feedmill push`` and ``feedmill push-groups``: push a feed, wait for its end, and report its errors."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.cli.options import (
    DATA,
    Ca,
    Config,
    Data,
    InputFile,
    Json,
    Url,
    amount,
    check_ca,
    clean,
    console,
    error_console,
    print_json,
    workplace,
)
from feedmill.cli.start import INTERRUPTED
from feedmill.cli.working import get_feed, work_until
from feedmill.core.documents.submission import Submission, check_datasource, read_groups_submission, read_submission
from feedmill.model.errors import BadRequest
from feedmill.model.feed import FeedState

if TYPE_CHECKING:
    from feedmill.bootstrap.context import AppContext
    from feedmill.cli.serverport import ServerPort
    from feedmill.cli.workplace import Workplace

LOG_LINES = 1_000
SHOWN_ERRORS = 50
_FIRST_POLL_SECONDS, _LAST_POLL_SECONDS = 0.05, 1.0
Receipt = dict[str, Any]

NO_DRY_RUN_THERE = (
    "a dry run compares the feed with the documents of a data folder on this machine, which no server at --url shows;"
    " run it on the server's machine with --data, or check the file alone by 'feedmill validate FILE'"
)

PUSH_EXAMPLES = """Examples:

  feedmill push feed.xml --datasource hr --feedtype full --wait

  feedmill push feed.xml --datasource hr --feedtype full --dry-run

  feedmill push feed.xml --datasource hr --feedtype incremental --url http://search.example.com:19900 --json"""

PUSH_GROUPS_EXAMPLES = """Example:

  feedmill push-groups groups.xml --groupsource ldap --feedtype full --wait"""


class FeedType(StrEnum):
    """The feed types of ``/xmlfeed``."""

    FULL = "full"
    INCREMENTAL = "incremental"
    METADATA_AND_URL = "metadata-and-url"


class GroupsFeedType(StrEnum):
    """The feed types of ``/xmlgroups``."""

    FULL = "full"
    INCREMENTAL = "incremental"


Token = Annotated[
    str,
    typer.Option(
        "--token",
        envvar="FEEDMILL_PUSH_TOKEN",
        show_envvar=True,
        help="A token of scope push; only the variable hides it.",
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Follow the feed until it is searchable; exit 0 only when it completed without errors.")]


def push(
    file: InputFile,
    datasource: Annotated[str, typer.Option(help="Data source that the feed is for.")],
    feedtype: Annotated[FeedType, typer.Option(help="What the feed does to its data source.")],
    url: Url = "",
    ca: Ca = None,
    token: Token = "",
    wait: Wait = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what the feed would do to the documents, and change nothing.")] = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Push a feed file. Without a server on the data folder and without --url, this command applies the feed itself."""
    _check_name(datasource)
    feed = _Outgoing("/xmlfeed", {"datasource": datasource, "feedtype": feedtype.value}, read_submission)
    if dry_run:
        if url:
            raise typer.BadParameter(NO_DRY_RUN_THERE, param_hint="--dry-run")
        _try(feed, file, workplace(data, config), as_json=as_json)
        return
    _push(feed, file, workplace(data, config), _Destination(url, ca, token), wait=wait, as_json=as_json)


def push_groups(
    file: InputFile,
    groupsource: Annotated[str, typer.Option(help="Group source that the memberships are for.")],
    feedtype: Annotated[GroupsFeedType, typer.Option(help="What the feed does to its group source.")],
    url: Url = "",
    ca: Ca = None,
    token: Token = "",
    wait: Wait = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Push a groups feed file. Without a server on the data folder and without --url, this command applies the feed itself."""
    _check_name(groupsource, "groupsource")
    fields = {"groupsource": groupsource, "feedtype": feedtype.value}
    feed = _Outgoing("/xmlgroups", fields, partial(read_groups_submission, has_data=True))
    _push(feed, file, workplace(data, config), _Destination(url, ca, token), wait=wait, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """A feed to push: the path that receives it, its fields, and the meaning of these without a server."""

    path: str
    fields: dict[str, str]
    read: Callable[[Mapping[str, str]], Submission]

    def make_submission(self) -> Submission:
        """Returns what the fields mean."""
        from feedmill.wire.registry import GSAFEED, GSAGROUPS

        return replace(self.read(self.fields), format=GSAGROUPS if self.path == "/xmlgroups" else GSAFEED)


@dataclass(frozen=True, slots=True)
class _Destination:
    """The server that the options name; none is that of the data folder. Errors: wrong use."""

    url: str
    ca: Path | None
    token: str

    def __post_init__(self) -> None:
        check_ca(self.ca, self.url)


def _push(feed: _Outgoing, file: Path, place: "Workplace", to: _Destination, *, wait: bool, as_json: bool) -> None:
    client = find_client(place, to.url, to.token, to.ca)
    if client is None:
        from feedmill.bootstrap.intake import build_intake

        with place.work(may_begin=True) as context, file.open("rb") as stream:
            feed_id = build_intake(context).receive_feed(stream, feed.make_submission(), client="command line")
            with _explained(f"feed {feed_id} is stored; 'feedmill serve' or the next push goes on with it"):
                receipt = apply_here(context, feed_id)
            report(receipt, as_json=as_json)
    else:
        _push_there(client, feed.path, feed.fields, file, wait=wait, as_json=as_json)


def _try(feed: _Outgoing, file: Path, place: "Workplace", *, as_json: bool) -> None:
    """Prints what a feed would do. Exits with 1 if a record is in error."""
    from feedmill.bootstrap.feeds import find_effect_of
    from feedmill.http.feeds.receipts import render_entry

    with place.read() as context:
        effect = find_effect_of(context, lambda: file.open("rb"), feed.make_submission())
    log = [render_entry(entry) for entry in effect.log]
    if as_json:
        counts = {"add": effect.add, "change": effect.change, "delete": effect.delete, "errors": effect.errors}
        print_json({**counts, "state": effect.state.value, "log": log})
    else:
        console().print(f"would add {effect.add}, change {effect.change}, delete {effect.delete}; {effect.errors} in error")
        print_entries(log)
    if effect.errors:
        raise typer.Exit(1)


def send_file(client: "ServerPort", path: str, fields: dict[str, str], file: Path) -> str | None:
    """Sends a file, with a progress bar on a terminal, and returns the feed's id."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=error_console(), transient=True, disable=not sys.stderr.isatty()) as progress:
        # The library would take square brackets as markup.
        task = progress.add_task(clean(file.name).replace("[", "("), total=file.stat().st_size)
        return client.push(path, fields, file, lambda sent: progress.update(task, completed=sent.sent_bytes))


def follow(client: "ServerPort", feed_id: str) -> Receipt:
    """Polls a feed's receipt until the feed is over or waits in a stuck queue. Shows the number of records on a terminal."""
    from rich.progress import Progress, TextColumn

    pause = _FIRST_POLL_SECONDS
    with Progress(
        TextColumn("feed {task.fields[feed]}: {task.fields[state]}, {task.completed:.0f} of {task.fields[records]} records"),
        console=error_console(),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as progress:
        task = progress.add_task("", total=None, feed=feed_id, state="received", records="?")
        while True:
            receipt: Receipt = client.get_json(f"/api/v1/feeds/{feed_id}")
            done = receipt["included"] + receipt["errors"]
            progress.update(task, completed=done, state=receipt["state"], records=receipt["records"])
            if is_over(receipt) or receipt.get("stuck") is not None:
                return receipt
            time.sleep(pause)
            # Small feeds end at once, so the first polls are quick. The later ones must not burden the server.
            pause = min(pause * 1.5, _LAST_POLL_SECONDS)


def is_over(receipt: Receipt) -> bool:
    """Returns whether a feed has ended and searches find all of it."""
    return FeedState(receipt["state"]).is_final and receipt["searchable_at"] is not None


def _check_name(name: str, field: str = "datasource") -> None:
    try:
        check_datasource(name, field)
    except BadRequest as exc:
        raise typer.BadParameter(str(exc)) from exc


def find_client(place: "Workplace", url: str = "", token: str = "", ca: Path | None = None) -> "ServerPort | None":
    """Returns a client of a feed port. If the caller has no token, the server of this machine gets its own one."""
    from feedmill.cli.serverport import ServerPort

    if url:
        return ServerPort(base_url=url, token=token, ca_file=str(ca or ""))
    server = place.find_server()
    if server is None:
        return None
    client = place.client(server, "gate")
    return replace(client, token=token) if token else client


def _push_there(client: "ServerPort", path: str, fields: dict[str, str], file: Path, *, wait: bool, as_json: bool) -> None:
    feed_id = send_file(client, path, fields, file)
    if wait and feed_id is None:
        raise BadRequest("the server accepted the feed but returns no receipts, so its progress is unknown")
    if wait and feed_id is not None:
        with _explained(f"the server goes on with feed {feed_id}"):
            receipt = follow(client, feed_id)
        report(receipt, as_json=as_json)
    elif as_json:
        print_json({"id": feed_id})
    else:
        console().print(clean(feed_id or "Success"))


@contextmanager
def _explained(consequence: str) -> Iterator[None]:
    """Ends the command if the user interrupts the block, and says what becomes of the feed."""
    try:
        yield
    except KeyboardInterrupt:
        error_console().print(f"interrupted: {consequence}")
        raise typer.Exit(INTERRUPTED) from None


def apply_here(context: "AppContext", feed_id: int) -> Receipt:
    """Applies a stored feed in this process, until searches find all of it or its queue is stuck. Returns its receipt."""
    from feedmill.bootstrap.context import utc_now
    from feedmill.bootstrap.queues import build_queue_watch
    from feedmill.http.feeds.receipts import render_feed

    begun_at = utc_now()
    watch = build_queue_watch(context, lambda: begun_at)

    def is_done() -> bool:
        feed = get_feed(context, feed_id)
        return (feed.state.is_final and feed.searchable_at is not None) or watch.find_for(feed) is not None

    work_until(context, is_done)
    with context.store.reading() as unit:
        feed, log = unit.feeds.reader.get(feed_id), unit.feeds.log.list_log(feed_id, LOG_LINES)
    return render_feed(feed, log, watch.find_for(feed))


def report(receipt: Receipt, *, as_json: bool) -> None:
    """Prints a receipt, and exits with 1 unless the feed completed without errors."""
    if as_json:
        print_json(receipt)
    else:
        print_receipt(receipt)
    stuck = explain_stuck(receipt)
    if stuck and not is_over(receipt):
        # with --json the receipt is the output, and contains the reason
        error_console().print(clean(f"error: {stuck}"))
        raise typer.Exit(1)
    if receipt["state"] != FeedState.COMPLETED.value:
        raise typer.Exit(1)


def explain_stuck(receipt: Receipt) -> str:
    """Returns why a feed waits in a queue that does not move, "" if it does not."""
    stuck = receipt.get("stuck")
    if stuck is None:
        return ""
    # the answers of the client take a while to load, and hardly ever is a queue stuck
    from feedmill_client.answers import StuckShown
    from feedmill_client.decoding import decode

    return decode(StuckShown, stuck).describe(receipt["id"])


def print_receipt(receipt: Receipt) -> None:
    """Prints the state of a feed, its counts, and the beginning of its log."""
    out = console()
    out.print(f"feed {receipt['id']} of {receipt['datasource']}: {receipt['state']}")
    out.print(f"{amount(receipt['records'], 'record')}, {receipt['included']} included, {receipt['errors']} in error")
    print_entries(receipt["log"])


def print_entries(log: Sequence[Mapping[str, Any]]) -> None:
    """Prints the beginning of a log."""
    for entry in log[:SHOWN_ERRORS]:
        print_entry(entry, indent="  ")
    if len(log) > SHOWN_ERRORS:
        console().print(f"  and {len(log) - SHOWN_ERRORS} more; --json prints them all")


def print_entry(entry: Mapping[str, Any], *, indent: str = "") -> None:
    """Prints an entry of a feed's log in a line."""
    where = f"line {entry['line']}: " if entry["line"] else ""
    about = f" ({entry['url']})" if entry["url"] else ""
    console().print(clean(f"{indent}{entry['level']}: {where}{entry['reason']}{about}"))
