import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.urls.expressions import MAX_TEXT_CHARACTERS
from feedmill.core.urls.patterns import PatternAnswer, PatternSet, parse_pattern
from feedmill.model.errors import BadRequest

# One line a pattern: the URLs that it means, then those that it does not.
TABLE: list[tuple[str, list[str], list[str]]] = [
    (
        "http://www.acme.test/",
        [
            "http://www.acme.test/",
            "http://www.acme.test/a?b",
            "http://www.acme.test:8080/a",
            "http://www.acme.test",
            "HTTP://WWW.acme.test/",
        ],
        ["https://www.acme.test/", "http://acme.test/", "http://xwww.acme.test/", "http://www.acme.test.evil.test/"],
    ),
    (
        "www.acme.test/",
        ["http://www.acme.test/x", "https://www.acme.test/x", "smb://www.acme.test/x", "http://me:secret@www.acme.test/"],
        ["http://acme.test/", "http://www.acme.test.evil.test/", "http://evil.test/www.acme.test/"],
    ),
    (
        "acme.test/",
        ["http://acme.test/", "http://www.acme.test/", "http://notacme.test/", "https://acme.test:8443/x", "http://acme.test?a=1"],
        ["http://acme.test.evil.test/", "http://evil.test/acme.test/", "http://acme.test@evil.test/", "http://evil.test?acme.test/"],
    ),
    ("acme.test/", [], ["http://evil.test#.acme.test/", "http://evil.test\\.acme.test/", "http://evil.test?x@acme.test/"]),
    (
        "acme.test/dir/",
        ["http://acme.test/dir/", "http://www.acme.test/dir/a/b", "http://acme.test:81/dir/a"],
        ["http://acme.test/dir", "http://acme.test/DIR/a", "http://acme.test/a/dir/", "http://other.test/dir/"],
    ),
    ("acme.test/a.html", ["http://acme.test/a.html", "http://acme.test/a.html?x=1"], ["http://acme.test/b/a.html"]),
    ("acme.test/a.html$", ["http://acme.test/a.html", "http://acme.test:80/a.html"], ["http://acme.test/a.html?x=1", "http://acme.test/"]),
    (
        ".pdf$",
        ["http://acme.test/a.pdf", "http://acme.test/?.pdf"],
        ["http://acme.test/a.PDF", "http://acme.test/a.pdf?x", "http://a/apdf"],
    ),
    ("home.html$", ["http://acme.test/home.html", "http://acme.test/myhome.html"], ["http://acme.test/home.html/"]),
    (
        "^http://www.x.test/a$",
        ["http://www.x.test/a", "http://www.x.test:8080/a"],
        ["http://www.x.test/ab", "http://www.x.test/", "https://www.x.test/a", "http://a.test/?http://www.x.test/a"],
    ),
    ("^http://www.x.test/a", ["http://www.x.test/ab"], ["https://www.x.test/a", "xhttp://www.x.test/a"]),
    ("^http", ["http://acme.test/", "https://acme.test/"], ["smb://acme.test/http", "ftp://acme.test/"]),
    ("^http://", ["http://acme.test/"], ["https://acme.test/"]),
    ("^http:/", ["http://acme.test/"], ["https://acme.test/"]),
    ("^http:", ["http://acme.test/"], ["https://acme.test/"]),
    ("^http://www.x.test", ["http://www.x.test/", "http://www.x.test.org/"], ["http://x.test/"]),
    ("^http://www.x.test$", ["http://www.x.test"], ["http://www.x.test/"]),
    ("contains:product", ["http://myproduct.test/", "http://a.test/b?c=products"], ["http://a.test/Product", "http://a.test/prod"]),
    ("contains:a.b*c", ["http://x.test/a.b*c"], ["http://x.test/a.bbc"]),
    ("contains:HOST", ["http://HOST/"], ["http://host/"]),
    ("regexp:a.c", ["http://x.test/aXc/d"], ["http://x.test/ac"]),
    ("regexp:-sid=[0-9A-Z]+/", ["http://x.test/a-sid=7F/b"], ["http://x.test/a-sid=7f/b"]),
    ("regexpCase:/Images/", ["http://x.test/Images/1"], ["http://x.test/images/1"]),
    ("regexpIgnoreCase:/IMAGES/", ["http://x.test/images/1", "http://x.test/Images/1"], ["http://x.test/image/1"]),
    (r"regexp:http://www\.x\.test/.*/images/", ["http://www.x.test/a/images/1"], ["http://wwwaxatest/a/images/1"]),
    (r"regexp:http://www\\.x\\.test/.*/images/", ["http://www.x.test/a/images/1"], ["http://wwwaxatest/a/images/1"]),
    ("regexp:/[[:digit:]]+$", ["http://x.test/12"], ["http://x.test/12a", "http://x.test/a:"]),
    ("regexp:^http://x/$", ["http://x/"], ["http://x/y", "a?http://x/"]),
    (
        "www?:acme.test/a/",
        ["http://acme.test/a/b", "https://www.acme.test/a/"],
        ["http://web.acme.test/a/", "http://notacme.test/a/", "http://acme.test/"],
    ),
    ("www?:http://www.acme.test/", ["http://acme.test/", "http://www.acme.test:8080/"], ["https://acme.test/", "http://wwww.acme.test/"]),
    ("www?:acme.test:8080/", ["http://acme.test:8080/"], ["http://acme.test/", "http://www.acme.test:80/"]),
    (
        "</>secret/",
        ["http://a.test/secret/x", "smb://b.test/secret/"],
        ["http://a.test/b/secret/", "http://a.test/secret", "http://secret/"],
    ),
    ("</>secret$", ["http://a.test/secret"], ["http://a.test/secret/"]),
    ("a.test</>secret/", ["http://a.test/secret/x"], ["http://b.test/secret/x"]),
    ("smb://files/my/", ["smb://files/my/a.doc", "smb://FILES/my/"], ["http://files/my/a.doc", "smb://files/other/", "smb://myfiles/my/"]),
    ("", ["http://a.test/", "smb://x", "", "no url"], []),
    ("/", ["http://a.test/", "http://a.test", "googledb://db.test/t/1", "", "no url"], []),
    ("/jobs/", ["http://a.test/jobs/", "http://a.test/x/jobs/1"], ["http://jobs/", "http://a.test/jobs"]),
    (
        "/index.html$",
        ["http://a.test/x/index.html", "http://a.test/index.html"],
        ["http://a.test/xindex.html", "http://a.test/index.html#x"],
    ),
    ("a.test:8080/", ["http://a.test:8080/x"], ["http://a.test/", "http://a.test:80/", "http://a.test:80801/"]),
    ("a.test:*/", ["http://a.test:8080/", "http://a.test:80/"], ["http://a.test/", "http://a.test:/"]),
    ("a.test:/", ["http://a.test/", "http://a.test:1/"], ["http://b.test/"]),
    ("http://[::1]:80/", ["http://[::1]:80/"], ["http://[::1]/", "http://[::1]:81/"]),
    ("[::1]/", ["http://[::1]:80/", "http://[::1]/"], ["http://[::2]/"]),
    ("http://me@a.test/", ["http://me@a.test/"], ["http://a.test/", "http://you@a.test/"]),
    ("ACME.test/Dir/", ["http://acme.TEST/Dir/"], ["http://acme.test/dir/"]),
    ("acme", ["http://acme.test/", "http://www.acme.org/"], ["http://a.test/acme"]),
    ("a.test:8080", ["http://a.test:8080/"], ["http://a.test/"]),
    ("http://", ["http://a.test/"], ["https://a.test/?http://"]),
    ("a.test/?q=$5^", ["http://a.test/?q=$5^"], ["http://a.test/?q=5"]),
    ("-acme.test/", ["http://acme.test/"], ["http://b.test/"]),
    ("+-acme.test/", ["http://acme.test/"], ["http://b.test/"]),
    ("  acme.test/ \n", ["http://acme.test/"], ["http://b.test/"]),
]


