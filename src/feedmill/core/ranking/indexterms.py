"""Terms that an index stores besides the words of a text, so that ``site:``, ``info:`` and ``inmeta:`` are exact lookups.

A URL produces a term for every suffix of its host (``site:example.com`` finds all hosts below it), each also with the port if the URL has
one, and a term for its path and every directory above it. Metadata produces one term for each name and one for each value. All terms are
folded and bounded in length. A longer term is replaced by its digest, which compares equally well.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

from feedmill.core.text.analysis import fold_value
from feedmill.core.text.typedvalues import NUMBER, fold_name, name_digest, sortable, typed_values
from feedmill.model.document import Metadata

MAX_TERM_CHARACTERS = 512
MAX_URL_CHARACTERS = 2_048
MAX_NAME_CHARACTERS = 100
MAX_HOST_LABELS = 32
MAX_DIRECTORIES = 64
MAX_METADATA_TERMS = 4_000
MAX_LINKS = 2_000
MAX_SORTED_NAMES = 100
MAX_SORT_CHARACTERS = 200

_SEPARATOR = "\x1f"
# scheme ":" "//" [userinfo "@"] host [":" port] path; https://www.rfc-editor.org/rfc/rfc3986#appendix-B
_URL = re.compile(r"^(?:([A-Za-z][A-Za-z0-9+.\-]*)://)?(?:[^/?#@]*@)?(\[[^\]/]*\]|[^/?#:]*)(?::([0-9]*))?([^?#]*)")
_ADDRESS = re.compile(r"^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[.*\])$")
_URL_NOISE = re.compile(r"%[0-9A-Fa-f]{2}")


# an entry asks for the parts of its URL five times
@lru_cache(maxsize=64)
def split_url(url: str) -> tuple[str, str, str]:
    """Returns host, port and path of a URL or of a user's input, in lower case; "" for a missing part."""
    match = _URL.match(url)
    if match is None:
        return "", "", ""
    return match[2].lower().rstrip("."), match[3] or "", match[4].lower()


def site_terms(url: str) -> list[str]:
    """Returns the terms of a document's URL that ``site:`` may look up."""
    host, port, path = split_url(url)
    terms = _host_terms(host)
    if port:
        terms += [f"{term}:{port}" for term in terms]
    end = path.find("/")
    while end >= 0 and len(terms) < MAX_DIRECTORIES + 2 * MAX_HOST_LABELS:
        terms.append(bounded(path[: end + 1]))
        end = path.find("/", end + 1)
    return terms


def _host_terms(host: str) -> list[str]:
    if not host:
        return []
    terms = [bounded(host)]
    if _ADDRESS.match(host):
        return terms
    dot = host.find(".")
    while dot >= 0 and len(terms) < MAX_HOST_LABELS:
        terms.append(bounded(host[dot + 1 :]))
        dot = host.find(".", dot + 1)
    return terms


def split_site(value: str) -> tuple[str, str]:
    """Returns host (with its port, without a leading dot or star) and path prefix of a value of ``site:``.

    Shape: the path is "" if it is missing or only the slash after the host; otherwise it begins with "/".
    """
    host, port, path = split_url(value)
    host = host.removeprefix("*.").strip(".")
    return (f"{host}:{port}" if port else host), ("" if path == "/" else path)


def path_term(url: str) -> str:
    """Returns the term of a URL's whole path. A longer one is cut, since queries look it up by prefix."""
    return _storable(split_url(url)[2][:MAX_TERM_CHARACTERS])


def complete_scheme(typed: str) -> list[str]:
    """Returns the typed URL as it is; if it has no scheme, also with http and with https."""
    return [typed] if "://" in typed else [typed, f"http://{typed}", f"https://{typed}"]


def complete_url(typed: str) -> list[str]:
    """Returns the URLs for which a typed one may stand: the scheme and the slash after the host are optional."""
    wholes = complete_scheme(typed)
    bare = [f"{whole}/" for whole in wholes if whole.count("/") == 2 and "://" in whole]
    hosts = [whole[:-1] for whole in wholes if whole.count("/") == 3 and "://" in whole and whole.endswith("/")]
    return wholes + bare + hosts


def info_terms(typed: str) -> list[str]:
    """Returns the terms of the URLs for which a typed one may stand."""
    return [url_term(url) for url in complete_url(typed)]


def url_term(url: str) -> str:
    """Returns the term of exactly this URL, in its letter case."""
    return bounded(url, limit=MAX_URL_CHARACTERS)


def url_words(url: str) -> str:
    """Returns a URL as searchable text. Percent-encoded characters are decoded if they are UTF-8."""
    if "%" not in url:
        return url
    return re.sub(rf"(?:{_URL_NOISE.pattern})+", _decode_run, url)


def _decode_run(match: re.Match[str]) -> str:
    try:
        return bytes.fromhex(match[0].replace("%", "")).decode("utf-8")
    except UnicodeDecodeError:
        return " "


