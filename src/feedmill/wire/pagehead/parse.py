"""Reads the instructions for crawlers in the head of an HTML page: the rules of its robots tags and its canonical URL.

1. Only the head counts: what stands behind ``<body``, in comments and in scripts does not, since other people may have written it.
2. Rules in ``<meta name="robots">`` hold for all crawlers, those under a crawler's name for that crawler.
3. The first ``<link rel="canonical">`` counts, resolved against the first ``<base>`` before it or the URL of the page.
4. At most the first ``MAX_HEAD_BYTES`` are read. Any text can be read, however broken.

The extraction reads the page as a browser does; this reads only as much as the crawler needs to decide before that.
Source: RFC 6596; "Robots meta tag" of Google Search Central.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final
from urllib.parse import urljoin

from feedmill.core.urls.validation import MAX_URL_CHARACTERS

MAX_HEAD_BYTES: Final = 65_536
MAX_TAGS: Final = 1_000
RULES: Final = ("noindex", "nofollow", "noarchive", "nosnippet")

_BYTE_ORDER_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_NAMES: Final = frozenset({"robots", "googlebot", "gsa-crawler"})
_SKIPPED: Final = frozenset({"script", "style", "noscript", "template", "title", "svg"})
_TAG = re.compile(r"<([A-Za-z]{1,20})")
_ATTRIBUTE = re.compile(
    r"[\s/]{0,200}([^\s=>\"'/]{1,100})"
    r"(?:\s{0,100}=\s{0,100}(?:\"([^\"]{0,4096})\"|'([^']{0,4096})'|([^\s>\"']{1,4096})))?"
)
_WORDS = re.compile(r"[\s,;]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHead:
    """``robots`` are the rules of the page, in the order of ``RULES``; ``canonical`` is the URL that it prefers, "" for none."""

    robots: tuple[str, ...] = ()
    canonical: str = ""


def read_page_head(body: bytes, charset: str | None, url: str, agent: str) -> PageHead:
    """Returns what a page says. Shape: ``agent`` is the crawler's name for robots, in lower case. Errors: none."""
    text = _decode(body[:MAX_HEAD_BYTES], charset)
    names, robots, canonical, base = _NAMES | {agent}, set[str](), "", url
    for tag, attributes in _iter_tags(text):
        if tag == "meta" and attributes.get("name", "").strip().lower() in names:
            robots |= set(_WORDS.split(attributes.get("content", "").lower()))
        elif tag == "base" and base == url:
            base = _join(url, attributes.get("href", ""))
        elif tag == "link" and not canonical and "canonical" in attributes.get("rel", "").lower().split():
            canonical = _join(base, attributes.get("href", ""))
    if "none" in robots:
        robots |= {"noindex", "nofollow"}
    return PageHead(robots=tuple(rule for rule in RULES if rule in robots), canonical=canonical)


def _decode(data: bytes, charset: str | None) -> str:
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    try:
        return data.decode(marked or charset or "utf-8", "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


def _iter_tags(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the tags of a head that may hold instructions, with their attributes."""
    lowered, place = text.lower(), 0
    for _ in range(MAX_TAGS):
        place = text.find("<", place)
        if place < 0:
            return
        if text.startswith("<!--", place):
            place = text.find("-->", place + 4)
            if place < 0:
                return
            continue
        named = _TAG.match(text, place)
        if named is None:
            place += 1
            continue
        tag = named[1].lower()
        if tag == "body":
            return
        place = named.end()
        if tag in _SKIPPED:
            place = lowered.find(f"</{tag}", place)
            if place < 0:
                return
            place += 2
        elif tag in ("meta", "base", "link"):
            attributes, place = _read_attributes(text, place)
            yield tag, attributes


def _read_attributes(text: str, place: int) -> tuple[dict[str, str], int]:
    """Returns the attributes of a tag, of a repeated one the first, and the place behind the tag."""
    attributes: dict[str, str] = {}
    while len(attributes) < 50 and (found := _ATTRIBUTE.match(text, place)) is not None:
        value = next((group for group in found.groups()[1:] if group is not None), "")
        attributes.setdefault(found[1].lower(), unescape(value))
        place = found.end()
    return attributes, place


def _join(base: str, href: str) -> str:
    """Returns an absolute URL, "" for what is none."""
    tidy = href.strip()
    try:
        found = urljoin(base, tidy) if tidy else ""
    except ValueError:
        return ""
    return found if len(found) <= MAX_URL_CHARACTERS and found.isprintable() else ""
