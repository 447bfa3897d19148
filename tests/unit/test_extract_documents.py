import io
import struct
import time
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.pool.frames import pack_task, read_task
from feedmill.model.document import Attachment
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from tests.officefiles import make_docx, make_opendocument, make_pdf, make_png, make_pptx, make_xlsx, make_zip, paragraph
from tests.thorough import count_examples


def read(data: bytes, mimetype: str | None = None, url: str = "http://h/f", limits: ExtractionLimits | None = None) -> Extraction:
    return extract(Task(key=1, url=url, mimetype=mimetype, data=data), limits or ExtractionLimits())


def test_docx_returns_body_tables_margins_notes_comments_and_properties() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{paragraph('nested')}</w:tc></w:tr></w:tbl>"
    body = paragraph("body") + f"<w:tbl><w:tr><w:tc>{paragraph('cell')}{inner}</w:tc><w:tc>{paragraph('second')}</w:tc></w:tr></w:tbl>"
    data = make_docx(body, header1=paragraph("head"), footer1=paragraph("foot"), comments=paragraph("remark"), footnotes=paragraph("note"))
    result = read(data, "text/plain")
    assert result.text.split() == ["body", "cell", "nested", "second", "head", "foot", "note", "remark"]
    assert result.title == "Word Title"
    assert dict(result.metadata) == {"title": "Word Title", "author": "Ann Author", "subject": "Sub", "keywords": "key, words"}
    assert result.reason is None


def test_docx_runs_of_a_word_stay_together_and_tabs_part_words() -> None:
    body = "<w:p><w:r><w:t>Feed</w:t></w:r><w:r><w:t>mill</w:t></w:r><w:r><w:tab/><w:t>next</w:t><w:delText>gone</w:delText></w:r></w:p>"
    assert read(make_docx(body)).text == "Feedmill next"


def test_docx_places_of_drawings_are_no_text() -> None:
    drawing = (
        '<w:drawing><wp:anchor xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
        "<wp:positionH><wp:posOffset>-12249</wp:posOffset></wp:positionH><wp:positionV><wp:align>top</wp:align></wp:positionV>"
        '<wp14:sizeRelH xmlns:wp14="http://schemas.microsoft.com/office/word/2010/wordprocessingDrawing"><wp14:pctWidth>0</wp14:pctWidth>'
        "</wp14:sizeRelH><w:txbxContent><w:p><w:r><w:t>inside</w:t></w:r></w:p></w:txbxContent></wp:anchor></w:drawing>"
    )
    assert read(make_docx(f"<w:p><w:r>{drawing}<w:t>text</w:t></w:r></w:p>")).text == "inside\ntext"


def test_docx_headings_are_known_by_built_in_styles_and_outline_levels() -> None:
    def styled(text: str, properties: str) -> str:
        return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"

    styles = (
        '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="a"><w:name w:val="Normal"/></w:style>'
        '<w:style w:styleId="Chapter"><w:name w:val="Chapter"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
    )
    body = (
        styled("part", '<w:pStyle w:val="berschrift2"/>')
        + styled("plain", '<w:pStyle w:val="a"/>')
        + styled("chapter", '<w:pStyle w:val="Chapter"/>')
        + styled("own", '<w:pStyle w:val="Chapter"/><w:outlineLvl w:val="2"/>')
        + styled("body", '<w:outlineLvl w:val="9"/>')
    )
    found = read(make_docx(body, styles=styles))
    assert found.headings.splitlines() == ["chapter", "own", "part"]
    assert found.text.split()[:5] == ["part", "plain", "chapter", "own", "body"]


def test_pptx_headings_are_the_titles_of_slides() -> None:
    def shape(kind: str, text: str) -> str:
        place = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
        return f"<p:sp>{place}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"

    slides = [shape("title", "Goals") + shape("body", "many"), shape("ctrTitle", "Thanks")]
    found = read(make_pptx([f"</a:t></a:r></a:p>{slide}<a:p><a:r><a:t>" for slide in slides]))
    assert found.headings == "Goals\nThanks"


def test_odt_headings_come_by_their_level() -> None:
    body = '<text:h text:outline-level="2">Two</text:h><text:p>a</text:p><text:h text:outline-level="1">One</text:h>'
    assert read(make_opendocument("text", f"<office:text>{body}</office:text>")).headings == "One\nTwo"


