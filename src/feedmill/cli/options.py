"""The options that commands share, and the output of results."""

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.core.text.times import ZONE, write_in_utc, write_time

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from feedmill.cli.workplace import Workplace

Namespace = Annotated[str, typer.Option("--namespace", metavar="N", help="The namespace of user and groups.")]
Groups = Annotated[list[str] | None, typer.Option("--group", metavar="G", help="A further group of the user; may be repeated.")]

At = Annotated[str | None, typer.Option("--at", metavar="TIME", help="The state at a date or time, in UTC by default.")]

# What this user may not read is no wrong use: the command itself fails, and says whose it is.
Data = Annotated[Path, typer.Option("--data", envvar="FEEDMILL_DATA", help="Data folder.", file_okay=False, readable=False)]
Config = Annotated[
    Path | None, typer.Option("--config", envvar="FEEDMILL_CONFIG", help="Settings file (TOML).", dir_okay=False, readable=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Url = Annotated[str, typer.Option("--url", metavar="http://HOST:PORT", help="A server other than that of the data folder.")]
Ca = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        "--cacert",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        readable=False,
        help="Certificates to trust for https in place of the system's (PEM), such as that of the server itself.",
    ),
]
InputFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file to read.", exists=True, dir_okay=False, readable=False)]

NARROWEST_TABLE, WIDEST_TABLE = 80, 100_000
"""How many characters a table has at most, on a narrow terminal and in a pipe."""

MAX_NUMBER = 2**63 - 1
"""The largest number that the store holds."""

_TIME_KEYS = ("_at", "last_modified")

_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)

DATA = Path("data")
"""The default data folder."""


def workplace(data: Path, config: Path | None) -> "Workplace":
    """Returns the workplace of a command."""
    from feedmill.cli.workplace import Workplace

    return Workplace(data=data, config=config)


def is_for_subcommand(context: typer.Context) -> bool:
    """Returns whether a group of commands was called for a subcommand, whose options follow its name. Errors: wrong use."""
    if context.invoked_subcommand is None:
        return False
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"options stand behind '{context.invoked_subcommand}', not before it", context)
    return True


def read_time(text: str) -> datetime:
    """Returns the date or time in an argument. Errors: BadParameter."""
    from feedmill.core.text.dates import parse_iso

    # as messages and tables show times, too
    moment = parse_iso(text.removesuffix(f" {ZONE}"))
    if moment is None:
        raise typer.BadParameter(f"'{text}' is no time; write 2026-03-01 or 2026-03-01T12:30:00")
    return moment


def show_time(text: str) -> str:
    """Returns a time of JSON as people read it."""
    return write_time(datetime.fromisoformat(text))


def show_in_utc(text: str | None) -> str:
    """Returns a time of JSON for a column whose title names the zone."""
    return "never" if text is None else write_in_utc(datetime.fromisoformat(text))


def show_value(key: str, value: Any) -> str:
    """Returns a value of JSON as people read it, empty for none. Shape: ``key`` tells times from other texts."""
    if value is None:
        return ""
    return show_time(value) if key.endswith(_TIME_KEYS) else str(value)


def check_ca(ca: Path | None, url: str) -> None:
    """Refuses certificates without the address of a server. Errors: BadParameter."""
    if ca is not None and not url:
        raise typer.BadParameter("--ca is for the server that --url names; the certificate of the data folder's server is in its settings")


def check_number(number: int) -> int:
    """Returns a number in an argument that the store can hold. Errors: BadParameter."""
    if abs(number) > MAX_NUMBER:
        raise typer.BadParameter(f"{number} is larger than any number here")
    return number


def print_json(value: Any) -> None:
    """Prints one JSON value a line on standard output."""
    sys.stdout.write(render_json(value) + "\n")


def print_json_list(values: Iterable[Any]) -> None:
    """Prints one JSON array, value by value as they arrive, so that it may be of any length."""
    sys.stdout.write("[")
    for number, value in enumerate(values):
        sys.stdout.write((", " if number else "") + render_json(value))
    sys.stdout.write("]\n")


def render_json(value: Any) -> str:
    """Returns one JSON value as text that UTF-8 can hold."""
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace").decode()


def clean(text: str) -> str:
    """Returns foreign text safe for a terminal: without control characters that move its cursor, and without undecodable bytes."""
    # Undecodable bytes of file names are lone surrogates here, which standard output cannot encode.
    shown = text.encode("utf-8", "backslashreplace").decode()
    return "".join(character if character.isprintable() or character in "\n\t" else "\ufffd" for character in shown)


def amount(number: int, noun: str) -> str:
    """Returns a number with its noun: ``1 record``, ``2 records``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def console() -> "Console":
    """Returns the printer for people on standard output. Pass foreign text through ``clean`` first."""
    from rich.console import Console

    # In a pipe the library would break lines after 80 characters, except with ``soft_wrap``.
    printer = Console(markup=False, highlight=False, soft_wrap=True)
    # Tables know no ``soft_wrap``: a narrower terminal wraps their lines itself, and other programs read a row from one line.
    printer.width = max(printer.width, NARROWEST_TABLE) if printer.is_terminal else WIDEST_TABLE
    return printer


def error_console() -> "Console":
    """Returns the printer of progress and errors on standard error."""
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, soft_wrap=True)


def make_table(*columns: str) -> "Table":
    """Returns a table without lines, with these titles of its columns."""
    from rich.table import Column, Table

    # no value is cut on a narrow terminal
    titles = (Column(title, overflow="fold") for title in columns)
    return Table(*titles, box=None, header_style="bold", pad_edge=False)


def print_table(table: "Table") -> None:
    """Prints a table on standard output, without blanks at the ends of its lines."""
    out = console()
    with out.capture() as printed:
        out.print(table)
    out.file.writelines(f"{line.rstrip()}\n" for line in printed.get().splitlines())
