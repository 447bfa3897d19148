"""The manual of this version, as the search port shows it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualHeading:
    """A heading within a page. ``level`` is 1 to 6, ``anchor`` its id."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualPage:
    """A page. ``html`` is its body with its first heading, safe to show; ``headings`` are those after the first."""

    title: str
    html: str
    headings: tuple[ManualHeading, ...] = ()


class Manual(Protocol):
    """The pages and pictures of the manual. A name has no leading slash and, for pages, no suffix.

    Example::

        manual.find_page("howto/render-pages")
        manual.find_picture("diagrams/record.svg")
    """

    def find_page(self, name: str) -> ManualPage | None:
        """Returns the page of a name, None if there is none."""

    def find_picture(self, name: str) -> bytes | None:
        """Returns a picture as SVG, None if there is none."""
