import socket
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest
from lxml import etree
from structlog.testing import capture_logs

from feedmill.adapters.xslt.folder import StylesheetFolder
from feedmill.adapters.xslt.stylesheets import compile_stylesheet
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.adapters.xslt.worker import read_custom
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.frontends import FrontEnds, StylesheetEngine
from feedmill.http.search.gsasearch import check_custom
from feedmill.model.errors import Corrupt
from feedmill.ports.counts import LocalCounts
from tests.contract.searchharness import NOW, SearchHarness, ask, open_harness

HEAD = (
    '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"'
    ' xmlns:e="http://exslt.org/common" extension-element-prefixes="e">'
)
OLD_PAGE = (
    '<!DOCTYPE xsl:stylesheet [<!ENTITY nbsp "&#160;">]>'
    + HEAD
    + """<xsl:output method="html" encoding="UTF-8"/>
<xsl:variable name="start" select="/GSP/PARAM[@name='start']/@value"/>
<xsl:template match="GSP"><html><head><title><xsl:value-of select="Q"/></title></head><body>
<xsl:choose><xsl:when test="RES"><xsl:apply-templates select="RES"/></xsl:when><xsl:when test="CUSTOM/ADVANCED">advanced form</xsl:when>
<xsl:otherwise><p class="none">nothing&nbsp;found</p></xsl:otherwise></xsl:choose></body></html></xsl:template>
<xsl:template match="RES"><p class="count"><xsl:value-of select="@SN"/>-<xsl:value-of select="@EN"/> of <xsl:value-of select="M"/></p>
<xsl:apply-templates select="R"/>
<xsl:if test="NB/NU"><a class="next" href="{NB/NU}">Next</a></xsl:if></xsl:template>
<xsl:template match="R"><div class="r{@L}"><a href="{U}"><xsl:choose>
<xsl:when test="T"><xsl:value-of select="T" disable-output-escaping="yes"/></xsl:when>
<xsl:otherwise><xsl:value-of select="substring-after(UD, '://')"/></xsl:otherwise></xsl:choose></a>
<p><xsl:value-of select="S" disable-output-escaping="yes"/></p><i><xsl:value-of select="FS[@NAME='date']/@VALUE"/></i>
<xsl:for-each select="MT"><b><xsl:value-of select="@N"/>:<xsl:value-of select="@V"/></b></xsl:for-each>
<xsl:if test="HAS/C"><a class="copy"
 href="/search?q=cache:{HAS/C/@CID}:{substring-after(UE, '://')}"><xsl:value-of select="HAS/C/@SZ"/></a></xsl:if>
<xsl:if test="HN"><a class="more"
 href="/search?as_sitesearch={HN/@U}">More results from <xsl:value-of select="HN"/></a></xsl:if></div></xsl:template>
</xsl:stylesheet>"""
)


@cache
def build_engine() -> StylesheetEngine:
    """Returns the engine of all tests here, as a server has one: its process starts once."""
    return StylesheetEngine(repository=StylesheetFolder(Path("unused")), transformer=ProcessTransformer())


@pytest.fixture(scope="module", autouse=True)
def ended_engine() -> Iterator[None]:
    """Ends the process of the engine behind the last test."""
    yield
    build_engine.cache_clear()


def open_app(harness: SearchHarness, folder: Path, stylesheet: str = OLD_PAGE) -> SearchSite:
    (folder / "old.xsl").write_text(stylesheet)
    return SearchSite(clock=lambda: NOW, frontends=FrontEnds(lambda: {"old": str(folder / "old.xsl")}, build_engine()))


