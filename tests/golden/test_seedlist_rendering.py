"""Pages that this server writes are read back as they were."""

from datetime import UTC, datetime

import pytest

from feedmill.wire.seedlist.parse import iter_entries, scan_page
from feedmill.wire.seedlist.render import iter_page
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

URL = "http://localhost:8080/seedlist/myserver"
INFOS = {
    "size": FieldInfo(id="size", name="Size", description="of the file", type=FieldType.LONG, parametric=True, sortable=True),
    "address": FieldInfo(id="address", type=FieldType.FIELDS, parts=(FieldInfo(id="town", returnable=False, supports_exact_match=True),)),
}


def render(page: SeedlistPage, *entries: SeedlistEntry) -> bytes:
    return b"".join(iter_page(page, entries))


def read_back(page: SeedlistPage, *entries: SeedlistEntry) -> list[SeedlistEntry | InvalidEntry]:
    data = [render(page, *entries)]
    return list(iter_entries(data, URL, scan_page(data, URL)))


def test_page_is_read_back_as_it_was() -> None:
    page = SeedlistPage(
        id=f"{URL}?Action=GetDocuments&Start=0",
        title="all <documents> & more",
        timestamp="AAABFoVf8zs=",
        next_url=f"{URL}?State=a%2Bb&Range=2",
        previous_url=URL,
        action=Action.UPDATE,
        categories=(Category(scheme="com.ibm.wplc.taxonomy://application_taxonomy", term="t", label='"l"'),),
        field_infos=INFOS,
    )
    assert scan_page([render(page)], URL) == page


@pytest.mark.parametrize("acls", [None, (), ("uid=ann,o=default organization", "a<b>&c")])
def test_document_is_read_back_as_it_was(acls: tuple[str, ...] | None) -> None:
    entry = SeedlistEntry(
        line=0,
        id="googleconnector://a.example.com/doc?id=1&x",
        action=Action.INSERT,
        title=AtomText(text="R&D <b>", type=TextType.TEXT),
        summary=AtomText(text="<p>short</p>", type=TextType.HTML),
        content=Content(url="http://localhost/load?a=1&b=2", media_type="application/pdf"),
        via=(Link(url="http://a.example.com/show?a=1&b=2", media_type="text/html", title="A 'file\".pdf", language="en"),),
        related=(Link(url="http://a.example.com/more"),),
        authors=(Author(name="Ann", uri="uid=ann", email="ann@example.com"),),
        categories=(Category(scheme="com.ibm.wplc.taxonomy://location_taxonomy", term="c", label="Folder"),),
        updated_at=datetime(2007, 8, 21, 15, 3, 45, 120_000, tzinfo=UTC),
        published_at=datetime(2007, 8, 20, tzinfo=UTC),
        language="en",
        security_id="S1",
        field_infos={**INFOS, "own": FieldInfo(id="own", content_searchable=False, field_searchable=False)},
        fields=(Field(id="a", text="one\r\ntwo"), Field(id="a", text="three"), Field(id="address", parts=(Field(id="town", text="Bonn"),))),
        acls=acls,
    )
    (read,) = read_back(SeedlistPage(field_infos=INFOS), entry)
    assert isinstance(read, SeedlistEntry)
    assert read == SeedlistEntry(**{name: getattr(entry, name) for name in SeedlistEntry.__slots__} | {"line": read.line})


def test_container_is_read_back_as_one() -> None:
    container = SeedlistEntry(line=0, id="c", is_container=True, children_url=f"{URL}?a=1", documents_url=f"{URL}?b=2")
    (read,) = read_back(SeedlistPage(), container)
    assert isinstance(read, SeedlistEntry)
    assert read.is_container
    assert (read.children_url, read.documents_url) == (f"{URL}?a=1", f"{URL}?b=2")


def test_text_that_xml_cannot_hold_becomes_replacement_characters() -> None:
    entry = SeedlistEntry(
        line=0, id="a\x00b", title=AtomText(text="]]>\x0c\ufffe\ud800"), content=Content(text="x", media_type="text/plain")
    )
    (read,) = read_back(SeedlistPage(), entry)
    assert isinstance(read, SeedlistEntry)
    assert (read.id, read.title.text) == ("a\ufffdb", "]]>\ufffd\ufffd\ufffd")
    assert read.content == entry.content


def test_page_declares_both_namespaces() -> None:
    assert render(SeedlistPage()).startswith(
        b'<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" xmlns:wplc="http://www.ibm.com/wplc/atom/1.0">'
    )
