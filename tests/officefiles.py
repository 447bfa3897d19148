"""Writes small files of the formats that programs write, for tests."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
ODF = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table", "style", "meta"))
CORE = (
    '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
    "<dc:creator>Ann Author</dc:creator><dc:subject>Sub</dc:subject><cp:keywords>key, words</cp:keywords></cp:coreProperties>"
)


def make_zip(parts: Mapping[str, str | bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def make_docx(body: str, **parts: str) -> bytes:
    named = {f"word/{name}.xml": f"<w:{name} {W}>{content}</w:{name}>" for name, content in parts.items() if "." not in name}
    named |= {f"word/{name}": f"<x>{content}</x>" for name, content in parts.items() if "." in name}
    return make_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "docProps/core.xml": CORE.format(title="Word Title"),
            **named,
        }
    )


def make_xlsx(rows: str, strings: str = "", sheet: str = "Sheet One", merged: str = "", styles: str = "", properties: str = "") -> bytes:
    return make_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.xml": f'<workbook {S}>{properties}<sheets><sheet name="{sheet}" sheetId="1"/></sheets></workbook>',
            "xl/worksheets/sheet1.xml": f"<worksheet {S}><sheetData>{rows}</sheetData>{merged}</worksheet>",
            "xl/styles.xml": f"<styleSheet {S}>{styles}</styleSheet>",
            "xl/sharedStrings.xml": f"<sst {S}>{strings}</sst>",
            "docProps/core.xml": CORE.format(title="Sheet Title"),
        }
    )


def make_pptx(slides: list[str], notes: str = "", relations: str = "<x/>") -> bytes:
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "docProps/core.xml": CORE.format(title="Slides Title"),
        "ppt/slides/_rels/slide1.xml.rels": relations,
    }
    for number, text in enumerate(slides, 1):
        parts[f"ppt/slides/slide{number}.xml"] = f"<p:sld {A}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"
    parts["ppt/notesSlides/notesSlide1.xml"] = f"<p:notes {A}><a:p><a:r><a:t>{notes}</a:t></a:r></a:p></p:notes>"
    return make_zip(parts)


def make_opendocument(kind: str, body: str, header: str = "") -> bytes:
    buffer = io.BytesIO()
    meta = (
        f'<office:document-meta {ODF} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta><dc:title>Open Title</dc:title>'
        '<meta:initial-creator>Ann Author</meta:initial-creator><meta:keyword>k1</meta:keyword><meta:user-defined meta:name="Dept">HR'
        "</meta:user-defined></office:meta></office:document-meta>"
    )
    styles = (
        f"<office:document-styles {ODF}><office:master-styles><style:master-page><style:header><text:p>{header}</text:p></style:header>"
        "</style:master-page></office:master-styles></office:document-styles>"
    )
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        archive.writestr("content.xml", f"<office:document-content {ODF}><office:body>{body}</office:body></office:document-content>")
        archive.writestr("styles.xml", styles)
        archive.writestr("meta.xml", meta)
    return buffer.getvalue()


def make_pdf(pages: Sequence[str], title: str = "", *, extra: str = "") -> bytes:
    """Writes a PDF with one line of text a page and a true cross-reference table."""
    return _write_pdf([f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else "" for text in pages], title, extra)


def make_sized_pdf(pages: Sequence[Sequence[tuple[float, str]]], title: str = "") -> bytes:
    """Writes a PDF of lines, each with the size of its letters."""
    lines = ["".join(f"/F1 {size} Tf 0 -24 Td ({line}) Tj " for size, line in page) for page in pages]
    return _write_pdf([f"BT 72 760 Td {line}ET" for line in lines], title, "")


def _write_pdf(streams: Sequence[str], title: str, extra: str) -> bytes:
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(streams)))
    objects = [
        f"<</Type/Catalog/Pages 2 0 R{extra}>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(streams)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for index, stream in enumerate(streams):
        resources = "<</Font<</F1 3 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources{resources}/Contents {5 + 2 * index} 0 R>>")
        objects.append(f"<</Length {len(stream)}>>\nstream\n{stream}\nendstream")
    objects.append(f"<</Title({title})/Author(Ann Author)>>")
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010d} 00000 n \n".encode() for offset in offsets)
    out += f"trailer\n<</Size {len(objects) + 1}/Root 1 0 R/Info {len(objects)} 0 R>>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def make_png(width: int, height: int, words: dict[str, str]) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    texts = b"".join(chunk(b"tEXt", key.encode() + b"\0" + value.encode("latin-1")) for key, value in words.items())
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + texts + chunk(b"IEND", b"")


PROPERTIES = ' properties="nav"'
EPUB_CONTAINER = (
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def make_epub(title: str, text: str) -> bytes:
    return make_book({"a.xhtml": f"<p>{text}</p>"}, title=title)


def make_book(
    pages: Mapping[str, str], *, spine: Sequence[str] = (), nav: str = "", guide: str = "", title: str = "Book", **parts: str
) -> bytes:
    """Returns an EPUB. Shape: the bodies of pages by name; the names in the order of the spine; further parts, with ``__`` for a slash."""
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"{PROPERTIES if name == nav else ""}/>' for name in pages
    )
    order = "".join(f'<itemref idref="{name}"/>' for name in spine or pages)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title><dc:identifier id="i">x</dc:identifier>'
        f"<dc:creator>Ann Author</dc:creator></metadata><manifest>{items}</manifest><spine>{order}</spine>{guide}</package>"
    )
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{}</body></html>'
    named = {"mimetype": "application/epub+zip", "META-INF/container.xml": EPUB_CONTAINER, "c.opf": package}
    named |= {name: page.format(body) for name, body in pages.items()}
    named |= {name.replace("__", "/") + ".xml": content for name, content in parts.items()}
    return make_zip(named, compression=zipfile.ZIP_STORED)
