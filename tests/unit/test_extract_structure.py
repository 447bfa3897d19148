"""The structure that the readers of each format find, shown as the blocks that it makes."""

import re
import time
from dataclasses import replace

import pytest

from feedmill.adapters.extract.extract import extract
from feedmill.core.text.structure import HEADINGS, Kind, decode_structure
from feedmill.core.text.textblob import decode_quotable_text, encode_text, without_markers
from feedmill.core.text.textblocks import MAX_SPANNED, Block, build_blocks
from feedmill.model.document import Attachment
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from tests.officefiles import S, make_docx, make_opendocument, make_pdf, make_pptx, make_xlsx, make_zip, paragraph

NAMES: dict[Kind | None, str] = {
    None: "p", Kind.PREFORMATTED: "pre", Kind.UNORDERED: "ul", Kind.ORDERED: "ol", Kind.ITEM: "li", Kind.DEFINITIONS: "dl", Kind.TERM: "dt",
    Kind.DESCRIPTION: "dd", Kind.TABLE: "table", Kind.ROW: "tr", Kind.CELL: "td", Kind.HEADER_CELL: "th", Kind.QUOTE: "quote",
    **{kind: f"h{level}" for level, kind in enumerate(HEADINGS, 1)},
}  # fmt: skip


def read(data: bytes, url: str = "http://h/f", mimetype: str | None = None, limits: ExtractionLimits | None = None) -> Extraction:
    return extract(Task(key=1, url=url, mimetype=mimetype, data=data), limits or ExtractionLimits())


def outline(found: Extraction) -> str:
    """Returns the blocks as short tags: ``<ul<li<p one>>>``; emphasis as ``*`` and ``_``, links as ``[``, numbers as ``:``."""
    blocks = build_blocks(found.text, decode_structure(found.structure), links=found.links)
    return "".join(_show(found.text, block) for block in blocks)


def _show(text: str, block: Block) -> str:
    if not block.spans:
        numbers = "".join(f":{number}" for number in block.numbers)
        return f"<{NAMES[block.kind]}{numbers}{''.join(_show(text, each) for each in block.blocks)}>"
    parts = []
    for span in block.spans:
        around = "".join(sign for kind, sign in ((Kind.STRONG, "*"), (Kind.EMPHASIS, "_"), (Kind.CODE, "`")) if kind in span.styles)
        shown = f"{around}{text[span.start : span.end]}{around[::-1]}"
        parts.append(span.before + (f"[{shown}]({span.link})" if span.link.startswith("http://b") else shown))
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


def test_html_cells_span_others_and_lists_count_as_written() -> None:
    table = "<table><tr><th\nrowspan=0>a<th colspan=2>b<tr><tr><td rowspan=' 2x'>c<td colspan=-1>d<tr><td colspan='' rowspan=1>e</table>"
    lists = "<ol start=5><li>f<li value=-9>g</ol><ol reversed><li>h<li>i</ol><ul><li value=3>j</ul><ol start=x reversed=''><li>k</ol>"
    assert outline(read(f"<p>{table}{lists}".encode(), mimetype="text/html")) == (
        "<table<tr<th:1:3<p a>><th:2:1<p b>>><tr<td:1:2<p c>><td:1:1<p d>>><tr<td:1:1<p e>>>>"
        "<ol:1:5<li<p f>><li:-9<p g>>><ol:-1<li<p h>><li<p i>>><ul<li:3<p j>>><ol:-1<li<p k>>>"
    )


@pytest.mark.parametrize("span", ["1000000000", "99999999999999999999", "1000"])
def test_html_spans_without_end_are_bounded(span: str) -> None:
    row = f"<tr><td colspan={span} rowspan={span}>a<td>b"
    found = outline(read(f"<table>{row * 3}{row * 5_000}".encode(), mimetype="text/html"))
    assert found.startswith("<table<tr<td<p a>><td<p b>>>")
    spanned = [int(width) * int(height) for width, height in re.findall(r"<td:(\d+):(\d+)", found)]
    assert sum(spanned) <= MAX_SPANNED
    assert (
        outline(read(f"<table><tr><td>a<td colspan={span}>b</table>".encode(), mimetype="text/html"))
        == "<table<tr<td<p a>><td:1000:1<p b>>>>"
    )


