"""The ports of front ends: where their stylesheets are stored, and what applies them."""

from dataclasses import dataclass
from typing import Protocol

MAX_STYLESHEET_BYTES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StylesheetOutput:
    """The attributes of ``xsl:output``, each "" if it is absent or not usable."""

    method: str
    media_type: str
    encoding: str


class StylesheetRepository(Protocol):
    """Stores stylesheets. Each version has a path of its own, so a page that is being rendered never reads half of one.

    Example::

        path = repository.write_stylesheet("news", data)
        repository.delete_others("news", path)
    """

    def has(self, path: str) -> bool:
        """Whether there is a file at a path."""

    def read_stylesheet(self, path: str, named: str) -> bytes:
        """Returns a file that may be a stylesheet. Errors: Corrupt if it cannot be read or is too large; the text calls it ``named``."""

    def write_stylesheet(self, name: str, data: bytes) -> str:
        """Stores a version of a front end's stylesheet durably and returns its path. Errors: OSError."""

    def delete_others(self, name: str, path: str) -> None:
        """Deletes all versions of a front end's stylesheet except that at ``path``. Errors: OSError."""


class StylesheetTransformer(Protocol):
    """Applies stylesheets, which may reach nothing but the results. Several threads may use it.

    Example::

        transformer.check_stylesheet(stylesheet)
        page = transformer.transform(stylesheet, b"<GSP/>")
    """

    def check_stylesheet(self, stylesheet: bytes) -> None:
        """Compiles a stylesheet. Errors: Corrupt, also for one that imports or includes another."""

    def read_output(self, stylesheet: bytes) -> StylesheetOutput:
        """Returns what a stylesheet says of its page. Errors: Corrupt if it is not XML."""

    def transform(self, stylesheet: bytes, xml: bytes, custom: bytes = b"") -> bytes:
        """Returns the page. Errors: Corrupt if the stylesheet fails; BadRequest for ``custom``; Busy if all processes are in use.

        Shape: ``custom`` becomes the element CUSTOM of the XML; it is not parsed yet.
        """
