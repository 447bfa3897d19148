import random

import pytest

from feedmill.adapters.extract import sniff
from tests.officefiles import make_docx, make_epub, make_opendocument, make_pdf, make_png, make_pptx, make_xlsx, make_zip, paragraph

PAGE = b"<!DOCTYPE html><html><body>x</body></html>"


@pytest.mark.parametrize("label", ["text/plain", "text/html", "application/octet-stream", None, "application/msword"])
def test_sniff_magic_bytes_win_over_any_label(label: str | None) -> None:
    assert sniff.sniff(make_pdf(["x"]), label) == sniff.PDF
    assert sniff.sniff(make_docx(paragraph("x")), label) == sniff.DOCX
    assert sniff.sniff(make_xlsx(""), label) == sniff.XLSX
    assert sniff.sniff(make_pptx(["x"]), label) == sniff.PPTX
    assert sniff.sniff(make_opendocument("text", ""), label) == sniff.ODT
    assert sniff.sniff(make_opendocument("spreadsheet", ""), label) == sniff.ODS
    assert sniff.sniff(make_epub("t", "x"), label) == sniff.EPUB
    assert sniff.sniff(make_png(1, 1, {}), label) == "image/png"
    assert sniff.sniff(b"{\\rtf1 x}", label) == sniff.RTF


def test_sniff_archives_are_archives() -> None:
    found = [
        sniff.sniff(data, "text/plain")
        for data in (make_zip({"a.txt": "x"}), b"\x1f\x8b\x08", b"7z\xbc\xaf\x27\x1c", b"\0" * 257 + b"ustar", b"PK\x03\x04rest")
    ]
    assert set(found) <= sniff.ARCHIVES


def test_sniff_plain_text_label_over_a_page_is_html_only_at_a_clear_start() -> None:
    assert sniff.sniff(PAGE, "text/plain") == sniff.HTML
    assert sniff.sniff(b"  <!-- c --> <HTML lang=en>", "text/plain") == sniff.HTML
    assert sniff.sniff(b"<p>quoted markup in a plain note", "text/plain") == sniff.PLAIN
    assert sniff.sniff(b"how to write <html> tags", "text/plain") == sniff.PLAIN


def test_sniff_without_label_looks_closer() -> None:
    assert sniff.sniff(b"<p>hello", None) == sniff.HTML
    assert sniff.sniff(b"hello", None) == sniff.PLAIN
    assert sniff.sniff(b"hello", None, "http://h/a/readme.md?x=1") == sniff.MARKDOWN
    assert sniff.sniff(b'<?xml version="1.0"?><r/>', None) == sniff.XML
    assert sniff.sniff(b"Received: x\r\nFrom: a@b\r\nSubject: s\r\n\r\nbody", "text/plain") == sniff.MAIL


def test_sniff_text_label_is_believed_for_text() -> None:
    assert sniff.sniff(b"a,b\n", "TEXT/CSV; charset=utf-8") == "text/csv"
    assert sniff.sniff(b"hello", "application/xhtml+xml") == sniff.HTML


def test_sniff_binary_under_text_label_is_binary() -> None:
    assert sniff.sniff(bytes(range(256)) * 8, "text/plain") == sniff.BINARY
    assert sniff.sniff(bytes(range(256)) * 8, "application/x-thing") == "application/x-thing"
    assert sniff.sniff(bytes(range(256)) * 8, "application/pdf") == sniff.BINARY


def test_sniff_stray_zero_in_a_text_is_no_binary() -> None:
    page = b"<html><body>minutes of the meeting\0 of the committee, as the old system wrote them</body></html>"
    assert sniff.sniff(page, "text/html") == sniff.HTML
    assert sniff.sniff(b"a line of text that is long enough, then another\0\n" * 50, "text/plain") == sniff.PLAIN
    assert sniff.sniff(b"key\0value\0" * 50, "text/plain") == sniff.BINARY
    assert sniff.sniff(b"some words and a zero \0 and \x01\x02\x03\x04\x05\x06", "text/plain") == sniff.BINARY


@pytest.mark.parametrize("label", [None, "text/html", "text/plain"])
@pytest.mark.parametrize(
    "page",
    [
        b"<title>t\x00\x01\x08\x1bs</title><body>needle\x00\x01\x08\x1b</body>",
        b"<html><head><title>a\x00\x01 title</title></head><body>word\x08 other\x1b</body></html>",
        b"a line of plain words\x00 with \x01 some \x08 controls \x1b in it, and needle",
    ],
)
def test_sniff_short_text_with_a_few_controls_is_text(page: bytes, label: str | None) -> None:
    assert sniff.sniff(page, label) in (sniff.HTML, sniff.PLAIN)


