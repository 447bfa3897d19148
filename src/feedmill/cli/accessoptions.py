"""The options that commands about access share."""

from typing import Annotated

import typer

Namespace = Annotated[str, typer.Option("--namespace", metavar="N", help="The namespace of user and groups.")]
Groups = Annotated[list[str] | None, typer.Option("--group", metavar="G", help="A further group of the user; may be repeated.")]

At = Annotated[str | None, typer.Option("--at", metavar="TIME", help="The state at a date or time, in UTC by default.")]