def test_workbook_headings_are_the_names_of_sheets() -> None:
    assert read(make_xlsx("", sheet="Budget")).headings == "Budget"
    table = '<office:spreadsheet><table:table table:name="Costs"/></office:spreadsheet>'
    assert read(make_opendocument("spreadsheet", table)).headings == "Costs"


def test_pdf_headings_are_its_outline() -> None:
    outline = "/Outlines<</Type/Outlines/Count 1/First 99 0 R>>"
    assert read(make_pdf(["text"], extra=outline)).headings == ""
    data = make_pdf(["text"]).replace(b"<</Type/Font", b"<</Title(Chapter one)/Parent 1 0 R/Type/Font")
    data = data.replace(b"/Type/Catalog", b"/Type/Catalog/Outlines<</First 3 0 R/Last 3 0 R/Count 1>>")
    assert read(data).headings == "Chapter one"


def test_xlsx_returns_sheet_names_shared_and_inline_strings_and_numbers() -> None:
    rows = (
        '<row><c t="s"><v>0</v></c><c><v>42.5</v></c></row><row><c t="inlineStr"><is><t>inline</t></is></c><c t="s"><v>99</v></c>'
        '<c t="e"><v>#REF!</v></c></row>'
    )
    result = read(make_xlsx(rows, "<si><r><t>sha</t></r><r><t>red</t></r><rPh><t>no</t></rPh></si>"))
    assert result.text == "Sheet One\nshared 42.5\ninline"


def test_pptx_returns_slides_in_number_order_then_notes() -> None:
    result = read(make_pptx([f"slide{number}" for number in range(1, 12)], "spoken"))
    assert result.text.split() == [f"slide{number}" for number in range(1, 12)] + ["spoken"]


def test_odt_returns_body_header_and_properties() -> None:
    body = "<office:text><text:h>Head</text:h><text:p>a<text:s/>b<text:span>c</text:span></text:p></office:text>"
    result = read(make_opendocument("text", body, "on top"))
    assert result.text == "Head\na bc\non top"
    assert result.metadata == (("title", "Open Title"), ("author", "Ann Author"), ("keywords", "k1"), ("Dept", "HR"))


def test_ods_repeated_cells_are_read_once() -> None:
    cell = '<table:table-cell table:number-columns-repeated="1000000"><text:p>x</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="1000000">{cell}</table:table-row>'
    result = read(
        make_opendocument("spreadsheet", f'<office:spreadsheet><table:table table:name="T">{row}</table:table></office:spreadsheet>')
    )
    assert result.text == "T\nx"


def test_pdf_returns_pages_title_and_author() -> None:
    result = read(make_pdf(["first page", "second page"], "Paper"), "text/html")
    assert result.text == "first page\nsecond page"
    assert result.title == "Paper"
    assert ("Author", "Ann Author") in result.metadata


def test_pdf_without_text_says_so() -> None:
    assert read(make_pdf([""])).reason == "the PDF has no text, its pages are images"


def test_pdf_truncated_or_looping_has_a_reason() -> None:
    whole = make_pdf(["text"] * 3)
    assert read(b"%PDF-1.7\n" + b"garbage" * 20).reason == "the PDF is damaged or incomplete"
    looping = whole.replace(b"/Kids[4 0 R", b"/Kids[2 0 R")
    assert isinstance(read(looping), Extraction)


def test_pdf_that_takes_long_is_cut_and_keeps_what_was_read() -> None:
    result = read(make_pdf([f"page {number}" for number in range(3000)]), limits=ExtractionLimits(seconds=0.005))
    assert result.reason is not None
    assert result.reason.startswith("cut after page ")
    assert result.text.startswith("page 0")


def test_pptx_numbers_and_dates_of_slides_are_no_text() -> None:
    shape = '<p:sp><p:nvSpPr><p:nvPr><p:ph type="{}"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>'
    shapes = (
        shape.format("sldNum", "7") + shape.format("dt", "11/27/26") + shape.format("ftr", "Our company") + shape.format("body", "words")
    )
    slide = f"</a:t></a:r></a:p>{shapes}<a:p><a:r><a:t>end"
    assert read(make_pptx([slide])).text.split("\n") == ["Our company", "words", "end"]


def test_plain_text_has_no_signs_for_terminals_and_printers() -> None:
    assert (
        read(
            b"\x1b[1mman-db\x1b[0m is \x1b[38;5;196mred\x1b[0m, _\x08u_\x08n_\x08d_\x08e_\x08r and b\x08bo\x08o\x08oldb\x08b\n",
            "text/plain",
        ).text
        == "man-db is red, under and boldb"
    )


