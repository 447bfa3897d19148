import pytest

from feedmill.model.change import Delete, PutAcl, PutDocument
from feedmill.model.errors import BadFeed
from feedmill.model.feed import FeedKind, LogEntry, LogLevel
from feedmill.services.feeds.reading import ScanReport
from tests.feedreaders import gsafeed_reader
from tests.golden.feedtext import content_of, feed_of, only, read_all, reader, record_of


def repaired(feed: str | bytes, wanted: type = PutDocument) -> tuple[ScanReport, object]:
    data = feed.encode() if isinstance(feed, str) else feed
    report, changes = read_all(reader(data, piece_bytes=11))
    assert report.repaired
    assert all(entry.level is LogLevel.WARNING for entry in report.log)
    return report, only(changes, wanted)


def in_group(inside: str) -> str:
    return f"<gsafeed>\n<group>\n{inside}\n</group></gsafeed>"


def test_raw_ampersands_are_repaired_in_urls_and_text() -> None:
    report, change = repaired(in_group('<record url="http://a.example.com/?a=1&b=2&amp;c&#51;&" action="delete">Q & A</record>'), Delete)
    assert isinstance(change, Delete)
    assert change.url == "http://a.example.com/?a=1&b=2&c3&"
    assert report.log == (LogEntry(level=LogLevel.WARNING, reason="repaired: a raw & was read as &amp; (3 times, first here)", line=3),)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("&ocirc;&nbsp;&euro;", "\u00f4\u00a0\u20ac"),
        ("&AMP;&LT;&quot;&Tab;|&NewLine;|", '&<"\t|\n|'),
        ("&CounterClockwiseContourIntegral;", "\u2233"),
        ("&NotEqualTilde;", "\u2242\u0338"),
        ("AT&T; &copy &unknown; &; &#; &#x; &#12521 &a1b2c3;", "AT&T; &copy &unknown; &; &#; &#x; &#12521 &a1b2c3;"),
        ("&ocirc;&#xE9;&#233;&lt;&gt;&apos;", "\u00f4\u00e9\u00e9<>'"),
    ],
)
def test_entities_of_html_become_their_characters(written: str, read: str) -> None:
    _, change = repaired(feed_of(record_of(f"<content>{written}</content>")))
    assert content_of(change).decode() == read
    _, change = repaired(feed_of(record_of(f'<meta name="a" content="{written}"/>')))
    assert isinstance(change, PutDocument)
    assert change.metadata == (("a", read),)


def test_references_to_forbidden_characters_become_blanks() -> None:
    report, change = repaired(feed_of(record_of("<content>a&#0;b&#x1F;c&#xFFFF;d&#xD800;e&#999999999;f&#9;g</content>")))
    assert content_of(change) == b"a b c d e f\tg"
    assert "forbidden character" in report.log[0].reason
    assert "5 times" in report.log[0].reason


def test_control_bytes_become_blanks_in_cdata_too() -> None:
    report, change = repaired(feed_of(record_of("<content>a\x00b<![CDATA[c\x0bd\uffffe]]></content><!-- \x01 -->")) + b"\x1a")
    assert content_of(change) == b"a bc d e"
    assert "5 times" in report.log[0].reason


def test_undecodable_bytes_are_read_as_windows_1252() -> None:
    feed = b"<?xml version='1.0' encoding='UTF-8'?>\n" + feed_of(record_of("<content>caf@<![CDATA[ @]]></content>")).replace(
        b"@", b"\xe9\x80"
    )
    report, change = repaired(feed)
    assert content_of(change).decode() == "caf\u00e9\u20ac \u00e9\u20ac"
    assert report.log[0].line == 2


def test_curly_quotes_around_values_become_straight() -> None:
    acl = "<acl url=\u201dhttp://a.example.com/\u201d inheritance-type=\u201cchild-overrides\u201d\n inherit-from = \u2019http://p.example.com/o\u2019n\u2019/>"
    report, change = repaired(in_group(acl), PutAcl)
    assert isinstance(change, PutAcl)
    assert change.acl is not None
    assert change.acl.inheritance_type.value == "child-overrides"
    assert change.acl.inherit_from == "http://p.example.com/o\u2019n"
    assert "curly quotes" in report.log[0].reason
    assert "3 times" in report.log[0].reason


