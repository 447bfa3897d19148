"""Cached copies as pages of the search protocol, and the queries for them. ``copypage`` is the page for people.

The page is in a sandbox of its own: it has no origin, no script, no form, and loads nothing.
Source: Search Protocol Reference, "cache".
"""

from dataclasses import dataclass
from html import escape
from urllib.parse import unquote

from feedmill.core.urls.digests import find_copied
from feedmill.http.pages.languages import DEFAULT, PageLanguage, get_language
from feedmill.services.searching.cachedcopy import CachedCopy

POLICY = "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:1em/1.6 -apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',Arial,sans-serif;"
    "max-width:44em;margin:0 auto 3em;padding:0 1em;"
    "overflow-wrap:anywhere;background:#fff;color:#1d2526}"
    ".note{margin:1em 0 1.5em;padding:.7em 1em;background:#f4f7f7;border:1px solid #d9dfe0;border-radius:.6em;font-size:.92em}"
    "h1{font-size:1.5em;line-height:1.3}pre{white-space:pre-wrap;font:inherit}mark{background:#fdeebb;color:inherit;border-radius:3px}"
    "@media(prefers-color-scheme:dark){body{background:#14191a;color:#e3e9e9}.note{background:#1c2325;border-color:#2e393b}"
    "mark{background:#5a4a12}}"
)
_PREFIX = "cache:"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyQuery:
    """A query for a cached copy."""

    #: the URLs that the query may mean, likeliest first
    urls: tuple[str, ...]
    #: the digest that the CID stands for
    copied: bytes | None = None
    #: the words to mark
    words: str = ""
    #: the last word may be half typed
    is_unfinished: bool = False


def read_cache_query(query: str) -> CopyQuery | None:
    """Reads ``cache:[CID:]URL words``; None for another query."""
    text = query.strip()
    if text[: len(_PREFIX)].lower() != _PREFIX:
        return None
    target, _, words = text[len(_PREFIX) :].partition(" ")
    name, colon, rest = target.partition(":")
    copied = find_copied(name) if colon else None
    bare = [target] if copied is None else [target, rest]
    urls = [form for each in bare for form in (each, unquote(each))]
    urls += [f"{scheme}://{url}" for url in urls if "://" not in url for scheme in ("http", "https")]
    return CopyQuery(urls=tuple(dict.fromkeys(url for url in urls if url)), copied=copied, words=words)


def render_copy_page(copy: CachedCopy, language: PageLanguage | None = None) -> str:
    """Renders a copy as HTML, with a note in a language, English by default."""
    language = language or get_language(DEFAULT)
    title, url = escape(copy.title), escape(copy.url)
    note = escape(language.gettext("Cached copy of %(url)s as of %(day)s. The document may have changed since."))
    note %= {"url": f'<b dir="ltr">{url}</b>', "day": copy.updated_at.date().isoformat()}
    return (
        '<!doctype html><html lang=""><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>"
        f'<p class="note" lang="{language.tag}" dir="{language.direction}">{note}</p>'
        f'<h1 dir="auto">{title}</h1>'
        f'<pre dir="auto">{_mark_words(copy)}</pre></body></html>'
    )


def _mark_words(copy: CachedCopy) -> str:
    pieces: list[str] = []
    position = 0
    for low, high in copy.marks:
        pieces.append(f"{escape(copy.text[position:low])}<mark>{escape(copy.text[low:high])}</mark>")
        position = high
    return "".join([*pieces, escape(copy.text[position:])])
