from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from feedmill.model.facets import Facet, FacetCounts, FacetValue
from feedmill.model.results import Result, ResultPage, Snippet
from feedmill.wire.results.charsets import Charset, decode, find_charset, find_charset_read
from feedmill.wire.results.gsaxml import Parameter, ResponseParts, escape_url, readable_url, render_results
from tests.builders.results import make_result

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAGE = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<GSP VER="3.2">
<TM>0.083190</TM><Q>a &lt;b</Q>
<PARAM name="sort" value="date:D:L:d1" original_value="date%3AD%3AL%3Ad1"/>
<RES SN="11" EN="12">
<M>40</M>
<FI/>
<XT/>
<NB><PU>/search?q=a&amp;start=0&amp;sa=N</PU><NU>/search?q=a&amp;start=20&amp;sa=N</NU></NB>
<R N="11" L="1"><U>http://a.com/x?b=1&amp;c</U><UE>http://a.com/x%3Fb%3D1%26c</UE><UD>http://a.com/x?b=1&amp;c</UD>\
<T>R&amp;amp;D of &lt;b&gt;Käse&lt;/b&gt;</T><RK>9</RK><CRAWLDATE>28 Feb 2026</CRAWLDATE><ENT_SOURCE>FEEDMILL</ENT_SOURCE>\
<FS NAME="date" VALUE="2026-01-02"/><MT N="Topic" V="x &amp; &quot;y&quot;"/><MT N="Topic" V="z"/>\
<S>&lt;b&gt;...&lt;/b&gt; old &lt;b&gt;Käse&lt;/b&gt; &amp;lt;b&amp;gt; &lt;b&gt;...&lt;/b&gt;</S>\
<LANG>de</LANG><HAS><L/><C SZ="2k" CID="oRZctu-RckeS" ENC="UTF-8"/></HAS></R>
<R N="12" L="2" MIME="application/pdf"><U>http://a.com/y</U><UE>http://a.com/y</UE><UD>http://a.com/y</UD>\
<RK>10</RK><ENT_SOURCE>FEEDMILL</ENT_SOURCE><FS NAME="date" VALUE=""/><LANG></LANG><HAS><L/></HAS>\
<HN U="http://a.com/">a.com/</HN></R>
</RES>
</GSP>
"""


def reply(*results: Result, **given: Any) -> ResponseParts:
    page = ResultPage(query="q", start=0, total=len(results), results=results, seconds=0.08319)
    return replace(ResponseParts(query="q", page=page, now=NOW), **given)


def parse(data: bytes) -> Any:
    return etree.fromstring(data, etree.XMLParser(load_dtd=False, no_network=True))


@pytest.mark.parametrize("is_exact", [True, False])
def test_render_results_facets_say_whether_they_are_estimates(is_exact: bool) -> None:
    some = (FacetValue(value="x", count=1),)
    facets = (
        FacetCounts(facet=Facet(name="a"), values=some, is_exact=True),
        FacetCounts(facet=Facet(name="b"), values=some, is_exact=is_exact),
        FacetCounts(facet=Facet(name="c"), values=(), is_exact=True),
    )
    made = reply(make_result("http://a.com/"))
    assert made.page is not None
    data = render_results(replace(made, page=replace(made.page, facets=facets)))
    assert parse(data).findtext("RES/PARM/PC") == ("0" if is_exact else "1")
    assert [facet.get("NM") for facet in parse(data).findall("RES/PARM/PMT")] == ["a", "b"]
    without = render_results(replace(made, page=replace(made.page, facets=facets[2:])))
    assert parse(without).find("RES/PARM") is None


def test_render_results_every_element_stands_as_documented() -> None:
    full = make_result(
        "http://a.com/x?b=1&c",
        title="R&D of Käse",
        title_marks=((7, 11),),
        snippet=Snippet(text="… old Käse <b> …", marks=((6, 10),)),
        date=datetime(2026, 1, 2, tzinfo=UTC),
        language="de",
        metadata=(("Topic", 'x & "y"'), ("Topic", "z")),
        has_copy=True,
        content_bytes=1025,
        updated_at=NOW - timedelta(days=1),
    )
    plain = make_result("http://a.com/y", mimetype="application/pdf", rank=100, updated_at=NOW - timedelta(days=3))
    page = ResultPage(
        query="a <b",
        start=10,
        total=40,
        is_exact=True,
        results=(full, replace(plain, is_second=True, more_in="http://a.com/")),
        is_collapsed=True,
        has_more=True,
        seconds=0.08319,
    )
    made = ResponseParts(
        query="a <b",
        parameters=(Parameter(name="sort", value="date:D:L:d1", original="date%3AD%3AL%3Ad1"),),
        page=page,
        previous="/search?q=a&start=0&sa=N",
        following="/search?q=a&start=20&sa=N",
        now=NOW,
    )
    assert render_results(made).decode() == PAGE


def test_render_results_nothing_found_has_no_res() -> None:
    assert parse(render_results(reply())).find("RES") is None
    assert parse(render_results(reply(page=None))).findtext("TM") == "0.000000"


def test_render_results_doctype_only_where_requested() -> None:
    assert b'standalone="no"?>\n<!DOCTYPE GSP SYSTEM "google.dtd">\n<GSP' in render_results(reply(has_doctype=True))
    assert b"DOCTYPE" not in render_results(reply())


def test_render_results_secret_total_has_neither_m_nor_xt() -> None:
    found = parse(render_results(reply(make_result("http://a/1"), shows_total=False))).find("RES")
    assert (found.find("M"), found.find("XT"), found.get("EN")) == (None, None, "1")


def test_render_results_markup_in_documents_stays_text_after_two_readings() -> None:
    evil = make_result("http://a/1", title="<script>x</script>", snippet=Snippet(text="<img onerror=x> & more"))
    shown = parse(render_results(reply(evil))).find("RES/R")
    assert shown.findtext("T") == "&lt;script&gt;x&lt;/script&gt;"
    assert shown.findtext("S") == "&lt;img onerror=x&gt; &amp; more"


def test_render_results_blank_title_is_none() -> None:
    assert parse(render_results(reply(make_result("http://a/1", title=" \n")))).find("RES/R/T") is None


def test_render_results_long_snippet_is_wrapped_between_words() -> None:
    text = " ".join(["word"] * 40)
    shown = parse(render_results(reply(make_result("http://a/1", snippet=Snippet(text=text))))).findtext("RES/R/S")
    assert [len(line.strip()) <= 80 for line in shown.split("<br>")] == [True, True, True]
    assert shown.replace("<br>", "") == text


@pytest.mark.parametrize("name", ["latin1", "ascii", "sjis", "euc-jp", "big5", "gb", "koi8-r", "windows-1252", "UTF8", "none of these"])
def test_render_results_every_encoding_holds_every_character(name: str) -> None:
    made = render_results(reply(make_result("http://a/1", title="Käse 日本 €"), query="ж", charset=find_charset(name)))
    root = etree.fromstring(made)
    assert (root.findtext("Q"), root.findtext("RES/R/T")) == ("ж", "Käse 日本 €")


def test_render_results_latin1_refers_to_what_it_cannot_hold() -> None:
    made = render_results(reply(query="Käse 日", charset=Charset("ISO-8859-1")))
    assert b'encoding="ISO-8859-1"' in made
    assert b"<Q>K\xe4se &#26085;</Q>" in made


@given(st.text(), st.text(), st.binary())
def test_render_results_any_text_makes_well_formed_xml(one: str, other: str, data: bytes) -> None:
    odd = make_result("http://a/" + one, title=other, snippet=Snippet(text=one), metadata=((one, other),), language=one)
    parameter = Parameter(name=one, value=other, original=data.decode("latin-1"))
    root = etree.fromstring(render_results(reply(replace(odd, more_in=one), query=other, parameters=(parameter,))))
    assert root.tag == "GSP"


@pytest.mark.parametrize(
    ("url", "escaped"),
    [
        ("http://a.com/b c?d=é&e#f", "http://a.com/b%20c%3Fd%3D%C3%A9%26e%23f"),
        ("http://a.com/%20", "http://a.com/%2520"),
        ("smb://host/Ordner/ä", "smb://host/Ordner/%C3%A4"),
    ],
)
def test_escape_url_may_stand_in_a_query(url: str, escaped: str) -> None:
    assert escape_url(url) == escaped


def test_readable_url_shows_hosts_of_other_scripts() -> None:
    assert readable_url("http://xn--kse-qla.de/xn--") == "http://käse.de/xn--"
    assert readable_url("http://xn--\ud800.de/") == "http://xn--\ud800.de/"
    assert readable_url("http://a.com/") == "http://a.com/"


@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        (b"K\xc3\xa4se", None, "Käse"),
        (b"K\xe4se", None, "Käse"),
        (b"K\xc3\xa4se", "latin1", "KÃ¤se"),
        (b"K\xe4se", "ISO_8859_1", "Käse"),
        (b"K\xc3\xa4se", "utf-7", "Käse"),
        (b"\x93\xfa", "Shift_JIS", "日"),
        (b"\x93\xfa", "windows-31j", "日"),
        ("①髙".encode("cp932"), "sjis", "①髙"),
        ("電車".encode("iso2022_jp"), "jis", "電車"),
        ("電車".encode("iso2022_jp"), "ISO-2022-JP", "電車"),
        ("대한".encode("euc_kr"), "ks_c_5601-1987", "대한"),
        ("똠".encode("cp949"), "euc-kr", "똠"),
        ("똠".encode("cp949"), "Windows-949", "똠"),
        ("北京".encode("hz"), "hz", "北京"),
        ("ไทย".encode("cp874"), "windows-874", "ไทย"),
        ("朱镕基".encode("gbk"), "gb2312", "朱镕基"),
        ("“€”".encode("cp1252"), "iso-8859-1", "“€”"),
        (b"\xff", "utf8", "\ufffd"),
    ],
)
def test_decode_reads_what_pages_send(data: bytes, name: str | None, text: str) -> None:
    assert decode(data, name) == text


def test_encodings_that_are_only_read_are_not_written() -> None:
    assert (find_charset("jis").name, find_charset_read("jis").name, find_charset_read("none").name) == ("UTF-8", "ISO-2022-JP", "UTF-8")
