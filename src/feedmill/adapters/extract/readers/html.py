"""Reads HTML: text, title, headings, meta tags, robots rules, links.

It separates words without walking the tree in Python: a form feed is inserted before every block-level tag in the source, where the
parser treats it as white space, and the text of the whole body is then taken in one call. Inline tags get none, so that
``<b>W</b>ord`` stays one word. Newlines of the source itself are blanks, except in ``<pre>``. ``navigation`` splits the text
into main text and navigation.

``googleoff`` and ``googleon`` comments cross element boundaries; only pages that have them are walked node by node. ``index`` and
``all`` exclude text. ``anchor`` and ``all`` drop the anchor text of links but leave the link for the crawler, as the appliance
did. Text under ``snippet`` stays searchable and is marked as never to be quoted.
Source: Google Search Appliance, "Preparing for a Crawl", "Excluding Unwanted Text from the Index".
"""

import re
from collections.abc import Sequence, Set
from typing import NamedTuple
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from feedmill.adapters.extract.clean import clean_line, strip_controls
from feedmill.adapters.extract.readers.content import Content
from feedmill.adapters.extract.readers.htmlstructure import mark_structure
from feedmill.adapters.extract.readers.navigation import (
    BOUNDARY,
    HEADINGS,
    Anchor,
    mark_headings,
    mark_links,
    mark_navigation,
    split_navigation,
    without_marks,
    without_signs,
)
from feedmill.adapters.extract.readers.tagsoup import is_costly, strip_markup
from feedmill.core.text.textblob import QUOTED, UNQUOTED
from feedmill.model.access import ACL_NAME_PREFIX
from feedmill.model.document import Metadata
from feedmill.model.extraction import ExtractionLimits, Link

_BLOCK_TAGS = (
    r"<(?=/?(?:p|div|li|td|tr|th|h[1-6]|ul|ol|table|br|dt|dd|dl|section|article|header|footer|nav|main|aside|option|pre|hr|form|label"
    r"|blockquote|caption|figure|figcaption|address|fieldset|legend|details|summary|textarea|button|select|optgroup|center|tbody|thead"
    r"|tfoot|menu|dir|frame|iframe|object|video|audio|body)\b)"
)
# ignoring letter case costs three times as much, and few pages need it
_BLOCK, _BLOCK_ANY_CASE = re.compile(_BLOCK_TAGS), re.compile(_BLOCK_TAGS, re.IGNORECASE)
_UPPER_TAG = re.compile(r"</?[A-Z]")
# the names of start tags, and of other tags only those in capitals
_TAG_NAME = re.compile(r"<([a-z][a-zA-Z0-9]*|/?[A-Z])")
# In XHTML any element may end itself. A parser of HTML takes what follows these as their text, to the end of the page.
_XHTML = "http://www.w3.org/1999/xhtml"
_ENDED_TEXT = re.compile(r"<(title|script|style|textarea|iframe|noscript|noembed|noframes)(\s[^<>]*)?/>")
_UNSEEN = ["script", "style", "noscript", "template", "iframe", "noembed", "noframes"]
# each begins with a word that the search can jump to
_HIDDEN_ATTRIBUTE, _HIDDEN_STYLE = re.compile(r"hidden(?<=\shidden)[\s>=/]"), re.compile(r"display\s*:\s*none")
_HIDDEN_SELECTOR = '[hidden], [style*="display:none" i], [style*="display: none" i]'
_GOOGLEOFF = re.compile(r"\s*google(off|on)\s*:\s*(index|anchor|snippet|all)\b", re.IGNORECASE)
_ROBOTS = frozenset({"noindex", "nofollow", "noarchive", "nosnippet"})
_ROBOTS_NAMES = frozenset({"robots", "googlebot", "gsa-crawler"})
_PROGRAM = re.compile("[A-Za-z][A-Za-z-]{3,39}")
_MAX_PROGRAMS = 3
# what programs hide by their own style sheets, which are not read: the declarations of the names in a piece of code, shown beside the mouse
_TOOLTIPS = {"doxygen": "div.ttc"}
# what DocBook writes for a picture without one
_NO_ALTERNATIVE = "(missing alt)"
_MAX_HEADINGS = 200
_PERMALINK_CHARACTERS = 4
_HEAD_CHARACTERS = 20_000
_NAMESPACE_CHARACTERS = 1_000
_HREF_CHARACTERS, _ANCHOR_CHARACTERS, _VALUE_CHARACTERS = 4_096, 300, 4_000


