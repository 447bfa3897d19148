"""Manual pages: what the macros print, and nothing of the macros."""

import time

import pytest

from feedmill.adapters.extract.clean import clean_text
from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.readers.manpage import read_manual_page
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


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (r".if n one;.if t two", "one"),
        (r".ie t \{\;one;.B two;.\};.el \{\;three;.\};four", "three four"),
        (r".ie n .B one;.el two", "one"),
        (r".ie \n(.g \{\;one;.if t \{\;two;.\};.\};.el three", "one"),
        (r".if !n one;.if !t two;'if n three", "two three"),
        (r".nr x 2;.if \nx>1 one;.if \n(xx two;.if (\nx>2):(\n[x]=2) three;.if \nx-2 four", "one three"),
        (r".if '\*[.T]'utf8' one;.if !'a'b' three;.if 'a'b' four", "one three"),
        (r".ds s x;.if d s one;.if !d t two;.if r x three", "one two"),
        (r".ie t .ie n one;.el two;.el three", "two"),
        (r".if t \{one;.if n two \};three", "three"),
        (r".while n one;.while n \{;two;.\};three", "three"),
        (r".el one;.if;.ie;.if (((((;.if \{ two;\};four", "four"),
    ],
)
def test_conditions_are_decided_as_for_a_terminal(lines: str, shown: str) -> None:
    page = f".TH X 1\n.SH A\n{lines}\n".replace(";", "\n")
    assert clean_text(read_manual_page(page.encode(), None).text, 1_000).replace("\n", " ") == f"A {shown}"


@pytest.mark.parametrize(
    "line", [".if " + "(" * 200_000, ".if n " * 50_000, ".ie t \\{\n" * 50_000, ".if \\na+" + "1+" * 100_000, ".if '" * 30_000]
)
def test_conditions_without_an_end_cost_little(line: str) -> None:
    began = time.process_time()
    read_manual_page(f".TH X 1\n{line}".encode(), None)
    assert time.process_time() - began < 5