def test_docx_has_links_merged_cells_and_numbers_that_go_on() -> None:
    relation = '<Relationship Id="{}" Type="http://x/hyperlink" Target="{}" TargetMode="{}"/>'
    relations = relation.format("r1", "http://b/one", "External") + relation.format("r2", "styles.xml", "Internal")
    link = '<w:hyperlink xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="{}">{}</w:hyperlink>'
    bold = "<w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r>"

    def run(text: str) -> str:
        return f"<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>"

    def sign(kind: str) -> str:
        return f'<w:r><w:rPr><w:b/></w:rPr><w:fldChar w:fldCharType="{kind}"/></w:r>'

    field = sign("begin") + '<w:r><w:instrText> HYPERLINK "http://b/</w:instrText></w:r><w:r><w:instrText>two" </w:instrText></w:r>'
    page = sign("begin") + "<w:r><w:instrText>PAGE</w:instrText></w:r>" + sign("separate") + run("7") + sign("end")
    lines = run("a ") + link.format("r1", run("one ") + bold) + link.format("r2", run(" two")) + field + sign("separate") + run("field")
    body = f"<w:p>{lines}{sign('end')}{run(' x ')}{page}</w:p><w:p>{field}{sign('separate')}{run('open')}</w:p>" + paragraph("end")
    body += f"<w:p><w:fldSimple w:instr='HYPERLINK \"http://b/three\"'>{run('simple')}</w:fldSimple></w:p>"
    found = read(make_docx(body, **{"_rels/document.xml.rels": relations}))
    assert outline(found) == (
        "<p a [one ](http://b/one)[*bold*](http://b/one) two[field](http://b/two) x 7><p [open](http://b/two)><p end>"
        "<p [simple](http://b/three)>"
    )
    assert [link.text for link in found.links] == ["one bold", "field", "open", "simple"]


