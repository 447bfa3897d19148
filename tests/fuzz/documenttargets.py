"""What documents hold: the readers of each format, and what is made of their texts."""

import bz2
import gzip
import lzma
import tarfile
from email.message import EmailMessage

import zstandard

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.index.tantivy.schema import make_entry
from feedmill.core.text.analysis import fold_words
from feedmill.core.text.snippets import make_snippet
from feedmill.core.text.structure import decode_structure
from feedmill.core.text.textblocks import Block, build_blocks
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from tests.archivefiles import SEVEN_ZIPS, make_tar
from tests.builders.indexdocuments import make_index_document
from tests.fuzz.target import Finding, Target
from tests.officefiles import (
    make_book,
    make_docx,
    make_epub,
    make_opendocument,
    make_pdf,
    make_png,
    make_pptx,
    make_xlsx,
    make_zip,
    paragraph,
)

_LIMITS = ExtractionLimits(max_document_bytes=1_000_000, text_characters=500_000)
_UNFORESEEN = "the document cannot be read: "

_HTML = b"""<!DOCTYPE html><html><head><meta charset="iso-8859-2"><title>A title</title><base href="http://b.example.com/">
<meta name="robots" content="noindex,nofollow"><meta name="dept" content="1&#10;234"></head><body><h1>Head</h1><p>words <b>and</b> more
<!--googleoff: index-->off<!--googleon: index--><a href="/x" rel="nofollow">link</a><img alt="picture"><table><tr><td>1.618,2.718</table>
<ul><li>one<ol><li><a href="mailto:x">two</a></ol></ul><pre>
  if x:\r\n\ty  z\n\n</pre><dl><dt>a<dd>b</dl><blockquote><h3>c</h3></blockquote><nav><ul><li><a href=/y>menu</a></ul></nav>&#1;&#2;&#24;
<script>var x = "</p>";</script><div style="display: none">hidden</div></body></html>"""
_TEXT = "Prices: 2,375.9,5 and 1.299,00 € on 17.05.2024; 12,34,567.8,9 units.\n日本語 서울 ไทย עברית العربية dobrodošli ǆ İ\n".encode()
_XML = b"""<?xml version="1.0" encoding="koi8-r"?>
<!DOCTYPE n [<!ENTITY e "x">]><note><title>T</title><body>words &e; <![CDATA[more]]></body></note>"""
_MARKDOWN = b"---\ntitle: T\n---\n# Head\n\nwords [link](http://x/) `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\n* list\n"
_CSV = b'name,amount\n"a ""b""",3\n'
_MAN = b".TH A 1 2022\n.SH NAME\na \\- \\fBwords\\fR\n.de x\n..\n.TS\nl l.\none\ttwo\n.TE\n.BR a (1),\n"
_MAN += b".TP\n.B \\-a\nall\n.RS\n.IP b 2\nin\n.RE\n.PP\n.nf\n  x  y\n.fi\n"
_MDOC = b".Dd May 1, 2022\n.Dt A 1\n.Sh NAME\n.Nm a\n.Nd words\n.Op Fl c Ar x\n.Xr b 1 ,\n.Dq Pa /etc .\n.Bl -tag\n.It Fl v\nlist\n.El\n"
_RTF = rb"{\rtf1\ansi\ansicpg1250{\info{\title T}}words \b bold\b0\par \u8364? \'e9{\*\bin3 abc}}"


def _mail() -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "Grüße", "ann@example.com", "bob@example.com"
    mail.set_content("words\n")
    mail.add_alternative("<p>words</p>", subtype="html")
    mail.add_attachment("attached", filename="minutes.txt")
    # the library chooses a boundary by chance, and the seeds are the same in every run
    return mail.as_bytes().replace((mail.get_boundary() or "none").encode(), b"=boundary=")


def read_document(data: bytes, mimetype: str, url: str) -> Extraction:
    """Extracts a document. Errors: Finding where a reader raised what it does not promise."""
    found = extract(Task(key=1, url=url, mimetype=mimetype, data=data), _LIMITS)
    if found.reason is not None and _UNFORESEEN in found.reason:
        raise Finding(found.reason)
    return found


def _check_blocks(found: Extraction) -> None:
    """Errors: Finding where the blocks of a document do not hold its text once and in order."""
    blocks = build_blocks(found.text, decode_structure(found.structure), found.headings, found.links)
    shown = "".join("".join(_list_texts(found.text, blocks)).split())
    if shown != "".join(found.text.split()):
        raise Finding("the blocks do not hold the text")


def _list_texts(text: str, blocks: list[Block]) -> list[str]:
    return [part for each in blocks for part in [text[span.start : span.end] for span in each.spans] + _list_texts(text, each.blocks)]


def _target(name: str, mimetype: str, *seeds: bytes, inputs: int = 60, words: tuple[bytes, ...] = ()) -> Target:
    def run(data: bytes) -> int:
        found = read_document(data, mimetype, f"http://fuzz.example.com/a.{name}")
        _check_blocks(found)
        return len(found.text) + len(repr(found.metadata)) + len(repr(found.links))

    # the zip containers may hold 400 times their size
    return Target(name=name, run=run, seeds=seeds, words=words, output_per_byte=2_000, base_output=600_000, inputs_in_suite=inputs)


