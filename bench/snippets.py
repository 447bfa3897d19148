"""How many snippets are sentences of the main text of pages, with the words of the query marked, on folders of real documents.

Each argument is a folder of pages that one program wrote, such as ``/usr/share/doc/python3/html``. The pages go straight into an index,
and the queries are the headings of pages chosen by chance, or the lines of a file (``--queries FILE``). The main text by which a snippet
is judged is taken by rules for the program that wrote the pages, which the server does not know: the element of the text without its
menus, tables of contents and signs for links. The text of a page that is a table of contents is this table. A snippet counts if all of it
stands in that text, and is marked if the text holds a word of the query. It is joined if a heading of the page runs into the text around
it without a sign between them. Snippets of pages whose main text holds no word of the query are counted apart. Beside the figures stand
those of the whole text of the pages, main text and navigation together.

A folder without pages of HTML is read for Markdown, plain text and manual pages, whose whole text is main text.
"""

import gzip
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from selectolax.lexbor import LexborHTMLParser

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.index.tantivy.reader import TantivyIndex
from feedmill.adapters.index.tantivy.writer import TantivyWriter
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.core.text.textblob import decode_quotable_navigation, decode_quotable_text, encode_text
from feedmill.model.access import ANONYMOUS
from feedmill.model.extraction import Extraction, ExtractionLimits, Task
from feedmill.model.query import MatchAll
from feedmill.model.results import Snippet
from feedmill.model.search import IndexDocument, SearchRequest
from feedmill.model.serving import Serving
from feedmill.services.searching.searcher import find_hits

MAX_PAGES = 400
HEADING_CHARACTERS = 60
MAX_BYTES = 400_000
QUERIES = 30
RESULTS = 10

_RULES: tuple[tuple[str, str], ...] = (
    # Sphinx
    ("div.body", ".toctree-wrapper, .headerlink, .contents, nav, .topic.contents"),
    # MkDocs
    ("[role=main]", ".headerlink, .toc, nav, .prev-next-area, .toctree-wrapper"),
    # javadoc
    ("main", "nav, .sub-nav"),
    # nodejs.org, Apache
    ("#apicontent", ".mark"),
    ("#page-content", "#quickview, .toplang, .bottomlang, .top, .up, .permalink"),
    # doxygen
    ("div.headertitle, body:has(div.headertitle) div.contents", ".navigate, .ttc, .center"),
    # Qt, Erlang
    ("div.mainContent", ".sidebar, .navigationbar"),
    ("#content:has(.innertube)", "nav, .title-anchors"),
    # Haddock, Scribble, Nim, LibreOffice's help, GRASS, docutils
    ("#content:has(#module-header)", "#table-of-contents, .links, .link, .selflink"),
    (".main:has(.navsettop)", ".navsettop, .navsetbottom"),
    ("#documentId h1.title, #documentId #content", ".link-seesrc"),
    ("#DisplayArea", "nav, .contents-treeview"),
    ("#container:has(hr.header)", "#container > a:first-child, hr.header ~ hr.header ~ p"),
    ("body > div.document, #body > div.document", ".contents, #TOC, .headerlink"),
    # pages of DocBook, of gtk-doc, of texinfo, of asciidoc, of sqlite.org
    (
        "body",
        ".navheader, .navfooter, .spirit-nav, .toc, table.navigation, .footer, div.header, .nav-panel, .contents, #footer, #toc, nav,"
        " noscript, .navigate, .nosearch:has(.menu), .nosearch > a, .docbook_footer, #heading",
    ),
)
_OTHERS = re.compile(r"(?:\.(?:md|markdown|txt|[1-9])|^(?:README|NEWS)[^/]*)(?:\.gz)?$", re.IGNORECASE)
_UNSEEN = "script, style, template, [hidden], [style*='display:none' i], [style*='display: none' i]"
_CONTENTS = (".toctree-wrapper", ".contents", ".toc", ".topic.contents", "#toc")
_SPACE = re.compile(r"\s+")
_SIGNS = re.compile("[¶§]")


@dataclass(frozen=True, slots=True)
class Page:
    """A page: what the server extracts of it, and its main text by the rules."""

    extraction: Extraction
    main: str
    text: str
    headings: tuple[str, ...]

    @property
    def stored(self) -> bytes:
        """Returns the text as the server stores it."""
        return encode_text(self.extraction.text, (), navigation=self.extraction.navigation)


