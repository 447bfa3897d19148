"""Manual pages of this machine as documents: a real vocabulary, where every document brings words of its own.

Debian's packages install their manuals below ``/usr/share/man``, compressed and written for troff. Each document is a part of one
manual, without troff's requests and escapes, as a page of HTML.
"""

import gzip
import hashlib
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

FOLDER = Path("/usr/share/man")
PART_CHARACTERS = 7_000
MIN_CHARACTERS = 2_000
_REQUEST = re.compile(r"^[.'][ \t]*([A-Za-z\\\"]*)[ \t]*(.*)$")
_HIDDEN = frozenset({'\\"', "TH", "so", "de", "ie", "el", "if", "ds", "nr", "tr", "ft", "ad", "nh", "hy", "PD", "ta", "in", "sp"})
# fonts and sizes, characters by name, spaces and breaks, strings and registers
_ESCAPE = re.compile(r"\\(?:f(?:\[[^\]]*\]|\(..|.)|s[-+]?[0-9]+|[*n](?:\[[^\]]*\]|\(..|.)|\[[^\]]*\]|\(..|[-&/,|^%c ~0:])")


def iter_pages() -> Iterator[str]:
    """Yields pages of HTML of 2,000 to about 7,000 characters of text, all languages mixed. Shape: the same for the same files."""
    for path in sorted(FOLDER.glob("**/man[1-9]/*.gz"), key=lambda each: hashlib.blake2b(str(each).encode()).digest()):
        if path.is_symlink():
            continue
        text = _read_text(path)
        for start in range(0, len(text), PART_CHARACTERS):
            part = text[start : start + PART_CHARACTERS]
            if len(part) >= MIN_CHARACTERS:
                paragraphs = "".join(f"<p>{escape(each)}</p>" for each in part.split("\n\n"))
                title = escape(path.name.removesuffix(".gz"))
                yield f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1>{paragraphs}</body></html>"


def _read_text(path: Path) -> str:
    lines: list[str] = []
    for line in gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines():
        request = _REQUEST.match(line)
        if request is None:
            lines.append(line)
        elif request[1] in ("PP", "P", "LP", "SH", "SS", "TP", "IP", "Pp", "Sh"):
            lines.append("\n" + request[2].replace('"', ""))
        elif request[1] not in _HIDDEN:
            lines.append(request[2].replace('"', ""))
    return _ESCAPE.sub(lambda found: "-" if found[0] == "\\-" else " " if found[0] in ("\\ ", "\\~") else "", "\n".join(lines))


class Manuals:
    """The manual pages with the methods of ``tests.corpus.Corpus``."""

    def __init__(self) -> None:
        self._pages: list[str] = []
        self._source = iter_pages()

    def page(self, number: int) -> str:
        """Returns one page of HTML. Raises SystemExit if there are fewer pages."""
        while len(self._pages) <= number:
            page = next(self._source, None)
            if page is None:
                raise SystemExit(
                    f"{FOLDER} holds only {len(self._pages)} pages of manuals; install more packages, or ask for fewer documents"
                )
            self._pages.append(page)
        return self._pages[number]

    def feed(self, count: int, prefix: str = "http://bench.example.com/doc/") -> Iterator[bytes]:
        """Yields a content feed of so many pages, piece by piece."""
        yield b'<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" ""><gsafeed><header>'
        yield b"<datasource>bench</datasource><feedtype>full</feedtype></header><group>"
        for number in range(count):
            page = escape(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", " ", self.page(number)))
            yield f'<record url="{prefix}{number}.html" mimetype="text/html"><content>{page}</content></record>\n'.encode()
        yield b"</group></gsafeed>"
