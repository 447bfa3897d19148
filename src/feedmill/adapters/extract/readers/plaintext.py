"""Reads texts without markup, and XML and Markdown without their markup."""

import re
from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content
from feedmill.adapters.extract.readers.contentslines import find_dotted
from feedmill.adapters.extract.readers.html import read_html
from feedmill.adapters.extract.readers.titlelines import find_title_line
from feedmill.adapters.extract.structure import END, mark
from feedmill.core.text.structure import Kind
from feedmill.core.text.textblob import QUOTED, UNQUOTED
from feedmill.model.extraction import ExtractionLimits

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,10000}?)\n---[ \t]*\n", re.S)
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?(.{1,500}?)[\"']?[ \t]*$", re.M)
_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_MARKDOWN_CHARACTERS = 100_000
# the parser reads to the next blank for the target of each link, and again from the same position if there is no link
_WITHOUT_BLANKS = re.compile(r"\S{2000,}")
_MANY_LINKS = 100
_CONTROL_SEQUENCE = re.compile(rb"\x1b\[[0-?]{0,40}[ -/]{0,10}[@-~]")
# the letter before is printed again, or underlined
_OVERSTRUCK = re.compile(rb"[ -~]\x08")
_LEADERS = ("....", ". . . .", "……", "····")


def read_plain(data: bytes, charset: str | None, *, is_prose: bool = False) -> Content:
    """Reads plain text, CSV, JSON, program text. Tables of contents stay where they are, and are never quoted.

    The title of ``is_prose``, a text for people, is its first line if that is plainly one.
    """
    text = _unify_newlines(decode(_drop_terminal_signs(data), charset))
    title = clean_line(find_title_line(text)) if is_prose else ""
    return Content(text=f"{mark(Kind.PREFORMATTED)}{_mark_contents(text)}{END}", title=title or None)


def _drop_terminal_signs(data: bytes) -> bytes:
    """Returns a text without what tells a terminal colours, and printers to print one letter upon another. Source: ECMA-48, 5.4."""
    if b"\x1b[" in data:
        data = _CONTROL_SEQUENCE.sub(b"", data)
    return _OVERSTRUCK.sub(b"", data) if b"\b" in data else data


def _mark_contents(text: str) -> str:
    """Returns a text with marks around its tables of contents, whose entries have dots before the numbers of their pages."""
    if not any(leaders in text for leaders in _LEADERS):
        return text
    lines = text.split("\n")
    words = [number for number, line in enumerate(lines) if line and not line.isspace()]
    are_contents = find_dotted([lines[number].strip() for number in words])
    for is_contents, group in groupby(zip(words, are_contents, strict=True), key=itemgetter(1)):
        if is_contents:
            numbers = [number for number, _ in group]
            first, last = lines[numbers[0]], numbers[-1]
            lines[numbers[0]] = first.replace(first.lstrip(), UNQUOTED + first.lstrip(), 1)
            lines[last] = lines[last].rstrip() + QUOTED
    return "\n".join(lines)


def read_markdown(data: bytes, charset: str | None, url: str, limits: ExtractionLimits) -> Content:
    """Reads the text that Markdown renders, with its links. Very long texts are read as they are written.

    The title is that of the front matter, otherwise the first heading of level one or two, otherwise that of a plain text.
    """
    text = _unify_newlines(decode(data, charset))
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    if any(run[0].count("](") > _MANY_LINKS for run in _WITHOUT_BLANKS.finditer(body)):
        return Content(text=text, reason="the Markdown has too many links in a row: its text was taken as it is written")
    tokens = _MARKDOWN.parse(body[:_MARKDOWN_CHARACTERS])
    named = _FRONT_TITLE.search(front[1]) if front else None
    title = clean_line(named[1] if named else _find_heading(tokens) or find_title_line(body)) or None
    if len(body) > _MARKDOWN_CHARACTERS:
        return Content(text=text, title=title)
    shown = read_html(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}), url, limits)
    return Content(text=shown.text, title=title, links=shown.links, headings=shown.headings)


def _find_heading(tokens: Sequence[Token]) -> str:
    """Returns the words of the first heading of level one or two."""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag in ("h1", "h2"):
            words = (child for child in inline.children or () if child.type != "html_inline")
            return "".join(" " if child.type.endswith("break") else child.content for child in words)
    return ""


def read_xml(data: bytes, charset: str | None) -> Content:
    """Reads the text of an XML document. Broken ones are repaired as far as possible; entities are never expanded."""
    text = decode(data, charset, is_markup=True)
    # The declaration names the charset before decoding and would contradict the UTF-8 here.
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
