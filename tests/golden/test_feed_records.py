import pytest

from feedmill.model.change import Delete, InvalidRecord, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.document import Attributes, AuthMethod
from feedmill.model.errors import BadFeed
from feedmill.model.feed import FeedKind
from tests.golden.feedtext import content_of, feed_of, read_all, read_one, reader, reasons, record_of


def test_record_in_full_feed_is_a_whole_document() -> None:
    feed = feed_of(record_of("<metadata><meta name='a' content='1'/></metadata><content>x</content>"))
    change = read_one(feed, PutDocument, FeedKind.FULL)
    assert change.whole
    assert change.metadata == (("a", "1"),)
    assert content_of(change) == b"x"


def test_record_in_incremental_feed_is_part_of_a_document() -> None:
    change = read_one(feed_of(record_of("<content>x</content>")), PutDocument)
    assert not change.whole
    assert change.metadata is None


def test_record_with_nothing_in_full_feed_is_a_document_without_content() -> None:
    change = read_one(feed_of(record_of()), PutDocument, FeedKind.FULL)
    assert change.whole
    assert change.content is None
    assert change.metadata is None


def test_record_with_empty_content_returns_empty_content() -> None:
    assert content_of(read_one(feed_of(record_of("<content/>")), PutDocument, FeedKind.FULL)) == b""


def test_metadata_alone_in_full_feed_is_an_error() -> None:
    feed = feed_of(record_of("<metadata><meta name='a' content='1'/></metadata>"))
    assert "content" in read_one(feed, InvalidRecord, FeedKind.FULL).reason
    assert read_one(feed, PutDocument).metadata == (("a", "1"),)


@pytest.mark.parametrize("inside", ["<metadata/>", "<metadata><meta name='a' content=''/></metadata>"])
def test_empty_metadata_in_full_feed_is_no_metadata(inside: str) -> None:
    assert read_one(feed_of(record_of(inside)), PutDocument, FeedKind.FULL).metadata is None


def test_record_in_feed_of_urls_asks_for_a_crawl_and_ignores_content() -> None:
    feed = feed_of(record_of("<content>x</content><metadata><meta name='a' content='1'/></metadata>", crawl_immediately="true"))
    change = read_one(feed, RequestCrawl, FeedKind.METADATA_AND_URL)
    assert change.attributes.crawl_immediately
    assert change.metadata == (("a", "1"),)
    assert reasons(change.notes) == "warning: content is ignored in a feed of URLs"


@pytest.mark.parametrize("kind", [FeedKind.FULL, FeedKind.INCREMENTAL, FeedKind.METADATA_AND_URL])
@pytest.mark.parametrize("action", ["delete", "remove", "DELETE", " delete "])
def test_delete_action_in_every_kind_deletes(kind: FeedKind, action: str) -> None:
    assert read_one(feed_of(record_of(action=action)), Delete, kind).url == "http://a.example.com/1"


def test_delete_needs_neither_host_nor_readable_attributes() -> None:
    feed = feed_of(record_of(url="odd", action="delete", authmethod="odd", pagerank="odd"))
    assert read_one(feed, Delete).notes == ()


def test_unknown_action_is_an_error_that_keeps_the_url() -> None:
    change = read_one(feed_of(record_of(action="purge")), InvalidRecord)
    assert change.url == "http://a.example.com/1"
    assert change.reason == 'action="purge" is neither add nor delete'


def test_record_action_beats_group_action() -> None:
    feed = b"<gsafeed><group action='delete'>" + (record_of() + record_of(action="add")).encode() + b"</group></gsafeed>"
    _, changes = read_all(reader(feed))
    assert [type(change) for change in changes] == [Delete, PutDocument]


def test_group_attributes_end_with_their_group() -> None:
    feed = f"<gsafeed><group action='delete' pagerank='90'/><group>{record_of()}</group></gsafeed>".encode()
    assert read_one(feed, PutDocument).attributes.pagerank is None


def test_unknown_group_action_is_an_error_of_its_records_only_without_their_own() -> None:
    feed = b"<gsafeed><group action='odd'>" + (record_of() + record_of(action="add")).encode() + b"</group></gsafeed>"
    _, changes = read_all(reader(feed))
    assert [type(change) for change in changes] == [InvalidRecord, PutDocument]