_ENDINGS = {
    "application/pdf": "pdf",
    "application/postscript": "ps",
    "application/rtf": "rtf",
    "text/rtf": "rtf",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "txt",
    "text/csv": "csv",
    "text/xml": "xml",
    "application/xml": "xml",
    "application/json": "json",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/gif": "gif",
    "application/zip": "zip",
    "application/epub+zip": "epub",
    "message/rfc822": "eml",
    "application/x-tar": "tar",
    "application/x-7z-compressed": "7z",
    "text/troff": "man",
}
_SAME_ENDINGS = {"htm": "html", "jpeg": "jpg", "text": "txt", "xhtml": "html"}
_PATH_ENDING = re.compile(r"\.([^./]{1,20})$")


def filetype_terms(url: str, mimetype: str) -> list[str]:
    """Returns the endings of a document that ``filetype:`` may look up: that of its path, and the usual one of its type."""
    found = _PATH_ENDING.search(split_url(url)[2])
    endings = (found[1] if found else "", _ENDINGS.get(mimetype.partition(";")[0].strip().lower(), ""))
    return list(dict.fromkeys(filetype_term(ending) for ending in endings if ending))


def filetype_of(url: str, mimetype: str) -> str:
    """Returns the one ending that stands for a document's type: the usual one of its content, else that of its path, "" for neither."""
    usual = _ENDINGS.get(mimetype.partition(";")[0].strip().lower())
    found = None if usual else _PATH_ENDING.search(split_url(url)[2])
    return usual or (filetype_term(found[1]) if found and found[1].isalnum() else "")


def list_endings(mimetype: str) -> list[str]:
    """Returns the endings by which ``filetype:`` finds a type, or all types of ``text/*``. Empty for a type that has none."""
    wanted = mimetype.strip().lower()
    if wanted.endswith("/*"):
        return sorted({ending for known, ending in _ENDINGS.items() if known.startswith(wanted[:-1])})
    return [_ENDINGS[wanted]] if wanted in _ENDINGS else []


def filetype_term(ending: str) -> str:
    """Returns the term of an ending as a user types it, with or without its dot."""
    bare = fold_value(ending).strip(" .")
    return bounded(_SAME_ENDINGS.get(bare, bare))


def link_terms(links: Sequence[str]) -> list[str]:
    """Returns one term for each different URL that a document links to. Their number is bounded."""
    different = list(dict.fromkeys(links[:MAX_LINKS]))
    if "".join(different).isascii() and len(max(different, key=len, default="")) <= MAX_URL_CHARACTERS:
        # the common case: each URL is its own term
        return different
    return [url_term(url) for url in different]


def sort_keys(metadata: Metadata) -> dict[str, str]:
    """Returns the sort key of a document for each metadata name: its first value, numbers before dates before words.

    Shape: keys are the digests of names. Their number is bounded, since an engine stores a column for each.
    """
    firsts: dict[str, str] = {}
    for name, value in metadata:
        if len(firsts) >= MAX_SORTED_NAMES:
            break
        firsts.setdefault(fold_name(name), value)
    return {name_digest(name): _sort_key(name, value) for name, value in firsts.items()}


def _sort_key(name: str, value: str) -> str:
    typed = next(((kind, measure.number) for _, kind, measure in typed_values(((name, value),))), None)
    if typed is None:
        return "3" + _storable(fold_value(value)[:MAX_SORT_CHARACTERS])
    return ("1" if typed[0] == NUMBER else "2") + sortable(typed[1])


def metadata_terms(metadata: Metadata) -> list[str]:
    """Returns one term for each name and one for each value of each name. Their number is bounded."""
    terms: dict[str, None] = {}
    for name, value in metadata:
        named = name_term(name)
        terms[named] = None
        terms[named + _SEPARATOR + bounded(fold_value(value))] = None
        if len(terms) >= MAX_METADATA_TERMS:
            break
    return list(terms)


def start_term(name: str, start: str) -> str:
    """Returns the prefix of the terms of all values that begin with this text. It does not find values that are longer than a term."""
    return name_term(name) + _SEPARATOR + _storable(fold_value(start)[:MAX_TERM_CHARACTERS])


@lru_cache(maxsize=1_024)
def name_term(name: str) -> str:
    """Returns the term of a metadata name."""
    return bounded(fold_value(name), limit=MAX_NAME_CHARACTERS)


def value_term(name: str, value: str) -> str:
    """Returns the term of one whole value of a metadata name."""
    return name_term(name) + _SEPARATOR + bounded(fold_value(value))


def bounded(term: str, limit: int = MAX_TERM_CHARACTERS) -> str:
    """Returns the term, or its digest if it is longer than engines accept."""
    if len(term) <= limit:
        return _storable(term)
    return "\x1e" + hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _storable(term: str) -> str:
    """Returns the term with a question mark for each half of a surrogate pair, which no engine can store."""
    return term if term.isascii() else term.encode("utf-8", "replace").decode("utf-8")