def test_search_through_a_stylesheet_is_a_page(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    pages = [harness.make(f"http://a.com/d/{number}", f"needle {number}", title=f"T<script>{number}") for number in range(3)]
    harness.add(
        [*pages, *(harness.make(f"http://b.com/{number}/x", f"needle in b{number}", metadata=(("k", "v"),)) for number in range(10))]
    )
    app = search_app(harness.services(), open_app(harness, tmp_path))
    answer = ask(app, "/search", "q=needle&output=xml_no_dtd&proxystylesheet=old&getfields=k&num=11")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=UTF-8")
    assert "1-11 of 13" in answer.text
    assert "<script>" not in answer.text
    assert "<b>needle</b>" in answer.text
    assert "More results from a.com/d/" in answer.text
    assert "<b>k:v</b>" in answer.text
    assert 'class="next" href="/search?q=needle&amp;output=xml_no_dtd&amp;proxystylesheet=old' in answer.text
    assert "'unsafe-inline'" not in answer.headers["content-security-policy"].partition("script-src")[2].partition(";")[0]
    assert "nothing\u00a0found" in ask(app, "/search", "q=nix&proxystylesheet=old").text.replace("&nbsp;", "\u00a0")
    assert "advanced form" in ask(app, "/search", "q=needle&proxystylesheet=old&proxycustom=%3CADVANCED/%3E").text
    harness.store.close()


def test_search_front_end_that_is_empty_or_unknown_is_an_error(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services(), open_app(harness, tmp_path))
    assert ask(app, "/search", "q=a&output=xml_no_dtd&proxystylesheet=").status == 400
    assert ask(app, "/search", "q=a&output=xml_no_dtd&proxystylesheet=../../etc/passwd").status == 404
    assert "<html" in ask(app, "/search", "q=a&output=xml_no_dtd&proxystylesheet=default_frontend").text
    harness.store.close()


def test_front_end_is_cached_until_time_or_reload(tmp_path: Path) -> None:
    now = [0.0]
    path = tmp_path / "a.xsl"
    page = HEAD + '<xsl:template match="/"><p>{}</p></xsl:template></xsl:stylesheet>'
    path.write_text(page.format("one"))
    frontends = FrontEnds(lambda: {"a": str(path)}, build_engine(), clock=lambda: now[0])
    assert b"one" in frontends.render("a", b"<GSP/>").body
    path.write_text(page.format("two"))
    assert b"one" in frontends.render("a", b"<GSP/>").body
    assert b"two" in frontends.render("a", b"<GSP/>", reload=True).body
    path.write_text(page.format("three"))
    now[0] = 901.0
    assert b"three" in frontends.render("a", b"<GSP/>").body


def test_front_end_that_one_process_reloads_is_read_again_by_all(tmp_path: Path) -> None:
    path, reloads = tmp_path / "a.xsl", LocalCounts()
    page = HEAD + '<xsl:template match="/"><p>{}</p></xsl:template></xsl:stylesheet>'
    path.write_text(page.format("one"))
    first, second = (FrontEnds(lambda: {"a": str(path)}, build_engine(), reloads=reloads) for _ in range(2))
    assert [b"one" in each.render("a", b"<GSP/>").body for each in (first, second)] == [True, True]
    path.write_text(page.format("two"))
    assert b"one" in second.render("a", b"<GSP/>").body
    assert b"two" in first.render("a", b"<GSP/>", reload=True).body
    assert b"two" in second.render("a", b"<GSP/>").body


@pytest.mark.parametrize(
    "body",
    [
        '<xsl:include href="{path}"/>',
        '<xsl:import href="file://{path}"/>',
        '<xsl:template match="/"><a><xsl:copy-of select="document(\'{path}\')"/></a></xsl:template>',
        '<xsl:template match="/"><a><xsl:copy-of select="document(\'http://127.0.0.1:9/\')"/></a></xsl:template>',
        '<xsl:template match="/"><a><xsl:copy-of select="document(\'ftp://127.0.0.1:9/\')"/></a></xsl:template>',
        '<xsl:template match="/"><a><xsl:copy-of select="document(\'secret.xsl\')"/></a></xsl:template>',
        '<xsl:template match="/"><a><xsl:copy-of select="document(\'string://__STRING__XSLT__/{path}\')"/></a></xsl:template>',
        '<xsl:template match="/"><a><xsl:copy-of select="document(/)"/></a></xsl:template>',
        '<xsl:template match="/"><e:document href="{out}">x</e:document></xsl:template>',
        '<xsl:template match="/" name="again"><xsl:call-template name="again"/></xsl:template>',
        "<xsl:nonsense",
    ],
)
def test_stylesheet_reaches_neither_file_nor_network(tmp_path: Path, body: str) -> None:
    secret, out = tmp_path / "secret.xsl", tmp_path / "out"
    secret.write_text(HEAD + '<xsl:template match="/">SECRET</xsl:template></xsl:stylesheet>')
    path = tmp_path / "a.xsl"
    path.write_text(HEAD + body.format(path=secret, out=out) + "</xsl:stylesheet>")
    with pytest.raises(Corrupt):
        FrontEnds(lambda: {"a": str(path)}, build_engine()).render("a", b"<GSP/>")
    assert not out.exists()


def test_stylesheet_reads_a_table_in_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.xsl"
    table = '<t:words xmlns:t="urn:t"><t:word key="found">Treffer</t:word></t:words>'
    body = "<p><xsl:value-of xmlns:t='urn:t' select=\"document('')/*/t:words/t:word[@key='found']\"/></p>"
    path.write_text(f'{HEAD}{table}<xsl:template match="/">{body}</xsl:template></xsl:stylesheet>')
    page = FrontEnds(lambda: {"a": str(path)}, build_engine()).render("a", b"<GSP/>")
    assert b"<p>Treffer</p>" in page.body.replace(b' xmlns:t="urn:t"', b"")


@pytest.mark.parametrize("url", ["http://{host}/x", "HTTP://{host}/x", "ftp://{host}/x", "//{host}/x"])
def test_stylesheet_that_reads_an_address_fails_with_it_and_without_a_request(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        named = url.format(host=f"127.0.0.1:{server.getsockname()[1]}")
        body = f'<xsl:template match="/"><a><xsl:copy-of select="document(\'{named}\')"/></a></xsl:template>'
        with pytest.raises(Corrupt, match=r"a stylesheet may read itself alone"):
            compile_stylesheet(f"{HEAD}{body}</xsl:stylesheet>".encode())(etree.fromstring(b"<GSP/>"))
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_stylesheet_entity_of_a_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    doctype = f'<!DOCTYPE a [<!ENTITY a SYSTEM "{tmp_path}/secret">]>'
    page = HEAD + '<xsl:template match="/"><p>[&a;]</p></xsl:template></xsl:stylesheet>'
    try:
        made = bytes(compile_stylesheet((doctype + page).encode())(etree.fromstring(b"<GSP/>")))
    except Corrupt:
        made = b""
    assert b"SECRET" not in made


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ('method="text"', "text/plain; charset=UTF-8"),
        ('method="text" media-type="application/json" encoding="ISO-8859-1"', "application/json; charset=ISO-8859-1"),
        ('method="html"', "text/html; charset=UTF-8"),
        ('method="text" encoding="no-such"', "text/plain; charset=UTF-8"),
        ('method="text" encoding="a&#13;&#10;b"', "text/plain; charset=UTF-8"),
        ('method="text" media-type="a b&#10;c"', "text/plain; charset=UTF-8"),
    ],
)
def test_stylesheet_that_makes_text_names_its_kind(tmp_path: Path, output: str, kind: str) -> None:
    (tmp_path / "a.xsl").write_text(HEAD + f'<xsl:output {output}/><xsl:template match="/">[é]</xsl:template></xsl:stylesheet>')
    page = FrontEnds(lambda: {"a": str(tmp_path / "a.xsl")}, build_engine()).render("a", b"<GSP/>")
    assert page.media_type == kind
    assert page.body.startswith("[é]".encode(kind.partition("=")[2]))