@dataclass(slots=True)
class Figures:
    """Counts of snippets: all, those of the main text, and those that lack a mark though the main text holds a word of the query."""

    shown: int = 0
    in_main: int = 0
    unmarked: int = 0
    joined: int = 0
    #: quoted from navigation where the main text holds no word of the query
    beside: int = 0

    def __str__(self) -> str:
        share = 100 * self.in_main / max(self.shown, 1)
        faults = f"{self.unmarked} without a mark, {self.joined} joined"
        return f"{self.in_main:4d} of {self.shown:4d} ({share:5.1f} %) of the main text, {faults}; {self.beside} others"


def main(*arguments: str) -> None:
    """Prints a line for each folder."""
    words = list(arguments)
    queries: list[str] = []
    if "--queries" in words:
        place = words.index("--queries")
        queries = [line.strip() for line in Path(words[place + 1]).read_text().splitlines() if line.strip()]
        del words[place : place + 2]
    is_verbose = "--verbose" in words
    folders = [Path(word) for word in words if not word.startswith("--")]
    if not folders:
        print("  skipped: name folders of HTML pages, as packages with documentation install them")
        return
    for folder in folders:
        began = time.process_time()
        pages = read_pages(folder)
        seconds = time.process_time() - began
        asked = queries or choose_queries(pages)
        plain = measure([join(page) for page in pages], asked)
        ours = measure(pages, asked, print if is_verbose else None)
        print(f"  {folder}: {len(pages)} pages ({seconds:.1f} CPU s to read and judge), {len(asked)} queries", flush=True)
        print(f"    main text apart  {ours}\n    whole text       {plain}", flush=True)


def read_pages(folder: Path) -> list[Page]:
    """Reads the pages of a folder, at most ``MAX_PAGES`` chosen by chance, the same ones each time."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size <= MAX_BYTES]
    paths = sorted(path for path in files if ".html" in path.name and not path.name.endswith(".gz"))
    read = read_page
    if not paths:
        paths, read = sorted(path for path in files if _OTHERS.search(path.name) and not path.is_symlink()), read_text
    random.Random(1).shuffle(paths)
    return [page for path in sorted(paths[:MAX_PAGES]) if (page := read(path, folder)).main]


def read_text(path: Path, folder: Path) -> Page:
    """Reads a document that has no navigation."""
    url = f"http://docs.example.com/{path.relative_to(folder)}"
    extraction = extract(Task(key=0, url=url, mimetype=None, data=path.read_bytes()), ExtractionLimits())
    headings = extraction.headings.split("\n") if extraction.headings else list_headings(path)
    return Page(extraction, normalize(extraction.text), extraction.text, tuple(headings))


def list_headings(path: Path) -> list[str]:
    """Returns the headings of a plain text: single lines between empty ones, or with a line of signs below, that end no sentence."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = [line.strip() for line in ["", *data.decode("utf-8", "replace").splitlines(), ""]]
    return [
        line
        for before, line, behind in zip(lines, lines[1:], lines[2:], strict=False)
        if not normalize(before) and not normalize(behind) and 4 < len(line) < HEADING_CHARACTERS and line[-1].isalnum()
    ]


def read_page(path: Path, folder: Path) -> Page:
    """Reads one page of HTML."""
    data = path.read_bytes()
    url = f"http://docs.example.com/{path.relative_to(folder)}"
    extraction = extract(Task(key=0, url=url, mimetype="text/html", data=data), ExtractionLimits())
    main, headings = _find_main(data)
    if normalize(main) == normalize("".join(headings)):
        # a page that is a table of contents
        main, headings = _find_main(data, _CONTENTS)
    return Page(extraction, normalize(main), main, headings)


