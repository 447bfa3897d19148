"""What servers of seedlists write that no grammar permits: each kind of it by itself, and what is read."""

from collections.abc import Callable

import pytest

from feedmill.wire.seedlist.adapt import SeedlistAdapter
from feedmill.wire.seedlist.parse import iter_entries, scan_page
from feedmill.wire.seedlist.schema import Content, SeedlistEntry, SeedlistPage

URL = "http://list.example.com:9080/seedlist/myserver?Action=GetDocuments&Range=3"
HOST = "http://list.example.com:9080"

Check = Callable[[SeedlistPage, list[SeedlistEntry]], object]


def entry_of(identifier: str = "d1", inside: str = "") -> str:
    return f"<atom:entry><atom:id>{identifier}</atom:id>{inside}</atom:entry>"


def feed_of(*inside: str) -> str:
    return f"<atom:feed>{''.join(inside)}</atom:feed>"


UUID = "13bcb9ed-51a8-4e0b-9d64-2f0f8b7a1c55"

ROWS: list[tuple[str, str, Check]] = [
    (
        "the feed declares no namespace",
        feed_of("<wplc:timestamp>AAAB</wplc:timestamp>", entry_of(inside="<wplc:action do='delete'/>")),
        lambda page, entries: page.timestamp == "AAAB" and entries[0].action.value == "delete",
    ),
    (
        "raw & in href",
        feed_of(
            '<atom:link rel="next" href="/seedlist/myserver?Start=3&Range=3&lt=1"/>',
            entry_of(inside='<atom:link rel="via" href="/show?id=1&copy=2"/>'),
        ),
        lambda page, entries: (
            page.next_url == f"{HOST}/seedlist/myserver?Start=3&Range=3&lt=1" and entries[0].via[0].url == f"{HOST}/show?id=1&copy=2"
        ),
    ),
    (
        "raw & in src",
        feed_of(entry_of(inside='<atom:content type="application/pdf" src="/load?doc=1&amp=2&verb=view"/>')),
        lambda _, entries: entries[0].content == Content(url=f"{HOST}/load?doc=1&amp=2&verb=view", media_type="application/pdf"),
    ),
    (
        "raw & in the text of an id",
        feed_of("<atom:id>http://a.example.com/list?Action=GetChildren&Start=0</atom:id>", entry_of("lib?a=1&b=2")),
        lambda page, entries: page.id == "http://a.example.com/list?Action=GetChildren&Start=0" and entries[0].id == "lib?a=1&b=2",
    ),
    (
        "attribute values over several lines, with blanks inside URLs",
        feed_of(
            '<atom:link rel="next" href="/seedlist/myserver?Start=3&amp;\n      State=MTAw\n"/>',
            entry_of(inside='<atom:link rel="via"\n   href=" /show?\n\tid=1 "/><atom:content src="/files/\r\n   13bc"/>'),
        ),
        lambda page, entries: (
            (page.next_url, entries[0].via[0].url, entries[0].content)
            == (f"{HOST}/seedlist/myserver?Start=3&State=MTAw", f"{HOST}/show?id=1", Content(url=f"{HOST}/files/13bc"))
        ),
    ),
    ("ids padded with newlines", feed_of(entry_of("\n    lib:doc1\r\n  ")), lambda _, entries: entries[0].id == "lib:doc1"),
    (
        "a blank before the port",
        feed_of(entry_of(inside='<atom:link rel="via" href="http://show.example.com :9080/a"/>')),
        lambda _, entries: entries[0].via[0].url == "http://show.example.com:9080/a",
    ),
    (
        "the title counts five entries, and three are listed",
        feed_of("<atom:title>Seedlist Results: 5 entries</atom:title>", *map(entry_of, "abc")),
        lambda page, entries: "5 entries" in page.title and [entry.id for entry in entries] == ["a", "b", "c"],
    ),
    (
        "the id says GetChildren where the links say GetDocuments",
        feed_of(
            "<atom:id>/seedlist/myserver?Action=GetChildren</atom:id>",
            '<atom:link rel="next" href="/seedlist/myserver?Action=GetDocuments&amp;Start=3"/>',
            entry_of(),
        ),
        lambda page, entries: page.next_url == f"{HOST}/seedlist/myserver?Action=GetDocuments&Start=3" and not entries[0].is_container,
    ),
    (
        "acls around the tokens, with DNs that are never split",
        feed_of(entry_of(inside="<wplc:acls><wplc:acl>uid=quikradm,o=default organization</wplc:acl><wplc:acl>b</wplc:acl></wplc:acls>")),
        lambda _, entries: entries[0].acls == ("uid=quikradm,o=default organization", "b"),
    ),
    (
        "securityId, which the grammar does not have",
        feed_of(entry_of(inside="<wplc:securityId>jcr:7</wplc:securityId>")),
        lambda _, entries: entries[0].security_id == "jcr:7",
    ),
    (
        "a content without text and without src",
        feed_of(entry_of(inside='<atom:content type="application/pdf"/><atom:summary>words</atom:summary>')),
        lambda _, entries: entries[0].content is None and entries[0].summary.text == "words",
    ),
    ("an id that is a UUID only", feed_of(entry_of(UUID)), lambda _, entries: find_url(entries[0]).endswith(f"/{UUID}")),
    (
        "ids of documents and of containers that differ in one character",
        feed_of(entry_of("com.ibm.jcr,localhost:0a1f"), entry_of("com.ibm.jcr,localhost!0a1f")),
        lambda _, entries: len({find_url(entry) for entry in entries}) == 2,
    ),
    (
        "another prefix",
        '<a:feed xmlns:a="http://www.w3.org/2005/Atom" xmlns:w="http://www.ibm.com/wplc/atom/1.0">'
        "<a:entry><a:id>d1</a:id><w:acl>t</w:acl></a:entry></a:feed>",
        lambda _, entries: (entries[0].id, entries[0].acls) == ("d1", ("t",)),
    ),
    (
        "the default namespace",
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>d1</id><acl xmlns="http://www.ibm.com/wplc/atom/1.0">t</acl></entry></feed>',
        lambda _, entries: (entries[0].id, entries[0].acls) == ("d1", ("t",)),
    ),
]


def find_url(entry: SeedlistEntry) -> str:
    return SeedlistAdapter(host="list.example.com", name="con").find_url(entry.id)


@pytest.mark.parametrize(("text", "check"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
@pytest.mark.parametrize("piece_bytes", [1, 65_536])
def test_malformed_page_is_read_as_it_was_meant(text: str, check: Check, piece_bytes: int) -> None:
    data = text.encode()
    pieces = [data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes)]
    page = scan_page(pieces, URL)
    entries = [entry for entry in iter_entries(pieces, URL, page) if isinstance(entry, SeedlistEntry)]
    assert check(page, entries), (page, entries)
