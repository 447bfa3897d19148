import pytest

from feedmill.model.errors import BadFeed
from feedmill.wire.xmlstream.prolog import MAX_PROLOG_BYTES
from tests.golden.feedtext import content_of, feed_of, read_all, reader, record_of

DOCTYPE = '<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">'
BODY = feed_of(record_of("<content>x</content>")).decode()


def text_feed(content: str, declaration: str) -> str:
    return declaration + feed_of(record_of(f"<content>{content}</content>")).decode()


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("UTF8", "utf-8", "gr\u00fcn \u65e5\u672c"),
        ("utf-8", "utf-8", "gr\u00fcn"),
        ("ISO-8859-1", "cp1252", "gr\u00fcn \u20ac"),
        ("latin1", "latin-1", "gr\u00fcn"),
        ("windows-1252", "cp1252", "\u201equoted\u201c"),
        ("ISO-8859-15", "iso8859-15", "\u20ac"),
        ("windows-1251", "cp1251", "\u043f\u0440\u0438\u0432\u0435\u0442"),
        ("KOI8-R", "koi8-r", "\u043f\u0440\u0438\u0432\u0435\u0442"),
        ("Shift_JIS", "shift_jis", "\u65e5\u672c\u8a9e\u8868"),
        ("x-sjis", "cp932", "\u65e5\u672c\u2460"),
        ("EUC-JP", "euc_jp", "\u65e5\u672c\u8a9e"),
        ("ISO-2022-JP", "iso2022_jp", "\u65e5\u672c\u8a9e"),
        ("GBK", "gbk", "\u4e2d\u6587"),
        ("gb2312", "gb18030", "\u4e2d\u6587"),
        ("GB18030", "gb18030", "\u4e2d\u6587"),
        ("EUC-KR", "cp949", "\ud55c\uad6d\uc5b4"),
        ("ks_c_5601-1987", "euc_kr", "\ud55c\uad6d\uc5b4"),
        ("Big5", "big5", "\u4e2d\u6587"),
        ("TIS-620", "cp874", "\u0e44\u0e17\u0e22"),
    ],
)
def test_label_of_encoding_in_use_is_followed(label: str, codec: str, text: str) -> None:
    report, changes = read_all(reader(text_feed(text, f"<?xml version='1.0' encoding='{label}'?>\n").encode(codec), piece_bytes=7))
    assert content_of(changes[0]).decode() == text
    assert report.log == ()
    assert not report.repaired


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("label", ["UTF-16", "ISO-8859-1"])
def test_byte_order_mark_or_zero_bytes_decide(codec: str, label: str) -> None:
    feed = text_feed("gr\u00fcn \U0001f600", f'<?xml version="1.0" encoding="{label}"?>')
    report, changes = read_all(reader(feed.encode(codec), piece_bytes=3))
    assert content_of(changes[0]).decode() == "gr\u00fcn \U0001f600"
    assert report.log == ()


@pytest.mark.parametrize("label", ["utf-16", "UCS-4", "cp037", "martian-7", "unicode_escape", "rot13", "utf-7"])
def test_label_that_cannot_be_followed_never_loses_the_feed(label: str) -> None:
    feed = text_feed("gr\u00fcn", f'<?xml version="1.0" encoding="{label}"?>')
    report, changes = read_all(reader(feed.encode()))
    assert content_of(changes[0]).decode() == "gr\u00fcn"
    (entry,) = report.log
    assert entry.level.value == "warning"
    assert label in entry.reason


def test_unknown_label_over_windows_1252_is_repaired() -> None:
    feed = text_feed("gr\u00fcn", '<?xml version="1.0" encoding="martian-7"?>')
    report, changes = read_all(reader(feed.encode("cp1252")))
    assert content_of(changes[0]).decode() == "gr\u00fcn"
    assert report.repaired


def test_label_in_curly_quotes_is_followed() -> None:
    feed = text_feed("gr\u00fcn", "<?xml version=\u20191.0\u2019 encoding=\u2019ISO-8859-1\u2019?>")
    _, changes = read_all(reader(feed.encode("cp1252")))
    assert content_of(changes[0]).decode() == "gr\u00fcn"


