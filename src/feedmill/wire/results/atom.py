"""Search results as an Atom feed, which feed readers and programs subscribe to.

    feed    title subtitle? id updated author generator link* totalResults? startIndex itemsPerPage Query Query? entry*
    entry   title id updated link? category? summary-or-content

- Entries stand in the order of the XML (``gsaxml``), and a feed holds one page of them; links lead to the next and the previous page.
- The id of an entry is the URL of its document. A URL that is no IRI has a UUID made from it instead. Both stay the same for good.
- An entry is updated when its document was; without a date of its own, when the server last changed it.
- Snippets are HTML as text: their own markup characters are escaped once for HTML and once more for XML. Characters that XML cannot hold
  become U+FFFD.
- An entry without a link that is safe to open has its text as content, because an entry needs one of both.
Source: RFC 4287; RFC 5005, section 3, for the pages; OpenSearch 1.1 Draft 6, "OpenSearch response elements".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape as escape_html
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from feedmill.model.results import Result, ResultPage, Snippet
from feedmill.wire.xmltext import escape_text, write_attributes

MEDIA_TYPE: Final = "application/atom+xml"
_NAMESPACES: Final = 'xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"'
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# An absolute IRI: a scheme, and none of the characters that RFC 3987 excludes (2.2, 4.1).
_IRI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,30}:(?:[\x21\x23\x24\x26-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]|%(?=[0-9A-Fa-f]{2})"
    r"|[\xa0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd])+"
)
_MEDIA: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomLink:
    """A link of the feed: its relation, media type and absolute address."""

    relation: str
    media_type: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomParts:
    """The parts of a feed.

    Shape: ``id`` is the same for all pages of a search. ``addresses`` are the absolute addresses of the results, None for one that a reader
    should not open. ``shows_total``: the feed may state the number of all results. ``num`` is how many results a page holds.
    """

    id: str
    page: ResultPage
    addresses: Sequence[str | None]
    links: Sequence[AtomLink]
    num: int
    shows_total: bool
    version: str
    now: datetime


def render_feed(parts: AtomParts) -> bytes:
    """Returns the feed in UTF-8."""
    page = parts.page
    updated = max((_find_update(result) for result in page.results), default=parts.now)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<feed {_NAMESPACES}>",
        f"<title>{escape_text(page.query.strip() or 'All documents')}</title>",
        *(f"<subtitle>{escape_text(warning)}</subtitle>" for warning in page.deadline_warnings[:1]),
        f"<id>{escape_text(parts.id)}</id>",
        f"<updated>{_write_time(updated)}</updated>",
        "<author><name>Feedmill</name></author>",
        f"<generator{write_attributes(version=parts.version)}>Feedmill</generator>",
        *(f"<link{write_attributes(rel=link.relation, type=link.media_type, href=link.href)}/>" for link in parts.links),
        *_render_opensearch(parts),
        *(_render_entry(result, address) for result, address in zip(page.results, parts.addresses, strict=True)),
        "</feed>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8")


def _render_opensearch(parts: AtomParts) -> list[str]:
    page = parts.page
    lines = [f"<opensearch:totalResults>{page.total}</opensearch:totalResults>"] if parts.shows_total else []
    lines += [
        f"<opensearch:startIndex>{page.start + 1}</opensearch:startIndex>",
        f"<opensearch:itemsPerPage>{parts.num}</opensearch:itemsPerPage>",
        f"<opensearch:Query{write_attributes(role='request', searchTerms=page.query, startIndex=str(page.start + 1))}/>",
    ]
    if page.spelling:
        lines.append(f"<opensearch:Query{write_attributes(role='correction', searchTerms=page.spelling)}/>")
    return lines


def _render_entry(result: Result, address: str | None) -> str:
    media, language = (result.mimetype or "").partition(";")[0].strip(), result.language or ""
    html = escape_text(_write_html(result.snippet))
    parts = [
        "<entry>",
        f"<title>{escape_text((result.title or '').strip() or result.display_url)}</title>",
        f"<id>{escape_text(make_id(result.url))}</id>",
        f"<updated>{_write_time(_find_update(result))}</updated>",
    ]
    if address is not None:
        about = {"type": media} if _MEDIA.fullmatch(media) else {}
        about |= {"hreflang": language} if _LANGUAGE.fullmatch(language) else {}
        parts.append(f"<link{write_attributes(rel='alternate', **about, href=address)}/>")
        parts.append(f'<summary type="html">{html}</summary>')
    else:
        parts.append(f'<content type="html">{html}</content>')
    return "".join([*parts, "</entry>"])


def make_id(url: str) -> str:
    """Returns the id of a document's entry."""
    return url if _IRI.fullmatch(url) else uuid5(NAMESPACE_URL, url.encode("utf-8", "replace").decode()).urn


def _write_html(snippet: Snippet) -> str:
    pieces, position = [], 0
    for low, high in snippet.marks:
        pieces += [escape_html(snippet.text[position:low]), f"<b>{escape_html(snippet.text[low:high])}</b>"]
        position = high
    return "".join([*pieces, escape_html(snippet.text[position:])])


def _find_update(result: Result) -> datetime:
    return result.date or result.updated_at or _EPOCH


def _write_time(time: datetime) -> str:
    return time.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"
