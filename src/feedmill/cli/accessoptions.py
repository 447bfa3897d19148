"""The options that commands about access share."""

from datetime import datetime
from typing import Annotated

import typer

from feedmill.core.dates import parse_iso

Namespace = Annotated[str, typer.Option("--namespace", metavar="N", help="The namespace of user and groups.")]
Groups = Annotated[list[str] | None, typer.Option("--group", metavar="G", help="A group beside those of the groups database; repeat.")]

At = Annotated[str | None, typer.Option("--at", metavar="TIME", help="By what held then: a date or time, UTC unless it says.")]


def read_time(text: str) -> datetime:
    """Reads a date or time as somebody typed it. Errors: BadParameter."""
    moment = parse_iso(text)
    if moment is None:
        raise typer.BadParameter(f"'{text}' is no time; write 2026-03-01 or 2026-03-01T12:30:00")
    return moment
