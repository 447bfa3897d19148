"""What the reader of one format returns."""

from feedmill.model.document import Metadata
from feedmill.model.extraction import Link
from feedmill.model.lightdataclass import light_dataclass


class Unreadable(Exception):
    """A document without readable text. The message is the reason in plain words, lower case, without a full stop."""


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content that one reader found.

    Shape: ``text`` as found, white space not yet collapsed, without ``navigation``, with the marks of its structure. ``headings`` are
    part of either, each on its lines. ``reason`` if something is missing.
    """

    text: str = ""
    navigation: str = ""
    title: str | None = None
    metadata: Metadata = ()
    links: tuple[Link, ...] = ()
    headings: str = ""
    robots: frozenset[str] = frozenset()
    reason: str | None = None
    language: str | None = None