def read_html(source: str, url: str, limits: ExtractionLimits) -> Content:
    """Reads a page. Shape: ``url`` is the base of relative URLs. Errors: none, any text is a page."""
    source = without_marks(source)
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    if _XHTML in source[:_NAMESPACE_CHARACTERS]:
        source = _ENDED_TEXT.sub(r"<\1\2></\1>", source)
    lowered = source.lower()
    if is_costly(lowered):
        return _read_without_tree(source, limits)
    # what a page has: looking for elements that are not there takes longer
    tags = set(_TAG_NAME.findall(source))
    block = _BLOCK
    if not "".join(tags).islower():
        tags = set(_TAG_NAME.findall(lowered))
        block = _BLOCK_ANY_CASE if _UPPER_TAG.search(source) else _BLOCK
    source = _join_lines(source, lowered, has_pre="pre" in tags)
    # With scripting, the parser takes what is in ``noscript`` as one text, which is
    # dropped below. Otherwise a paragraph of it in the head would become part of the body.
    tree = LexborHTMLParser(block.sub(f"{BOUNDARY}<", source), scripting=True)
    title = _find_title(tree)
    metadata, robots = _read_metas(tree, limits.metadata)
    if unseen := [tag for tag in _UNSEEN if tag in tags]:
        tree.strip_tags(unseen, recursive=True)
    programs = _find_programs(metadata)
    hidden = [text for program in programs if program in _TOOLTIPS for text in _take_all(tree.css(_TOOLTIPS[program]))]
    if ("hidden" in lowered and _HIDDEN_ATTRIBUTE.search(lowered)) or _HIDDEN_STYLE.search(lowered):
        hidden += _take_hidden(tree)
    if "img" in tags or "area" in tags:
        _put_alternatives(tree)
    if "#" in lowered and ('href="#' in lowered or "href='#" in lowered or "href=#" in lowered):
        _drop_permalinks(tree)
    off = _obey_googleoff(tree) if "googleoff" in lowered else _NOTHING_OFF
    base = _find_base(tree, url) if "base" in tags else None
    links, anchors = _read_links(tree, tags, base, _list_own_starts(url), off.anchors, limits.links)
    outside = mark_navigation(tree, lowered, tags)
    elements = [(tag, tree.tags(tag)) for tag in HEADINGS if tag in tags]
    headings = _read_headings([node for _, nodes in elements for node in nodes], outside)
    mark_links(anchors)
    mark_headings(elements)
    mark_structure(tree, lowered, tags)
    for node, mark in off.quotes:
        words = node.text_content or ""
        node.replace_with(words[: len(words) - len(words.lstrip())] + mark + words.lstrip())
    body = tree.body
    text, navigation = split_navigation(without_signs(body.text(deep=True)), programs, title or "") if body is not None else ("", "")
    # which parts of hidden text such comments exclude is not known
    if hidden and "googleoff" not in lowered:
        navigation = BOUNDARY.join([navigation, *hidden])
    return Content(text=text, navigation=navigation, title=title, metadata=metadata, links=links, headings=headings, robots=robots)


def _join_lines(source: str, lowered: str, *, has_pre: bool) -> str:
    """Returns a page with blanks for its line ends, except in ``pre``. Shape: ``lowered`` is the page in lower case."""
    if not has_pre or len(lowered) != len(source):
        return source if has_pre else source.replace("\n", " ")
    parts: list[str] = []
    end = 0
    while (start := lowered.find("<pre", end)) >= 0:
        parts.append(source[end:start].replace("\n", " "))
        end = lowered.find("</pre", start)
        if end < 0:
            end = len(source)
        parts.append(source[start:end])
    parts.append(source[end:].replace("\n", " "))
    return "".join(parts)


