"""Compiles stylesheets of XSLT 1.0 that can reach nothing but the results and themselves.

A stylesheet reads no file and no network, whether by ``document()``, an import or include, an entity, or an element that writes. It may
declare entities, and read itself: ``document('')`` is how stylesheets contain tables. To the engine, this is a network read of an address
that does not exist. The access rules therefore permit network reads, and a resolver refuses all others.
"""

import re
from typing import Any, Final

from lxml import etree

from feedmill.model.errors import Corrupt
from feedmill.ports.stylesheets import StylesheetOutput

MAX_DEPTH = 1_000
MAX_NAME = 200
_XSL: Final = "{http://www.w3.org/1999/XSL/Transform}"
_MEDIA_TYPE: Final = re.compile(r"[a-z]+/[a-z0-9.+-]+")  # RFC 6838, 4.2

etree.XSLT.set_global_max_depth(MAX_DEPTH)  # type: ignore[attr-defined]  # the stub leaves it out

_RIGHTS = {"read_file": False, "write_file": False, "create_dir": False, "read_network": True, "write_network": False}
_ITSELF_ALONE = etree.XSLTAccessControl(**_RIGHTS)


def compile_stylesheet(data: bytes) -> etree.XSLT:
    """Compiles a stylesheet. Errors: Corrupt, also for one that imports or includes another."""
    try:
        return etree.XSLT(etree.fromstring(data, _make_parser(_Refusal())), regexp=False, access_control=_ITSELF_ALONE)
    except etree.LxmlError as exc:
        raise Corrupt(f"the stylesheet is no XSLT 1.0 that stands alone: {exc}") from exc


def read_output(data: bytes) -> StylesheetOutput:
    """Reads ``xsl:output``; of several elements the last counts. Errors: Corrupt."""
    try:
        root = etree.fromstring(data, make_parser())
    except etree.LxmlError as exc:
        raise Corrupt(str(exc)) from exc
    found: dict[str, str] = {}
    for element in root.iterchildren(f"{_XSL}output"):
        found |= {str(name): str(value).strip() for name, value in element.attrib.items()}
    media_type, encoding = found.get("media-type", "").lower(), found.get("encoding", "")
    return StylesheetOutput(
        method=found.get("method", ""),
        media_type=media_type if _MEDIA_TYPE.fullmatch(media_type) else "",
        encoding=encoding if _is_encoding(encoding) else "",
    )


def _is_encoding(name: str) -> bool:
    """Returns whether the engine knows an encoding; pages are UTF-8 if it does not."""
    try:
        etree.tostring(etree.Element("a"), encoding=name)
    except LookupError:
        return False
    return bool(name)


class _Refusal(etree.Resolver):
    """Refuses every address in a stylesheet. The engine does not call it for the stylesheet itself."""

    def resolve(self, system_url: str, public_id: str, context: Any = None) -> Any:  # noqa: ARG002 - lxml names them
        raise Corrupt(f"it reads '{system_url[:MAX_NAME]}'; a stylesheet may read itself alone, by document('')")


class _Nothing(etree.Resolver):
    """Returns an empty document for whatever a document names."""

    def resolve(self, system_url: str, public_id: str, context: Any = None) -> Any:  # noqa: ARG002 - lxml names them
        return self.resolve_empty(context)  # type: ignore[attr-defined]  # the stub leaves it out


def make_parser() -> etree.XMLParser:
    """Returns a parser that reads nothing but its input."""
    return _make_parser(_Nothing())


def _make_parser(resolver: etree.Resolver) -> etree.XMLParser:
    options: dict[str, Any] = {"resolve_entities": "internal", "no_network": True, "load_dtd": False, "huge_tree": False}
    parser = etree.XMLParser(**options)
    parser.resolvers.add(resolver)
    return parser
