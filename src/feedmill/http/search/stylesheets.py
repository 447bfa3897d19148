"""Stylesheets of XSLT 1.0 that read and write nothing but what they are given.

No file, no network, whether by ``document()``, by an import or include, by an entity or by an element that writes. A stylesheet may declare
entities of its own, and read itself: ``document('')`` is how tables are kept in one. To the engine that is a read over the network of an
address that does not exist; so these reads are let through, all of them to a resolver that refuses any other.
"""

from pathlib import Path
from typing import Any

from lxml import etree

from feedmill.model.errors import Corrupt

MAX_STYLESHEET_BYTES = 4_000_000
MAX_DEPTH = 1_000
MAX_NAME = 200

etree.XSLT.set_global_max_depth(MAX_DEPTH)  # type: ignore[attr-defined]  # the stub leaves it out

_RIGHTS = {"read_file": False, "write_file": False, "create_dir": False, "read_network": True, "write_network": False}
_ITSELF_ALONE = etree.XSLTAccessControl(**_RIGHTS)


def compile_stylesheet(data: bytes) -> etree.XSLT:
    """Makes a stylesheet ready. Errors: Corrupt, also for one that imports or includes another."""
    try:
        return etree.XSLT(etree.fromstring(data, _make_parser(_Refusal())), regexp=False, access_control=_ITSELF_ALONE)
    except etree.LxmlError as exc:
        raise Corrupt(f"the stylesheet is no XSLT 1.0 that stands alone: {exc}") from exc


def read_bounded(path: str, named: str) -> bytes:
    """Reads a file that may be a stylesheet. Errors: Corrupt for one that cannot be read or is too large, which is then ``named``."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_STYLESHEET_BYTES + 1)
    except OSError as exc:
        raise Corrupt(f"{named} cannot be read: {exc.strerror}") from exc
    if len(data) > MAX_STYLESHEET_BYTES:
        raise Corrupt(f"{named} has more than {MAX_STYLESHEET_BYTES} bytes")
    return data


def read_stylesheet(path: str) -> bytes:
    """Reads the file of a stylesheet; who may name a path reads by it nothing else that is on the machine. Errors: Corrupt."""
    data = read_bounded(path, f"the file '{path}'")
    try:
        compile_stylesheet(data)
    except Corrupt as exc:
        # the parser's reason would tell what the file holds
        raise Corrupt(f"the file '{path}' is no XSLT 1.0 that stands alone") from exc
    return data


class _Refusal(etree.Resolver):
    """Refuses whatever a stylesheet names but itself, which it is not asked for."""

    def resolve(self, system_url: str, public_id: str, context: Any = None) -> Any:  # noqa: ARG002 - lxml names them
        raise Corrupt(f"it reads '{system_url[:MAX_NAME]}'; a stylesheet may read itself alone, by document('')")


class _Nothing(etree.Resolver):
    """Returns an empty document for whatever a document names."""

    def resolve(self, system_url: str, public_id: str, context: Any = None) -> Any:  # noqa: ARG002 - lxml names them
        return self.resolve_empty(context)  # type: ignore[attr-defined]  # the stub leaves it out


def make_parser() -> etree.XMLParser:
    """Makes a parser that reads nothing but what it is given."""
    return _make_parser(_Nothing())


def _make_parser(resolver: etree.Resolver) -> etree.XMLParser:
    options: dict[str, Any] = {"resolve_entities": "internal", "no_network": True, "load_dtd": False, "huge_tree": False}
    parser = etree.XMLParser(**options)
    parser.resolvers.add(resolver)
    return parser
