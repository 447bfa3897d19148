"""Search results as the XML of the old appliance, which front ends and stylesheets parse.

    GSP   TM Q PARAM* CT* Spelling? Synonyms? GM* CUSTOM? RES?
    RES   M? FI? XT? NB? PARM? R*                 RES is absent without results
    PARM  PC PMT*, PMT: PV*                       the facets of the front end
    R     U UE UD T? RK CRAWLDATE? ENT_SOURCE FS MT* S? LANG HAS HN?

- T and S hold HTML as text: their own markup characters are escaped once for HTML and once more for XML. A stylesheet that copies
  them to its output therefore shows them and runs nothing.
- UE is percent-encoded for use in a query, except ``:`` and ``/``, because stylesheets look for ``://`` in it.
- Characters that XML cannot hold become U+FFFD. Characters outside the encoding are written as character references.
Source: Search Protocol Reference, appendix A.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape as escape_html
from urllib.parse import quote, quote_plus

from feedmill.core.urls.digests import copy_id
from feedmill.model.facets import FacetCounts, FacetType
from feedmill.model.results import Result, ResultPage
from feedmill.wire.results.charsets import UTF_8, Charset, encode
from feedmill.wire.xmltext import escape_text, write_attributes

VERSION = "3.2"
SOURCE = "FEEDMILL"
FRESH = timedelta(days=2)
LINE_CHARACTERS = 80
HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FACET_TYPES = {kind: str(number) for number, kind in enumerate(FacetType)}
_ELLIPSIS = "<b>...</b>"
_MARKUP = re.compile("[&<>]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter in the response: ``value`` is what was used, ``original`` what was sent, percent-encoded as it arrived."""

    name: str
    value: str
    original: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseParts:
    """The parts of a response other than results.

    Shape: ``previous`` and ``following`` are relative URLs or "". ``shows_total``: M is written.
    """

    query: str
    parameters: tuple[Parameter, ...] = ()
    page: ResultPage | None = None
    shows_total: bool = True
    previous: str = ""
    following: str = ""
    now: datetime
    charset: Charset = UTF_8
    has_doctype: bool = False


def render_results(reply: ResponseParts) -> bytes:
    """Returns a response in its encoding."""
    seconds = reply.page.seconds if reply.page is not None else 0.0
    parts = [_head(reply), f"<TM>{seconds:.6f}</TM><Q>{escape_text(reply.query)}</Q>\n"]
    parts += (f"{_parameter(parameter)}\n" for parameter in reply.parameters)
    if reply.page is not None:
        parts += (f"<CT>{escape_text(warning)}</CT>\n" for warning in reply.page.deadline_warnings)
        parts += (_render_spelling(reply.page.spelling), _render_offers(reply.page))
    if reply.page is not None and reply.page.results:
        parts.append(_render_list(reply, reply.page))
    return encode("".join([*parts, "</GSP>\n"]), reply.charset)


def render_copy(reply: ResponseParts, url: str, content_type: str, html: str) -> bytes:
    """Returns a cached copy: its HTML as base64 of UTF-8. Source: Search Protocol Reference, appendix A."""
    body = b64encode(html.encode("utf-8", "replace")).decode("ascii")
    parts = [_head(reply), f"<TM>0.000000</TM><Q>{escape_text(reply.query)}</Q>\n"]
    parts += (f"{_parameter(parameter)}\n" for parameter in reply.parameters)
    parts.append(f"<CACHE><CACHE_URL>{escape_text(url)}</CACHE_URL><CACHE_CONTENT_TYPE>{escape_text(content_type)}</CACHE_CONTENT_TYPE>")
    parts.append(f'<CACHE_HTML><BLOB encoding="UTF-8">{body}</BLOB></CACHE_HTML></CACHE>\n</GSP>\n')
    return encode("".join(parts), reply.charset)