def test_straight_quotes_and_ampersands_inside_curly_ones_are_preserved() -> None:
    _, change = repaired(feed_of(record_of("<meta name=\u201ca\u201d content=\u201csay \"hi\" &amp; 'ho' & \u2018x\u2019\u201d/>")))
    assert isinstance(change, PutDocument)
    assert change.metadata == (("a", "say \"hi\" & 'ho' & \u2018x\u2019"),)


def test_curly_quotes_inside_straight_ones_and_in_text_are_preserved() -> None:
    _, change = repaired(feed_of(record_of('<meta name="a" content="\u201cx\u201d &"/><content>\u201cy\u201d = \u201cz\u201d &</content>')))
    assert isinstance(change, PutDocument)
    assert change.metadata == (("a", "\u201cx\u201d &"),)
    assert content_of(change).decode() == "\u201cy\u201d = \u201cz\u201d &"


def test_missing_blank_between_attributes_is_put() -> None:
    report, change = repaired(in_group("<record url='http://a.example.com/1'mimetype=\"text/html\"lock='true'/>"))
    assert isinstance(change, PutDocument)
    assert (change.attributes.mimetype, change.attributes.lock) == ("text/html", True)
    assert "missing blank" in report.log[0].reason


def test_cdata_and_comments_and_instructions_are_not_touched() -> None:
    inside = "<![CDATA[a & b &ocirc; <x y=\u201cz\u201d a='1'b='2'> ]] > ]]><!-- & <a b='1'c=\u201cd\u201d> --><?x & ?>&"
    _, change = repaired(feed_of(record_of(f"<content>{inside}</content>")))
    assert content_of(change).decode() == "a & b &ocirc; <x y=\u201cz\u201d a='1'b='2'> ]] > &"


def test_all_repairs_at_once_preserve_lines_and_are_reported_once_each() -> None:
    feed = (
        "\n<?xml version=\u20191.0\u2019 encoding=\u2019UTF-8\u2019?>\n<gsafeed><group>\n"
        "<record url=\u201dhttp://a.example.com/1\u201dlock='true'>\n<content>&eacute; & \x02</content></record>\n"
        "<record url=''/></group></gsafeed>"
    )
    report, changes = read_all(reader(feed.encode(), FeedKind.FULL))
    assert [entry.line for entry in report.log] == [1, 5, 4, 4, 5, 5]
    assert [change.place.line for change in changes] == [4, 6]


@pytest.mark.parametrize(
    ("inside", "line", "column", "said"),
    [
        ('<record url="http://a.example.com/<x"/>', 3, 35, "raw <"),
        ("<record url='http://a.example.com/'>\n<metadata><meta name='a' content='b'></metadata></record>", 4, 40, "<meta> is not closed"),
        ("<record url='http://a.example.com/'><content><test content></content></record>", 3, 59, "raw <"),
        ("<record url='http://a.example.com/' url='x'/>", 3, 37, "twice"),
        ("<record url=\u201chttp://a.example.com/>\n<content>&</content></record>", 4, 1, "raw <"),
        ("<record url=http://a.example.com/ />", 3, 13, "a missing quote"),
        ("<!-- a -- b -->", 3, 10, ""),
    ],
)
def test_what_can_be_meant_in_more_than_one_way_is_refused_with_its_place(inside: str, line: int, column: int, said: str) -> None:
    for piece_bytes in (3, 1_000):
        with pytest.raises(BadFeed) as caught:
            reader(in_group(inside).encode(), piece_bytes=piece_bytes).scan()
        assert (caught.value.line, caught.value.column) == (line, column)
        assert said in caught.value.reason


@pytest.mark.parametrize("cut", [10, 60, 75, 85, 90])
def test_truncated_feed_is_refused(cut: int) -> None:
    feed = feed_of(record_of("<content><![CDATA[x]]></content>"))
    with pytest.raises(BadFeed):
        reader(feed[:cut]).scan()


def test_feed_that_needs_no_repair_is_read_once() -> None:
    opened = 0
    plain = reader(feed_of(record_of("<content>&amp;</content>")))

    def count() -> object:
        nonlocal opened
        opened += 1
        return plain.opener()

    gsafeed_reader(count).scan()  # type: ignore[arg-type]
    assert opened == 1
