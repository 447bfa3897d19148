"""Encodings and dialects of real clients, through the wire to a search hit."""

import base64
import gzip
import zlib

import pytest

from tests.acceptance.promises import counts, get, levels, put
from tests.appliance import Appliance
from tests.builders.feedxml import make_feed, make_record
from tests.builders.requests import make_multipart

PROLOG = "<?xml version='1.0' encoding='{label}'?><gsafeed><header/><group>"
END = "</group></gsafeed>"


def plain(url: str, content: str, extra: str = "") -> str:
    return f'<record url="{url}" mimetype="text/plain" {extra}><content>{content}</content></record>'


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("UTF8", "utf-8", "größe"),
        ("utf-8", "utf-8", "größe"),
        ("ISO-8859-1", "iso-8859-1", "größe"),
        ("iso-8859-1", "cp1252", "größe €5"),
        ("Shift_JIS", "shift_jis", "東京タワー"),
        ("GBK", "gbk", "北京大学"),
        ("GB2312", "gb2312", "北京大学"),
        ("EUC-KR", "euc-kr", "서울특별시"),
        ("Big5", "big5", "臺北市"),
        ("windows-1251", "cp1251", "Москва"),
        ("UTF-16", "utf-16", "größe"),
        ("no-such-label", "utf-8", "größe"),
    ],
)
def test_encoding_label_never_loses_a_feed(server: Appliance, label: str, codec: str, text: str) -> None:
    url = f"http://encodings.example.com/{label}/{codec}"
    xml = PROLOG.format(label=label) + make_record(url, f"<p>{text}</p>", [("wort", text)]) + END
    assert counts(server.feed(xml.encode(codec), "encodings")) == ("completed", 1, 1, 0)
    assert get(server, url)["metadata"] == {"wort": [text]}
    assert url in server.urls(f"{text} site:encodings.example.com", match="all", num=50)


REPAIRED = {
    "ampersand in url": plain("http://repaired.example.com/?a=1&b=2", "x"),
    "ampersand in text": plain("http://repaired.example.com/text", "R&D repairedword"),
    "html entity": plain("http://repaired.example.com/entity", "h&ocirc;tel&nbsp;x"),
    "curly quotes": "<record url=\u201dhttp://repaired.example.com/c\u201d mimetype=\u2019text/plain\u2019><content>x</content></record>",
    "no blank": '<record url="http://repaired.example.com/blank"mimetype="text/plain"><content>x</content></record>',
    "control byte": plain("http://repaired.example.com/control", "a\x01b\x0cc"),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired_feed_completes_and_says_so(server: Appliance, name: str) -> None:
    receipt = server.feed(f"<gsafeed><header/><group>{REPAIRED[name]}{END}".encode(), "repaired")
    assert counts(receipt) == ("completed", 1, 1, 0)
    assert set(levels(receipt)) & {"warning", "notice"}


def test_repaired_url_is_the_one_that_was_meant(server: Appliance) -> None:
    xml = f"\r\n\ufeff <?xml version='1.0'?><gsafeed><group>{plain('http://meant.example.com/?a=1&b=2&amp;c=3', 'h&ocirc;tel')}{END}"
    assert server.feed(xml.encode(), "meant")["state"] == "completed"
    assert server.urls("hôtel site:meant.example.com", match="all") == ["http://meant.example.com/?a=1&b=2&c=3"]


@pytest.mark.parametrize(
    "prolog",
    [
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?><!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">',
        "<?xml version='1.0' encoding='UTF-8'?><!DOCTYPE gsafeed PUBLIC \"-//Google//DTD GSA Feeds//EN\" \"gsafeed.dtd\">",
        '<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN">',
        "<!DOCTYPE gsafeed SYSTEM 'http://dead.example.invalid/gsafeed.dtd'>",
        "<!DOCTYPE other>",
        "<!DOCTYPE gsafeed []>",
        '<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" ">">',
        '<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">\r\n<!-- GSA EasyConnector -->\r\n',
        "\ufeff<?xml version='1.0'?>",
        "  \r\n<?xml version='1.0'?>",
        "",
    ],
)
def test_prolog_of_any_client_is_taken(server: Appliance, prolog: str) -> None:
    url = "http://prologs.example.com/a"
    xml = f"{prolog}<gsafeed><!-- product 1.0 --><header/><group>{plain(url, 'prologword')}{END}"
    assert counts(server.feed(xml.encode(), "prologs")) == ("completed", 1, 1, 0)


@pytest.mark.parametrize(
    "prolog",
    [
        '<!DOCTYPE gsafeed [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE gsafeed [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE gsafeed [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x;]>',
    ],
)
def test_entity_definitions_are_refused(server: Appliance, prolog: str) -> None:
    receipt = server.feed(f"{prolog}<gsafeed><group>{plain('http://entities.example.com/a', 'x')}{END}".encode(), "entities")
    assert receipt["state"] == "failed in error"
    assert server.document("http://entities.example.com/a") is None


@pytest.mark.parametrize(
    "inside",
    [
        '<record url="http://refused.example.com/<a"/>',
        "<record url='http://refused.example.com/a'><metadata><meta name='a' content='b'></metadata></record>",
    ],
)
def test_what_cannot_be_repaired_is_refused_with_line_and_column(server: Appliance, inside: str) -> None:
    receipt = server.feed(f"<gsafeed>\n<group>\n{inside}\n</group></gsafeed>".encode(), "refused")
    assert receipt["state"] == "failed in error"
    [entry] = [entry for entry in receipt["log"] if entry["level"] == "error"]
    assert entry["line"] in (3, 4)
    assert "column" in entry["reason"]


def test_base64_of_any_shape_is_decoded(server: Appliance) -> None:
    text = b"codedcontent " + b"x" * 200
    coded = base64.b64encode(text).decode()
    wrapped = "\n".join(coded[at : at + 76] for at in range(0, len(coded), 76))
    bodies = [
        ("plain", "base64binary", coded),
        ("wrapped", "base64binary", f"\r\n{wrapped}\r\n"),
        ("unpadded", "base64binary", base64.b64encode(text + b"y").decode().rstrip("=")),
        ("cdata", "base64binary", f" <![CDATA[{wrapped}]]> "),
        ("comment", "base64binary", f"{coded[:50]}<!-- in the middle -->{coded[50:]}"),
        ("zlib", "base64compressed", "\n" + base64.b64encode(zlib.compress(text)).decode() + "\n"),
    ]
    base = "http://base64.example.com/"
    put(
        server,
        "base64",
        *(
            f'<record url="{base}{name}" mimetype="text/plain"><content encoding="{code}">{body}</content></record>'
            for name, code, body in bodies
        ),
    )
    assert sorted(server.urls("codedcontent", match="all", num=20)) == sorted(base + name for name, _, _ in bodies)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("base64binary", "!!!!"),
        ("base64compressed", "AAAA"),
        ("rot13", "uryyb"),
        ("base64compressed", base64.b64encode(zlib.compress(b"x" * 9000)[:20]).decode()),
    ],
)
def test_content_that_cannot_be_decoded_costs_its_record_and_keeps_what_was(server: Appliance, encoding: str, body: str) -> None:
    url, good = "http://undecodable.example.com/a", "http://undecodable.example.com/good"
    put(server, "undecodable", plain(url, "undecodableword"))
    bad = f'<record url="{url}" mimetype="text/plain"><content encoding="{encoding}">{body}</content></record>'
    assert counts(server.feed(make_feed(bad, plain(good, "x")), "undecodable", "full")) == ("completed with errors", 2, 1, 1)
    assert server.urls("undecodableword", match="all") == [url]