@pytest.mark.parametrize("record", ["<record/>", "<record url=''/>", "<record url='  ' action='delete'/>"])
def test_record_without_url_is_an_error_of_that_record(record: str) -> None:
    _, changes = read_all(reader(feed_of(record, record_of())))
    assert isinstance(changes[0], InvalidRecord)
    assert changes[0].url is None
    assert isinstance(changes[1], PutDocument)


def test_url_is_trimmed_and_otherwise_untouched() -> None:
    url = "HTTP://Host.Example.com:80/a/../b//c?x=1&amp;%7Ey#frag"
    assert read_one(feed_of(record_of(url=f"\n {url} ")), PutDocument).url == "HTTP://Host.Example.com:80/a/../b//c?x=1&%7Ey#frag"


@pytest.mark.parametrize(
    "url",
    [
        "googleconnector://ds.localhost/doc?docid=1",
        "smb://server.example.com/share/a b.txt",
        "test://x.y/1",
        "internal://x.y/1",
        "\\\\server.example.com\\share\\a",
        "unc://server.example.com/share",
    ],
)
def test_url_of_any_scheme_is_an_id_like_any_other(url: str) -> None:
    change = read_one(feed_of(record_of(url=url)), PutDocument)
    assert change.url == url
    assert change.notes == ()


@pytest.mark.parametrize("url", ["odd", "/path", "http:", "http:///path", "mailto:a@b.example.com", "http://:80/"])
def test_url_without_scheme_or_host_is_an_error(url: str) -> None:
    assert "host" in read_one(feed_of(record_of(url=url)), InvalidRecord).reason


def test_url_with_short_host_is_a_warning_or_an_error_by_setting() -> None:
    feed = feed_of(record_of(url="http://intranet/1"))
    assert reasons(read_one(feed, PutDocument).notes) == 'warning: the host "intranet" is not fully qualified'
    _, changes = read_all(reader(feed, require_fqdn=True))
    assert isinstance(changes[0], InvalidRecord)


def test_url_beyond_the_limit_is_an_error_and_not_stored() -> None:
    change = read_one(feed_of(record_of(url="http://a.example.com/" + "x" * 8_000)), InvalidRecord)
    assert change.url is None
    assert "8000" in change.reason


def test_attributes_are_all_read() -> None:
    record = record_of(
        displayurl=" http://shown.example.com/ ",
        mimetype=" text/html\n",
        last_modified="Tue, 6 Nov 2007 12:45:26 GMT",
        lock="true",
        authmethod="HTTPBasic",
        pagerank="97",
        feedrank="5",
        crawl_immediately="TRUE",
        crawl_once="true",
        scoring="content",
    )
    change = read_one(feed_of(record), PutDocument)
    assert change.attributes.last_modified is not None
    assert change.attributes == Attributes(
        display_url="http://shown.example.com/",
        mimetype="text/html",
        last_modified=change.attributes.last_modified,
        lock=True,
        authmethod=AuthMethod.HTTPBASIC,
        pagerank=97,
        feedrank=None,
        scoring="content",
        crawl_immediately=True,
        crawl_once=True,
    )
    assert change.attributes.last_modified.isoformat() == "2007-11-06T12:45:26+00:00"
    assert change.notes == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("last-modified", "some day"),
        ("pagerank", "high"),
        ("pagerank", "67"),
        ("pagerank", "101"),
        ("feedrank", "0"),
        ("feedrank", "\u0663"),
        ("lock", "yes"),
        ("crawl-once", "1"),
        ("scoring", "best"),
        ("displayurl", "x" * 9_000),
        ("mimetype", "x" * 300),
    ],
)
def test_decoration_that_cannot_be_read_is_a_warning(name: str, value: str) -> None:
    change = read_one(feed_of(record_of(**{name: value})), PutDocument)
    assert change.attributes == Attributes()
    assert reasons(change.notes).startswith("warning: " + name)


def test_empty_attributes_are_as_absent_ones() -> None:
    record = record_of(displayurl="", mimetype="", last_modified="", lock="", authmethod="", pagerank="", action="", scoring="")
    change = read_one(feed_of(record), PutDocument)
    assert change.attributes == Attributes()
    assert change.notes == ()