def _head(reply: ResponseParts) -> str:
    doctype = '<!DOCTYPE GSP SYSTEM "google.dtd">\n' if reply.has_doctype else ""
    return f'<?xml version="1.0" encoding="{reply.charset.name}" standalone="no"?>\n{doctype}<GSP VER="{VERSION}">\n'


def _render_spelling(query: str | None) -> str:
    if not query:
        return ""
    html = f"<b><i>{escape_html(query, quote=False)}</i></b>"
    return f"<Spelling><Suggestion{write_attributes(q=query)}>{escape_text(html)}</Suggestion></Spelling>\n"


def _parameter(parameter: Parameter) -> str:
    return f"<PARAM{write_attributes(name=parameter.name, value=parameter.value, original_value=parameter.original)}/>"


def _render_offers(page: ResultPage) -> str:
    """Returns related queries and KeyMatches, which appear with and without results."""
    related = "".join(
        f"<OneSynonym{write_attributes(q=quote_plus(query, errors='replace'))}>{escape_text(query)}</OneSynonym>" for query in page.related
    )
    keymatches = (
        f"<GM><GL>{escape_text(match.url)}</GL><GD>{escape_text(match.title or match.url)}</GD></GM>\n" for match in page.keymatches
    )
    return "".join([f"<Synonyms>{related}</Synonyms>\n" if related else "", *keymatches])


def _render_list(reply: ResponseParts, page: ResultPage) -> str:
    parts = [f'<RES SN="{page.start + 1}" EN="{page.start + len(page.results)}">\n']
    if reply.shows_total:
        parts.append(f"<M>{page.total}</M>\n")
    if page.is_collapsed:
        parts.append("<FI/>\n")
    if reply.shows_total and page.is_exact:
        parts.append("<XT/>\n")
    if reply.previous or reply.following:
        previous = f"<PU>{escape_text(reply.previous)}</PU>" if reply.previous else ""
        following = f"<NU>{escape_text(reply.following)}</NU>" if reply.following else ""
        parts.append(f"<NB>{previous}{following}</NB>\n")
    if page.facets:
        parts.append(_render_facets(page.facets))
    parts += (_render_result(result, page.start + place, reply.now) for place, result in enumerate(page.results, 1))
    return "".join([*parts, "</RES>\n"])


def _render_facets(facets: Sequence[FacetCounts]) -> str:
    """Returns the facets of the result list. Without any values there is no heading."""
    facets = [counts for counts in facets if counts.values]
    if not facets:
        return ""
    parts = [f"<PARM><PC>{0 if all(counts.is_exact for counts in facets) else 1}</PC>\n"]
    for counts in facets:
        facet = counts.facet
        head = write_attributes(NM=facet.name, DN=facet.label or facet.name, IR="1" if facet.ranges else "0", T=_FACET_TYPES[facet.type])
        parts.append(f"<PMT{head}>")
        for value in counts.values:
            low, high = (value.range.low, value.range.high) if value.range is not None else ("", "")
            parts.append(f"<PV{write_attributes(V=value.value or '', L=low, H=high, C=str(value.count))}/>")
        parts.append("</PMT>\n")
    return "".join([*parts, "</PARM>\n"])


# --- one result -----------------------------------------------------------------------------------------------------------------


def _render_result(result: Result, number: int, now: datetime) -> str:
    url = result.display_url
    mimetype = (result.mimetype or "").partition(";")[0].strip().lower()
    kind = write_attributes(MIME=mimetype) if mimetype not in HTML_TYPES else ""
    parts = [
        f'<R N="{number}" L="{2 if result.is_second else 1}"{kind}>',
        f"<U>{escape_text(url)}</U><UE>{escape_text(escape_url(url))}</UE><UD>{escape_text(readable_url(url))}</UD>",
    ]
    title = (result.title or "").strip()
    if title:
        parts.append(f"<T>{escape_text(_highlight(result.title or '', result.title_marks))}</T>")
    parts += [f"<RK>{_rank(result.rank)}</RK>", _crawl_date(result.updated_at, now), f"<ENT_SOURCE>{SOURCE}</ENT_SOURCE>"]
    parts.append(f'<FS NAME="date" VALUE="{result.date.date().isoformat() if result.date is not None else ""}"/>')
    parts += (f"<MT{write_attributes(N=name, V=value)}/>" for name, value in result.metadata)
    if result.snippet.text:
        parts.append(f"<S>{escape_text(_snippet_html(result))}</S>")
    parts += [f"<LANG>{escape_text(result.language or '')}</LANG>", _has(result)]
    if result.more_in:
        parts.append(f"<HN{write_attributes(U=result.more_in)}>{escape_text(result.more_in.partition('://')[2] or result.more_in)}</HN>")
    return "".join([*parts, "</R>\n"])


