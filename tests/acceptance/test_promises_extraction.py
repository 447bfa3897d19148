"""Every format through the wire: small files go in as base64 and come out of searches."""

import bz2
import gzip
from email.message import EmailMessage

import pytest

from tests.acceptance.promises import get, put
from tests.appliance import Appliance
from tests.builders.feedxml import make_record
from tests.officefiles import make_docx, make_epub, make_opendocument, make_pdf, make_png, make_pptx, make_xlsx, make_zip, paragraph


def coded(url: str, data: bytes, mimetype: str | None, *, compressed: bool = False) -> str:
    """A record whose content is a file."""
    return make_record(url, data, mimetype=mimetype, encoding="base64compressed" if compressed else "base64binary")


def make_mail(word: str) -> bytes:
    """A mail with an attached text."""
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "A mail", "ann@example.com", "bob@example.com"
    mail.set_content(f"{word}\n")
    mail.add_attachment("mailattachmentword", filename="minutes.txt")
    return mail.as_bytes()


def make_text_of(kind: str, word: str) -> bytes:
    """A body of an OpenDocument file."""
    inside = f"<text:p>{word}</text:p>"
    if kind == "spreadsheet":
        inside = f"<table:table><table:table-row><table:table-cell>{inside}</table:table-cell></table:table-row></table:table>"
    tag = {"text": "text", "spreadsheet": "spreadsheet", "presentation": "presentation"}[kind]
    return make_opendocument(kind, f"<office:{tag}>{inside}</office:{tag}>")


OFFICE = "application/vnd.openxmlformats-officedocument."
ODF = "application/vnd.oasis.opendocument."
XLSX_ROW = '<row r="1"><c r="A1" t="inlineStr"><is><t>xlsxword</t></is></c></row>'
FILES = {
    "pdf": (make_pdf(["pdfword on page one", "pdflast"], "Pdf Title"), "application/pdf", "Pdf Title"),
    "docx": (make_docx(paragraph("docxword")), f"{OFFICE}wordprocessingml.document", "Word Title"),
    "xlsx": (make_xlsx(XLSX_ROW), f"{OFFICE}spreadsheetml.sheet", "Sheet Title"),
    "pptx": (make_pptx(["pptxword"]), f"{OFFICE}presentationml.presentation", "Slides Title"),
    "odt": (make_text_of("text", "odtword"), f"{ODF}text", "Open Title"),
    "ods": (make_text_of("spreadsheet", "odsword"), f"{ODF}spreadsheet", "Open Title"),
    "odp": (make_text_of("presentation", "odpword"), f"{ODF}presentation", "Open Title"),
    "rtf": (rb"{\rtf1\ansi{\info{\title Rtf Title}}rtfword \b bold\b0\par}", "application/rtf", "Rtf Title"),
    "epub": (make_epub("Epub Title", "epubword"), "application/epub+zip", "Epub Title"),
    "eml": (make_mail("emlword"), "message/rfc822", "A mail"),
    "html": (b"<html><head><title>Html Title</title></head><body><p>htmlword</p></body></html>", "text/html", "Html Title"),
    "txt": (b"txtword and more", "text/plain", None),
    "csv": (b"name,amount\ncsvword,3\n", "text/csv", None),
    "md": (b"# Markdown Title\n\nmdword", "text/markdown", "Markdown Title"),
    "xml": (b"<?xml version='1.0'?><note><title>Xml Title</title><body>xmlword</body></note>", "text/xml", "Xml Title"),
    "json": (b'{"key": "jsonword"}', "application/json", None),
}
BASE = "http://formats.example.com/"


@pytest.fixture(scope="module")
def formats(server: Appliance) -> Appliance:
    labelled = [coded(f"{BASE}{kind}/{kind}", data, mimetype) for kind, (data, mimetype, _) in FILES.items()]
    lying = [coded(f"{BASE}{kind}/lying", data, "text/plain", compressed=True) for kind, (data, _, _) in FILES.items()]
    put(server, "formats", *labelled, *lying)
    return server


@pytest.mark.parametrize("kind", FILES)
def test_format_is_read_and_has_its_title(formats: Appliance, kind: str) -> None:
    url = f"{BASE}{kind}/{kind}"
    assert url in formats.urls(f"{kind}word", match="all")
    document = get(formats, url)
    assert (document["title"], document["searchable"], document["reason"]) == (FILES[kind][2], True, None)


@pytest.mark.parametrize("kind", sorted(set(FILES) - {"csv", "md", "xml", "json", "eml", "txt"}))
def test_format_is_known_by_its_content_when_the_label_lies(formats: Appliance, kind: str) -> None:
    url = f"{BASE}{kind}/lying"
    assert url in formats.urls(f"{kind}word", match="all")
    assert get(formats, url)["title"] == FILES[kind][2]


def test_attached_text_and_last_page_are_read(formats: Appliance) -> None:
    assert f"{BASE}eml/eml" in formats.urls("mailattachmentword", match="all")
    assert f"{BASE}pdf/pdf" in formats.urls("pdflast", match="all")


def test_image_is_found_by_its_name_and_words(server: Appliance) -> None:
    url = "http://images.example.com/photos/sunset-harbourname.png"
    put(server, "images", coded(url, make_png(3, 2, {"Title": "imagetitleword"}), "image/png"))
    assert server.urls("harbourname", match="all") == [url]
    assert server.urls("imagetitleword", match="all") == [url]