@pytest.mark.parametrize(
    "prolog",
    [
        "",
        "\n  ",
        DOCTYPE,
        f'<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n{DOCTYPE}\n',
        "<?xml version='1.1'?><!DOCTYPE gsafeed PUBLIC '-//Google//DTD GSA Feeds//EN' 'http://127.0.0.1:1/none.dtd'>",
        "<!DOCTYPE xmlgroups>",
        "<!DOCTYPE gsafeed PUBLIC '-//Google//DTD GSA Feeds//EN'>",
        "<!DOCTYPE gsafeed SYSTEM 'gsafeed.dtd'>",
        "<!DOCTYPE gsafeed []>",
        "<!DOCTYPE gsafeed [ <!ELEMENT a (b)> <!ATTLIST a b CDATA '>]'> <!-- <!ENTITY --> <?x <!ENTITY ?> ] >",
        f"<!-- one -->\n{DOCTYPE}<!-- two --><?pi x?>",
    ],
)
def test_prolog_in_every_dress_is_accepted_in_silence(prolog: str) -> None:
    report, changes = read_all(reader((prolog + BODY).encode(), piece_bytes=5))
    assert content_of(changes[0]) == b"x"
    assert report.log == ()


@pytest.mark.parametrize(
    ("prolog", "said"),
    [
        (" \n<?xml version='1.0'?>", "byte order mark"),
        ("\x00<?xml version='1.0'?>", "byte order mark"),
        ("\ufeff\ufeff<?xml version='1.0'?>", "byte order mark"),
        ("\n\ufeff", "byte order mark"),
        ('<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" ">"\n', "closed before the next tag"),
        ('<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" ">\n', "misplaced quote"),
        ('<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN >\n', "misplaced quote"),
        ("<!DOCTYPE gsafeed\n", "closed before the next tag"),
    ],
)
def test_prolog_that_was_repaired_is_reported(prolog: str, said: str) -> None:
    for piece_bytes in (1, 1_000):
        report, changes = read_all(reader((prolog + BODY).encode(), piece_bytes=piece_bytes))
        assert content_of(changes[0]) == b"x"
        (entry,) = report.log
        assert (entry.level.value, entry.line) == ("warning", 1)
        assert said in entry.reason


def test_lines_count_from_the_feed_as_received() -> None:
    prolog = "\n\n<?xml version='1.0'\n?>\n<!DOCTYPE gsafeed\nPUBLIC 'x'\n''>\n"
    _, changes = read_all(reader((prolog + BODY).encode()))
    assert changes[0].place.line == prolog.count("\n") + 1


@pytest.mark.parametrize(
    "subset",
    [
        "<!ENTITY a 'b'>",
        "<!ENTITY % a SYSTEM 'file:///etc/passwd'> %a;",
        "<!-- x -->\n <!ENTITY xxe SYSTEM 'http://127.0.0.1:1/'>",
        "<!ENTITY a '1'><!ENTITY b '&a;&a;'>",
    ],
)
def test_entity_definition_is_refused_with_its_line(subset: str) -> None:
    for piece_bytes in (1, 1_000):
        with pytest.raises(BadFeed, match="entity definitions are not accepted") as caught:
            reader(f"\n<!DOCTYPE gsafeed [{subset}]>{BODY}".encode(), piece_bytes=piece_bytes).scan()
        assert caught.value.line == 2 + subset.split("<!ENTITY", maxsplit=1)[0].count("\n")


@pytest.mark.parametrize(
    "prolog", ["<!DOCTYPE gsafeed [", "<!DOCTYPE gsafeed", "<!-- ", "<?pi ", DOCTYPE + DOCTYPE, DOCTYPE + "<?xml version='1.0'?>"]
)
def test_prolog_without_end_is_refused(prolog: str) -> None:
    with pytest.raises(BadFeed):
        reader(prolog.encode()).scan()


def test_second_doctype_is_refused_wherever_it_stands() -> None:
    entity = "<!DOCTYPE gsafeed [<!ENTITY a 'b'>]>"
    for feed in (DOCTYPE + entity + BODY, DOCTYPE + "x" + entity + BODY, BODY + entity, BODY.replace("<content>", entity + "<content>")):
        with pytest.raises(BadFeed):
            reader(feed.encode()).scan()


def test_prolog_without_bound_is_refused() -> None:
    with pytest.raises(BadFeed, match="before the root element"):
        reader(b"<!--" + b" " * MAX_PROLOG_BYTES + b"-->" + BODY.encode()).scan()


def test_encoding_error_behind_a_good_start_is_repaired() -> None:
    feed = text_feed("\u65e5\u672c", '<?xml version="1.0" encoding="Shift_JIS"?>\n').encode("shift_jis")
    broken = feed.replace(b"</content>", b"\xeb \xec </content>")
    report, changes = read_all(reader(broken))
    assert report.repaired
    assert content_of(changes[0]).decode() == "\u65e5\u672c\u00eb \u00ec "
    assert "windows-1252 (2 times" in report.log[0].reason
    assert report.log[0].line == 2