def _has(result: Result) -> str:
    if not result.has_copy:
        return "<HAS><L/></HAS>"
    # Rounded up: integer division rounds down, also below zero.
    kilobytes = max(1, -(-result.content_bytes // 1024))
    return f'<HAS><L/><C SZ="{kilobytes}k" CID="{copy_id(result.url)}" ENC="UTF-8"/></HAS>'


def _rank(pagerank: int) -> int:
    """Returns a pagerank of 68 to 100 on the protocol's scale of 0 to 10."""
    return min(max(round((pagerank - 68) * 10 / 32), 0), 10)


def _crawl_date(updated_at: datetime | None, now: datetime) -> str:
    """Returns the day of the last update if it is at most two days ago."""
    if updated_at is None or now - updated_at > FRESH:
        return ""
    return f"<CRAWLDATE>{updated_at.day} {_MONTHS[updated_at.month - 1]} {updated_at.year}</CRAWLDATE>"


def escape_url(url: str) -> str:
    """Returns a URL percent-encoded for use in a query, except ``:`` and ``/``."""
    return quote(url, safe=":/", errors="replace")


def readable_url(url: str) -> str:
    """Returns a URL with its host as people write it: labels of other scripts decoded."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if not separator or "xn--" not in host.lower():
        return url
    try:
        return f"{scheme}://{host.encode('ascii').decode('idna')}{slash}{path}"
    except UnicodeError:
        return url


# --- HTML as text ---------------------------------------------------------------------------------------------------------------


def _snippet_html(result: Result) -> str:
    text, marks = result.snippet.text, result.snippet.marks
    begin = 2 if text.startswith("… ") else 0
    end = len(text) - 2 if text.endswith(" …") else len(text)
    inner = tuple((max(low, begin) - begin, min(high, end) - begin) for low, high in marks if low < end and high > begin)
    body = _highlight(text[begin:end], inner, line=LINE_CHARACTERS)
    return (f"{_ELLIPSIS} " if begin else "") + body + (f" {_ELLIPSIS}" if end < len(text) else "")


def _highlight(text: str, marks: tuple[tuple[int, int], ...], line: int = 0) -> str:
    """Returns HTML with marked ranges in ``<b>`` and, with ``line``, ``<br>`` before blanks that end a line of that length."""
    holds_markup = _MARKUP.search(text) is not None
    pieces: list[str] = []
    position = width = 0
    for low, high in (*marks, (len(text), len(text))):
        for piece, is_marked in ((text[position:low], False), (text[low:high], True)):
            if line and width + len(piece) > line:
                html, width = _wrap(piece, width, line)
            else:
                html, width = escape_html(piece, quote=False) if holds_markup else piece, width + len(piece)
            if piece:
                pieces.append(f"<b>{html}</b>" if is_marked else html)
        position = high
    return "".join(pieces)


def _wrap(text: str, width: int, line: int) -> tuple[str, int]:
    words = text.split(" ")
    pieces = [escape_html(words[0], quote=False)]
    width += len(words[0])
    for word in words[1:]:
        if width + 1 + len(word) > line:
            pieces.append("<br>")
            width = 0
        pieces.append(" " + escape_html(word, quote=False))
        width += 1 + len(word)
    return "".join(pieces), width
