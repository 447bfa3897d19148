"""Stylesheets are applied in processes of their own, which they may bring down and nothing else."""

import os
import signal
import threading
from pathlib import Path

import pytest

from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.model.errors import Busy, Corrupt
from tests.waiting import PATIENCE_SECONDS, wait_until

HEAD = b'<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
PLAIN = HEAD + b'<xsl:output method="text"/><xsl:template match="/"><xsl:value-of select="//Q"/></xsl:template></xsl:stylesheet>'
CALL = b'<xsl:call-template name="again"><xsl:with-param name="left" select="$left - 1"/></xsl:call-template>'
# calls itself twice, sixty levels deep
ENDLESS = (
    HEAD
    + b'<xsl:template match="/" name="again"><xsl:param name="left" select="60"/><xsl:if test="$left">'
    + CALL
    + CALL
    + b"</xsl:if></xsl:template></xsl:stylesheet>"
)
# a text that doubles forty times
GROWING = (
    HEAD
    + b"""<xsl:template match="/" name="again"><xsl:param name="left" select="40"/><xsl:param name="text" select="'0123456789'"/>"""
    + b'<xsl:choose><xsl:when test="$left"><xsl:call-template name="again"><xsl:with-param name="left" select="$left - 1"/>'
    + b'<xsl:with-param name="text" select="concat($text, $text)"/></xsl:call-template></xsl:when>'
    + b'<xsl:otherwise><a><xsl:value-of select="$text"/></a></xsl:otherwise></xsl:choose></xsl:template></xsl:stylesheet>'
)
XML = "<GSP><Q>é</Q></GSP>".encode()


def test_pages_are_made_by_one_process_after_the_other() -> None:
    transformer = ProcessTransformer()
    assert [transformer.transform(PLAIN, XML) for _ in range(3)] == ["é".encode()] * 3
    assert transformer.transform(HEAD + b'<xsl:template match="/"><b/></xsl:template></xsl:stylesheet>', XML).endswith(b"<b/>\n")


@pytest.mark.parametrize(
    ("stylesheet", "said"),
    [
        (b"<a/>", "no XSLT 1.0"),
        (b"", "no XSLT 1.0"),
        (ENDLESS, "it took longer than 3 seconds"),
        (GROWING, "MB of memory that stylesheets may have|took longer"),
        (HEAD + b'<xsl:template match="/"><xsl:message terminate="yes">stop</xsl:message></xsl:template></xsl:stylesheet>', "stop"),
    ],
    ids=["other xml", "empty", "endless", "growing", "message"],
)
def test_stylesheet_that_fails_says_why_and_the_next_one_is_applied(stylesheet: bytes, said: str) -> None:
    transformer = ProcessTransformer(at_once=1, max_seconds=3)
    with pytest.raises(Corrupt, match=said):
        transformer.transform(stylesheet, XML)
    assert transformer.transform(PLAIN, XML) == "é".encode()


def test_process_that_grew_ends_and_one_started_by_a_large_one_stays() -> None:
    transformer, before = ProcessTransformer(at_once=1, max_seconds=60), children()
    with pytest.raises(Corrupt, match="MB of memory that stylesheets may have"):
        transformer.transform(GROWING, XML)
    assert children() == before
    large = bytearray(b"\1" * 300_000_000)
    assert transformer.transform(PLAIN, XML) == "é".encode()
    stayed = children() - before
    assert (len(large), len(stayed)) == (300_000_000, 1)
    assert transformer.transform(PLAIN, XML) == "é".encode()
    assert children() - before == stayed


def test_page_that_no_process_is_free_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.adapters.xslt.transformer.WAIT_SECONDS", 0.05)
    transformer, before = ProcessTransformer(at_once=1, max_seconds=600), children()
    failures: list[Exception] = []

    def hang() -> None:
        try:
            transformer.transform(ENDLESS, XML)
        except Corrupt as exc:
            failures.append(exc)

    thread = threading.Thread(target=hang)
    thread.start()
    wait_until(lambda: children() - before, "the process of the first page")
    with pytest.raises(Busy, match="try again"):
        transformer.transform(PLAIN, XML)
    [worker] = children() - before
    os.kill(int(worker), signal.SIGKILL)
    thread.join(PATIENCE_SECONDS)
    assert len(failures) == 1


def test_processes_end_with_who_started_them() -> None:
    before = children()
    transformer = ProcessTransformer()
    transformer.transform(PLAIN, XML)
    assert len(children() - before) == 1
    del transformer
    assert children() - before == set()


def children() -> set[str]:
    return {number for task in Path("/proc/self/task").glob("*/children") for number in task.read_text().split()}
