"""Shared by the readers of Office and OpenDocument: hardened parsing and the text of parts, with their tables of contents apart."""

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice

from lxml import etree

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Unreadable
from feedmill.adapters.extract.readers.navigation import GAP
from feedmill.adapters.extract.readers.zips import ZipArchive
from feedmill.adapters.extract.structure import mark, only_structure, without_structure
from feedmill.core.text.structure import Kind
from feedmill.model.document import Metadata
from feedmill.model.extraction import Link

_HREF_CHARACTERS, _ANCHOR_CHARACTERS = 4_096, 300
_LINK = mark(Kind.LINK)
CONTENTS, CONTENTS_END = "\x0e", "\x0f"
"""The signs around what is a table of contents, which cleaning removes in any case."""
_CONTENTS = re.compile(f"(?:{CONTENTS}[^{CONTENTS}{CONTENTS_END}]*{CONTENTS_END}\\s*)+")
_MOST_CONTENTS = 0.6


def parse_part(container: ZipArchive, name: str) -> etree._Element | None:
    """Returns the root of one part; None if there is no such part. Errors: Unreadable if it is no XML or declares entities."""
    data = container.read(name)
    if data is None:
        return None
    _refuse_entities(data, name)
    # Real documents exceed the library's own limits on depth and text, and the container has limited the bytes already.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError) as exc:
        raise Unreadable(f"the file is damaged: part {name[:80]} is no XML") from exc


def parse_optional_part(container: ZipArchive, name: str) -> etree._Element | None:
    """Returns the root of a part without which the document can be read; None also if it is no XML or declares entities."""
    try:
        return parse_part(container, name)
    except Unreadable:
        return None


def read_number(text: str | None, digits: int = 2) -> int | None:
    """Returns a number of few digits, None for any other text. Longer ones are no level or depth that a program writes."""
    return int(text) if text is not None and text.isdecimal() and len(text) <= digits else None


def stream_part(container: ZipArchive, name: str, local_name: str) -> Iterator[etree._Element]:
    """Yields the elements of one name in a part, one at a time; each is discarded when the next is read. Errors: Unreadable."""
    data = container.read(name)
    if data is not None:
        yield from stream_elements(data, name, local_name)


def stream_elements(data: bytes, name: str, local_name: str) -> Iterator[etree._Element]:
    """Yields the elements of a part that was read, as ``stream_part`` does. Errors: Unreadable."""
    _refuse_entities(data, name)
    options = {
        "resolve_entities": False,
        "no_network": True,
        "load_dtd": False,
        "huge_tree": True,
        "remove_comments": True,
        "remove_pis": True,
    }
    try:
        for _, node in etree.iterparse(io.BytesIO(data), events=("end",), tag=f"{{*}}{local_name}", **options):
            yield node
            # Otherwise the whole tree would be in memory at the end: its content goes, and so do the empty elements before it.
            node.clear()
            parent = node.getparent()
            while parent is not None and node.getprevious() is not None:
                del parent[0]
    except (etree.LxmlError, ValueError) as exc:
        raise Unreadable(f"the file is damaged: part {name[:80]} is no XML") from exc


def _refuse_entities(data: bytes, name: str) -> None:
    # Declarations are before the root element. The parser resolves none in any case; this check only names the reason.
    if b"<!ENTITY" in data[:100_000]:
        raise Unreadable(f"the file declares XML entities in {name[:80]}, which no Office program writes")


class Marker(ABC):
    """Says which marks of the structure stand at the beginning and at the end of elements, and collects the links.

    Shape: ``tags`` are those of the elements that it is asked for; ``links`` in the order of their marks.
    """

    tags: frozenset[str]

    def __init__(self, most_links: int) -> None:
        self.links: list[Link] = []
        self._most_links = most_links
        #: of the elements that are open
        self._ends: list[str] = []

    def begin(self, node: etree._Element) -> str:
        """Returns the marks at the beginning of an element."""
        marks, end = self._mark(node)
        self._ends.append(end)
        return marks

    def end(self, node: etree._Element) -> str:
        """Returns the marks at its end."""
        end = self._ends.pop() if self._ends else ""
        return self._leave(node) + end

    def finish(self) -> str:
        """Returns the marks at the end of a part."""
        return ""

    @abstractmethod
    def _mark(self, node: etree._Element) -> tuple[str, str]:
        """Returns the marks at the beginning of an element, and those at its end."""

    def _leave(self, node: etree._Element) -> str:
        """Returns the marks at the end of an element that only its content tells."""
        del node
        return ""

    def _begin_link(self, url: str | None, texts: Iterable[str]) -> str:
        """Collects a link and returns the mark of its beginning, "" if there is none to follow. Shape: pieces of its text."""
        url = (url or "").strip()
        if not url or url[0] == "#" or len(url) > _HREF_CHARACTERS or len(self.links) >= self._most_links:
            return ""
        self.links.append(Link(url=url, text=clean_line("".join(islice(texts, _ANCHOR_CHARACTERS)), _ANCHOR_CHARACTERS)))
        return _LINK


def collect_text(
    root: etree._Element, *, breaks: Iterable[str], blanks: Iterable[str] = (), skip: Iterable[str] = (), marker: Marker | None = None
) -> str:
    """Returns the text below an element, with marks of its structure if there is a marker.

    Shape: names of tags that end a line, that stand for a blank, and whose content is skipped.
    """
    ends, spaces, skipped = frozenset(breaks), frozenset(blanks), frozenset(skip)
    marked = marker.tags if marker is not None else frozenset()
    parts: list[str] = []
    depth = 0
    for event, node in etree.iterwalk(root, events=("start", "end")):
        tag = node.tag
        if tag in skipped:
            depth += 1 if event == "start" else -1
        if marker is not None and depth == 0 and tag in marked:
            parts.append(marker.begin(node) if event == "start" else marker.end(node))
        if event == "start":
            if depth == 0 and node.text:
                parts.append(node.text)
            continue
        if depth:
            pass
        elif tag in ends:
            parts.append("\n")
        elif tag in spaces:
            parts.append(" ")
        if depth == 0 and node.tail and node is not root:
            parts.append(node.tail)
    return "".join(parts)


def split_contents(text: str) -> tuple[str, str]:
    """Returns the marked text without its tables of contents, and these as navigation. What is hardly more than contents is text."""
    if CONTENTS not in text:
        return text, ""
    navigation = "\n".join(without_structure(found[0]) for found in _CONTENTS.finditer(text))
    if len(navigation) > _MOST_CONTENTS * len(without_structure(text)):
        return text, ""
    first = text.index(CONTENTS)
    is_first = not any(map(str.isalnum, without_structure(text[:first])))
    return _CONTENTS.sub(lambda found: _leave_gap(found, is_first=is_first and found.start() == first), text), navigation


def _leave_gap(found: re.Match[str], *, is_first: bool) -> str:
    marks = only_structure(found[0])
    return marks if is_first else f"{marks}{GAP}\n"


def read_properties(container: ZipArchive, name: str, wanted: dict[str, str]) -> Metadata:
    """Returns the values of a properties part: ``wanted`` maps each element's local name to the metadata name."""
    root = parse_optional_part(container, name)
    if root is None:
        return ()
    found = []
    for node in root.iter(etree.Element):
        label = wanted.get(etree.QName(node).localname)
        if label and (value := clean_line(node.text)):
            found.append((label, value))
    return tuple(found)


def find_title(metadata: Metadata) -> str | None:
    """Returns the title among properties."""
    return next((value for name, value in metadata if name == "title"), None)
