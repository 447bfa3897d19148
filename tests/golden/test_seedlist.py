"""Pages of seedlists and what they mean, correct ones and those that servers write."""

from datetime import UTC, datetime

import pytest

from feedmill.model.errors import BadFeed
from feedmill.wire.seedlist import parse
from feedmill.wire.seedlist.parse import iter_entries, scan_page
from feedmill.wire.seedlist.schema import (
    Action,
    AtomText,
    Author,
    Category,
    Content,
    Field,
    FieldInfo,
    FieldType,
    InvalidEntry,
    Link,
    SeedlistEntry,
    SeedlistPage,
    TextType,
)

URL = "https://list.example.com/files/seedlist/myserver?Range=2"
BOTH = 'xmlns="http://www.w3.org/2005/Atom" xmlns:wplc="http://www.ibm.com/wplc/atom/1.0"'


def page_of(*inside: str, declared: str = BOTH) -> bytes:
    return f"<feed {declared}>{''.join(inside)}</feed>".encode()


def entry_of(*inside: str, identifier: str = "d1") -> str:
    return f"<entry><id>{identifier}</id>{''.join(inside)}</entry>"


def cut(data: bytes, piece_bytes: int = 65_536) -> list[bytes]:
    return [data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes)]


def scan(data: bytes) -> SeedlistPage:
    return scan_page(cut(data), URL)


def read_all(data: bytes, piece_bytes: int = 65_536) -> list[SeedlistEntry | InvalidEntry]:
    pieces = cut(data, piece_bytes)
    return list(iter_entries(pieces, URL, scan_page(pieces, URL)))


def read_one(*inside: str) -> SeedlistEntry:
    (entry,) = read_all(page_of(entry_of(*inside)))
    assert isinstance(entry, SeedlistEntry), entry
    return entry


def fault_of(data: bytes) -> InvalidEntry:
    (entry,) = read_all(data)
    assert isinstance(entry, InvalidEntry), entry
    return entry


DOCUMENT = """<entry xml:lang="en"><id> lib:doc1
   </id>
  <link href="/show?doc=1" rel="via" type="text/html; charset=utf-8" hreflang="en" title="A  file.pdf"/>
  <link href="/load?doc=2" rel="related" type="application/pdf"/>
  <content type="application/PDF" src="/load?doc=1"/>
  <wplc:securityId>S1</wplc:securityId>
  <author><name>Ann</name><uri>uid=ann,o=default organization</uri><email>ann@example.com</email></author>
  <category term="c1" scheme="com.ibm.wplc.taxonomy://location_taxonomy" label="Folder"/>
  <title>A   title</title><updated>2007-08-21T18:03:45+03:00</updated><published>2007-08-20T00:00:00Z</published>
  <wplc:action do="insert"/>
  <wplc:acls><wplc:acl> uid=ann,o=default organization </wplc:acl><wplc:acl>cn=all, of them</wplc:acl></wplc:acls>
  <wplc:field id="COMMENT" xml:lang="en"> good </wplc:field><wplc:field id="COMMENT">better</wplc:field>
  <summary>in short</summary></entry>"""


def test_document_has_all_its_values() -> None:
    (entry,) = read_all(page_of(DOCUMENT))
    assert entry == SeedlistEntry(
        line=1,
        id="lib:doc1",
        action=Action.INSERT,
        title=AtomText(text="A title"),
        summary=AtomText(text="in short"),
        content=Content(url="https://list.example.com/load?doc=1", media_type="application/pdf"),
        via=(Link(url="https://list.example.com/show?doc=1", media_type="text/html", title="A file.pdf", language="en"),),
        related=(Link(url="https://list.example.com/load?doc=2", media_type="application/pdf"),),
        authors=(Author(name="Ann", uri="uid=ann,o=default organization", email="ann@example.com"),),
        categories=(Category(scheme="com.ibm.wplc.taxonomy://location_taxonomy", term="c1", label="Folder"),),
        updated_at=datetime(2007, 8, 21, 15, 3, 45, tzinfo=UTC),
        published_at=datetime(2007, 8, 20, tzinfo=UTC),
        language="en",
        security_id="S1",
        fields=(Field(id="COMMENT", text="good"), Field(id="COMMENT", text="better")),
        acls=("uid=ann,o=default organization", "cn=all, of them"),
    )
    assert entry.categories[0].taxonomy == "location_taxonomy"


