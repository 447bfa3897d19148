import pytest
from officefiles import make_docx, make_epub, make_opendocument, make_pdf, make_png, make_pptx, make_xlsx, make_zip, paragraph

from feedmill.adapters.extract import sniff

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


def test_sniff_utf16_is_no_binary() -> None:
    assert sniff.sniff("<html>text".encode("utf-16"), "text/html") == sniff.HTML
    assert sniff.sniff("plain words".encode("utf-16-le"), "text/plain") == sniff.PLAIN


@pytest.mark.parametrize(
    ("stream", "mimetype"),
    [("WordDocument", sniff.DOC), ("Workbook", sniff.XLS), ("PowerPoint Document", sniff.PPT), ("Nothing", sniff.OLE)],
)
def test_sniff_ole_is_told_by_its_directory(stream: str, mimetype: str) -> None:
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(1024, b"\0") + stream.encode("utf-16-le").ljust(128, b"\0")
    assert sniff.sniff(data, "text/plain") == mimetype


def test_sniff_row_of_comments_without_html_is_told_at_once() -> None:
    """Were each comment tried in all lengths, it would take for ever."""
    assert sniff.sniff(b"<!---->" * 250 + b"words", "text/plain") == "text/plain"
    assert sniff.sniff(b"<!---->" * 250 + PAGE, "text/plain") == sniff.HTML