def _find_main(data: bytes, kept: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Returns the main text of a page by the rules, and its headings. Shape: ``kept`` are selectors of what the rules leave out."""
    tree = LexborHTMLParser(data.decode("utf-8", "replace"))
    for node in tree.css(_UNSEEN):
        node.decompose()
    for selector, without in _RULES:
        found = tree.css(selector)
        if found:
            for node in [node for part in found for node in part.css('img[alt]:not([alt^="["])')]:
                node.insert_before(f" {node.attributes['alt']} ")
            dropped = ", ".join(each for each in without.split(", ") if each not in kept)
            for node in [node for part in found for node in part.css(dropped)]:
                node.decompose()
            headings = tuple(_SPACE.sub(" ", node.text()).strip() for part in found for node in part.css("h1, h2, h3"))
            return " ".join(part.text(deep=True, separator=" ") for part in found), headings
    return "", ()


def normalize(text: str) -> str:
    """Returns the letters and digits of a text alone, since programs differ in the blanks and signs between them."""
    return "".join(filter(str.isalnum, text)).casefold()


def join(page: Page) -> Page:
    """Returns a page as it was without its navigation apart."""
    extraction = page.extraction
    text = f"{extraction.text}\n{extraction.navigation}"
    joined = replace(extraction, text=text, navigation="")
    return replace(page, extraction=joined)


def choose_queries(pages: Sequence[Page]) -> list[str]:
    """Returns headings of pages chosen by chance, as people type them."""
    found = [re.sub(r"[\W\d_]+", " ", heading).strip().lower() for page in pages for heading in page.headings]
    usual = sorted({heading for heading in found if 2 <= len(heading.split()) <= 5})
    return random.Random(2).sample(usual, min(QUERIES, len(usual)))


def measure(pages: Sequence[Page], queries: Sequence[str], report: Callable[[str], object] | None = None) -> Figures:
    """Puts pages into an index and judges the snippets of the first results of each query."""
    figures = Figures()
    settings = CompiledSearchConfig(Serving())
    with TemporaryDirectory() as folder:
        writer = TantivyWriter(Path(folder) / "index")
        writer.put_many(to_entries(pages))
        writer.commit()
        writer.close()
        index = TantivyIndex(Path(folder) / "index")
        for query in queries:
            plan = settings.plan(SearchRequest(query=query, num=RESULTS))
            root, hits, _ = find_hits(index, plan.root or MatchAll(), plan, ANONYMOUS)
            highlighter = index.make_highlighter(root)
            for hit in hits.hits:
                page = pages[hit.key]
                snippet = highlighter.make_snippet(decode_quotable_text(page.stored))
                if not snippet.marks and (navigation := decode_quotable_navigation(page.stored)):
                    other = highlighter.make_snippet(navigation)
                    snippet = other if other.marks else snippet
                can_mark = bool(highlighter.make_snippet(page.text).marks)
                judge(figures, page, snippet, can_mark=can_mark)
                if report is not None:
                    kind = " " if is_in_main(page, snippet) else "N" if can_mark else "B"
                    report(f"  {kind}{'J' if is_joined(page, snippet) else ' '} {query!r} {page.extraction.title!r}: {snippet.text!r}")
    return figures


def judge(figures: Figures, page: Page, snippet: Snippet, *, can_mark: bool) -> None:
    """Counts a snippet."""
    if not can_mark and not is_in_main(page, snippet):
        figures.beside += 1
        return
    figures.shown += 1
    figures.in_main += is_in_main(page, snippet)
    figures.unmarked += can_mark and not snippet.marks
    figures.joined += is_joined(page, snippet)


def is_joined(page: Page, snippet: Snippet) -> bool:
    """Whether a heading of several words runs into the text around it."""
    text = f" {snippet.text.strip('… ')} "
    for heading in page.headings:
        place = text.find(f" {heading} ") if " " in heading else -1
        if place >= 0 and (text[place - 1 : place].isalnum() or text[place + len(heading) + 2 : place + len(heading) + 3].isalnum()):
            return True
    return False


def is_in_main(page: Page, snippet: Snippet) -> bool:
    """Whether a snippet is a passage of the main text, without signs for links."""
    passages = [normalize(passage) for passage in snippet.text.split("…")]
    return any(passages) and all(passage in page.main for passage in passages) and not _SIGNS.search(snippet.text)


def to_entries(pages: Sequence[Page]) -> Iterator[IndexDocument]:
    """Yields pages as the index takes them."""
    for key, page in enumerate(pages):
        extraction = page.extraction
        yield IndexDocument(
            key=key,
            url=f"http://docs.example.com/{key}.html",
            display_url=None,
            access_class=0,
            title=extraction.title or "",
            body=extraction.text,
            navigation=extraction.navigation,
            metadata=(),
            datasource="pages",
            mimetype="text/html",
            language=extraction.language,
            last_modified=None,
            pagerank=96,
            headings=extraction.headings,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