def test_rtf_blanks_and_hyphens_that_keep_words_together_are_such() -> None:
    pytest.importorskip("xberg")
    found = read(rb"{\rtf1\ansi{\info{\title My\~Title}}10\~MB of well\_known words, C:\\~tmp\\_a\par}")
    assert (found.title, found.text) == ("My Title", r"10 MB of well-known words, C:\~tmp\_a")


def test_rtf_is_read() -> None:
    pytest.importorskip("xberg")
    rtf = read(rb"{\rtf1\ansi{\info{\title My Title}{\author Ann}}Hello \b world\b0\par M\'fcller\par}", "text/plain")
    assert (rtf.title, rtf.text) == ("My Title", "Hello world\nMüller")


@pytest.mark.parametrize(
    ("mimetype", "kind"),
    [("application/pdf; v=1.7", "PDF"), ("application/x-pdf", "PDF"), ("application/msword", "DOC"), ("application/zip", "ZIP")],
)
def test_bytes_that_are_not_what_they_are_declared_have_a_reason_that_says_so(mimetype: str, kind: str) -> None:
    found = read(bytes(range(256)) * 40, mimetype, "http://h/report-2024.pdf")
    assert (found.mimetype, found.text) == ("application/octet-stream", "report 2024")
    assert found.reason == f"the document is declared as {kind}, but is not one: only the name is known"


def test_legacy_damaged_has_a_reason() -> None:
    pytest.importorskip("xberg")
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(1024, b"\0") + "WordDocument".encode("utf-16-le").ljust(128, b"\0")
    assert (read(data).reason or "").startswith("the document is damaged or of an unknown kind")


def test_ole_encrypted_office_has_a_reason() -> None:
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(1024, b"\0") + "EncryptedPackage".encode("utf-16-le").ljust(128, b"\0")
    assert read(data).reason == "the document is encrypted"


def test_mail_returns_headers_bodies_and_attachments() -> None:
    data = (
        b"From: ann@example.com\r\nTo: bob@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= again\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/mixed; boundary=X\r\n\r\n--X\r\nContent-Type: multipart/alternative; boundary=Y\r\n\r\n"
        b"--Y\r\nContent-Type: text/plain; charset=latin1\r\n\r\nplain \xe9\r\n--Y\r\nContent-Type: text/html\r\n\r\n<p>twice</p>\r\n"
        b"--Y--\r\n"
        b"--X\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=n.csv\r\n\r\na,b\r\n"
        b"--X\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=p.pdf\r\n\r\nJUNK\r\n--X--\r\n"
    )
    result = read(data, "message/rfc822")
    assert result.title == "Grüße again"
    assert ("From", "ann@example.com") in result.metadata
    assert all(word in result.text for word in ("plain é", "n.csv", "a,b", "p.pdf"))
    assert "twice" not in result.text
    assert "JUNK" not in result.text


def test_mail_with_html_alone_is_read_as_html() -> None:
    assert read(b"Subject: s\r\nContent-Type: text/html\r\n\r\n<p>one<b>W</b></p>", "message/rfc822").text.endswith("oneW")


def test_mail_with_a_damaged_encoded_word_keeps_it_as_it_is_and_everything_else() -> None:
    # five characters of base64 are never a text
    result = read(b"Subject: =?utf-8?b?AAAAA?= and =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nFrom: ann@example.com\r\n\r\nbody\r\n", "message/rfc822")
    assert result.reason is None
    assert result.title == "=?utf-8?b?AAAAA?= and Grüße"
    assert result.text.endswith("body")


def test_markdown_title_has_no_markup() -> None:
    assert read(b"# Math <img alt='version' src=a.svg> <b>tools</b>\n\ntext", "text/markdown").title == "Math tools"


def test_markdown_first_heading_is_the_title() -> None:
    assert read(b"intro\n\n# The *Title* #\n\ntext", "text/markdown").title == "The Title"
    assert read(b"Title\n=====\ntext", None, "http://h/a.md").title == "Title"
    assert read(b'---\ntitle: "Front"\n---\n# Other', "text/markdown").title == "Front"
    assert read(b"no heading", "text/markdown").title is None


def test_markdown_returns_what_is_shown_and_its_links() -> None:
    page = b"# Head\n\n[the *port*](port.md) is `19900`\n\n| name | value |\n|---|---|\n| one | two |\n\n<script>unseen</script>\n"
    result = read(page, "text/markdown", "http://h/docs/a.md")
    assert result.text.split() == ["Head", "the", "port", "is", "19900", "name", "value", "one", "two"]
    assert result.links == (("http://h/docs/port.md", "the port"),)


