"""The blocks of an extracted text: its lines, which of them are headings, and which are the text of a link.

A stored text has no markup: its headings and links are stored beside it. A line is a heading if it is one of the headings, and a link if it
is the whole text of links that all lead to the same URL. A line that is a heading at one place and a link at another, as in a table of
contents, is a link.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from feedmill.model.extraction import Link

MAX_BLOCKS = 20_000
"""What follows this many blocks is one more block of several lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a text. Shape: ``link`` is "" for none, and may be any URL."""

    start: int
    end: int
    is_heading: bool = False
    link: str = ""


def split_blocks(text: str, headings: str = "", links: Sequence[Link] = ()) -> list[Block]:
    """Returns the blocks of a text in order, without its empty lines. Shape: the headings each on its lines."""
    targets = _find_targets(links)
    lines = list(_iter_lines(text))
    counts = Counter(text[start:end] for start, end in lines)
    known = Counter(line for line in map(_collapse, headings.split("\n")) if line)
    blocks = []
    for start, end in lines[:MAX_BLOCKS]:
        line = text[start:end]
        link = targets.get(line, "")
        is_heading = line in known and (not link or counts[line] <= known[line])
        blocks.append(Block(start=start, end=end, is_heading=is_heading, link=link))
    if len(lines) > MAX_BLOCKS:
        blocks.append(Block(start=lines[MAX_BLOCKS][0], end=lines[-1][1]))
    return blocks


def _find_targets(links: Sequence[Link]) -> Mapping[str, str]:
    """Returns the URLs of links by their texts, "" for a text that leads to several."""
    targets: dict[str, str] = {}
    for link in links:
        text = _collapse(link.text)
        targets[text] = link.url if targets.setdefault(text, link.url) == link.url else ""
    return targets


def _collapse(text: str) -> str:
    return " ".join(text.split())


def _iter_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yields where each line begins and ends, without white space around it."""
    start = 0
    for line in text.split("\n"):
        if stripped := line.strip():
            first = start + len(line) - len(line.lstrip())
            yield first, first + len(stripped)
        start += len(line) + 1
