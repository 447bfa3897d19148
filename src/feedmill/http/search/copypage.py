"""The page of a cached copy as people read it: its headings, paragraphs and links, and jumps from match to match without script.

It holds no markup of the document, only text that the template escapes. Like ``cachepage`` it is in a sandbox of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from feedmill.http.search.resultpage import Part, find_address, find_link, split_snippet
from feedmill.model.results import Snippet
from feedmill.services.searching.cachedcopy import CachedCopy

_WEB = ("http://", "https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBlock:
    """A heading or paragraph. Shape: ``match`` counts the blocks with matches from 1, 0 for a block without; ``link`` None for none."""

    parts: tuple[Part, ...]
    is_heading: bool
    link: str | None
    match: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCopy:
    """Everything that the template needs. ``document`` is None if a browser should not open it, ``results`` if the copy has no query."""

    title: str
    url: str
    day: str
    document: str | None
    results: str | None
    blocks: tuple[ShownBlock, ...]
    matches: int


def show_copy(copy: CachedCopy, parameters: Sequence[tuple[str, str]]) -> ShownCopy:
    """Returns what the page shows. Shape: the parameters are those of its request, which a link back to the results repeats."""
    blocks = tuple(_show_blocks(copy))
    others = [(name, value) for name, value in parameters if name != "url"]
    return ShownCopy(
        title=copy.title,
        url=copy.url,
        day=copy.updated_at.date().isoformat(),
        document=find_address(copy),
        results=f"/?{urlencode(others, errors='replace')}" if any(name == "q" and value.strip() for name, value in others) else None,
        blocks=blocks,
        matches=max((block.match for block in blocks), default=0),
    )


def _show_blocks(copy: CachedCopy) -> Iterator[ShownBlock]:
    match = place = 0
    for block in copy.blocks:
        while place < len(copy.marks) and copy.marks[place][1] <= block.start:
            place += 1
        after = place
        while after < len(copy.marks) and copy.marks[after][0] < block.end:
            after += 1
        # a mark may begin before the block or end behind it
        inside = [(max(low, block.start), min(high, block.end)) for low, high in copy.marks[place:after]]
        marks = tuple((low - block.start, high - block.start) for low, high in inside)
        match += bool(marks)
        yield ShownBlock(
            parts=split_snippet(Snippet(text=copy.text[block.start : block.end], marks=marks)),
            is_heading=block.is_heading,
            link=find_link(block.link) if block.link.lower().startswith(_WEB) else None,
            match=match if marks else 0,
        )
