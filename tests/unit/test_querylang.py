import time
from datetime import date
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.language import MAX_CHARACTERS, MAX_TERMS, list_restrictions, parse_query
from feedmill.core.query.text import render_query
from feedmill.model.query import (
    And,
    AnyOf,
    DateRange,
    FileType,
    Info,
    InText,
    InTitle,
    InUrl,
    LinksTo,
    MatchAll,
    MetaContains,
    MetaDates,
    MetaEquals,
    MetaExists,
    MetaNumbers,
    Node,
    Not,
    NumberRange,
    Or,
    Phrase,
    Related,
    Site,
    Word,
)


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("", MatchAll()),
        (" \t\n ", MatchAll()),
        ("word", Word("word")),
        ("two words", And((Word("two"), Word("words")))),
        ('"a phrase"', Phrase("a phrase")),
        ("“a phrase”", Phrase("a phrase")),
        ("„a phrase“ -«b c» ”d e”", And((Phrase("a phrase"), Not(Phrase("b c")), Phrase("d e")))),
        ("“alone", Word("“alone")),
        ("12” disk", And((Word("12”"), Word("disk")))),
        ('“say "this" now”', Phrase("say  this  now")),
        ("intitle:“a phrase” b", And((InTitle("“a phrase”"), Word("b")))),
        ('x"a b"y', And((Word("x"), Phrase("a b"), Word("y")))),
        ("e-mail", Phrase("e-mail")),
        ("a OR b", Or((Word("a"), Word("b")))),
        ("a OR b c", And((Or((Word("a"), Word("b"))), Word("c")))),
        ("a b OR c OR d", And((Word("a"), Or((Word("b"), Word("c"), Word("d")))))),
        ('"a b" OR site:x.com', Or((Phrase("a b"), Site("x.com")))),
        ("a AND b", And((Word("a"), Word("b")))),
        ('a AND -b AND "c d" OR site:x.com', And((Word("a"), Not(Word("b")), Or((Phrase("c d"), Site("x.com")))))),
        ("a and b", And((Word("a"), Word("and"), Word("b")))),
        ("AND", Word("AND", is_fixed=True)),
        ("AND b", And((Word("AND", is_fixed=True), Word("b")))),
        ("a AND", And((Word("a"), Word("AND", is_fixed=True)))),
        ("a +AND b", And((Word("a"), Word("AND", is_fixed=True), Word("b")))),
        ("a or b", And((Word("a"), Word("or"), Word("b")))),
        ("a -b", And((Word("a"), Not(Word("b"))))),
        ('-"a b"', Not(Phrase("a b"))),
        ("-e-mail", Not(Phrase("e-mail"))),
        ("a OR -b", Or((Word("a"), Not(Word("b"))))),
        ("-OR", Not(Word("OR", is_fixed=True))),
        ("+a c++", And((Word("a", is_fixed=True), Word("c++")))),
        ("site:example.com/dir", Site("example.com/dir")),
        ("SITE:example.com -site:a.com", And((Site("example.com"), Not(Site("a.com"))))),
        ('inurl:report inurl:"a b"', And((InUrl("report"), InUrl("a b")))),
        ("related:www.h.com/p,q x", And((Related("www.h.com/p,q"), Word("x")))),
        ('info:http://h/p?q="x"&y=OR z', And((Info('http://h/p?q="x"&y=OR'), Word("z")))),
        ('info:"smb://h.a.com/a b.doc" x', And((Info("smb://h.a.com/a b.doc"), Word("x")))),
        ('-link:"http://h/a b"', Not(LinksTo("http://h/a b"))),
        ('info:"http://h/a', Info("http://h/a")),
        ("inmeta:dept", MetaExists("dept")),
        ("inmeta:dept=legal", MetaEquals("dept", "legal")),
        ("inmeta:dept=legal%20affairs", MetaEquals("dept", "legal affairs")),
        ('inmeta:dept="legal affairs" x', And((MetaEquals("dept", "legal affairs"), Word("x")))),
        ('inmeta:"my dept=legal affairs"', MetaEquals("my dept", "legal affairs")),
        ("inmeta:a%3Db%2Ec=x%3Dy=z", MetaEquals("a=b.c", "x=y=z")),
        ("inmeta:lang=c++", MetaEquals("lang", "c++")),
        ("inmeta:name=%C3%BC%FF", MetaEquals("name", "ü\ufffd")),
        ("-inmeta:dept=legal", Not(MetaEquals("dept", "legal"))),
        ('intitle:a -InTitle:"b c"', And((InTitle("a"), Not(InTitle("b c"))))),
        ('x allintitle:a b-c " d " -e site:s', And((Word("x"), *map(InTitle, ("a", "b-c", "d")), Not(InTitle("e")), Site("s")))),
        ("allinurl: a b OR c", And((InUrl("a"), Or((InUrl("b"), InUrl("c")))))),
        ("-allintext:a -b", And((Not(InText("a")), Not(InText("b"))))),
        ("intext:a filetype:pdf -ext:.doc", And((InText("a"), FileType("pdf"), Not(FileType(".doc"))))),
        ("link:http://h/p?a=b", LinksTo("http://h/p?a=b")),
        ("tv $200..$1,000.50", And((Word("tv"), NumberRange(200.0, 1000.5, "usd")))),
        ("1..5 -6..7", And((NumberRange(1.0, 5.0), Not(NumberRange(6.0, 7.0))))),
        ("$5..$10 5..10kg 5kg..10kg 5..10GB", And((NumberRange(5, 10, "usd"), *[NumberRange(5, 10, "kg")] * 2, NumberRange(5, 10, "gb")))),
        ("truck 5,000..10,000 kg -1..2 \u20ac", And((Word("truck"), NumberRange(5000, 10000, "kg"), Not(NumberRange(1, 2, "eur"))))),
        ("1.000,50..2.000,50 5...7 5\u20267", And((NumberRange(1000.5, 2000.5), NumberRange(5, 7), NumberRange(5, 7)))),
        ("5..7 in 5..7 +kg", And((NumberRange(5, 7), Word("in"), NumberRange(5, 7), Word("kg", is_fixed=True)))),
        ("5..7 OR kg", Or((NumberRange(5, 7), Word("kg")))),
        ("$5..10\u20ac 1.2.3..1.2.5", And((Word("$5..10\u20ac"), Word("1.2.3..1.2.5")))),
        ("wait.. 1..x", And((Word("wait.."), Word("1..x")))),
        ("x daterange:2011-03-05..2011-04-01", And((Word("x"), DateRange(date(2011, 3, 5), date(2011, 4, 1))))),
        ("daterange:2011-03-05..", DateRange(date(2011, 3, 5), None)),
        ("daterange:2455626-2455653", DateRange(date(2011, 3, 5), date(2011, 4, 1))),
        ("daterange:2455626..2455653", DateRange(date(2011, 3, 5), date(2011, 4, 1))),
        ("daterange:2455626", DateRange(date(2011, 3, 5), date(2011, 3, 5))),
        ("daterange:2011-03-05", DateRange(date(2011, 3, 5), date(2011, 3, 5))),
        ("inmeta:dept~legal", MetaContains("dept", "legal")),
        ("inmeta:dept~legal%20aff*", MetaContains("dept", "legal aff", is_prefix=True)),
        ("inmeta:dept~a%2A", MetaContains("dept", "a*")),
        ("inmeta:dept~*", MetaExists("dept")),
        ("inmeta:price:10..19.99", MetaNumbers("price", 10.0, 19.99)),
        ("inmeta:price:60..", MetaNumbers("price", 60.0, None)),
        ("inmeta:price:..$60", MetaNumbers("price", None, 60.0, "usd")),
        ("inmeta:size:5..10GB", MetaNumbers("size", 5.0, 10.0, "gb")),
        ("inmeta:price:0,5..1.299,00", MetaNumbers("price", 0.5, 1299.0)),
        ("inmeta:t:-5..-1", MetaNumbers("t", -5.0, -1.0)),
        ("inmeta:dc:price:1..2", MetaNumbers("dc:price", 1.0, 2.0)),
        ("inmeta:dc:title=x", MetaEquals("dc:title", "x")),
        ("inmeta:D.C%2Ex", MetaExists("D.C.x")),
        ("inmeta:d:2011-03-05..2012-01-01", MetaDates("d", date(2011, 3, 5), date(2012, 1, 1))),
        ("inmeta:d:daterange:2011-03-05..2011-03-05", MetaDates("d", date(2011, 3, 5), date(2011, 3, 5))),
        ("inmeta:d:DateRange:..2011-03-05", MetaDates("d", None, date(2011, 3, 5))),
        ("inmeta:a=1 OR inmeta:a=2 OR inmeta:p:1..2", Or((MetaEquals("a", "1"), MetaEquals("a", "2"), MetaNumbers("p", 1.0, 2.0)))),
        ("http://example.com/a 12:30 :x", And((Word("http://example.com/a"), Word("12:30"), Word(":x")))),
    ],
)
def test_parse_query_text_becomes_its_tree(text: str, root: Node) -> None:
    parsed = parse_query(text)
    assert (parsed.root, parsed.warnings) == (root, ())


