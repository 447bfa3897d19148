"""The structure that the readers of each format find, shown as the blocks that it makes."""

import time

import pytest

from feedmill.adapters.extract.extract import extract
from feedmill.core.text.structure import HEADINGS, Kind, decode_structure
from feedmill.core.text.textblocks import Block, build_blocks
from feedmill.model.document import Attachment
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from tests.officefiles import make_docx, make_opendocument, make_pdf, make_pptx, make_xlsx, make_zip, paragraph

NAMES: dict[Kind | None, str] = {
    None: "p", Kind.PREFORMATTED: "pre", Kind.UNORDERED: "ul", Kind.ORDERED: "ol", Kind.ITEM: "li", Kind.DEFINITIONS: "dl", Kind.TERM: "dt",
    Kind.DESCRIPTION: "dd", Kind.TABLE: "table", Kind.ROW: "tr", Kind.CELL: "td", Kind.HEADER_CELL: "th", Kind.QUOTE: "quote",
    **{kind: f"h{level}" for level, kind in enumerate(HEADINGS, 1)},
}  # fmt: skip


def read(data: bytes, url: str = "http://h/f", mimetype: str | None = None) -> Extraction:
    return extract(Task(key=1, url=url, mimetype=mimetype, data=data), ExtractionLimits())


def outline(found: Extraction) -> str:
    """Returns the blocks as short tags: ``<ul<li<p one>>>``; emphasis as ``*`` and ``_``."""
    blocks = build_blocks(found.text, decode_structure(found.structure), links=found.links)
    return "".join(_show(found.text, block) for block in blocks)


def _show(text: str, block: Block) -> str:
    if not block.spans:
        return f"<{NAMES[block.kind]}{''.join(_show(text, each) for each in block.blocks)}>"
    parts = []
    for span in block.spans:
        around = "".join(sign for kind, sign in ((Kind.STRONG, "*"), (Kind.EMPHASIS, "_"), (Kind.CODE, "`")) if kind in span.styles)
        parts.append(f"{span.before}{around}{text[span.start : span.end]}{around[::-1]}")
    return f"<{NAMES[block.kind]} {''.join(parts)}>"