@pytest.mark.parametrize("piece_bytes", [1, 7, 100])
def test_boundaries_of_pieces_change_nothing(piece_bytes: int) -> None:
    data = page_of(DOCUMENT, entry_of("<title>&amp; R & D</title>"), '<action do="delete"/>')
    assert read_all(data, piece_bytes) == read_all(data)


def test_page_has_what_holds_for_all_entries() -> None:
    page = scan(
        page_of(
            "<id>\n https://list.example.com/seedlist?a=1&\n b=2 </id><title>Five  entries</title>",
            '<link rel="next" href="?Start=2"/><link rel="PREVIOUS" href="/seedlist?Start=0"/>',
            '<wplc:timestamp> AAABFoVf8zs= </wplc:timestamp><wplc:action do="update"/>',
            '<category term="ContentSourceType/PDM" scheme="com.ibm.wplc.taxonomy://application_taxonomy" label="PDM"/>',
            '<wplc:fieldInfo id="size" type="long" parametric="TRUE"/>',
            entry_of(),
            entry_of(identifier=""),
        )
    )
    assert page.id == "https://list.example.com/seedlist?a=1&b=2"
    assert page.title == "Five entries"
    assert page.next_url == "https://list.example.com/files/seedlist/myserver?Start=2"
    assert page.previous_url == "https://list.example.com/seedlist?Start=0"
    assert page.timestamp == "AAABFoVf8zs="
    assert page.action is Action.UPDATE
    assert [category.label for category in page.categories] == ["PDM"]
    assert page.field_infos == {"size": FieldInfo(id="size", type=FieldType.LONG, parametric=True)}
    assert page.entries == 2


def test_empty_page_has_no_entries() -> None:
    assert scan(b"<feed/>") == SeedlistPage()
    assert read_all(b"<feed/>") == []


@pytest.mark.parametrize(
    "data",
    [
        b"<a:feed><a:entry><a:id>1</a:id><w:acls><w:acl>t</w:acl></w:acls></a:entry></a:feed>",
        b"<feed><entry><id>1</id><acl>t</acl></entry></feed>",
        b'<x:feed xmlns:x="http://www.w3.org/2005/Atom"><x:entry><x:id>1</x:id><acl xmlns="http://www.ibm.com/wplc/atom/1.0">t</acl></x:entry></x:feed>',
        b'<feed xmlns:w="http://www.ibm.com/wplc/atom/2.0/"><entry><id>1</id><w:acl>t</w:acl></entry></feed>',
        b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id xmlns="">1</id><wplc:acl>t</wplc:acl></entry></feed>',
    ],
    ids=["undeclared", "none", "other", "later-version", "undeclared-beside-default"],
)
def test_prefixes_may_be_any_or_none(data: bytes) -> None:
    (entry,) = read_all(data)
    assert isinstance(entry, SeedlistEntry)
    assert (entry.id, entry.acls) == ("1", ("t",))


def test_elements_of_other_namespaces_do_not_count() -> None:
    entry = read_one(
        '<m:title xmlns:m="http://media.test/">media</m:title><title>ours</title><author xmlns="urn:x"><name>n</name></author>'
    )
    assert entry.title.text == "ours"
    assert entry.authors == ()


def test_raw_ampersands_are_repaired_and_reported() -> None:
    data = page_of(entry_of('<link rel="via" href="/a?b=1&verb=view&copy=2"/><title>R&D</title>'))
    (entry,) = read_all(data)
    assert isinstance(entry, SeedlistEntry)
    assert entry.via[0].url == "https://list.example.com/a?b=1&verb=view&copy=2"
    assert entry.title.text == "R&D"
    assert [remark.reason for remark in scan(data).remarks] == ["repaired: a raw & was read as &amp; (3 times, first here)"]


def test_white_space_is_dropped_from_urls() -> None:
    entry = read_one('<content src="http://host.example.com :9080/files/\n     13bcb9ed-\n  51a8"/>')
    assert entry.content == Content(url="http://host.example.com:9080/files/13bcb9ed-51a8")


def test_relative_urls_are_resolved_against_the_nearest_base() -> None:
    data = b"""<feed xml:base="/lists/"><entry xml:base="one/"><id>1</id><link rel="via" href="a"/>
    <content xml:base="http://other.example.com/x/" src="b"/></entry><entry><id>2</id><link rel="via" href="c"/></entry></feed>"""
    first, second = read_all(data)
    assert isinstance(first, SeedlistEntry)
    assert isinstance(second, SeedlistEntry)
    assert first.via[0].url == "https://list.example.com/lists/one/a"
    assert first.content == Content(url="http://other.example.com/x/b")
    assert second.via[0].url == "https://list.example.com/lists/c"


