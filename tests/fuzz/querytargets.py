"""What searchers and programs ask: queries, parameters, URL patterns, URLs, cursors, credentials in headers."""

from datetime import UTC, datetime

from feedmill.core.query.builder import read_request
from feedmill.core.query.fields import read_fields
from feedmill.core.query.inmeta import read_inmeta
from feedmill.core.query.language import parse_query
from feedmill.core.text.dates import parse_date
from feedmill.core.text.measures import read_range
from feedmill.core.urls.patterns import parse_pattern
from feedmill.core.urls.targets import parse_target
from feedmill.core.urls.validation import check_url, host_of
from feedmill.http.pages.branding import render_footer
from feedmill.http.pages.languages import choose_language
from feedmill.http.search.gsaparameters import echo_parameters, page_url, read_gsa_request, split_pairs
from feedmill.http.search.parameters import read_cursor
from feedmill.http.search.passages import read_passage_request
from feedmill.http.signin.cookies import Cookies
from feedmill.http.signin.requestauthenticator import read_basic
from feedmill.model.errors import BadRequest
from feedmill.model.search import SearchRequest
from feedmill.wire.decisions import parse_question
from feedmill.wire.images import find_image_type
from tests.fuzz.target import Target

_QUERIES = (
    b'travel OR journey "by train" -car site:example.com/docs inmeta:price:10..20 intitle:rep* filetype:pdf +the',
    b'inmeta:published:2011-03-05..2011-04-01 daterange:2455626-2455653 allinurl:annual report -inmeta:"a b"=c%20d',
    b"$200..$400 5..10 kg 1.618,2.718 2,375.9,5..9 colo*r c*t 3.11 o'clock OR",
    '日本語 検索 서울 ภาษาไทย "Ærø" İstanbul ٣..٤ info:http://a.example.com/ü cache:ab-cd:http://x/ link:http://y/'.encode(),
)
_PARAMETERS = (
    b"q=travel+report&num=20&start=10&site=default_collection&client=default_frontend&output=xml_no_dtd&ie=utf8&oe=latin1&access=a",
    b"q=%E6%97%A5&as_q=a&as_epq=b+c&as_oq=d&as_eq=e&as_occt=title&as_sitesearch=x.com&as_dt=e&as_filetype=pdf&as_ft=i&as_lq=http://z/",
    b"q=x&requiredfields=department:legal%2520affairs|department:sales.-draft&partialfields=(a:b.c:d)&getfields=*&filter=p&lr=-lang_de&sort=date:D:S:d1",
)
_WORDS = tuple(b'" \\ OR AND - + .. : site: inmeta: info: daterange: ( ) | . * ~ = %20 %25 %u1234 $ kg & ; ie= oe= num= start='.split())
_PATTERNS = (
    b"example.com/docs/",
    b"regexp:^https?://[^/]*\\\\.example\\\\.com(:\\d+)?/",
    b"regexpIgnoreCase:(a|b)+\\.pdf$",
    b"www?.example.com/",
    b"-contains:secret",
    b"https://www.example.com:8443/a$",
    b"^http://x/",
    "http://bücher.example/ü".encode(),
)
_PATTERN_WORDS = tuple(
    b"regexp: regexpCase: contains: www? ^ $ ( ) [ ] [[:alpha:]] {2,3} * + ? | \\\\ \\d (?: (?= (?P<x> \\1 :80 / // -".split()
)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def ask_query(data: bytes) -> int:
    """Reads a query, and asks the restrictions by themselves."""
    text = _text(data)
    parsed = parse_query(text)
    inner = (
        read_inmeta(text),
        read_fields(text, is_partial=True),
        read_fields(text, is_partial=False),
        parse_date(text),
        read_range(text, "9"),
    )
    return len(repr(parsed)) + len(repr(inner))


def ask_parameters(data: bytes) -> int:
    """Reads the parameters of the GSA's protocol as a whole request, and writes them back."""
    gsa = read_gsa_request(split_pairs(data))
    parsed = read_request(gsa.request)
    return len(repr(parsed)) + len(repr(echo_parameters(gsa, "192.0.2.1"))) + len(page_url(gsa, 10))


