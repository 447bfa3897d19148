"""Manual pages: what the macros print, and nothing of the macros."""

import time

import pytest

from feedmill.adapters.extract.extract import extract
from feedmill.model.extraction import Extraction, ExtractionLimits, Task

MAN = r"""'\" t
.\" a comment
.de Sp \" vertical space
.if t .sp .5v
not printed
..
.if \n(.g .ds T< words not printed
.TH LS "1" "September 2022" "GNU coreutils"
.SH NAME
ls \- list directory contents
.SH "THE \fISYNOPSIS\fR"
.B ls
[\fI\,OPTION\/\fR]... \(lqquoted\(rq \[u00E9]t\['e] \*(lqx\*(rq
.SS Sub
.TP
\fB\-a\fR, \fB\-\-all\fR
do not ignore \e n
.BR cp (1),
.IR "two words" s
.HP \w'not'u
.PP
first
line.

next
.nf
kept
lines
.fi
.TS
l l.
one	two
.TE
.UNKNOWN words count
"""
MDOC = r""".Dd January 19, 2003
.Dt DASH 1
.Os
.Sh NAME
.Nm dash
.Nd command interpreter
.Sh SYNOPSIS
.Nm
.Op Fl c Ar string
.Sh DESCRIPTION
See
.Xr ksh 1 ,
.Dq Pa /etc/profile .
.Bl -tag
.It Fl x Cm name
item
.El
"""


def read(text: str, mimetype: str | None = None, url: str = "http://h/ls.1") -> Extraction:
    return extract(Task(key=1, url=url, mimetype=mimetype, data=text.encode()), ExtractionLimits())


def test_man_page_is_its_printed_words_in_paragraphs() -> None:
    found = read(MAN)
    assert found.text.split("\n") == [
        "NAME",
        "ls - list directory contents",
        "THE SYNOPSIS",
        "ls [OPTION]... “quoted” été “x”",
        "Sub",
        "-a, --all do not ignore \\ n cp(1), two wordss",
        "first line.",
        "next",
        "kept",
        "lines",
        "one two",
        "words count",
    ]
    assert (found.mimetype, found.title, found.reason) == ("text/troff", "ls - list directory contents", None)
    assert found.headings == "NAME\nTHE SYNOPSIS\nSub"
    assert dict(found.metadata) == {"section": "1", "date": "September 2022"}


def test_mdoc_page_is_its_printed_words() -> None:
    found = read(MDOC)
    assert found.text.split("\n") == [
        "NAME",
        "dash — command interpreter",
        "SYNOPSIS",
        "dash [-c string]",
        "DESCRIPTION",
        "See ksh(1), “/etc/profile”.",
        "-x name item",
    ]
    assert found.title == "dash — command interpreter"


def test_man_page_title_is_its_name_where_no_line_describes_it() -> None:
    assert read(".TH LS 1\n.SH NOM\nsans description\n").title == "LS(1)"


def test_man_page_that_is_only_another_name_is_found_by_the_page() -> None:
    assert read(".so man3/uuid_is_null.3\n").text == "uuid_is_null.3"


@pytest.mark.parametrize("piece", ["\\", "\\(", "\\[", "\\*[", '.B "', "\\f", ".Op Oo ", "\\h'", ".de\n", "\\o'", ".IP \\", "\\s"])
def test_any_text_is_a_man_page_and_takes_no_longer_than_its_size(piece: str) -> None:
    text = ".TH A 1\n" + piece * 100_000
    begin = time.thread_time()
    found = read(text)
    assert time.thread_time() - begin < 5.0
    assert (found.mimetype, found.reason) == ("text/troff", None)


def test_postscript_is_known_by_its_comments() -> None:
    found = read("%!PS-Adobe-3.0\n%%Title: (Annual report)\n%%Creator: dvips\n%%Pages: (atend)\n(w) show", url="http://h/a/report-7.ps")
    assert (found.title, found.text) == ("Annual report", "report 7\nAnnual report")
    assert (found.reason or "").startswith("PostScript is a program")
    assert dict(found.metadata) == {"Title": "Annual report", "Creator": "dvips"}