def _read_without_tree(source: str, limits: ExtractionLimits) -> Content:
    """Reads the words of a page without a usable tree; the metadata at its beginning still counts."""
    head = LexborHTMLParser(source[:_HEAD_CHARACTERS], scripting=True)
    metadata, robots = _read_metas(head, limits.metadata)
    reason = "the page is nested too deeply or has too many attributes: its text was taken without its structure and links"
    return Content(text=strip_markup(source), title=_find_title(head), metadata=metadata, robots=robots, reason=reason)


def _find_title(tree: LexborHTMLParser) -> str | None:
    for node in tree.tags("title"):
        parent = node.parent
        # Images in SVG inside the page have titles too.
        if parent is not None and parent.tag in ("head", "body", "html") and (title := clean_line(node.text())):
            return title
    return None


def _read_headings(found: Sequence[LexborNode], outside: Set[int]) -> str:
    """Returns the headings of the main text, the higher ones first."""
    if outside:
        found = [node for node in found if node.mem_id not in outside]
    return "\n".join([node.text() for node in found[:_MAX_HEADINGS]])


def _read_metas(tree: LexborHTMLParser, limit: int) -> tuple[Metadata, frozenset[str]]:
    rules: list[tuple[str, str]] = []
    metadata: list[tuple[str, str]] = []
    robots: set[str] = set()
    for node in tree.tags("meta")[: limit * 2]:
        attributes = node.attributes
        name, value = clean_line(attributes.get("name"), 200), clean_line(attributes.get("content"), _VALUE_CHARACTERS)
        lowered = name.lower()
        if lowered in _ROBOTS_NAMES:
            robots |= _parse_robots(value)
        # access rules come first and are stored even if empty: no limit may hide that the page is restricted
        if lowered.startswith(ACL_NAME_PREFIX):
            rules.append((name, value))
        elif name and value and len(metadata) < limit:
            metadata.append((name, value))
    return (*rules, *metadata), frozenset(robots)


def _find_programs(metadata: Metadata) -> tuple[str, ...]:
    """Returns the names of the programs that wrote a page, in lower case, as far as it says so: one may have used another."""
    named = [_PROGRAM.match(value) for name, value in metadata if name.lower() == "generator"]
    return tuple(found[0].lower() for found in named if found)[:_MAX_PROGRAMS]


def _parse_robots(value: str) -> frozenset[str]:
    words = set(re.split(r"[\s,;]+", value.lower()))
    if "none" in words:
        words |= {"noindex", "nofollow"}
    return _ROBOTS & words


def _take_hidden(tree: LexborHTMLParser) -> list[str]:
    """Removes elements that are hidden, and returns their texts: scripts show them, so their words find the page as navigation does."""
    inner: set[int] = set()
    outer: list[LexborNode] = []
    for node in tree.css(_HIDDEN_SELECTOR):
        # Some sites hide the whole page until their scripts have run. Its words count.
        if node.tag in ("html", "body") or node.parent is None or node.mem_id in inner:
            continue
        inner.update(below.mem_id for below in node.css(_HIDDEN_SELECTOR))
        outer.append(node)
    return _take_all(outer)


def _take_all(nodes: Sequence[LexborNode]) -> list[str]:
    texts: list[str] = []
    for node in nodes:
        texts.append(node.text(deep=True))
        node.decompose()
    return texts


def _drop_permalinks(tree: LexborHTMLParser) -> None:
    """Removes links to places of the page itself that have a sign for a text, as many headings have them."""
    for node in tree.css('a[href^="#"]'):
        text = node.text(deep=True)
        if len(text) <= _PERMALINK_CHARACTERS and text and not any(map(str.isalnum, text)):
            node.decompose()


def _put_alternatives(tree: LexborHTMLParser) -> None:
    for tag in ("img", "area"):
        for node in tree.tags(tag):
            alternative = node.attributes.get("alt")
            if alternative and alternative != _NO_ALTERNATIVE and not _leads_to_page_itself(node.parent):
                node.insert_before(f" {alternative[:_VALUE_CHARACTERS]} ")


def _leads_to_page_itself(node: LexborNode | None) -> bool:
    """Whether an element is a link to a place of the page with nothing but a sign in it."""
    return node is not None and node.tag == "a" and (node.attributes.get("href") or "").startswith("#") and not node.text().strip()