@pytest.mark.parametrize(
    ("text", "root", "warning"),
    [
        ("OR a", Word("a"), "OR without a term on both sides was ignored"),
        ("a OR", Word("a"), "OR without a term on both sides was ignored"),
        ("a OR ", Word("a"), "OR without a term on both sides was ignored"),
        ("a OR OR b", Or((Word("a"), Word("b"))), "OR without a term on both sides was ignored"),
        ("OR", MatchAll(), "OR without a term on both sides was ignored"),
        ("(OR)", MatchAll(), "OR without a term on both sides was ignored"),
        ("a (OR b)", And((Word("a"), Word("b)"))), "OR without a term on both sides was ignored"),
        ("(a OR) b", And((Word("(a"), Word("b"))), "OR without a term on both sides was ignored"),
        ("-a OR", Not(Word("a")), "OR without a term on both sides was ignored"),
        ("a -", Word("a"), "- without a term was ignored"),
        ("a - b", And((Word("a"), Word("b"))), "- without a term was ignored"),
        ('""', MatchAll(), "a pair of quotes without words was ignored"),
        ("“”", MatchAll(), "a pair of quotes without words was ignored"),
        ("- a", Word("a"), "- without a term was ignored"),
        ("+", MatchAll(), "+ without a term was ignored"),
        ('a ""', Word("a"), "a pair of quotes without words was ignored"),
        ('-" " a', Word("a"), "a pair of quotes without words was ignored"),
        ("a site:", Word("a"), "site: without a value was ignored"),
        ("inmeta:", MatchAll(), "inmeta: without a value was ignored"),
        ("-InMeta: a", Word("a"), "inmeta: without a value was ignored"),
        ("info:", MatchAll(), "info: without a value was ignored"),
        ('a link:""', Word("a"), "link: without a value was ignored"),
        ("a daterange:..", Word("a"), "daterange:.. without a value was ignored"),
        ("a ..", Word("a"), ".. without a number on both sides was ignored"),
        ("-.. a", Word("a"), ".. without a number on both sides was ignored"),
        ("5..", Word("5.."), ".. without a number on both sides was ignored"),
        ("..$5", Word("..$5"), ".. without a number on both sides was ignored"),
        ("a allintitle:", Word("a"), "allintitle: without a term was ignored"),
        ('say "this', And((Word("say"), Word("this"))), "a quote without its partner"),
        ("site: x", Word("x"), "site: without a value was ignored"),
        ('a inurl:""', Word("a"), "inurl: without a value was ignored"),
        ("inmeta:=x", Phrase("inmeta:=x"), "inmeta:=x was searched"),
        ("inmeta:size:..", MatchAll(), "inmeta:size:.. without a value was ignored"),
        ("inmeta:size:1..many", Phrase("inmeta:size:1..many"), "inmeta:size:1..many was searched"),
        ("inmeta:size:9", Phrase("inmeta:size:9"), "inmeta:size:9 was searched"),
        ("inmeta:~legal", Phrase("inmeta:~legal"), "inmeta:~legal was searched"),
        ("inmeta:dept~", Phrase("inmeta:dept~"), "inmeta:dept~ was searched"),
        ("inmeta:d:daterange:2011-02-30", Phrase("inmeta:d:daterange:2011-02-30"), "inmeta:d:daterange:2011-02-30 was searched"),
        ("daterange:yesterday..", Phrase("daterange:yesterday.."), "daterange:yesterday.. was searched"),
        ("intitle: x", Word("x"), "intitle: without a value was ignored"),
        ("cache:9rajlf5d3UQJ:http://h/p x", And((Info("http://h/p"), Word("x"))), "cache: found the document itself"),
        ("cache:http://h/p", Info("http://h/p"), "cache: found the document itself"),
        ("nothing:here", Word("nothing:here"), "nothing: was searched"),
    ],
)
def test_parse_query_not_understood_is_ignored_or_words_with_a_warning(text: str, root: Node, warning: str) -> None:
    parsed = parse_query(text)
    assert parsed.root == root
    assert len(parsed.warnings) == 1
    assert parsed.warnings[0].startswith(warning)


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("pip --upgrade", And((Word("pip"), Word("--upgrade", is_fixed=True)))),
        ("--no-cache-dir", Phrase("--no-cache-dir")),
        ("git -x --force", And((Word("git"), Not(Word("x")), Word("--force", is_fixed=True)))),
        ("std::sort", Word("std::sort")),
        ("error: disk full", And((Word("error:"), Word("disk"), Word("full")))),
    ],
)
def test_parse_query_options_of_commands_and_names_in_code_are_words(text: str, root: Node) -> None:
    parsed = parse_query(text)
    assert (parsed.root, parsed.warnings) == (root, ())
    assert parse_query(render_query(parsed.root)).root == root


