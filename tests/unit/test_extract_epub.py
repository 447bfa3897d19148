import pytest

from feedmill.adapters.extract import sniff
from feedmill.adapters.extract.extract import extract
from feedmill.core.text.structure import Kind, decode_structure
from feedmill.core.text.textblocks import build_blocks
from feedmill.model.extraction import Extraction, ExtractionLimits, Link, Task
from tests.officefiles import EPUB_CONTAINER, make_book, make_zip

LOCKED = '<encryption xmlns="urn:x"><EncryptedData><CipherData><CipherReference URI="{}"/></CipherData></EncryptedData></encryption>'


def read(data: bytes, **limits: int) -> Extraction:
    return extract(Task(key=1, url="http://h/books/b.epub", mimetype=None, data=data), ExtractionLimits(**limits))


def test_pages_stand_in_the_order_of_the_spine_with_their_headings() -> None:
    pages = {"a.xhtml": "<h1>The end</h1><p>last words</p>", "b.xhtml": "<h1>Beginning</h1><p>first words</p><ul><li>one</li></ul>"}
    result = read(make_book(pages, spine=["b.xhtml", "a.xhtml"]))
    assert result.mimetype == sniff.EPUB
    assert result.text == "Beginning\nfirst words\none\nThe end\nlast words"
    assert result.headings == "Beginning\nThe end"
    assert (result.title, result.metadata, result.reason) == ("Book", (("title", "Book"), ("author", "Ann Author")), None)
    blocks = build_blocks(result.text, decode_structure(result.structure), result.headings)
    assert [block.kind for block in blocks] == [Kind.HEADING_1, None, Kind.UNORDERED, Kind.HEADING_1, None]


def test_contents_are_navigation_also_at_the_beginning_of_the_spine() -> None:
    pages = {"nav.xhtml": '<nav><ol><li><a href="a.xhtml">Preface</a></li></ol></nav>', "a.xhtml": "<p>words</p>"}
    result = read(make_book(pages, nav="nav.xhtml"))
    assert (result.text, result.navigation, result.links) == ("words", "Preface", ())
    assert read(make_book(pages, nav="nav.xhtml", spine=["a.xhtml"])).navigation == "Preface"


def test_contents_that_the_guide_of_an_older_book_names_are_navigation_unless_they_are_a_part_of_a_page() -> None:
    pages = {"toc.xhtml": "<p>Chapter one, chapter two</p>", "a.xhtml": "<p>words</p>"}
    guide = '<guide><reference type="toc" href="{}"/></guide>'
    result = read(make_book(pages, guide=guide.format("toc.xhtml")))
    assert (result.text, result.navigation) == ("words", "Chapter one, chapter two")
    assert read(make_book(pages, guide=guide.format("a.xhtml#toc"))).text == "Chapter one, chapter two\nwords"


def test_links_to_other_pages_of_the_book_lead_to_no_document() -> None:
    pages = {
        "a.xhtml": '<p>See <a href="b.xhtml#x">later</a> and <a href="http://other/">elsewhere</a>, that is all.</p>',
        "b.xhtml": '<p>More at <a href="https://third/p">the third</a>, which is a place of its own.</p>',
    }
    result = read(make_book(pages))
    assert result.links == (Link("http://other/", "elsewhere"), Link("https://third/p", "the third"))
    structure = decode_structure(result.structure)
    assert structure.unstored == {0}
    assert sum(event.kind is Kind.LINK for event in structure.events) == 3


def test_elements_that_end_themselves_hide_nothing() -> None:
    data = make_book({"a.xhtml": '<p>one</p><script src="x.js"/><a id="place"/><p>two<br/>three</p><title/><p>four</p>'})
    result = read(data)
    assert result.text.split() == ["one", "two", "three", "four"]
    assert result.links == ()


def test_page_named_twice_is_read_once() -> None:
    assert read(make_book({"a.xhtml": "<p>words</p>"}, spine=["a.xhtml"] * 1000)).text == "words"


@pytest.mark.parametrize("package", [None, "<package", '<package xmlns="http://www.idpf.org/2007/opf"><spine/></package>'])
def test_book_without_a_usable_package_document_is_read_by_the_names_of_its_pages(package: str | None) -> None:
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": EPUB_CONTAINER, "p2.html": "<p>two</p>", "p1.html": "<p>one</p>"}
    result = read(make_zip(parts if package is None else {**parts, "c.opf": package}))
    assert result.text == "one\ntwo"
    assert result.reason == "the order of the pages is not known, the package document of the book is damaged"


def test_book_without_pages_is_damaged() -> None:
    result = read(make_zip({"mimetype": "application/epub+zip", "META-INF/container.xml": EPUB_CONTAINER}))
    assert (result.text, result.reason) == ("", "the book is damaged: it has no pages")


def test_encrypted_pages_are_left_out_and_encrypted_fonts_change_nothing() -> None:
    pages = {"a.xhtml": "<p>open</p>", "b.xhtml": "<p>closed</p>"}
    partly = read(make_book(pages, **{"META-INF__encryption": LOCKED.format("b.xhtml")}))
    assert (partly.text, partly.reason) == ("open", "page b.xhtml is encrypted")
    fonts = read(make_book(pages, **{"META-INF__encryption": LOCKED.format("f.otf")}))
    assert (fonts.text, fonts.reason) == ("open\nclosed", None)
    whole = read(make_book({"b.xhtml": "<p>closed</p>"}, **{"META-INF__encryption": LOCKED.format("b.xhtml")}))
    assert (whole.text, whole.reason) == ("", "the book is encrypted")


def test_long_book_is_cut_between_pages() -> None:
    result = read(make_book({f"p{number}.xhtml": f"<p>page {number}</p>" for number in range(100)}), text_characters=50)
    assert result.reason is not None
    assert result.reason.startswith("cut after page ")
    assert result.text.startswith("page 0\npage 1\n")