def test_container_is_distinguished_from_a_document_by_the_type_of_its_link() -> None:
    children = '<link rel="alternate" type="application/atom+xml" href="/list?Action=GetChildren&Start=0"/>'
    documents = '<link wplc:repeatable="false" rel="via" type="application/atom+xml" href="/list?Action=GetDocuments"/>'
    container = read_one(children, documents)
    assert container.is_container
    assert container.children_url == "https://list.example.com/list?Action=GetChildren&Start=0"
    assert container.documents_url == "https://list.example.com/list?Action=GetDocuments"
    assert container.via == ()
    assert read_one(children).is_container
    for document in (read_one(children, '<content src="/x"/>'), read_one(documents, '<link rel="via" href="/x"/>'), read_one()):
        assert not document.is_container
        assert document.children_url == document.documents_url == ""


ACLS_OF_PAGE = "<wplc:acls><wplc:acl>page</wplc:acl></wplc:acls>"


@pytest.mark.parametrize(
    ("page", "entry", "expected"),
    [
        ("", "", None),
        ("", "<wplc:acls/>", ()),
        ("", "<wplc:acl/>", ()),
        ("", "<wplc:acls><wplc:acl> </wplc:acl></wplc:acls>", ()),
        ("", "<wplc:acl>a</wplc:acl><wplc:acl>b</wplc:acl>", ("a", "b")),
        (ACLS_OF_PAGE, "", ("page",)),
        (ACLS_OF_PAGE, "<wplc:acls/>", ()),
        (ACLS_OF_PAGE, "<wplc:acl>own</wplc:acl>", ("own",)),
        ("<wplc:acls/>", "", ()),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_acls_of_an_entry_go_before_those_of_the_page(page: str, entry: str, expected: tuple[str, ...] | None, is_last: bool) -> None:
    inside = (entry_of(entry), page) if is_last else (page, entry_of(entry))
    (read,) = read_all(page_of(*inside))
    assert isinstance(read, SeedlistEntry)
    assert read.acls == expected


def test_action_of_an_entry_goes_before_that_of_the_page() -> None:
    entries = read_all(page_of('<wplc:action do="delete"/>', entry_of(), entry_of('<wplc:action do="Insert"/>')))
    assert [entry.action for entry in entries if isinstance(entry, SeedlistEntry)] == [Action.DELETE, Action.INSERT]
    assert read_one().action is Action.UPDATE


def test_field_info_of_an_entry_goes_before_that_of_the_page() -> None:
    page = page_of(
        '<wplc:fieldInfo id="a" returnable="true"/>',
        '<wplc:fieldInfo id="b" name="B" description="is b" type="Boolean" contentSearchable="false"',
        ' fieldSearchable="false" sortable="true" supportsExactMatch="true"/>',
        entry_of('<wplc:fieldInfo id="a" returnable="false"/>'),
    )
    (entry,) = read_all(page)
    assert isinstance(entry, SeedlistEntry)
    assert entry.field_infos == {
        "a": FieldInfo(id="a", returnable=False),
        "b": FieldInfo(
            id="b",
            name="B",
            description="is b",
            type=FieldType.BOOLEAN,
            content_searchable=False,
            field_searchable=False,
            sortable=True,
            supports_exact_match=True,
        ),
    }


def test_unreadable_field_infos_are_reported_and_hide_the_field() -> None:
    infos = '<wplc:fieldInfo id="a" type="colour" returnable="perhaps" sortable="1"/><wplc:fieldInfo/>'
    page = scan(page_of(infos))
    assert page.field_infos == {"a": FieldInfo(id="a", returnable=False)}
    assert len(page.remarks) == 4
    assert len(read_one(infos).remarks) == 4


def test_complex_fields_and_their_infos_are_nested() -> None:
    entry = read_one(
        '<wplc:fieldInfo id="address" type="fields"><wplc:fieldInfos><wplc:fieldInfo id="town"/></wplc:fieldInfos></wplc:fieldInfo>',
        '<wplc:field id="address">dropped <wplc:field id="town"> Bonn </wplc:field><wplc:fields><wplc:field id="zip">1</wplc:field>',
        '</wplc:fields></wplc:field><wplc:field id="after">x</wplc:field><wplc:field>nameless</wplc:field>',
    )
    assert entry.field_infos["address"] == FieldInfo(id="address", type=FieldType.FIELDS, parts=(FieldInfo(id="town"),))
    assert entry.fields == (
        Field(id="address", parts=(Field(id="town", text="Bonn"), Field(id="zip", text="1"))),
        Field(id="after", text="x"),
    )
    assert entry.remarks == ("a field without an id was left out",)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<content>words</content>", Content(text="words", media_type="text/plain")),
        ('<content type="html">&lt;p&gt;words</content>', Content(text="<p>words", media_type="text/html")),
        ('<content type="xhtml"><div><p>one</p><p>t<b>w</b>o</p></div></content>', Content(text="one\n\ntwo", media_type="text/plain")),
        (
            '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>one</p><p>t<b>w</b>o</p></div></content>',
            Content(text="one\n\ntwo", media_type="text/plain"),
        ),
        (
            '<content type="xhtml"><h:div xmlns:h="http://www.w3.org/1999/xhtml">t<h:B>w</h:B>o<h:br/>three</h:div></content>',
            Content(text="two\n\nthree", media_type="text/plain"),
        ),
        ('<content type="image/png">iVBORw==</content>', Content(text="iVBORw==", media_type="image/png")),
        ('<content type="application/pdf"/>', None),
        ('<content src=" "/>', None),
    ],
)
def test_content_may_stand_in_the_entry(content: str, expected: Content | None) -> None:
    assert read_one(content).content == expected