def _find_base(tree: LexborHTMLParser, url: str) -> str | None:
    for node in tree.tags("base")[:1]:
        if href := (node.attributes.get("href") or "").strip():
            return _join(url, href[:_HREF_CHARACTERS])
    return None


def _list_own_starts(url: str) -> tuple[str, ...]:
    """Returns how addresses of places of the page itself begin."""
    name = url.partition("#")[0].partition("?")[0].rpartition("/")[2]
    return ("#", f"{name}#") if name else ("#",)


def _read_links(
    tree: LexborHTMLParser, tags: Set[str], base: str | None, own: tuple[str, ...], mute: frozenset[int], limit: int
) -> tuple[tuple[Link, ...], list[Anchor]]:
    """Returns the links, and each ``a`` with an address. Shape: ``tags`` are the names in the page."""
    links: list[Link] = []
    anchors: list[Anchor] = []
    for tag, attribute in (("a", "href"), ("area", "href"), ("frame", "src")):
        if tag not in tags:
            continue
        for node in tree.tags(tag):
            attributes = node.attributes
            if attribute not in attributes:
                continue
            written = attributes[attribute] or ""
            href = written.strip()
            if not href.isprintable():
                href = _tidy_href(href)
            is_stored = _is_link(href) and len(links) < limit and not ("rel" in attributes and _is_not_followed(attributes["rel"]))
            if tag == "a":
                anchors.append((node, is_stored, written.startswith(own)))
            if is_stored:
                text = "" if mute and node.mem_id in mute else clean_line(node.text(), _ANCHOR_CHARACTERS)
                links.append(Link(_join(base, href) if base else href, text))
    return tuple(links), anchors


def _is_not_followed(rel: str | None) -> bool:
    return "nofollow" in (rel or "").lower()


def _tidy_href(href: str) -> str:
    """Removes white space and control characters as browsers do. Source: WHATWG URL, "Basic URL parser", steps 1 to 3."""
    return strip_controls(href.replace("\n", "").replace("\t", "").replace("\r", "").replace(BOUNDARY, ""))


def _is_link(href: str) -> bool:
    return 0 < len(href) <= _HREF_CHARACTERS and href[0] != "#" and (href[0] not in "jJ" or href[:11].lower() != "javascript:")


def _join(base: str, href: str) -> str:
    try:
        return urljoin(base, href)
    except ValueError:
        return href


class _SwitchedOff(NamedTuple):
    """Links whose anchor text is switched off, and texts before which quoting ends or begins again."""

    anchors: frozenset[int] = frozenset()
    quotes: tuple[tuple[LexborNode, str], ...] = ()


_NOTHING_OFF = _SwitchedOff()


def _obey_googleoff(tree: LexborHTMLParser) -> _SwitchedOff:
    """Blanks the text that is switched off. Returns the other switched-off parts."""
    off: set[str] = set()
    doomed: list[LexborNode] = []
    mute: set[int] = set()
    quotes: list[tuple[LexborNode, str]] = []
    is_quoted = True
    is_inside = False
    for node in _walk_with_comments(tree):
        if node.is_comment_node:
            match = _GOOGLEOFF.match(node.comment_content or "")
            if match:
                (off.add if match[1].lower() == "off" else off.discard)(match[2].lower())
        elif node.is_text_node:
            if "index" in off or "all" in off:
                doomed.append(node)
            elif is_inside and is_quoted is ("snippet" in off) and (node.text_content or "").strip():
                is_quoted = not is_quoted
                quotes.append((node, QUOTED if is_quoted else UNQUOTED))
        elif node.tag in ("a", "area") and off & {"anchor", "all"}:
            # Every access to a node makes a new object, so its place in the parser's memory identifies it.
            mute.add(node.mem_id)
        elif node.tag == "body":
            is_inside = True
    for node in doomed:
        # the words before and behind stay apart
        node.replace_with(" ")
    return _SwitchedOff(frozenset(mute), tuple(quotes))


def _walk_with_comments(tree: LexborHTMLParser) -> list[LexborNode]:
    """Lists all nodes in document order, including the comments before the root."""
    root = tree.root
    if root is None:
        return []
    before: list[LexborNode] = []
    node = root.prev
    while node is not None:
        before.append(node)
        node = node.prev
    return [*reversed(before), *root.traverse(include_text=True)]