def test_unknown_things_are_ignored_and_values_trimmed(server: Appliance) -> None:
    url = "http://unknown.example.com/a"
    header = "<header><datasource> y </datasource><feedtype>\nfull\n</feedtype><organizationid>1</organizationid></header>"
    attributes = f'url=" {url}\n" mimetype=" text/plain " action=" add " encoding="q" attachments="2" feedrank="50"'
    inside = "<attachments><path>c:/x</path></attachments><f:thing>strange</f:thing><content> <![CDATA[unknownword]]> </content>"
    group = f'<group f:kind="z"><record {attributes}>{inside}</record></group>'
    xml = f'<gsafeed xmlns:f="urn:f" made-by="x">{header}{group}</gsafeed>'
    assert counts(server.feed(xml.encode(), "unknown")) == ("completed", 1, 1, 0)
    assert server.urls("unknownword", match="all") == [url]
    assert server.urls("strange site:unknown.example.com", match="all") == []


def test_deletes_of_old_clients_need_no_mimetype(server: Appliance) -> None:
    urls = [f"http://olddeletes.example.com/{number}" for number in range(5)]
    put(server, "olddeletes", *(plain(url, "x") for url in urls))
    deletes = [
        f'<record url="{urls[0]}" action="remove"/>',
        f'<record url="{urls[1]}" action="DELETE" mimetype="no such"/>',
        f'<record url="{urls[2]}" action="delete" mimetype="" lock="false" crawl-once="false"/>',
        f'<record url="{urls[3]}" action="delete"><content> </content></record>',
        f'<record url="{urls[4]}" action="delete" last-modified="never"><metadata/></record>',
    ]
    assert counts(server.feed(make_feed(*deletes), "olddeletes")) == ("completed", 5, 5, 0)
    assert [server.document(url) for url in urls] == [None] * 5


def test_adaptor_library_feed_is_taken_compressed_and_in_chunks(server: Appliance) -> None:
    url = "http://library.example.com/doc/1"
    prolog = '<?xml version="1.0" encoding="UTF-8" standalone="no"?><!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">'
    header = "<!--GSA EasyConnector--><header><datasource>x</datasource><feedtype>metadata-and-url</feedtype></header>"
    named = f'<record crawl-immediately="true" mimetype="text/plain" url="{url}"/>'
    xml = f"{prolog}<gsafeed>{header}<group>{named}</group></gsafeed>"
    body = gzip.compress(make_multipart(("datasource", b"library"), ("feedtype", b"metadata-and-url"), ("data", xml.encode())))
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[at : at + 99]), body[at : at + 99]) for at in range(0, len(body), 99)) + b"0\r\n\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=<<", "Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}
    status, answered, answer = server.request("POST", server.gate, "/xmlfeed", chunks, headers)
    assert (status, answer) == (200, b"Success")
    assert server.wait(answered["x-feedmill-feed"])["included"] == 1
    assert get(server, url)["crawl_immediately"] is True