def test_parse_query_too_much_is_cut_with_a_warning() -> None:
    many = parse_query("w " * (MAX_TERMS + 5))
    assert isinstance(many.root, And)
    assert len(many.root.parts) == MAX_TERMS
    assert many.warnings == (f"only the first {MAX_TERMS} terms were searched",)
    assert len(parse_query("w " * MAX_TERMS).warnings) == 0
    long = parse_query("x" * (MAX_CHARACTERS + 1))
    assert long.root == Word("x" * MAX_CHARACTERS)
    assert len(long.warnings) == 1


@pytest.mark.parametrize(
    "piece",
    [
        '"',
        "“",
        "“a”",
        "site:“",
        "-",
        'site:"',
        "inmeta:",
        'inmeta:a"',
        "info:",
        "OR ",
        "a:",
        '"a"',
        "%",
        "- ",
        "-site:x ",
        "inmeta:a:..",
        "..",
        "1..1",
        "9",
    ],
)
def test_parse_query_repeated_pieces_take_no_time(piece: str) -> None:
    begun = time.thread_time()
    parse_query(piece * 10_000)
    assert time.thread_time() - begun < 5.0


_OPERATORS = "site: inmeta: info: inurl: allintitle: link: cache: related: daterange: filetype:"
_PIECES = st.sampled_from(
    [
        *_OPERATORS.split(),
        *("a", "OR", "AND", '"', "-", " ", "=", "%20", "~", "é", "東", "(", ")", ":", "x-y", "2011-03-05", "7"),
        *".$*+",
        *("5..1.299", "kg", "€"),
        "..",
        *"\x00\ud800\u2003\x1d",
        *"“”«",
    ]
)


