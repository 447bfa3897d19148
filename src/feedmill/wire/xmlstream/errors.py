"""Errors of XML itself, independent of the protocol."""

from feedmill.model.errors import BadFeed


class NotWellFormed(BadFeed):
    """The text is not XML."""