def test_unknown_authmethod_is_an_error() -> None:
    assert "authmethod" in read_one(feed_of(record_of(authmethod="kerberos")), InvalidRecord).reason


def test_ranks_come_from_record_before_group_and_pagerank_hides_feedrank() -> None:
    inside = record_of() + record_of(pagerank="70") + record_of(feedrank="7") + record_of(pagerank="odd")
    _, changes = read_all(reader(f"<gsafeed><group pagerank='80' feedrank='50'>{inside}</group></gsafeed>".encode()))
    puts = [change.attributes for change in changes if isinstance(change, PutDocument)]
    assert [(put.pagerank, put.feedrank) for put in puts] == [(80, None), (70, None), (80, None), (80, None)]


def test_feedrank_of_group_is_inherited() -> None:
    feed = f"<gsafeed><group feedrank='50'>{record_of()}</group></gsafeed>".encode()
    assert read_one(feed, PutDocument).attributes.feedrank == 50


def test_place_counts_records_and_lines() -> None:
    feed = (
        b"<gsafeed>\n<group>\r\n<acl url='http://a.example.com/'/>\n" + record_of().encode() + b"\n\n<record\n url=''/></group></gsafeed>"
    )
    _, changes = read_all(reader(feed))
    assert [change.place for change in changes] == [
        SourcePosition(record=0, line=3),
        SourcePosition(record=1, line=4),
        SourcePosition(record=2, line=6),
    ]


def test_record_outside_of_groups_counts_where_there_is_a_group() -> None:
    feed = f"<gsafeed>{record_of()}<group/></gsafeed>".encode()
    assert read_one(feed, PutDocument).url == "http://a.example.com/1"


@pytest.mark.parametrize("feed", [b"<gsafeed/>", b"<gsafeed><header/></gsafeed>", b"<gsafeed>" + record_of().encode() + b"</gsafeed>"])
def test_feed_without_group_is_refused(feed: bytes) -> None:
    with pytest.raises(BadFeed, match="<group>"):
        reader(feed).scan()


def test_feed_with_empty_group_is_an_empty_feed() -> None:
    report = reader(b"<gsafeed><group/></gsafeed>").scan()
    assert (report.records, report.changes, report.log) == (0, 0, ())


def test_feed_with_another_root_is_refused() -> None:
    with pytest.raises(BadFeed, match="root element is <xmlgroups>, not <gsafeed>"):
        reader(b"\n<xmlgroups/>").scan()


def test_header_is_read_and_trimmed() -> None:
    header = "<header>\n<datasource>\n hr </datasource><feedtype>full\n</feedtype></header>"
    found = reader(feed_of(header=header)).scan().header
    assert (found.datasource, found.feedtype) == ("hr", "full")


def test_unknown_elements_and_attributes_are_ignored_and_counted_once() -> None:
    strange = "<attachments><path content='x'/></attachments><x:y xmlns:x='urn:x'/>"
    report, changes = read_all(reader(feed_of(record_of(strange + "<content>x</content>", encoding="odd"))))
    assert content_of(changes[0]) == b"x"
    (entry,) = report.log
    assert (entry.level.value, entry.record, entry.line) == ("notice", 0, 0)
    assert entry.reason == "4 unknown elements and attributes were ignored (encoding, attachments, path, x:y)"


def test_scan_and_changes_agree_and_changes_can_be_skipped() -> None:
    feed = feed_of(
        "<acl url='http://a.example.com/'/>", *(record_of("<content>x</content>", url=f"http://a.example.com/{n}") for n in range(5))
    )
    report, changes = read_all(reader(feed))
    assert (report.records, report.changes) == (5, 6)
    for skip in range(8):
        assert [change.place for change in reader(feed).changes(skip)] == [change.place for change in changes[skip:]]


def test_content_of_skipped_changes_is_not_decoded() -> None:
    feed = feed_of(record_of("<content encoding='base64binary'>!!!</content>"), record_of("<content>x</content>"))
    (change,) = reader(feed).changes(1)
    assert content_of(change) == b"x"
