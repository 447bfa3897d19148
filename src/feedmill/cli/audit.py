"""``feedmill audit``: shows, checks and exports the audit log."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feedmill.cli.options import DATA, Config, Data, Json, console, print_json, read_time, workplace
from feedmill.core.audit.hashchain import check_lines, render_entry
from feedmill.model.audit import AuditEntry
from feedmill.model.errors import BadRequest, Corrupt

if TYPE_CHECKING:
    from feedmill.services.auditing import ChainVerification

audit_app = typer.Typer(help="Show, check and export the audit log.", no_args_is_help=True, rich_markup_mode=None)

AUDIT_EXAMPLES = """Examples:

  feedmill audit list --kind signin

  feedmill audit verify

  feedmill audit export --since 2026-11-01 --kind signin"""

VERIFY_EXAMPLES = """Examples:

  feedmill audit verify

  feedmill audit verify --expect 1042:5b1f... --json

  feedmill audit verify --file copy-elsewhere.jsonl"""

LIST_EXAMPLES = """Examples:

  feedmill audit list

  feedmill audit list --since 2026-03-01 --kind admin --limit 200"""

EXPORT_EXAMPLES = """Examples:

  feedmill audit export > audit.jsonl

  feedmill audit export --since 2026-03-01 --until 2026-04-01 --kind signin"""

Since = Annotated[str, typer.Option("--since", metavar="TIME", help="From this day or time on, in UTC.")]
Until = Annotated[str, typer.Option("--until", metavar="TIME", help="Before this day or time, in UTC.")]
Kind = Annotated[str, typer.Option("--kind", metavar="K", help="Only kinds that begin with this text, such as signin.")]


@audit_app.callback()
def _group() -> None:
    """Show, check and export the audit log."""


@audit_app.command("verify", epilog=VERIFY_EXAMPLES)
def verify(
    expect: Annotated[str, typer.Option("--expect", metavar="NUMBER:HASH", help="An entry that must exist, noted elsewhere.")] = "",
    file: Annotated[Path | None, typer.Option("--file", help="A whole export to check instead of the log.", exists=True)] = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Check that no entry was changed, removed or inserted; exit 1 and print the first such place."""
    from feedmill.bootstrap.audit import open_auditing

    wanted = _read_expected(expect)
    if file is not None:
        checked = _verify_entries(check_lines(_iter_file(file)), wanted)
    else:
        with workplace(data, config).read() as context:
            checked = _verify_entries(open_auditing(context.data, context.settings).iter_entries(), wanted)
    if as_json:
        print_json({"entries": checked.entries, "first": checked.first, "last": checked.last, "hash": checked.digest})
    elif not checked.entries:
        console().print("the audit log is empty")
    else:
        whole = f"{checked.entries} entries are whole, {checked.first} to {checked.last}"
        console().print(f"{whole}; note {checked.last}:{checked.digest}")


@audit_app.command("list", epilog=LIST_EXAMPLES)
def list_entries(
    since: Since = "",
    until: Until = "",
    kind: Kind = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="How many entries at most, the newest.")] = 50,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show the newest entries as a table, in their order; with --json as 'export' prints them."""
    from feedmill.cli.audittable import print_entries

    with _reading(data, config, since, until, kind) as entries:
        newest = deque(entries, maxlen=limit)
    if as_json:
        _print_lines(newest)
    else:
        print_entries(newest)


@audit_app.command("export", epilog=EXPORT_EXAMPLES)
def export(
    since: Since = "",
    until: Until = "",
    kind: Kind = "",
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Print the entries, one JSON object a line, byte for byte as they are stored."""
    del as_json  # the output is JSON either way
    with _reading(data, config, since, until, kind) as entries:
        _print_lines(entries)


@contextmanager
def _reading(data: Path, config: Path | None, since: str, until: str, kind: str) -> Iterator[Iterator[AuditEntry]]:
    """Returns the entries that the options name. Errors: BadParameter."""
    from feedmill.bootstrap.audit import open_auditing
    from feedmill.services.auditing import check_kind

    try:
        check_kind(kind)
    except BadRequest as exc:
        raise typer.BadParameter(str(exc), param_hint="--kind") from exc
    first, last = (read_time(text) if text else None for text in (since, until))
    with workplace(data, config).read() as context:
        yield open_auditing(context.data, context.settings).iter_entries(since=first, until=last, kind=kind)


def _print_lines(entries: Iterable[AuditEntry]) -> None:
    for entry in entries:
        sys.stdout.write(render_entry(entry) + "\n")


def _read_expected(text: str) -> tuple[int, str] | None:
    if not text:
        return None
    number, found, digest = text.partition(":")
    if not found or not (number.isascii() and number.isdigit()) or len(number) > 18:
        raise typer.BadParameter("--expect is NUMBER:HASH, as 'audit verify' printed it")
    return int(number), digest.strip()


def _verify_entries(entries: Iterable[AuditEntry], expected: tuple[int, str] | None) -> "ChainVerification":
    from feedmill.services.auditing import count_entries

    is_met = expected is None

    def watch() -> Iterator[AuditEntry]:
        nonlocal is_met
        for entry in entries:
            is_met = is_met or (entry.number, entry.digest) == expected
            yield entry

    checked = count_entries(watch())
    if not is_met and expected is not None:
        raise Corrupt(f"entry {expected[0]} is missing or has another hash; the log was replaced, cut, or trimmed beyond it")
    return checked


def _iter_file(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            yield f"{path}:{place}", line.rstrip(b"\r\n")