@pytest.mark.parametrize(
    ("name", "data", "mimetype"),
    [
        ("zip", make_zip({"a.txt": "zipword"}), "application/zip"),
        ("gz", gzip.compress(b"gzword"), "text/plain"),
        ("bz2", bz2.compress(b"<title>t</title>bz2word"), "text/html"),
    ],
    ids=["zip", "gz", "bz2"],
)
def test_files_in_archives_are_found(server: Appliance, name: str, data: bytes, mimetype: str) -> None:
    url = f"http://archives.example.com/{name}"
    put(server, "archives", coded(url, data, None, compressed=True))
    assert server.urls(f"{name}word", match="all") == [url]
    assert (get(server, url)["mimetype"], get(server, url)["reason"]) == (mimetype, None)


def test_archive_of_another_kind_is_refused_with_a_reason(server: Appliance) -> None:
    url = "http://archives.example.com/rar"
    put(server, "archives", coded(url, b"Rar!\x1a\x07\x00archiveword", "text/plain", compressed=True))
    assert "archive" in get(server, url)["reason"]
    assert server.urls("archiveword", match="all") == []


@pytest.mark.parametrize(
    ("name", "data", "mimetype"),
    [
        ("brokenpdf", b"%PDF-1.7\nnot really", "application/pdf"),
        ("brokendocx", make_docx(paragraph("x"))[:200], f"{OFFICE}wordprocessingml.document"),
        ("oledoc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 2000, "application/msword"),
        ("bomb", make_docx("<w:p><w:r><w:t>" + " " * 50_000_000 + "</w:t></w:r></w:p>"), "application/msword"),
        ("deep", b"<div>" * 200_000 + b"deepword", "text/html"),
        ("random", bytes(range(256)) * 40, "application/octet-stream"),
    ],
)
def test_damaged_or_hostile_file_costs_itself_alone_and_says_why(server: Appliance, name: str, data: bytes, mimetype: str) -> None:
    bad, good = f"http://damaged.example.com/{name}", f"http://damaged.example.com/{name}/good"
    put(server, "damaged", coded(bad, data, mimetype, compressed=True), make_record(good, f"good{name}word"))
    assert server.urls(f"good{name}word", match="all") == [good]
    assert get(server, bad)["reason"]
    assert server.urls(f"inurl:{name} site:damaged.example.com", match="all")


CHARSETS = {
    "utf-8": "größe",
    "utf-16": "größe",
    "iso-8859-1": "straße grün müde über",
    "shift_jis": "東京タワーは東京都港区にある電波塔です",
    "koi8-r": "Съешь же ещё этих мягких французских булок, да выпей чаю",
    "gb18030": "北京大学是中国的一所综合性大学",
}


@pytest.mark.parametrize(("codec", "text"), CHARSETS.items())
def test_plain_text_in_any_charset_is_read(server: Appliance, codec: str, text: str) -> None:
    url = f"http://charsets.example.com/{codec}"
    put(server, "charsets", coded(url, text.encode(codec), "text/plain"))
    word = text.split()[0].strip(",.")
    assert url in server.urls(f"{word} site:charsets.example.com", match="all")


def test_charset_label_of_a_page_is_believed(server: Appliance) -> None:
    url = "http://charsets.example.com/page"
    page = '<html><head><meta charset="windows-1250"><title>Žluťoučký</title></head><body>příliš kůň</body></html>'
    put(server, "charsets", coded(url, page.encode("cp1250"), "text/html"))
    assert get(server, url)["title"] == "Žluťoučký"
    assert server.urls("kůň site:charsets.example.com", match="all") == [url]


def test_robots_and_googleoff_are_obeyed(server: Appliance) -> None:
    base = "http://robots.example.com/"
    off = "<body>robotsbefore <!--googleoff: index-->robotshidden<!--googleon: index--> robotsafter<!--googleoff: all-->robotsall</body>"
    snippet = '<head><meta name="robots" content="nosnippet"></head><body>robotssnippet of secret</body>'
    script = "<body>robotsplain<script>robotsscript()</script><style>.robotsstyle{}</style><!-- robotscomment --></body>"
    put(server, "robots", make_record(f"{base}off", off), make_record(f"{base}snippet", snippet), make_record(f"{base}script", script))
    for word, found in {"robotsbefore": "off", "robotsafter": "off", "robotsplain": "script", "robotssnippet": "snippet"}.items():
        assert server.urls(word, match="all") == [base + found], word
    for word in ("robotshidden", "robotsall", "robotsscript", "robotsstyle", "robotscomment"):
        assert server.urls(word, match="all") == [], word
    assert server.search("robotssnippet")["results"][0]["snippet"] in ("", None)


def test_change_of_metadata_or_acl_keeps_the_extracted_text(server: Appliance) -> None:
    url = "http://codedext.example.com/a.pdf"
    put(server, "codedext", coded(url, make_pdf(["codedextword"], "Coded"), "application/pdf"))
    put(server, "codedext", make_record(url, None, [("k", "v")]))
    assert server.urls("codedextword inmeta:k=v", match="all") == [url]
    assert get(server, url)["title"] == "Coded"


def test_empty_content_is_a_document_without_words(server: Appliance) -> None:
    url, blank = "http://emptycontent.example.com/a", "http://emptycontent.example.com/b"
    put(server, "emptycontent", make_record(url, "emptycontentword"))
    put(server, "emptycontent", make_record(url, ""), make_record(blank, " "))
    assert server.urls("emptycontentword", match="all") == []
    assert get(server, blank)["datasource"] == "emptycontent"