def test_markdown_that_is_very_long_stays_as_written() -> None:
    result = read(b"# Head\n\n" + b"*word* " * 60_000, "text/markdown")
    assert (result.title, result.text[:16]) == ("Head", "# Head\n*word* *w")


def test_xml_returns_text_without_markup_and_expands_no_entity() -> None:
    result = read(b'<?xml version="1.0" encoding="latin1"?><r><title>T\xe9</title><a>one</a><b>two</b></r>', "text/xml")
    assert (result.title, result.text) == ("Té", "Té\none\ntwo")
    bomb = b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><r>x&b;</r>'
    assert "ha" not in read(bomb, "text/xml").text


def test_png_returns_name_size_and_title() -> None:
    result = read(make_png(640, 480, {"Title": "A cat", "Software": "x"}), "text/plain", "http://h/pics/my_cat-1.png")
    assert result.title == "A cat"
    assert result.text == "my cat 1\nA cat"
    assert result.metadata == (("format", "png"), ("width", "640"), ("height", "480"), ("Title", "A cat"))


def test_jpeg_returns_size_and_exif_words() -> None:
    text = b"On the roof\0"
    exif = b"Exif\0\0MM\0*" + struct.pack(">IH", 8, 1) + struct.pack(">HHII", 0x010E, 2, len(text), 26) + struct.pack(">I", 0) + text
    data = b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + b"\xff\xc0" + struct.pack(">HBHHB", 8, 8, 48, 64, 3) + b"\0" * 9
    result = read(data, "image/jpeg", "http://h/cat.jpg")
    assert dict(result.metadata) == {"format": "jpeg", "width": "64", "height": "48", "Description": "On the roof"}
    assert result.title == "On the roof"


def test_executable_returns_its_name_alone() -> None:
    result = read(b"\x7fELF" + b"\0" * 100, None, "http://h/bin/my-tool")
    assert result.text == "my tool"
    assert "no text" in (result.reason or "")


def test_docx_bomb_is_refused_by_declared_size() -> None:
    result = read(make_docx(paragraph("x" * 50_000_000)))
    assert result.text == ""
    assert "unpacks to" in (result.reason or "")


def test_docx_bomb_with_lying_sizes_is_refused() -> None:
    data = bytearray(make_zip({"[Content_Types].xml": "<Types/>", "word/document.xml": b"a" * 5_000_000}))
    true_size, lie = struct.pack("<I", 5_000_000), struct.pack("<I", 10)
    assert true_size in data
    result = read(bytes(data.replace(true_size, lie)))
    assert result.text == ""
    assert result.reason


def test_docx_with_entities_is_refused() -> None:
    document = '<!DOCTYPE x [<!ENTITY a "ha">]><w:document xmlns:w="w">&a;</w:document>'
    data = make_zip({"[Content_Types].xml": "", "word/document.xml": document})
    assert "entities" in (read(data).reason or "")


def test_office_beyond_the_byte_limit_is_not_extracted() -> None:
    data = make_docx("".join(paragraph(zlib.crc32(bytes([n])).__repr__()) for n in range(200)))
    result = read(data, None, "http://h/a.docx", ExtractionLimits(max_document_bytes=len(data) - 1))
    assert result.text == ""
    assert "limits.max_document_bytes" in (result.reason or "")


def test_text_beyond_the_byte_limit_is_cut() -> None:
    result = read(b"word " * 100, "text/plain", limits=ExtractionLimits(max_document_bytes=50))
    assert result.text.startswith("word")
    assert "limits.max_document_bytes" in (result.reason or "")


def test_zip_with_encrypted_part_has_a_reason() -> None:
    data = bytearray(make_docx(paragraph("x")))
    for position in range(len(data) - 4):
        if data[position : position + 4] == b"PK\x01\x02":
            data[position + 8] |= 1
        elif data[position : position + 4] == b"PK\x03\x04":
            data[position + 6] |= 1
    assert read(bytes(data)).reason == "the file is encrypted"


LABELS = [
    "text/html",
    "text/plain",
    "application/pdf",
    "application/zip",
    "message/rfc822",
    "text/xml",
    "text/markdown",
    "image/png",
    "",
    None,
]


