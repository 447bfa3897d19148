"""Errors of XML itself, independent of the protocol."""

from feedmill.model.errors import BadFeed


class NotWellFormed(BadFeed):
    """The text is not XML. ``repairable`` says whether the repair pass knows this kind of fault."""

    def __init__(self, reason: str, *, line: int = 0, column: int = 0, repairable: bool = False) -> None:
        super().__init__(reason, line=line, column=column)
        self.repairable = repairable