@pytest.mark.parametrize(("pattern", "url"), [(pattern, url) for pattern, meant, _ in TABLE for url in meant])
def test_pattern_with_meant_url_matches(pattern: str, url: str) -> None:
    assert parse_pattern(pattern).matches(url)


@pytest.mark.parametrize(("pattern", "url"), [(pattern, url) for pattern, _, others in TABLE for url in others])
def test_pattern_with_other_url_does_not_match(pattern: str, url: str) -> None:
    assert not parse_pattern(pattern).matches(url)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# acme.test/", "is a comment"),
        ("^", "has no text"),
        ("$", "has no text"),
        ("^$", "has no text"),
        ("-", "right behind the '-'"),
        ("+-", "right behind the '-'"),
        ("contains:", "without a text"),
        ("regexp:", "is missing"),
        ("regexp:a(b", "no regular expression"),
        ("regexp:[[a]]", "no regular expression"),
        ("acme.test:http/", "has the port 'http'"),
        ("acme.test:123456/", "has the port '123456'"),
        ("regex:a/b", "known prefixes"),
        ("a::1/", "more than one ':'"),
        ("www?:", "needs a host"),
        ("www?:/a", "needs a host"),
        ("www?:acme.test", "needs a host"),
        ("x" * 9000, "longer than 8192"),
    ],
)
def test_parse_pattern_with_fault_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(message)):
        parse_pattern(text)


def test_pattern_with_exception_sign_says_so() -> None:
    assert [parse_pattern(text).is_exception for text in ("-a/", "+-a/", "a/", "contains:-a")] == [True, True, False, False]