def test_search_through_a_stylesheet_that_makes_a_script_shows_public_documents_only(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    output = '<xsl:output method="text" media-type="text/javascript"/><xsl:template match="/">f()</xsl:template>'
    app = search_app(harness.services(), open_app(harness, tmp_path, HEAD + output + "</xsl:stylesheet>"))
    kinds = [ask(app, "/search", f"q=a&proxystylesheet=old{access}").headers["content-type"] for access in ("", "&access=a")]
    assert kinds == ["text/javascript; charset=UTF-8", "text/plain; charset=utf-8"]
    harness.store.close()


def test_search_through_a_stylesheet_that_fails_is_logged(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services(), open_app(harness, tmp_path, HEAD + "<xsl:nonsense/></xsl:stylesheet>"))
    with capture_logs() as logs:
        assert ask(app, "/search", "q=a&proxystylesheet=old").status == 500
    assert ["no XSLT 1.0" in entry["reason"] for entry in logs if entry["event"] == "request_failed"] == [True]
    harness.store.close()


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("<HOME/>", "<HOME/>"),
        ("<?xml version='1.0' encoding='UTF-7'?><a>+ADw-</a>", "<a>+ADw-</a>"),
        ("<?pi x?><!--c--><a xml:lang='de'><!--c--><b/></a>", '<a xml:lang="de"><b/></a>'),
        ("plain & text", "plain &amp; text"),
        ("<a", "&lt;a"),
        ("a\0&b", "a &amp;b"),
        ("<a>&undefined;</a>", "&lt;a&gt;&amp;undefined;&lt;/a&gt;"),
    ],
)
def test_custom_xml_of_own_names_stands_in_the_results(text: str, given: str) -> None:
    made = etree.tostring(read_custom(check_custom(text)), encoding="unicode")
    assert made == f"<CUSTOM>{given}</CUSTOM>"