@pytest.mark.parametrize(
    ("start", "mimetype"),
    [
        (b"\0\1\0\0\0\x12\1\0\0\4\0\x20", "font/ttf"),
        (b"OTTO\0\x0b", "font/otf"),
        (b"\xf7\x02\x01\x83\x92\xc0\x1c\x3b\0\0\0\0\x03\xe8\x1b TeX output", "application/x-dvi"),
        (b"\x80\x01\x10\x05\0\0%!PS-AdobeFont-1.0: CMR10 1.00B\n", "application/x-font-type1"),
        (b"%!PS-AdobeFont-1.0: CMR10 1.00B\n%%CreationDate: 1992\n", "application/x-font-type1"),
        (b".snd\0\0\0\x1c\0\0\x10\0\0\0\0\1", "audio/basic"),
    ],
)
@pytest.mark.parametrize("label", [None, "text/plain", "text/html"])
def test_sniff_fonts_sounds_and_print_files_are_binary(start: bytes, mimetype: str, label: str | None) -> None:
    assert sniff.sniff(start + b"words that stand in it " * 50, label) == mimetype
    assert not sniff.is_textual(mimetype)


@pytest.mark.parametrize("seed", range(20))
def test_sniff_noise_without_a_mark_is_binary(seed: int) -> None:
    noise = random.Random(seed)
    assert sniff.sniff(bytes(noise.randrange(256) for _ in range(4_000)), "text/plain") == sniff.BINARY
    # a sound without its head: values around the middle
    sound = bytes(int(128 + noise.gauss(0, 60)) & 0xFF for _ in range(4_000))
    assert sniff.sniff(sound, "text/plain") == sniff.BINARY


def test_sniff_utf16_is_no_binary() -> None:
    assert sniff.sniff("<html>text".encode("utf-16"), "text/html") == sniff.HTML
    assert sniff.sniff("plain words".encode("utf-16-le"), "text/plain") == sniff.PLAIN


@pytest.mark.parametrize(
    ("stream", "mimetype"),
    [("WordDocument", sniff.DOC), ("Workbook", sniff.XLS), ("PowerPoint Document", sniff.PPT), ("Nothing", sniff.OLE)],
)
def test_sniff_ole_is_recognized_by_its_directory(stream: str, mimetype: str) -> None:
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(1024, b"\0") + stream.encode("utf-16-le").ljust(128, b"\0")
    assert sniff.sniff(data, "text/plain") == mimetype


def test_sniff_row_of_comments_without_html_is_recognized_at_once() -> None:
    """Were each comment tried in all lengths, it would take for ever."""
    assert sniff.sniff(b"<!---->" * 250 + b"words", "text/plain") == "text/plain"
    assert sniff.sniff(b"<!---->" * 250 + PAGE, "text/plain") == sniff.HTML


@pytest.mark.parametrize("label", [None, "application/octet-stream"])
def test_sniff_xml_without_a_declaration_is_known_by_its_end(label: str | None) -> None:
    assert sniff.sniff(b"<!-- c --> <!DOCTYPE book SYSTEM 'x'>\n<book id='1'>words</book>\n", label) == sniff.XML
    assert sniff.sniff(b"<n:a xmlns:n='urn:x'>words</n:a>", label) == sniff.XML
    assert sniff.sniff(b"<book>words", label) == sniff.PLAIN
    assert sniff.sniff(b"<book> is how it begins", label) == sniff.PLAIN
    assert sniff.sniff(b"<title>words</title>", label) == sniff.HTML


def test_sniff_xml_labelled_plain_text_stays_text() -> None:
    assert sniff.sniff(b"<book>words</book>", "text/plain") == sniff.PLAIN


@pytest.mark.parametrize("start", [b".TH LS 1 2022", b'.\\" by hand\n.TH', b"'\\\" t\n.TH", b".Dd May 1, 2022", b".so man3/a.3"])
def test_sniff_manual_pages_are_known_by_their_start(start: bytes) -> None:
    assert sniff.sniff(start, None, "http://h/ls.1") == sniff.TROFF
    assert sniff.sniff(start, "text/plain") == sniff.TROFF
    assert sniff.sniff(start, "application/x-troff-man") == sniff.TROFF


def test_sniff_text_that_begins_with_a_full_stop_is_text() -> None:
    assert sniff.sniff(b".THE end", None) == sniff.PLAIN
    assert sniff.sniff(b".profile is read at the start", None) == sniff.PLAIN


@pytest.mark.parametrize("start", [b"%!PS-Adobe-3.0", b"\x04%!PS", b"\xc5\xd0\xd3\xc6"])
def test_sniff_postscript(start: bytes) -> None:
    assert sniff.sniff(start + b"\n", "text/plain") == sniff.POSTSCRIPT
