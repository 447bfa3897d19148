"""Reads texts without markup, and XML and Markdown, whose markup is taken off or left as it reads well."""

import re

from lxml import etree

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.content import Content

_HEADING = re.compile(r"^(?:#{1,2}[ \t]+(.{1,500}?)[ \t]*#*[ \t]*$|([^\n#>\-*|]{1,200})\n(?:={3,}|-{3,})[ \t]*$)", re.M)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,10000}?)\n---[ \t]*\n", re.S)
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?(.{1,500}?)[\"']?[ \t]*$", re.M)


def read_plain(data: bytes, charset: str | None) -> Content:
    """Reads plain text, CSV, JSON, program text."""
    return Content(text=_unify_newlines(decode(data, charset)))


def read_markdown(data: bytes, charset: str | None) -> Content:
    """Reads Markdown as it is written; its first heading of level one or two, or its front matter's title, is the title."""
    text = _unify_newlines(decode(data, charset))
    front = _FRONT_MATTER.match(text)
    match = _FRONT_TITLE.search(front[1]) if front else None
    if match is None:
        match = _HEADING.search(text, front.end() if front else 0, 100_000)
    title = clean_line(next(filter(None, match.groups()), None)) if match else None
    return Content(text=text, title=title or None)


def read_xml(data: bytes, charset: str | None) -> Content:
    """Reads the text of an XML document, broken ones too, as far as they can be repaired; entities are never expanded."""
    text = decode(data, charset, is_markup=True)
    source = re.sub(r"\A\s*<\?xml[^>]{0,300}\?>", "", text).encode("utf-8", "ignore")
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(source, parser)
    except (etree.LxmlError, ValueError):
        root = None
    reason = "the XML is damaged or nested too deeply, some of its text may be missing" if len(parser.error_log) else None
    if root is None:
        return Content(text=text, reason=reason)
    parts = [part for part in root.itertext(tag=etree.Element) if isinstance(part, str) and not part.isspace()]
    titles = (node.text for node in root.iterfind("{*}title") if isinstance(node.text, str))
    return Content(text="\n".join(parts), title=clean_line(next(titles, None)) or None, reason=reason)


def _unify_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