@settings(max_examples=count_examples(150))
@given(
    st.sampled_from(
        [b"", b"%PDF-1.4", b"PK\x03\x04", b"<html>", b"<?xml ", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"RIFF", b"From: "]
    ),
    st.binary(max_size=400),
    st.sampled_from(LABELS),
)
def test_random_bytes_under_any_label_give_an_answer(magic: bytes, data: bytes, label: str | None) -> None:
    result = read(magic + data, label)
    assert "\0" not in result.text
    result.text.encode("utf-8")


@settings(max_examples=count_examples(60))
@given(st.sampled_from(["docx", "xlsx", "odt", "pdf"]), st.integers(0, 5_000), st.binary(min_size=1, max_size=8))
def test_damaged_files_give_an_answer(kind: str, place: int, noise: bytes) -> None:
    whole = {
        "docx": make_docx(paragraph("text") * 5),
        "xlsx": make_xlsx("<row><c><v>1</v></c></row>"),
        "odt": make_opendocument("text", "<office:text><text:p>x</text:p></office:text>"),
        "pdf": make_pdf(["text"]),
    }[kind]
    place %= len(whole)
    assert isinstance(read(whole[:place] + noise + whole[place + len(noise) :]), Extraction)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_zip_entry_names_may_repeat() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for text in ("one", "two"):
            archive.writestr("word/document.xml", f'<w:document xmlns:w="w"><w:p>{text}</w:p></w:document>')
        archive.writestr("[Content_Types].xml", "")
    assert isinstance(read(buffer.getvalue()), Extraction)


@pytest.mark.parametrize("piece", ["[a](", "[a](b", "](", "[a]()"])
def test_extract_markdown_with_links_without_end_takes_no_time(piece: str) -> None:
    begun = time.thread_time()
    data = (piece * 25_000).encode()
    extraction = extract(Task(key=1, url="http://x/a.md", mimetype="text/markdown", data=data), ExtractionLimits())
    assert "too many links" in (extraction.reason or "")
    assert time.thread_time() - begun < 5.0


def test_text_before_a_document_is_read_up_to_the_limit() -> None:
    sizes: list[int] = []

    def read_file(_: str, limit: int) -> bytes:
        sizes.append(limit)
        return (b"x" * 1_000 + b"<title>t</title>")[:limit]

    task = Task(key=1, url="http://docs.test/a", mimetype="text/plain", path="/content", text_bytes=1_000)
    limits = ExtractionLimits(max_document_bytes=100)

    answer = extract(task, limits, read_file)

    assert max(sizes) <= 101
    assert (answer.text, answer.title) == ("x" * 100, None)
    assert "cut after 100 bytes" in (answer.reason or "")


def extract_with_files(own: bytes, *files: bytes, limits: ExtractionLimits | None = None, mimetype: str = "text/html") -> Extraction:
    attachments, start = [], len(own)
    for number, file in enumerate(files):
        attachments.append(Attachment(start=start, size_bytes=len(file), name=f"file{number}"))
        start += len(file)
    task = Task(key=1, url="http://h/f", mimetype=mimetype, data=own + b"".join(files), attachments=tuple(attachments))
    assert read_task(io.BytesIO(pack_task(task))) == task
    return extract(task, limits or ExtractionLimits())


def test_names_and_texts_of_attachments_follow_the_text() -> None:
    result = extract_with_files(b"<title>own title</title><p>own", make_pdf(["of pdf"]), b"<title>not this</title>of page")
    assert result.text.split("\n") == ["own", "file0", "of pdf", "file1", "of page"]
    assert (result.title, result.mimetype, result.reason) == ("own title", "text/html", None)


def test_attachment_without_content_before_it_is_the_whole_text() -> None:
    assert extract_with_files(b"", b"of file").text == "file0\nof file"


def test_attachment_that_cannot_be_read_is_named_and_the_rest_is_read() -> None:
    result = extract_with_files(b"own", b"Rar!\x1a\x07\0", b"last", mimetype="text/plain")
    assert result.text.split("\n") == ["own", "file0", "file0", "file1", "last"]
    assert "file0: RAR archives are not read" in (result.reason or "")


def test_attachments_are_within_the_limits() -> None:
    result = extract_with_files(b"own", b"y" * 100, mimetype="text/plain", limits=ExtractionLimits(max_document_bytes=50))
    assert result.text == "own\nfile0"
    assert "file0: it is beyond 50 bytes" in (result.reason or "")
    assert extract_with_files(b"own", b"y" * 100, limits=ExtractionLimits(text_characters=20)).text == "own\nfile0\nyyyyyyyyyy"
