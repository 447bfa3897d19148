"""Entries of seedlists and the documents that they become."""

import io
from datetime import UTC, datetime

import pytest

from feedmill.model.access import Access, Acl, Entry, Principal, Scope
from feedmill.model.change import AclChange, Content, Delete, InvalidRecord, PutDocument, SourcePosition
from feedmill.model.document import Attributes
from feedmill.wire.seedlist.adapt import SeedlistAdapter
from feedmill.wire.seedlist.parse import iter_entries, scan_page

URL = "https://list.example.com/seedlist/myserver"
ADAPTER = SeedlistAdapter(host="list.example.com", name="connections")


def adapt(*inside: str, page: str = "", fetched: bytes | None = None) -> PutDocument | Delete | InvalidRecord:
    data = [f"<feed>{page}<entry><id>lib:1/a</id>{''.join(inside)}</entry></feed>".encode()]
    scanned = scan_page(data, URL)
    (entry,) = iter_entries(data, URL, scanned)
    content = None if fetched is None else Content(stream=io.BytesIO(fetched), size_bytes=len(fetched))
    return ADAPTER.adapt(1, entry, scanned, content)


def put(*inside: str, page: str = "", fetched: bytes | None = None) -> PutDocument:
    change = adapt(*inside, page=page, fetched=fetched)
    assert isinstance(change, PutDocument), change
    return change


def read_content(change: PutDocument) -> tuple[bytes | None, str | None]:
    return None if change.content is None else change.content.stream.read(), change.attributes.mimetype


def permit(token: str) -> Entry:
    return Entry(access=Access.PERMIT, principal=Principal(scope=Scope.GROUP, name=token, namespace="connections", unqualified=True))


def test_document_has_the_url_of_its_id_and_shows_its_page() -> None:
    change = put(
        '<link rel="via" type="text/html" href="/show?a=1"/><content type="application/pdf" src="/load"/>',
        "<title>T</title><updated>2007-08-21T18:03:45+03:00</updated>",
        fetched=b"%PDF",
    )
    assert change.url == "seedlist://list.example.com/connections/lib%3A1%2Fa"
    assert change.attributes == Attributes(
        display_url="https://list.example.com/show?a=1",
        mimetype="application/pdf",
        last_modified=datetime(2007, 8, 21, 15, 3, 45, tzinfo=UTC),
        title="T",
        overrides_own=True,
    )
    assert change.place == SourcePosition(record=1, line=1)
    assert change.whole
    assert read_content(change)[0] == b"%PDF"


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ('<content src="/load"/>', "https://list.example.com/load"),
        ('<link rel="via" href="javascript:alert(1)"/><content src="/load"/>', "https://list.example.com/load"),
        ('<link rel="via" href="notes://server/db"/>', None),
    ],
)
def test_results_show_only_urls_of_the_web(links: str, expected: str | None) -> None:
    assert put(links).attributes.display_url == expected


@pytest.mark.parametrize(
    ("acls", "expected"),
    [
        ("", None),
        ("<acls/>", Acl()),
        (
            "<acl>uid=ann,o=org</acl><acl>CORP\\x/y@z</acl><acl>uid=ann,o=org</acl>",
            Acl(entries=(permit("uid=ann,o=org"), permit("CORP\\x/y@z"))),
        ),
    ],
)
def test_tokens_are_groups_that_are_never_split(acls: str, expected: Acl | None) -> None:
    assert put(acls).acl == AclChange(element=expected)


def test_token_that_is_too_long_permits_no_user() -> None:
    change = put(f"<acl>{'x' * 1_001}</acl>")
    assert change.acl == AclChange(element=Acl())
    assert [note.reason for note in change.notes] == ["an ACL token is longer than 1000 characters and was left out"]


