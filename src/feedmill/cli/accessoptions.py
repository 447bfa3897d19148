"""The options that commands about access share."""

from typing import Annotated

import typer

Namespace = Annotated[str, typer.Option("--namespace", metavar="N", help="The namespace of user and groups.")]
Groups = Annotated[list[str] | None, typer.Option("--group", metavar="G", help="A group beside those of the groups database; repeat.")]

At = Annotated[str | None, typer.Option("--at", metavar="TIME", help="By what held then: a date or time, UTC unless it says.")]