def styled(text: str, properties: str) -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def item(text: str, number: int, level: int = 0) -> str:
    return styled(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


NUMBERING = (
    '<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/></w:lvl>'
    '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
)


def test_docx_has_headings_lists_tables_and_emphasis() -> None:
    styles = (
        '<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="LB"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    row = "<w:tr><w:trPr>{0}</w:trPr><w:tc>{1}</w:tc><w:tc>{2}</w:tc></w:tr>"
    table = row.format("<w:tblHeader/>", paragraph("a"), paragraph("b")) + row.format("", paragraph(""), item("c", 1))
    bold = '<w:p><w:r><w:rPr><w:b/><w:i w:val="0"/></w:rPr><w:t>bold</w:t></w:r><w:r><w:rPr><w:i/></w:rPr><w:t>ital</w:t></w:r></w:p>'
    body = styled("Part", '<w:pStyle w:val="H2"/>') + item("one", 1) + item("in", 1, 1) + styled("two", '<w:pStyle w:val="LB"/>')
    body += item("none", 0) + f"<w:tbl>{table}</w:tbl>" + bold
    shown = outline(read(make_docx(body, styles=styles, numbering=NUMBERING)))
    assert shown == (
        "<h2 Part><ul<li<p one><ol<li<p in>>>><li<p two>>><p none><table<tr<th<p a>><th<p b>>><tr<td><td<ul<li<p c>>>>>><p *bold*_ital_>"
    )


def test_docx_lists_end_with_their_cell_and_their_part() -> None:
    cell = f"<w:tbl><w:tr><w:tc>{item('x', 1)}</w:tc><w:tc>{paragraph('y')}</w:tc></w:tr></w:tbl>"
    shown = outline(read(make_docx(item("one", 1) + cell + item("last", 1), numbering=NUMBERING, footer1=paragraph("foot"))))
    assert shown == "<ul<li<p one>>><table<tr<td<ul<li<p x>>>><td<p y>>>><ul<li<p last>>><p foot>"


@pytest.mark.parametrize("numbering", ["", "<w:num/><w:num w:numId='1'><w:abstractNumId/></w:num><w:abstractNum/>", "<w:broken"])
def test_docx_with_odd_numbering_has_its_text(numbering: str) -> None:
    number = '<w:numPr><w:ilvl w:val="{0}"/><w:numId w:val="x"/></w:numPr>'
    body = styled("one", number.format("99999999999")) + styled("two", number.format("-1")) + styled("three", "<w:numPr/>")
    assert outline(read(make_docx(body, numbering=numbering))) == "<ul<li<p one>><li<p two>>><p three>"


def test_pptx_has_titles_items_and_tables() -> None:
    def shape(kind: str, *paragraphs: str) -> str:
        return f"<p:sp><p:nvSpPr><p:nvPr><p:ph {kind}/></p:nvPr></p:nvSpPr><p:txBody>{''.join(paragraphs)}</p:txBody></p:sp>"

    def line(text: str, properties: str = "", run: str = "") -> str:
        return f"<a:p><a:pPr {properties}</a:pPr><a:r><a:rPr {run}/><a:t>{text}</a:t></a:r></a:p>"

    texts = shape('idx="1"', line("one", ">"), line("in", 'lvl="1">'), line("bare", "><a:buNone/>"), line("two", 'lvl="x">', 'b="1"'))
    table = f"<a:tbl><a:tr><a:tc>{line('a', '>')}</a:tc><a:tc>{line('b', '>')}</a:tc></a:tr></a:tbl>"
    slide = shape('type="title"', line("Goals", ">")) + texts + table + shape('type="ftr"', line("foot", ">"))
    shown = outline(read(make_pptx([f"</a:t></a:r></a:p>{slide}<a:p><a:r><a:t>"], "spoken")))
    assert shown == ("<h2 Goals><ul<li<p one><ul<li<p in>>>>><p bare><ul<li<p *two*>>><table<tr<td<p a>><td<p b>>>><p foot><p spoken>")


def test_xlsx_has_a_table_for_each_sheet_with_cells_in_their_columns() -> None:
    rows = '<row><c r="A1"><v>1</v></c><c r="C1"><v>3</v></c></row><row><c><v>4</v></c><c r="XFD1"><v>5</v></c></row>'
    shown = outline(read(make_xlsx(rows, sheet="Budget")))
    assert shown.startswith("<ul<li<p Budget>>><table<tr<td<p 1>><td><td<p 3>>><tr<td<p 4>>")
    assert shown.count("<td>") == 30


def test_opendocument_has_headings_lists_and_tables() -> None:
    styles = (
        '<text:list-style style:name="N"><text:list-level-style-bullet text:level="1"/>'
        '<text:list-level-style-number text:level="2"/></text:list-style>'
        '<style:style style:name="B" style:family="text"><style:text-properties '
        'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
        ' fo:font-weight="bold"/></style:style>'
    )
    inner = "<text:list><text:list-item><text:p>in</text:p></text:list-item></text:list>"
    body = (
        f'{styles}<text:h text:outline-level="3">Part</text:h><text:p>a <text:span text:style-name="B">bold</text:span></text:p>'
        f'<text:list text:style-name="N"><text:list-item><text:p>one</text:p>{inner}</text:list-item></text:list>'
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>h</text:p></table:table-cell>"
        "<table:table-cell><text:p>i</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-row>"
        '<table:table-cell table:number-columns-repeated="2"/><table:table-cell><text:p>c</text:p>'
        "</table:table-cell></table:table-row></table:table>"
    )
    shown = outline(read(make_opendocument("text", f"<office:text>{body}</office:text>")))
    assert shown == ("<h3 Part><p a *bold*><ul<li<p one><ol<li<p in>>>>><table<tr<th<p h>><th<p i>>><tr<td><td><td<p c>>>>")


MAN = r""".TH X 1
.SH NAME
x \- does things
.SS Options
.TP
.B \-a
the first
.IP
goes on
.RS
.IP \-b
inside
.RE
.TP
\-c
last
.PP
After.
.IP \(bu 2
dot
.nf
  code  here
more
.fi
.SH END
Done.
"""


def test_manual_page_has_sections_definitions_and_code() -> None:
    assert outline(read(MAN.encode(), "http://h/x.1")) == (
        "<h1 NAME><p x - does things><h2 Options><dl<dt<p -a>><dd<p the first><p goes on><dl<dt<p -b>><dd<p inside>>>>"
        "<dt<p -c>><dd<p last>>>"
        "<p After.><dl<dd<p • dot><pre   code  here\nmore>>><h1 END><p Done.>"
    )


def test_mdoc_page_has_its_lists() -> None:
    page = ".Dd a\n.Dt X 1\n.Os\n.Sh NAME\n.Nm x\n.Bl -bullet\n.It\none\n.It\ntwo\n.El\n"
    page += ".Bl -enum\n.It\nthree\n.El\n.Bl -tag\n.It Fl v\nfour\n.El\nend\n"
    assert outline(read(page.encode(), "http://h/x.1")) == (
        "<h1 NAME><p x><ul<li<p one>><li<p two>>><ol<li<p three>>><dl<dt<p -v>><dd<p four>>><p end>"
    )


def test_pdf_has_paragraphs_and_the_headings_of_its_outline() -> None:
    long, other = "a line of this text that is as long as the others", "and this one that begins with a small letter"
    data = make_pdf([f"{long}) Tj 0 -14 Td ({other}) Tj 0 -14 Td (Short end.) Tj 0 -14 Td (1.2 Chapter one) Tj 0 -14 Td ({long}"])
    data = data.replace(b"<</Type/Font", b"<</Title(Chapter one)/Parent 1 0 R/Type/Font")
    found = read(data.replace(b"/Type/Catalog", b"/Type/Catalog/Outlines<</First 3 0 R/Last 3 0 R/Count 1>>"))
    assert outline(found).replace("\n", " ") == f"<p {long} {other} Short end.><h1 1.2 Chapter one><p {long}>"


def test_plain_text_and_markdown_have_their_form() -> None:
    assert (
        outline(read(b"  def f():\n\n\treturn 1   # x\nend\n", mimetype="text/plain")) == "<pre   def f():\n\n        return 1   # x\nend>"
    )
    found = read(b"# Title\n\n- one\n- `two`\n\n> *quoted*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "http://h/a.md", "text/markdown")
    assert outline(found) == (
        "<h1 Title><ul<li<p one>><li<p `two`>>><quote<p _quoted_>><table<tr<th<p a>><th<p b>>><tr<td<p 1>><td<p 2>>>>"
    )


def test_text_of_a_mail_is_preformatted() -> None:
    mail = b"From: a@b.c\nSubject: Costs\nMIME-Version: 1.0\nContent-Type: text/plain\n\nHello,\n\n  > quoted\n"
    assert outline(read(mail, mimetype="message/rfc822")) == "<p a@b.c><p Costs><pre Hello,\n\n  > quoted>"


def test_members_of_an_archive_and_attachments_have_their_structure() -> None:
    page = "<ul><li>one<li><a href='/x'>two</a></ul>"
    assert outline(read(make_zip({"a.html": page, "b.html": page}))) == (
        "<p a.html><ul<li<p one>><li<p two>>><p b.html><ul<li<p one>><li<p two>>>"
    )
    data = page.encode()
    task = Task(
        key=1,
        url="http://h/f",
        mimetype="text/html",
        data=data * 2,
        attachments=(Attachment(start=len(data), size_bytes=len(data), mimetype="text/html", name="n.html"),),
    )
    assert outline(extract(task, ExtractionLimits())) == "<ul<li<p one>><li<p two>>><p n.html><p one><p two>"


@pytest.mark.parametrize(
    "body",
    [
        "<ul><li>" * 40_000,
        "<b>" * 3_000 + "x",
        "<pre>" + "  a\n" * 60_000,
        "<pre>" + "a  " * 60_000,
        "<pre>a</pre>" * 20_000,
        "<table>" + "<tr><td>a<td>b" * 30_000,
        "<pre>" + " \n" * 100_000 + "a",
        "&#1;&#2;&#18;&#24;" * 30_000,
    ],
)
def test_structure_of_any_size_is_read_in_time(body: str) -> None:
    began = time.process_time()
    found = read(f"<html><body>{body}".encode(), mimetype="text/html")
    build_blocks(found.text, decode_structure(found.structure))
    assert time.process_time() - began < 8
    assert len(found.structure) < 500_000