def try_pattern(data: bytes) -> int:
    """Reads a URL pattern and matches URLs with it."""
    first, _, url = _text(data).partition("\n")
    pattern = parse_pattern(first)
    urls = (url, "http://www.example.com/docs/a?b#c", "https://example.com:8443/" + "ab" * 30)
    return sum(pattern.matches(each) for each in urls)


def read_address(data: bytes) -> int:
    """Reads a URL as feeds, late binding and searches do."""
    url = _text(data)
    try:
        target = repr(parse_target(url))
    except BadRequest as exc:
        target = str(exc)
    return len(repr((host_of(url), check_url(url, require_fqdn=True)))) + len(target)


def read_credentials(data: bytes) -> int:
    """Reads Basic credentials, cookies, cursors and dates of a request."""
    text = data.decode("latin-1")
    scope = {"type": "http", "scheme": "http", "headers": [(b"cookie", data), (b"cookie", data[: len(data) // 2])]}
    cookie = Cookies(always_secure=False).read(scope, "GSA_SESSION_ID")
    found = (read_basic(text), cookie, parse_date(text))
    try:
        cursor = repr(read_cursor(text, SearchRequest(query="x")))
    except BadRequest as exc:
        cursor = str(exc)
    return len(repr(found)) + len(cursor)


def read_json_line(data: bytes) -> int:
    """Reads a question of the access resources."""
    return len(repr(parse_question(_text(data))))


def read_passage_body(data: bytes) -> int:
    """Reads the body of a request for passages."""
    return len(repr(read_passage_request(data)))


def choose_page(data: bytes) -> int:
    """Chooses the language of a page, finds the type of an image and writes a footer."""
    text = _text(data)
    wanted, _, accepted = text.partition("\n")
    return len(choose_language(wanted, accepted).language.tag) + len(repr(find_image_type(data))) + len(render_footer(text))


TARGETS = (
    Target(name="query", run=ask_query, seeds=_QUERIES, words=_WORDS, output_per_byte=1_000),
    Target(name="parameters", run=ask_parameters, seeds=_PARAMETERS, words=_WORDS, output_per_byte=1_000),
    Target(name="pattern", run=try_pattern, seeds=_PATTERNS, errors=(BadRequest,), words=_PATTERN_WORDS),
    Target(
        name="url",
        run=read_address,
        seeds=(b"http://a.example.com:80/x?y#z", b"smb://h/s%20t/", b"http://[::1]/", *_PATTERNS),
        words=_PATTERN_WORDS,
    ),
    Target(
        name="credentials",
        run=read_credentials,
        seeds=(
            b"YW5uOnNlY3JldA==",
            b'GSA_SESSION_ID=abc; other="q;uoted"; GSA_SESSION_ID',
            b"Kg",
            datetime(2024, 5, 17, tzinfo=UTC).isoformat().encode(),
            b"Tue, 06 Nov 2007 12:45:26 GMT",
        ),
        words=(b"GSA_SESSION_ID=", b";", b'"', b"=", b"\\073", b"T", b":", b"+00:00", b"BC", b"am"),
    ),
    Target(
        name="passage_request",
        run=read_passage_body,
        seeds=(b'{"query": "leave of staff", "num": 5, "site": "a|b"}', b'{"query": "\\ud83d\\ude00"}'),
        errors=(BadRequest,),
        words=(b"[", b"{", b'"\\ud800"', b"null", b"1e999", b"9" * 5_000, b'"num":', b'"query":', b"NaN", b"true"),
    ),
    Target(
        name="json",
        run=read_json_line,
        seeds=(b'{"url": "http://a/", "user": "ann", "domain": "d", "groups": [{"name": "g", "domain": "", "namespace": "x"}]}',),
        errors=(BadRequest,),
        words=(b"[", b"{", b'"\\ud800"', b"null", b"1e999", b"9" * 5_000, b'"groups":', b"NaN"),
    ),
    Target(
        name="page",
        run=choose_page,
        seeds=(b"zh_TW\nde-AT, de;q=0.9, *;q=0.1", b'<?xml version="1.0"?><!-- a --><svg>', b"[a](https://x) \\[b](javascript:y) <i>"),
        words=tuple(b"zh hant en-US ;q=0. , * <!-- --> <svg <!DOCTYPE [ ]( mailto: javascript: < > \\ RIFF".split()),
    ),
)
