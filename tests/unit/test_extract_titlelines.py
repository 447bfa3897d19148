"""The titles of plain texts: first lines that are plainly titles, and those that are not."""

import pytest

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.readers.titlelines import find_title_line, holds_prose
from feedmill.model.extraction import Extraction, ExtractionLimits, Task

BODY = "\n\nEmployees may work from home up to three days a week, if their team agrees.\n"


def read(data: bytes, mimetype: str, url: str) -> Extraction:
    return extract(Task(key=1, url=url, mimetype=mimetype, data=data), ExtractionLimits())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (f"Working from home{BODY}", "Working from home"),
        (f"\n\n  Working from home  {BODY}", "Working from home"),
        (f"Minutes of the works council, 12 March{BODY}", "Minutes of the works council, 12 March"),
        (f"Printer: paper jam{BODY}", "Printer: paper jam"),
        (f"Where may visitors park?{BODY}", "Where may visitors park?"),
        (f"libfoo - reads foo\n=================={BODY}", "libfoo - reads foo"),
        (f"==========\nRelease 3.2\n=========={BODY}", "Release 3.2"),
        (f"Things to do -*- Text -*-{BODY}", "Things to do"),
        (f"Überstunden und Gleitzeit{BODY}", "Überstunden und Gleitzeit"),
        (f"在家办公的规定{BODY}", "在家办公的规定"),
        (f"العمل من المنزل{BODY}", "العمل من المنزل"),
    ],
)
def test_first_line_that_stands_alone_is_the_title(text: str, title: str) -> None:
    assert find_title_line(text) == title
    assert read(text.encode(), "text/plain", "http://a.com/home.txt").title == title


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Working from home",
        "Working from home\n\nSoon.",
        f"Working from home\nis allowed.{BODY}",
        f"You may work from home.{BODY}",
        f"Hello Ann,{BODY}",
        f"It rains. Stay home{BODY}",
        f"a lower-case word{BODY}",
        f"{'Working ' * 20}{BODY}",
        f"2026-11-28 12:01:02 INFO started{BODY}",
        f"Nov 28 12:01:02 host kernel: started{BODY}",
        f"# Settings of the server{BODY}",
        f"// A program{BODY}",
        f"import os{BODY}",
        f"int main(void){BODY}",
        f"Option = value{BODY}",
        f"<p>Working</p>{BODY}",
        f"Name\tPhone{BODY}",
        f"From: ann@example.com{BODY}",
        f"Format: 1.0{BODY}",
        f"Copyright (c) 2026 Example Ltd{BODY}",
        f"- first item{BODY}",
        f"12.5 17.3 20.1{BODY}",
        f"see https://example.com/home{BODY}",
    ],
)
def test_other_first_lines_are_no_titles(text: str) -> None:
    assert find_title_line(text) is None


@pytest.mark.parametrize("name", ["a.txt", "README", "docs/", "a.TXT.gz", "a.txt?v=1.2", "notes.rst", "v1.2 notes"])
def test_texts_for_people_are_known_by_their_names(name: str) -> None:
    assert holds_prose(f"http://a.com/{name}")


@pytest.mark.parametrize("name", ["a.py", "a.csv", "a.log", "a.json", "a.conf", "a.c.gz"])
def test_other_texts_have_no_titles(name: str) -> None:
    assert not holds_prose(f"http://a.com/{name}")
    assert read(f"Working from home{BODY}".encode(), "text/plain", f"http://a.com/{name}").title is None


def test_markdown_without_a_heading_has_the_title_of_a_plain_text() -> None:
    assert read(f"Working from home{BODY}".encode(), "text/markdown", "http://a.com/home.md").title == "Working from home"
    assert read(f"Working from home\n\n# Rules{BODY}".encode(), "text/markdown", "http://a.com/home.md").title == "Rules"