def test_summary_may_be_html() -> None:
    assert read_one('<summary type="html">&lt;p&gt;short</summary>').summary == AtomText(text="<p>short", type=TextType.HTML)


def test_delete_needs_nothing_but_an_id() -> None:
    assert read_one('<wplc:action do="delete"/>') == SeedlistEntry(line=1, id="d1", action=Action.DELETE)


def test_unreadable_dates_are_left_out_with_a_remark() -> None:
    entry = read_one("<updated>yesterday</updated><published/>")
    assert entry.updated_at is None
    assert entry.remarks == ('<updated> of "yesterday" is no date',)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("<entry/>", "an entry without an id"),
        ("<entry><id> </id></entry>", "an entry without an id"),
        (entry_of('<wplc:action do="archive"/>'), 'do of the action="archive" is none of insert, update, delete'),
        (entry_of("<wplc:action/>"), "do of the action is missing; it is one of insert, update, delete"),
        (entry_of('<link rel="via" href="http://[/"/>'), 'href="http://[/" is no URL'),
        (entry_of('<content src="//[x"/>'), 'src="//[x" is no URL'),
    ],
)
def test_wrong_entry_costs_only_itself(entry: str, reason: str) -> None:
    faulty, correct = read_all(page_of(entry, entry_of(identifier="d2")))
    assert isinstance(faulty, InvalidEntry)
    assert faulty.reason == reason
    assert correct == SeedlistEntry(line=1, id="d2")


def test_entry_beyond_the_limits_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MAX_ENTRY_CHARACTERS", 1_000)
    monkeypatch.setattr(parse, "MAX_ENTRY_VALUES", 10)
    assert fault_of(page_of(entry_of(f"<summary>{'x' * 1_001}</summary>"))).reason == "more than 1000 characters in an entry"
    assert fault_of(page_of(entry_of("<wplc:acl>x</wplc:acl>" * 11))).reason == "more than 10 links, categories, fields and ACLs"


def test_page_beyond_the_limits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MAX_ENTRY_CHARACTERS", 1_000)
    monkeypatch.setattr(parse, "MAX_FEED_VALUES", 10)
    with pytest.raises(BadFeed, match="more than 1000 characters outside the entries"):
        scan(page_of(f"<title>{'x' * 1_001}</title>"))
    with pytest.raises(BadFeed, match="more than 10 links"):
        scan(page_of("<link/>" * 11))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<!DOCTYPE html><html><body>Please sign in</body></html>",
        b"<feed><entry><id>1</id></entry>",
        b"<feed><entry><id>1</entry></feed>",
        b'<feed xmlns="http://purl.org/atom/ns#"/>',
        b'<feed><action do="archive"/></feed>',
        b'<feed><link rel="next" href="http://[/"/></feed>',
        b"not XML",
    ],
)
def test_unreadable_page_is_refused_as_a_whole(data: bytes) -> None:
    with pytest.raises(BadFeed):
        scan(data)