def test_values_become_metadata() -> None:
    change = put(
        '<field id="COMMENT">good</field><field id="COMMENT">better</field><field id="none"/>',
        '<field id="address"><field id="town">Bonn</field></field>',
        '<field id="publishDate">1196238566203</field><field id="count">1196238566203</field><field id="enddate">99999999999999</field>',
        '<category scheme="com.ibm.wplc.taxonomy://location_taxonomy" term="t" label="Folder"/><category scheme="urn:x" term="no"/>',
        "<author><name>Ann</name></author><author><email>bob@example.com</email></author><securityId>S1</securityId>",
        '<published>2007-08-20T00:00:00Z</published><summary type="html">&lt;p&gt;R&amp;amp;D&lt;/p&gt;</summary>',
        page='<category scheme="com.ibm.wplc.taxonomy://application_taxonomy" term="ContentSourceType/PDM"/>',
    )
    assert change.metadata == (
        ("COMMENT", "good"),
        ("COMMENT", "better"),
        ("address.town", "Bonn"),
        ("publishDate", "2007-11-28T08:29:26+00:00"),
        ("count", "1196238566203"),
        ("enddate", "5138-11-16T09:46:39+00:00"),
        ("application_taxonomy", "ContentSourceType/PDM"),
        ("location_taxonomy", "Folder"),
        ("author", "Ann"),
        ("author", "bob@example.com"),
        ("summary", "R&D"),
        ("securityId", "S1"),
        ("published", "2007-08-20T00:00:00+00:00"),
    )
    assert change.attributes.unsortable == change.attributes.undisplayed == change.attributes.unsearchable == ()


def test_field_infos_limit_what_is_done_with_a_field() -> None:
    change = put(
        '<field id="Secret">a</field><field id="Plain">b</field><field id="address"><field id="town">Bonn</field></field>',
        page="""<fieldInfo id="Secret" returnable="false" contentSearchable="false" sortable="true"/><fieldInfo id="Plain"/>
        <fieldInfo id="address" returnable="false" sortable="true"><fieldInfo id="town" sortable="true"/></fieldInfo>""",
    )
    assert change.attributes.undisplayed == ("secret", "address.town")
    assert change.attributes.only_by_field == ("secret",)
    assert change.attributes.unsearchable == change.attributes.only_in_text == ()
    assert change.attributes.unsortable == ("plain",)


def test_title_and_summary_that_results_must_not_show_are_metadata_only() -> None:
    infos = '<fieldInfo id="title" returnable="false"/><fieldInfo id="summary" returnable="false"/>'
    change = put("<title>T</title><summary>S</summary>", page=infos)
    assert change.attributes.title is None
    assert change.metadata == (("summary", "S"), ("title", "T"))
    assert change.attributes.undisplayed == ("summary", "title")
    assert read_content(change) == (None, None)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<summary>short</summary>", (b"short", "text/plain")),
        ('<summary type="html">&lt;p&gt;x</summary>', (b"<p>x", "text/html")),
        ("<content>w\u00f6rter</content><summary>short</summary>", ("w\u00f6rter".encode(), "text/plain")),
        ('<content type="application/pdf">JVBERg==</content>', (b"%PDF", "application/pdf")),
        ('<content type="application/rss+xml">words</content>', (b"words", "application/rss+xml")),
        ('<content type="application/pdf" src="/load"/>', (None, "application/pdf")),
        ("", (None, None)),
    ],
)
def test_content_is_that_of_the_entry_or_its_summary(inside: str, expected: tuple[bytes | None, str | None]) -> None:
    assert read_content(put(inside)) == expected


def test_delete_has_the_url_of_its_id() -> None:
    assert adapt('<action do="delete"/>') == Delete(
        place=SourcePosition(record=1, line=1), url="seedlist://list.example.com/connections/lib%3A1%2Fa"
    )


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ('<action do="x"/>', 'do of the action="x" is none of insert, update, delete'),
        ('<content type="image/png">?</content>', "content: "),
    ],
)
def test_wrong_entry_is_an_error_of_its_document(inside: str, reason: str) -> None:
    change = adapt(inside)
    assert isinstance(change, InvalidRecord)
    assert change.url == "seedlist://list.example.com/connections/lib%3A1%2Fa"
    assert change.reason.startswith(reason)


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ('contentSearchable="true" fieldSearchable="true" parametric="true"', ()),
        ('contentSearchable="true" fieldSearchable="true" parametric="false"', ("uncounted",)),
        ('contentSearchable="false" fieldSearchable="true" parametric="true"', ("only_by_field",)),
        ('contentSearchable="true" fieldSearchable="false" parametric="false"', ("only_in_text", "uncounted")),
        ('contentSearchable="true" fieldSearchable="false" parametric="true"', ()),
        ('contentSearchable="false" fieldSearchable="false" parametric="false"', ("unsearchable", "uncounted")),
    ],
)
def test_field_infos_say_which_queries_find_a_field(info: str, expected: tuple[str, ...]) -> None:
    attributes = put('<field id="f">a</field>', page=f'<fieldInfo id="f" sortable="true" {info}/>').attributes
    lists = ("unsearchable", "only_by_field", "only_in_text", "uncounted", "unsortable", "undisplayed")
    assert tuple(name for name in lists if getattr(attributes, name)) == expected