def _count(node: Node) -> int:
    match node:
        case And(parts) | Or(parts) | AnyOf(parts):
            assert len(parts) > 1
            return sum(_count(part) for part in parts)
        case Not(part):
            assert not isinstance(part, Not | And | Or)
            return _count(part)
        case MatchAll():
            return 0
        case _:
            return 1


@given(st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=60).map("".join)))
def test_parse_query_any_text_returns_a_small_flat_tree(text: str) -> None:
    parsed = parse_query(text)
    assert _count(parsed.root) <= MAX_TERMS
    assert len(set(parsed.warnings)) == len(parsed.warnings)
    assert isinstance(parsed.root, MatchAll) is (_count(parsed.root) == 0)


@given(st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=60).map("".join)))
def test_render_query_parsed_again_returns_the_same_tree(text: str) -> None:
    root = parse_query(text).root
    assert parse_query(render_query(root)).root == root


@given(st.floats(0, 1e14), st.floats(-1e14, 1e14), st.sampled_from(["", "kg", "EUR", "$"]))
def test_render_query_numbers_come_back(low: float, high: float, unit: str) -> None:
    typed = parse_query(f"inmeta:n:{low:.10f}..{high:.10f}{unit}").root
    assert parse_query(render_query(typed)).root == typed


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=2, max_size=10))
def test_parse_query_plain_words_round_trip(words: list[str]) -> None:
    assert parse_query(" ".join(words)).root == And(tuple(Word(word) for word in words))


@given(st.text(min_size=1, max_size=30).filter(lambda value: value.strip() == value and "\ud800" not in value))
def test_parse_query_encoded_value_round_trips(value: str) -> None:
    try:
        encoded = quote(value, safe="")
    except UnicodeEncodeError:
        return
    parsed = parse_query(f"inmeta:name={encoded}")
    assert parsed.root == MetaEquals("name", value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("travel abroad", ()),
        ("travel filetype:pdf rates", (("filetype:pdf", "travel rates"),)),
        ("-draft  site:a.com", (("-draft", "site:a.com"), ("site:a.com", "-draft"))),
        ('inmeta:dept="legal affairs" fees', (('inmeta:dept="legal affairs"', "fees"),)),
        ('-"by plane" travel', (('-"by plane"', "travel"),)),
        ("site:a.com OR site:b.com fees -draft", (("-draft", "site:a.com OR site:b.com fees"),)),
        ('intitle:x "', (("intitle:x", '"'),)),
        ("-allintitle: x", ()),
        ("well-known +travel foo:x", ()),
    ],
)
def test_list_restrictions_names_each_as_written_and_what_is_left(text: str, found: tuple[tuple[str, str], ...]) -> None:
    assert list_restrictions(text) == found


@given(st.text())
def test_list_restrictions_parts_come_from_the_text(text: str) -> None:
    for term, rest in list_restrictions(text):
        assert term in text
        assert len(rest) <= len(text)
