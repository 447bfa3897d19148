"""``feedmill make-feed``: makes feed files from the files of a folder."""

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from feedmill.bootstrap.feedmaking import count_files, make_feeds
from feedmill.cli.options import DATA, Config, Data, Json, clean, console, error_console, print_json
from feedmill.core.documents.submission import check_datasource
from feedmill.model.errors import BadRequest
from feedmill.model.feed import FeedKind
from feedmill.ports.feedmaking import FoundFile
from feedmill.services.feeds.feedmaking import DEFAULT_MAX_BYTES, FeedPlan, WrittenFeed

DEFAULT_BASE = "http://files.example.localhost"
"""The host of files without a base URL; no network has this name."""

MAKE_FEED_EXAMPLES = """Examples:

  feedmill make-feed /srv/share --datasource share --base-url http://files.example.com/share/

  feedmill make-feed manuals --datasource manuals --include '*.html' --include '*.pdf' --compress --output manuals.xml"""


class ContentFeedType(StrEnum):
    """The feed types for content."""

    FULL = "full"
    INCREMENTAL = "incremental"


def make_feed(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", exists=True, file_okay=False, readable=True)],
    datasource: Annotated[str, typer.Option(help="Data source of the feed.")],
    output: Annotated[Path | None, typer.Option(help="Feed file to write; DATASOURCE.xml by default.", dir_okay=False)] = None,
    feedtype: Annotated[ContentFeedType, typer.Option(help="What the feed does to its data source.")] = ContentFeedType.FULL,
    base_url: Annotated[str, typer.Option(help=f"URL of the folder; {DEFAULT_BASE}/DATASOURCE/ by default.")] = "",
    compress: Annotated[bool, typer.Option("--compress", help="Send the contents compressed.")] = False,
    include: Annotated[list[str] | None, typer.Option(help="Only files whose name or path matches; may be repeated.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No files or folders whose name or path matches; may be repeated.")] = None,
    follow_symlinks: Annotated[bool, typer.Option("--follow-symlinks", help="Follow symbolic links.")] = False,
    max_bytes: Annotated[int, typer.Option(min=1_000_000, help="Split into feeds of at most this size.")] = DEFAULT_MAX_BYTES,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Make a feed of all files in a folder. A feed over the size limit is split; push the parts in their order."""
    del data, config
    try:
        check_datasource(datasource)
    except BadRequest as exc:
        raise typer.BadParameter(str(exc)) from exc
    plan = FeedPlan(
        folder=folder,
        output=output or Path(f"{datasource}.xml"),
        datasource=datasource,
        kind=FeedKind(feedtype.value),
        base_url=base_url or f"{DEFAULT_BASE}/{datasource}/",
        compress=compress,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        follow_links=follow_symlinks,
        max_bytes=max_bytes,
    )
    _report(_make_with_progress(plan), datasource, as_json=as_json)


def _make_with_progress(plan: FeedPlan) -> WrittenFeed:
    if not sys.stderr.isatty():
        return make_feeds(plan)
    total = count_files(plan)
    columns = (TextColumn("making the feed"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console(), transient=True) as progress:
        task = progress.add_task("", total=total)

        def _advance(_found: FoundFile) -> None:
            progress.advance(task)

        return make_feeds(plan, _advance)


def _report(made: WrittenFeed, datasource: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_render_feed(made))
    else:
        for file in made.files:
            console().print(clean(f"{file.path}: {file.records} records, {file.size_bytes} bytes"))
            command = f"  feedmill push {shlex.quote(str(file.path))} --datasource {datasource} --feedtype {file.kind.value} --wait"
            console().print(clean(command))
    for path, reason in made.left_out:
        error_console().print(clean(f"left out: {path}: {reason}"))
    if made.left_out:
        raise typer.Exit(1)


def _render_feed(made: WrittenFeed) -> dict[str, Any]:
    files = [
        {"path": str(file.path), "feedtype": file.kind.value, "records": file.records, "size_bytes": file.size_bytes} for file in made.files
    ]
    return {"files": files, "left_out": [{"path": str(path), "reason": reason} for path, reason in made.left_out]}