def test_docx_tables_of_contents_are_navigation_by_style_control_and_field() -> None:
    def sign(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    styles = (
        '<w:style w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style><w:style w:styleId="h"><w:name w:val="TOC Heading"/></w:style>'
    )
    numbered = (
        sign("begin") + "<w:r><w:instrText>PAGEREF x</w:instrText></w:r>" + sign("separate") + "<w:r><w:t>3</w:t></w:r>" + sign("end")
    )
    entry = f'<w:p><w:pPr><w:pStyle w:val="Verzeichnis1"/></w:pPr><w:r><w:t>Travel</w:t><w:tab/></w:r>{numbered}</w:p>'
    gallery = '<w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
    control = f"<w:sdt>{gallery}<w:sdtContent>{paragraph('Rooms')}</w:sdtContent></w:sdt>"
    field = f"<w:p>{sign('begin')}<w:r><w:instrText> TOC \\o</w:instrText></w:r>{sign('separate')}<w:r><w:t>Money</w:t></w:r></w:p>"
    field += f"<w:p><w:r><w:t>Forms</w:t></w:r>{sign('end')}</w:p>"
    text = paragraph("All that people of the office need to know about travel, money, forms and much else.")
    body = styled("Contents", '<w:pStyle w:val="h"/>') + entry + text + control + field + text
    found = read(make_docx(body, styles=styles))
    assert found.navigation == "Contents\nTravel 3\nRooms\nMoney\nForms"
    line = "<p All that people of the office need to know about travel, money, forms and much else.>"
    assert outline(found) == f"{line}<p …>{line}"


def test_docx_of_hardly_more_than_contents_keeps_them_as_its_text() -> None:
    styles = '<w:style w:styleId="t"><w:name w:val="toc 1"/></w:style>'
    found = read(make_docx(paragraph("Plan") + styled("Travel and money", '<w:pStyle w:val="t"/>'), styles=styles))
    assert (found.text, found.navigation) == ("Plan\nTravel and money", "")


def test_opendocument_indexes_are_navigation() -> None:
    template = (
        "<text:table-of-content-source><text:index-title-template>Contents</text:index-title-template></text:table-of-content-source>"
    )
    index = f"<text:table-of-content>{template}<text:index-body><text:index-title><text:p>Contents</text:p></text:index-title>"
    index += "<text:p>Travel<text:tab/>3</text:p></text:index-body></text:table-of-content>"
    text = "<text:p>All that people of the office need to know about travel.</text:p>"
    found = read(make_opendocument("text", f"<office:text>{text}{index}{text}</office:text>"))
    assert found.navigation == "Contents\nTravel 3"
    assert outline(found) == "<p All that people of the office need to know about travel.><p …>" + outline(found)[-60:]


def test_plain_text_with_contents_keeps_its_lines() -> None:
    lines = [
        "A manual",
        "",
        "  Contents",
        "1 Travel ...... 3",
        "2  Money ...... 5",
        "3 Forms ...... 9",
        "",
        "  A  trip is paid.",
        "People write.",
        "x",
        "y",
    ]
    found = read("\n".join(lines).encode())
    assert decode_quotable_text(encode_text(found.text, ())) == "A manual\n \nA trip is paid.\nPeople write.\nx\ny"
    shown = replace(found, text=without_markers(found.text))
    assert outline(shown) == "<pre " + "\n".join(lines) + ">"


def test_page_with_parts_that_are_never_quoted_has_its_structure_in_place() -> None:
    page = b"<p>caf\xc3\xa9<!--googleoff: snippet--> one<!--googleon: snippet--></p><h1>head</h1><p>a <b>b</b></p><pre>\n  c\n d</pre>"
    found = read(page, mimetype="text/html")
    assert outline(replace(found, text=without_markers(found.text))) == "<p café one><h1 head><p a *b*><pre   c\n d>"


def test_docx_cells_reach_over_columns_and_rows() -> None:
    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"

    begin, go_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    rows = [
        cell("a", begin) + cell("b", '<w:gridSpan w:val="2"/>'),
        cell("", go_on) + cell("c") + cell("d", begin),
        cell("e", go_on) + cell("f") + cell("", go_on),
        cell("g", go_on + '<w:gridSpan w:val="x"/>'),
    ]
    table = "".join(f"<w:tr>{row}</w:tr>" for row in rows)
    assert outline(read(make_docx(f"<w:tbl>{table}</w:tbl>"))) == (
        "<table<tr<td:1:3<p a>><td:2:1<p b>>><tr<td<p c>><td:1:2<p d><p e>>><tr<td<p f><p g>>>>"
    )


def test_docx_numbers_go_on_behind_other_text() -> None:
    level = '<w:lvl w:ilvl="{}"><w:start w:val="{}"/><w:numFmt w:val="decimal"/></w:lvl>'
    number = '<w:num w:numId="{}"><w:abstractNumId w:val="7"/>{}</w:num>'
    override = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    numbering = f'<w:abstractNum w:abstractNumId="7">{level.format(0, 3)}{level.format(1, 1)}</w:abstractNum>'
    numbering += number.format(1, "") + number.format(2, override)
    body = (
        item("a", 1) + item("b", 1, 1) + item("c", 1) + paragraph("between") + item("d", 1) + item("e", 1, 1) + item("f", 2) + item("g", 2)
    )
    assert outline(read(make_docx(body, numbering=numbering))) == (
        "<ol:1:3<li<p a><ol<li<p b>>>><li<p c>>><p between><ol:1:5<li<p d><ol<li<p e>>>><li:7<p f>><li<p g>>>"
    )


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


def test_pptx_has_links_and_cells_that_reach_over_others() -> None:
    link = '<a:hlinkClick xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="r1"/>'
    run = "<a:r><a:rPr b='1'>{}</a:rPr><a:t>{}</a:t></a:r>"
    cells = '<a:tc gridSpan="2" rowSpan="2"><a:p>{}</a:p></a:tc><a:tc hMerge="1"><a:p/></a:tc><a:tc><a:p>{}</a:p></a:tc>'
    below = f'<a:tc vMerge="1"/><a:tc hMerge="1" vMerge="1"/><a:tc><a:p>{run.format("", "d")}</a:p></a:tc>'
    table = f"<a:tbl><a:tr>{cells.format(run.format('', 'a'), run.format('', 'b'))}</a:tr><a:tr>{below}</a:tr></a:tbl>"
    slide = f"</a:t></a:r></a:p><a:p>{run.format(link, 'one')}{run.format('', 'two')}</a:p>{table}<a:p><a:r><a:t>"
    relations = '<x><Relationship Id="r1" Type="x/hyperlink" Target="http://b/1" TargetMode="External"/></x>'
    found = read(make_pptx([slide], relations=relations))
    assert outline(found) == "<p [*one*](http://b/1)*two*><table<tr<td:2:2<p *a*>><td<p *b*>>><tr<td<p *d*>>>>"
    assert [link.text for link in found.links] == ["one"]


def test_xlsx_has_a_table_for_each_sheet_with_cells_in_their_columns() -> None:
    rows = '<row><c r="A1"><v>1</v></c><c r="C1"><v>3</v></c></row><row><c><v>4</v></c><c r="XFD1"><v>5</v></c></row>'
    shown = outline(read(make_xlsx(rows, sheet="Budget")))
    assert shown.startswith("<h2 Budget><table<tr<td<p 1>><td><td<p 3>>><tr<td<p 4>>")
    assert shown.count("<td>") == 30


def merge(*areas: str) -> str:
    cells = "".join(f'<mergeCell ref="{area}"/>' for area in areas)
    return f"<mergeCells>{cells}</mergeCells>"


def test_xlsx_has_merged_cells() -> None:
    rows = (
        '<row r="1"><c r="A1"><v>1</v></c><c r="B1"/><c r="C1"><v>3</v></c><c r="D1"><v>4</v></c></row>'
        '<row r="2"><c r="A2"><v>5</v></c><c r="D2"><v>8</v></c></row>'
    )
    shown = outline(read(make_xlsx(rows, merged=merge("A1:B1", "C1:C2"))))
    assert shown.endswith("<table<tr<td:2:1<p 1>><td:1:2<p 3>><td<p 4>>><tr<td<p 5>><td><td<p 8>>>>")


def test_xlsx_rows_without_text_count_for_merged_cells_only_if_they_are_shown() -> None:
    rows = (
        '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'
        '<row r="4"><c r="B4"><v>3</v></c></row><row r="5"><c r="A5"><v>4</v></c></row>'
    )
    shown = outline(read(make_xlsx(rows, merged=merge("A1:A4"))))
    assert shown.endswith("<table<tr<td:1:2<p 1>><td<p 2>>><tr<td<p 3>>><tr<td<p 4>>>>")


def test_xlsx_merged_cells_that_make_no_sense_cost_no_text() -> None:
    rows = "".join(f'<row r="{row}"><c r="A{row}"><v>{row}</v></c><c r="C{row}"><v>{row}</v></c></row>' for row in range(1, 60))
    areas = [f"A{row}:XFD{row + 900}" for row in range(1, 60)] + ["C9:A1", "A0:A0", "B2:B2"]
    assert read(make_xlsx(rows, merged=merge(*areas))).text.split()[2:] == [str(row) for row in range(1, 60) for _ in range(2)]


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


def test_opendocument_has_links_merged_cells_and_numbers() -> None:
    def entry(text: str, number: str = "") -> str:
        given = f'text:start-value="{number}"' if number else ""
        return f"<text:list-item {given}><text:p>{text}</text:p></text:list-item>"

    level = '<text:list-level-style-number text:level="1" text:start-value="3"/>'
    styles = f'<text:list-style style:name="N">{level}</text:list-style>'
    link = '<text:a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="{}">{}</text:a>'
    body = (
        f"{styles}<text:p>a {link.format('http://b/1', 'one')} {link.format('#x', 'no')}{link.format('../f.html', ' rel')}</text:p>"
        f'<text:list text:style-name="N">{entry("a")}{entry("b", "9")}</text:list><text:p>x</text:p>'
        f'<text:list text:style-name="N" text:continue-numbering="true">{entry("c")}</text:list>'
        f'<text:list text:style-name="N">{entry("d")}</text:list>'
        '<table:table><table:table-row><table:table-cell table:number-columns-spanned="2" table:number-rows-spanned="2"><text:p>a</text:p>'
        "</table:table-cell><table:covered-table-cell/><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>"
        '<table:table-row><table:covered-table-cell table:number-columns-repeated="2"/><table:table-cell><text:p>c</text:p>'
        "</table:table-cell></table:table-row></table:table>"
    )
    found = read(make_opendocument("text", f"<office:text>{body}</office:text>"), "http://h/dir/f.odt")
    assert outline(found) == (
        "<p a [one](http://b/1) no rel><ol:1:3<li<p a>><li:9<p b>>><p x><ol:1:10<li<p c>>><ol:1:3<li<p d>>>"
        "<table<tr<td:2:2<p a>><td<p b>>><tr<td<p c>>>>"
    )
    assert [(link.url, link.text) for link in found.links] == [("http://b/1", "one"), ("http://h/dir/f.html", "rel")]


def test_office_files_have_no_more_links_than_are_stored() -> None:
    link = '<text:a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="http://b/1">x</text:a>'
    data = make_opendocument("text", f"<office:text><text:p>{link * 20}</text:p></office:text>")
    found = extract(Task(key=1, url="http://h/f", mimetype=None, data=data), ExtractionLimits(links=3))
    assert len(found.links) == 3
    assert outline(found).count("http://b/1") == 3


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


def add_links(data: bytes, *links: tuple[str, str]) -> bytes:
    """Adds links to the pages of a PDF. Shape: the corners of each, and its address."""
    annotations = "".join(f"<</Type/Annot/Subtype/Link/Rect[{corners}]/A<</S/URI/URI({url})>>>>" for corners, url in links)
    return data.replace(b"/Type/Page/", f"/Annots[{annotations}]/Type/Page/".encode())


FIRST_LINE, FIRST_WORD, SECOND_LINE = "72 716 600 734", "72 716 92 734", "72 704 600 713"


def test_pdf_has_the_links_of_its_pages_in_their_text() -> None:
    data = make_pdf(["one) Tj 0 -14 Td (two", "one) Tj 0 -14 Td (other"])
    found = read(add_links(data, (SECOND_LINE, "http://b/2"), (FIRST_WORD, "http://b/1")))
    assert outline(found).replace("\n", " ") == "<p [one](http://b/1)><p [two](http://b/2)><p [one](http://b/1)><p [other](http://b/2)>"
    assert [link.text for link in found.links] == ["one", "two", "one", "other"]
    assert found.text == read(data).text


@pytest.mark.parametrize(
    ("corners", "url"),
    [
        ("72 600 600 620", "http://b/none"),
        ("0 0 600 800", "http://b/page"),
        (FIRST_WORD, ""),
        (FIRST_WORD, "http://b/" + "x" * 3_000),
        (FIRST_WORD, "javascript:alert(1)"),
    ],
)
def test_pdf_links_without_a_text_or_an_address_are_none(corners: str, url: str) -> None:
    found = read(add_links(make_pdf(["one) Tj 0 -14 Td (two"]), (corners, url)))
    assert (found.text, found.links) == ("one\ntwo", ())


def test_pdf_links_are_bounded_and_do_not_overlap() -> None:
    data = make_pdf(["one) Tj 0 -14 Td (two"])
    links = [(FIRST_WORD, "http://b/1"), (FIRST_LINE, "http://b/2"), (SECOND_LINE, "http://b/3")]
    assert [link.url for link in read(add_links(data, *links)).links] == ["http://b/1", "http://b/3"]
    assert [link.url for link in read(add_links(data, *links), limits=ExtractionLimits(links=1)).links] == ["http://b/1"]


def test_pdf_link_does_not_part_a_paragraph() -> None:
    long, other = "a line of this text that is as long as the others", "and this one that begins with a small letter"
    data = make_pdf([f"{long}) Tj 0 -14 Td ({other}) Tj 0 -14 Td (Short end."])
    shown = outline(read(add_links(data, (SECOND_LINE, "http://b/2")))).replace("\n", " ")
    assert shown == f"<p {long} [{other}](http://b/2) Short end.>"


def test_plain_text_and_markdown_have_their_form() -> None:
    assert (
        outline(read(b"  def f():\n\n\treturn 1   # x\nend\n", mimetype="text/plain")) == "<pre   def f():\n\n        return 1   # x\nend>"
    )
    found = read(b"# Title\n\n- one\n- `two`\n\n> *quoted*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "http://h/a.md", "text/markdown")
    assert outline(found) == (
        "<h1 Title><ul<li<p one>><li<p `two`>>><quote<p _quoted_>><table<tr<th<p a>><th<p b>>><tr<td<p 1>><td<p 2>>>>"
    )


def test_mail_begins_with_its_subject_and_a_table_of_who_wrote_it_to_whom_and_when() -> None:
    mail = b"Date: Mon, 2 Mar 2026 10:00:00 +0000\nFrom: Ann <a@b.c>\nCc: d@b.c\nTo: b@b.c\nTo: c@b.c\nSubject: Costs\n\nHello"
    rows = [("From", "Ann <a@b.c>"), ("To", "b@b.c"), ("To", "c@b.c"), ("Cc", "d@b.c"), ("Date", "Mon, 2 Mar 2026 10:00:00 +0000")]
    shown = outline(read(mail, mimetype="message/rfc822"))
    assert shown == f"<h1 Costs><table{''.join(f'<tr<th<p {name}:>><td<p {value}>>>' for name, value in rows)}><pre Hello>"


def test_sheets_are_headings_before_their_tables() -> None:
    named = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    sheets = "".join(f'<sheet name="{name}" r:id="{number}"/>' for name, number in (("Last", 1), ("Empty", 3), ("First", 2), ("Again", 1)))
    parts = {"[Content_Types].xml": "<Types/>", "xl/workbook.xml": f"<workbook {S} {named}><sheets>{sheets}</sheets></workbook>"}
    for number in (1, 2, 3):
        parts[f"xl/worksheets/sheet{number}.xml"] = f"<worksheet {S}><sheetData><row><c><v>{number}</v></c></row></sheetData></worksheet>"
    paths = ((1, "worksheets/sheet2.xml"), (2, "/xl/worksheets/sheet1.xml"))
    relations = "".join(f'<Relationship Id="{number}" Target="{path}"/>' for number, path in paths)
    shown = outline(read(make_zip(parts | {"xl/_rels/workbook.xml.rels": f'<Relationships xmlns="r">{relations}</Relationships>'})))
    assert shown == "<h2 Last><p 2><h2 Empty><h2 First><p 1><h2 Again><p 3>"
    assert outline(read(make_zip(parts))).startswith("<h2 Last><p 1><h2 Empty><p 2>")


def test_sheets_of_open_document_are_headings_before_their_tables() -> None:
    row = "<table:table-row><table:table-cell><text:p>9</text:p></table:table-cell></table:table-row>"
    table = f'<table:table table:name="Costs">{row}</table:table>'
    shown = outline(read(make_opendocument("spreadsheet", f"<office:spreadsheet>{table}{table}</office:spreadsheet>")))
    assert shown == "<h2 Costs><p 9>" * 2


def test_text_of_a_mail_is_preformatted() -> None:
    mail = b"Subject: Costs\nMIME-Version: 1.0\nContent-Type: text/plain\n\nHello,\n\n  > quoted\n"
    assert outline(read(mail, mimetype="message/rfc822")) == "<h1 Costs><pre Hello,\n\n  > quoted>"


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