@pytest.mark.parametrize(
    "text",
    [
        '<html xmlns="http://www.w3.org/1999/xhtml"/>',
        '<a><b xmlns="http://www.w3.org/1999/xhtml"/></a>',
        '<a><h:script xmlns:h="http://www.w3.org/1999/xhtml">x</h:script></a>',
        '<a xmlns:x="http://www.w3.org/1999/xlink"/>',
        '<a x:href="y" xmlns:x="http://www.w3.org/1999/xlink"/>',
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        "<!DOCTYPE a><a/>",
    ],
)
def test_custom_xml_with_a_namespace_or_a_doctype_is_refused(tmp_path: Path, text: str) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services(), open_app(harness, tmp_path))
    answer = ask(app, "/search", f"q=needle&proxystylesheet=old&proxycustom={quote(text)}")
    assert answer.status == 400
    assert "proxycustom" in answer.text
    harness.store.close()


def test_custom_xml_that_is_large_is_refused(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services(), open_app(harness, tmp_path))
    assert ask(app, "/search", f"q=a&proxystylesheet=old&proxycustom={'x' * 8_192}").status == 200
    assert ask(app, "/search", f"q=a&proxystylesheet=old&proxycustom={'x' * 8_193}").status == 400
    harness.store.close()


def test_custom_xml_without_a_stylesheet_does_nothing(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make("http://a.com/1", "needle")])
    app = search_app(harness.services(), open_app(harness, tmp_path))
    foreign = quote('<html xmlns="http://www.w3.org/1999/xhtml"><a href="http://evil.example/">x</a></html>')
    xml = ask(app, "/search", f"q=needle&output=xml&proxycustom={foreign}")
    root = etree.fromstring(xml.body)
    assert root.find("CUSTOM") is None
    assert root.findtext("RES/R/U") == "http://a.com/1"
    page = ask(app, "/search", f"q=needle&proxystylesheet=default_frontend&proxycustom={foreign}")
    assert (page.status, "http://a.com/1" in page.text, 'href="http://evil' in page.text) == (200, True, False)
    harness.store.close()


def test_page_of_a_front_end_shows_images_of_this_server_and_of_those_in_the_settings(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    site = open_app(harness, tmp_path)
    open_app_to = replace(
        site, frontends=FrontEnds(lambda: {"old": str(tmp_path / "old.xsl")}, build_engine(), image_sources=("https://images.example.com",))
    )
    policies = [
        ask(search_app(harness.services(), each), "/search", "q=a&proxystylesheet=old").headers["content-security-policy"]
        for each in (site, open_app_to)
    ]
    images = [next(part for part in policy.split("; ") if part.startswith("img-src")) for policy in policies]
    assert images == ["img-src 'self' data:", "img-src 'self' data: https://images.example.com"]
    harness.store.close()


@pytest.mark.parametrize(
    ("output", "is_sandboxed"),
    [
        ('method="html"', False),
        ('method="text"', False),
        ('method="xml"', True),
        ('method="xml" media-type="application/xhtml+xml"', True),
        ('method="html" media-type="application/xml"', True),
        ('method="html" media-type="image/svg+xml"', True),
        ('method="text" media-type="application/json"', False),
    ],
)
def test_page_that_is_xml_is_sandboxed(tmp_path: Path, output: str, is_sandboxed: bool) -> None:
    harness = open_harness(tmp_path)
    sheet = f'{HEAD}<xsl:output {output}/><xsl:template match="/"><a/></xsl:template></xsl:stylesheet>'
    answer = ask(search_app(harness.services(), open_app(harness, tmp_path, sheet)), "/search", "q=a&proxystylesheet=old")
    assert ("sandbox" in answer.headers["content-security-policy"].split("; ")) == is_sandboxed
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    harness.store.close()


@pytest.mark.parametrize("query", ["q=a", "q=a&output=xml", "q=a&output=xml_no_dtd&oe=utf-16", "q=a&access=a"])
def test_answers_as_xml_are_sandboxed(tmp_path: Path, query: str) -> None:
    harness = open_harness(tmp_path)
    answer = ask(search_app(harness.services(), open_app(harness, tmp_path)), "/search", query)
    assert answer.headers["content-type"].startswith("text/xml")
    assert "sandbox" in answer.headers["content-security-policy"].split("; ")
    harness.store.close()
