"""``feedmill validate``: reports the errors that a server would find in a feed file, without sending it."""

import os
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import typer

from feedmill.cli.options import DATA, Config, Data, InputFile, Json, amount, clean, console, print_json
from feedmill.model.feed import FeedType, LogLevel

if TYPE_CHECKING:
    from feedmill.services.feeds.validation import Validation

SPOOL_BYTES = 1_000_000

VALIDATE_EXAMPLES = """Examples:

  feedmill validate feed.xml

  feedmill validate feed.xml --json"""


def validate(file: InputFile, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Read a feed as the server would and print every error with its line. Exit 0 if it would end completed, otherwise 1."""
    from feedmill.ports.feedformats import FormatOptions
    from feedmill.services.feeds.validation import validate as validate_feed
    from feedmill.settings import load_settings
    from feedmill.wire.registry import FORMATS

    del data
    gate = load_settings(config, os.environ).settings.gate
    verdict = validate_feed(
        lambda: file.open("rb"),
        FORMATS,
        FormatOptions(
            feedtype=FeedType.INCREMENTAL,
            spool=_new_spool,
            require_fqdn=gate.require_fqdn,
            max_inflated_bytes=gate.max_feed_bytes,
            max_inflation=gate.max_inflation,
        ),
    )
    if as_json:
        print_json(_render_verdict(verdict))
    else:
        _print_verdict(str(file), verdict)
    if not verdict.is_good:
        raise typer.Exit(1)


def _new_spool() -> BinaryIO:
    return cast(BinaryIO, SpooledTemporaryFile(max_size=SPOOL_BYTES))


def _render_verdict(verdict: "Validation") -> dict[str, Any]:
    from feedmill.http.feeds.receipts import render_entry

    return {
        "state": verdict.state.value,
        "datasource": verdict.datasource,
        "feedtype": verdict.kind.value if verdict.kind else None,
        "records": verdict.records,
        "included": verdict.included,
        "errors": verdict.errors,
        "log": [render_entry(entry) for entry in verdict.log],
    }


def _print_verdict(name: str, verdict: "Validation") -> None:
    out = console()
    for entry in verdict.log:
        line = f":{entry.line}" if entry.line else ""
        about = f" ({entry.url})" if entry.url else ""
        style = {LogLevel.ERROR: "red", LogLevel.WARNING: "yellow"}.get(entry.level)
        out.print(clean(f"{name}{line}: {entry.level.value}: {entry.reason}{about}"), style=style)
    counts = f"{amount(verdict.records, 'record')}, {verdict.included} included, {verdict.errors} in error"
    out.print(clean(f"{name}: {verdict.state.value}: {counts}"))
