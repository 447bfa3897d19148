"""``feedmill make-feed``: makes feed files from the files of a folder, or from a file that holds many documents."""

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.cli.options import DATA, Config, Data, Json, amount, clean, console, error_console, print_json
from feedmill.core.documents.submission import check_datasource
from feedmill.model.errors import BadRequest
from feedmill.model.feed import FeedKind
from feedmill.model.feedmaking import DEFAULT_MAX_BYTES, RecordFormat
from feedmill.model.identity import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from feedmill.ports.feedmaking import FoundFile
    from feedmill.services.feeds.feedmaking import FeedPlan, WrittenFeed

DEFAULT_BASE = "http://files.example.localhost"
"""The host of files without a base URL; no network has this name."""

SUFFIXES = {
    ".csv": RecordFormat.CSV,
    ".jsonl": RecordFormat.JSONL,
    ".ndjson": RecordFormat.JSONL,
    ".mbox": RecordFormat.MBOX,
    ".xml": RecordFormat.SITEMAP,
}
"""The formats of files by the ends of their names."""

MAKE_FEED_EXAMPLES = """Examples:

  feedmill make-feed /srv/share --datasource share --base-url http://files.example.com/share/

  feedmill make-feed articles.csv --datasource articles --base-url http://news.example.com/

  feedmill make-feed http://www.example.com/sitemap.xml --datasource site

  feedmill make-feed manuals --datasource manuals --include '*.html' --include '*.pdf' --compress --output manuals.xml

  feedmill make-feed /srv/board --datasource board --permit-group board --permit-user ann"""


class ContentFeedType(StrEnum):
    """The feed types for content."""

    FULL = "full"
    INCREMENTAL = "incremental"


def make_feed(
    source: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder, a file of --format, or the URL of a sitemap.")],
    datasource: Annotated[str, typer.Option(help="Data source of the feed.")],
    output: Annotated[Path | None, typer.Option(help="Feed file to write; DATASOURCE.xml by default.", dir_okay=False)] = None,
    feedtype: Annotated[ContentFeedType, typer.Option(help="What the feed does to its data source.")] = ContentFeedType.FULL,
    base_url: Annotated[str, typer.Option(help=f"URL of the folder; {DEFAULT_BASE}/DATASOURCE/ by default.")] = "",
    file_format: Annotated[
        RecordFormat | None, typer.Option("--format", help="Format of a file with many documents; by its name by default.")
    ] = None,
    compress: Annotated[bool, typer.Option("--compress", help="Send the contents compressed.")] = False,
    include: Annotated[list[str] | None, typer.Option(help="Only files whose name or path matches; may be repeated.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No files or folders whose name or path matches; may be repeated.")] = None,
    follow_symlinks: Annotated[bool, typer.Option("--follow-symlinks", help="Follow symbolic links.")] = False,
    max_bytes: Annotated[int, typer.Option(min=1_000_000, help="Split into feeds of at most this size.")] = DEFAULT_MAX_BYTES,
    permit_user: Annotated[
        list[str] | None, typer.Option(metavar="U", help="Only this user may see the documents; may be repeated.")
    ] = None,
    permit_group: Annotated[list[str] | None, typer.Option(metavar="G", help="And members of this group; may be repeated.")] = None,
    namespace: Annotated[str, typer.Option(metavar="N", help="The namespace of these users and groups.")] = DEFAULT_NAMESPACE,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Make a feed of all files in a folder, or of a CSV, JSON lines, mbox or sitemap. Large feeds are split; push the parts in order.

    Every user may see the documents, unless you name users or groups.
    """
    from feedmill.bootstrap.feedmaking import make_feeds_of_records
    from feedmill.services.feeds.feedmaking import FeedPlan
    from feedmill.services.feeds.recordfeeds import RecordPlan

    del data, config
    try:
        check_datasource(datasource)
    except BadRequest as exc:
        raise typer.BadParameter(str(exc)) from exc
    acl = _render_acl(permit_user or (), permit_group or (), namespace)
    if "://" in source or not Path(source).is_dir():
        found = file_format or _find_format(source)
        kind = FeedKind.METADATA_AND_URL if found is RecordFormat.SITEMAP else FeedKind(feedtype.value)
        records = RecordPlan(origin=source, datasource=datasource, kind=kind, max_bytes=max_bytes, acl=acl)
        base = base_url or (f"{DEFAULT_BASE}/{datasource}/" if found is RecordFormat.MBOX else "")
        _report(make_feeds_of_records(records, output or Path(f"{datasource}.xml"), found, source, base), datasource, as_json=as_json)
        return
    plan = FeedPlan(
        folder=Path(source),
        output=output or Path(f"{datasource}.xml"),
        datasource=datasource,
        kind=FeedKind(feedtype.value),
        base_url=base_url or f"{DEFAULT_BASE}/{datasource}/",
        acl=acl,
        compress=compress,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        follow_links=follow_symlinks,
        max_bytes=max_bytes,
    )
    _report(_make_with_progress(plan), datasource, as_json=as_json)


def _render_acl(users: Sequence[str], groups: Sequence[str], namespace: str) -> str:
    """Returns the XML of an ACL that permits these users and groups, "" for none. Errors: wrong use."""
    from feedmill_client import feedxml

    named = [*((name, "user") for name in users), *((name, "group") for name in groups)]
    if not all(name.strip() for name, _ in named):
        raise typer.BadParameter("the name of a user or a group is empty")
    principals = [
        feedxml.render_principal(name, namespace=namespace, case_sensitive=True, scope=scope, access="permit") for name, scope in named
    ]
    return feedxml.render_acl(principals) if principals else ""


def _find_format(source: str) -> RecordFormat:
    """Returns the format of a file by its name. Errors: wrong use."""
    if "://" in source:
        return RecordFormat.SITEMAP
    if not Path(source).is_file():
        raise typer.BadParameter(f"'{source}' is neither a folder nor a file")
    suffix = Path(source.removesuffix(".gz")).suffix.lower()
    if suffix not in SUFFIXES:
        raise typer.BadParameter(f"the format of '{source}' is not known by its name; give --format")
    return SUFFIXES[suffix]


def _make_with_progress(plan: "FeedPlan") -> "WrittenFeed":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from feedmill.bootstrap.feedmaking import count_files, make_feeds

    if not sys.stderr.isatty():
        return make_feeds(plan)
    total = count_files(plan)
    columns = (TextColumn("making the feed"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console(), transient=True) as progress:
        task = progress.add_task("", total=total)

        def _advance(_found: "FoundFile") -> None:
            progress.advance(task)

        return make_feeds(plan, _advance)


def _report(made: "WrittenFeed", datasource: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_render_feed(made))
    else:
        for file in made.files:
            console().print(clean(f"{file.path}: {amount(file.records, 'record')}, {amount(file.size_bytes, 'byte')}"))
            command = f"  feedmill push {shlex.quote(str(file.path))} --datasource {datasource} --feedtype {file.kind.value} --wait"
            console().print(clean(command))
    for path, reason in made.left_out:
        error_console().print(clean(f"left out: {path}: {reason}"))
    if made.left_out:
        raise typer.Exit(1)


def _render_feed(made: "WrittenFeed") -> dict[str, Any]:
    files = [
        {"path": str(file.path), "feedtype": file.kind.value, "records": file.records, "size_bytes": file.size_bytes} for file in made.files
    ]
    return {"files": files, "left_out": [{"path": path, "reason": reason} for path, reason in made.left_out]}