def test_pattern_after_pickling_still_matches() -> None:
    for text, meant, _ in TABLE:
        again = pickle.loads(pickle.dumps(parse_pattern(text)))
        assert all(again.matches(url) for url in meant)


def test_regexp_with_url_beyond_bound_sees_its_beginning_only() -> None:
    url = "http://a.test/" + "x" * MAX_TEXT_CHARACTERS + "end"
    assert parse_pattern("regexp:a[.]test/x").matches(url)
    assert not parse_pattern("regexp:end").matches(url)
    assert parse_pattern("end$").matches(url)


# --- lists ----------------------------------------------------------------------------------------------------------------------


def test_pattern_set_with_all_kinds_of_lines_follows_index_rule() -> None:
    patterns = PatternSet(
        ["# ours", "", "acme.test/", "-www.acme.test/", "  "],
        ["/private/", "-/private/open/", "# end", ".tmp$"],
    )
    verdicts = {
        url: patterns.match_url(url)
        for url in (
            "http://shop.acme.test/",
            "http://www.acme.test/",
            "http://other.test/",
            "http://shop.acme.test/private/a",
            "http://shop.acme.test/private/open/a",
            "http://shop.acme.test/private/open/a.tmp",
        )
    }
    assert [(verdict.passes, verdict.pattern) for verdict in verdicts.values()] == [
        (True, None),
        (False, "-www.acme.test/"),
        (False, None),
        (False, "/private/"),
        (True, None),
        (True, None),
    ]
    assert [verdict.reason for verdict in verdicts.values()][1:4] == [
        "matches the exception '-www.acme.test/' of the follow patterns",
        "matches no follow pattern",
        "matches the do-not-follow pattern '/private/'",
    ]


@pytest.mark.parametrize("follow", [[], ["# nothing"], ["-/"], ["-acme.test/"]])
def test_pattern_set_without_follow_pattern_passes_nothing(follow: list[str]) -> None:
    assert not PatternSet(follow).match_url("http://b.test/").passes


def test_pattern_set_with_fault_names_list_and_entry() -> None:
    with pytest.raises(BadRequest, match="do_not_follow, entry 2: the url pattern"):
        PatternSet(["/"], ["/a/", "^"])


# --- properties -----------------------------------------------------------------------------------------------------------------

LABEL = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
HOST = st.lists(LABEL, min_size=1, max_size=4).map(".".join)
PATH = st.text(st.characters(codec="utf-8", exclude_characters="$<\r\n", exclude_categories=["Cs", "Zs", "Cc", "Zl", "Zp"]), max_size=20)
PORT = st.one_of(st.just(""), st.integers(0, 65535).map(lambda port: f":{port}"))


@given(st.text(max_size=60), st.text(max_size=60))
def test_parse_pattern_with_any_text_parses_or_refuses(text: str, url: str) -> None:
    try:
        pattern = parse_pattern(text)
    except BadRequest:
        return
    assert pattern.matches(url) in (True, False)


@given(HOST, PORT, PATH, st.data())
def test_host_pattern_with_ends_of_host_and_path_matches(host: str, port: str, path: str, data: st.DataObject) -> None:
    url = f"http://{host}{port}/{path}"
    tail = host[data.draw(st.integers(0, len(host) - 1)) :]
    beginning = path[: data.draw(st.integers(0, len(path)))]
    assert parse_pattern(f"http://{host}/{beginning}").matches(url)
    if not tail.startswith((".", "-")):
        assert parse_pattern(f"{tail}/{beginning}").matches(url)
        assert parse_pattern(f"{tail}:*/{beginning}").matches(url) is bool(port)


@given(HOST, PORT, PATH)
def test_anchored_pattern_of_whole_url_means_it_alone(host: str, port: str, path: str) -> None:
    url = f"http://{host}{port}/{path}"
    pattern = parse_pattern(f"^{url}$")
    assert pattern.matches(url)
    assert not pattern.matches(url + "x")
    assert not pattern.matches("x" + url)


@given(HOST, HOST, PATH)
def test_host_pattern_with_other_host_never_matches(host: str, other: str, path: str) -> None:
    matches = parse_pattern(f"{host}/").matches(f"http://{other}/{path}")
    assert matches is other.endswith(host)


@given(st.text(min_size=1, max_size=10), HOST, PATH)
def test_contains_pattern_means_substring(text: str, host: str, path: str) -> None:
    url = f"http://{host}/{path}"
    stripped = text.rstrip()
    if stripped:
        assert parse_pattern(f"contains:{stripped}").matches(url) is (stripped in url)


@given(PATH)
def test_pattern_set_with_slash_passes_every_url(path: str) -> None:
    assert PatternSet(["/"]).match_url(path) == PatternAnswer(passes=True)
    assert PatternSet(["/"], ["/", "-/"]).match_url(path).passes
    assert not PatternSet(["/"], ["/"]).match_url(path).passes