def make_of_text(data: bytes) -> int:
    """Does with a text what indexing and showing it does: entry, snippet."""
    text = data.decode("utf-8", "replace")
    title, _, body = text.partition("\n")
    document = make_index_document(
        url=f"http://fuzz.example.com/{title[:200]}",
        access_class=1,
        title=title,
        body=body,
        metadata=(("price", title[:1_000]), (title[:100] or "x", body[:1_000])),
        mimetype="text/plain",
        language=("en", "de", "ja", None)[len(data) % 4],
        links=(title[:500],),
        headings=title,
        anchors=(title[:200],),
    )
    make_entry(document)
    terms = tuple(body.lower().split()[:3])
    return len(repr(make_snippet(body, terms, fold_words, roots=terms)))


_OFFICE = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."
_TAGS = tuple(
    b"<title> </title> <body> <p> </p> <table> <td> <script> </script> <!-- --> <![CDATA[ ]]> &#0; &#1114112; &nbsp <a href=".split()
)
_ROW = '<row r="1"><c r="A1" t="inlineStr"><is><t>word</t></is></c><c r="B1" s="1"><v>45000.5</v></c></row>'

TARGETS = (
    _target("html", "text/html", _HTML, _HTML.decode().encode("utf-16"), inputs=120, words=_TAGS),
    _target(
        "txt",
        "text/plain",
        _TEXT,
        "dobrodošli žluťoučký kůň".encode("iso-8859-2"),
        "日本語の文書".encode("euc-jp"),
        "文書".encode("iso-2022-jp"),
    ),
    _target("xml", "text/xml", _XML, words=_TAGS),
    _target("md", "text/markdown", _MARKDOWN, words=(b"[", b"](", b"**", b"`", b"| ", b"> ", b"* ", b"<b>", b"---\n")),
    _target("csv", "text/csv", _CSV),
    _target(
        "eml",
        "message/rfc822",
        _mail(),
        words=(b"Content-Type: multipart/mixed; boundary=", b"=?utf-8?b?", b"charset=", b"\n\n", b"--", b"base64"),
    ),
    _target(
        "pdf",
        "application/pdf",
        make_pdf(["first page", "second"], "Title"),
        words=(b"endobj", b"stream", b"<<", b">>", b"/Kids", b"xref", b"R"),
    ),
    _target("docx", f"{_OFFICE}wordprocessingml.document", make_docx(paragraph("words"))),
    _target("xlsx", f"{_OFFICE}spreadsheetml.sheet", make_xlsx(_ROW)),
    _target("pptx", f"{_OFFICE}presentationml.presentation", make_pptx(["words", "more"])),
    _target("odt", f"{_ODF}text", make_opendocument("text", "<office:text><text:p>words</text:p></office:text>")),
    _target(
        "epub",
        "application/epub+zip",
        make_epub("Title", "words"),
        make_book({"n.xhtml": "<nav>one</nav>", "a.xhtml": "<h1>one</h1>"}, nav="n.xhtml"),
    ),
    _target("rtf", "application/rtf", _RTF, inputs=20, words=(b"{", b"}", b"\\'", b"\\u", b"\\bin999999999 ", b"\\par")),
    _target(
        "zip",
        "application/octet-stream",
        make_zip(
            {"a.txt": "words", "b/": "", "c.html": _HTML, "in.zip": make_zip({"d.md": _MARKDOWN}), "e.gz": gzip.compress(_MAN, mtime=0)}
        ),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    ),
    _target("tar", "application/x-tar", make_tar({"a.txt": b"words", "b/" * 60: _XML}), make_tar({"a/" * 60: _TEXT}, tarfile.PAX_FORMAT)),
    _target("7z", "application/x-7z-compressed", *SEVEN_ZIPS.values(), inputs=120),
    _target("gz", "application/gzip", gzip.compress(_TEXT, mtime=0), gzip.compress(b"", mtime=0) + gzip.compress(_MAN, mtime=0)),
    _target("bz2", "application/x-bzip2", bz2.compress(_TEXT)),
    _target("xz", "application/x-xz", lzma.compress(_TEXT)),
    _target("zst", "application/zstd", zstandard.ZstdCompressor().compress(_TEXT)),
    _target(
        "man",
        "text/troff",
        _MAN,
        _MDOC,
        words=(b".SH ", b".de\n", b"..\n", b"\\f[", b"\\*(", b"\\[u00E9]", b".TS\n", b".Op Fl ", b".It ", b'"', b".if n \\{\\\n", b"\\h'"),
    ),
    _target("ps", "application/postscript", b"%!PS-Adobe-3.0\n%%Title: (words)\n%%Pages: 3\n", words=(b"%%Title:", b"(", b")", b"\n")),
    _target(
        "png",
        "image/png",
        make_png(3, 4, {"Title": "words"}),
        b"GIF89a\x01\x00\x01\x00",
        b"\xff\xd8\xff\xe1\x00\x10Exif\x00\x00II*\x00\x08\x00\x00\x00",
        b"BM" + bytes(60),
    ),
    Target(
        name="text",
        run=make_of_text,
        seeds=(_TEXT, _HTML, _CSV),
        words=(b"1.618,2.718", b"\n", b"\t", b"%", b"\xe2\x80\x87", b"\xe3\x80\x80"),
    ),
)
