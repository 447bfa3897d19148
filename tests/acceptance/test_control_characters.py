"""Control characters and other unseen ones in titles, metadata and URLs: each document is found and shown, and no answer breaks."""

import base64
import json
import urllib.parse
from typing import Any

import pytest
from lxml import etree, html

from tests.appliance import Appliance
from tests.builders.feedxml import make_feed

HOST = "unseen.example.com"
UNSEEN = [
    *(chr(number) for number in (*range(9), 11, 12, 14, 27, 31, 127, 128, 133, 144, 159)),
    *"\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202d\u202e\u2060\u2066\u2067\u2069\ufeff\ufff9\ufffc\ufffd\ufffe\uffff\ufdd0\U0001ffff\U000e0041\U0010ffff",
    "\ue000",
    "\u0301",
]
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# what XML can hold, and what a feed may say with a reference
IN_XML = [each for each in UNSEEN if each in "\x7f\x80\x85\x90\x9f" or (each > "\x9f" and each not in "\ufffe\uffff")]


def _name(place: str, unseen: str) -> str:
    letters = "".join(chr(ord("a") + int(digit, 16)) for digit in f"{ord(unseen):06x}")
    return f"{place}{letters}"


def _url(place: str, unseen: str) -> str:
    return f"http://{HOST}/{place}/{ord(unseen):06x}"


def _record(url: str, data: bytes, attributes: str = "", inside: str = "") -> str:
    content = base64.b64encode(data).decode()
    return f'<record url="{url}" mimetype="text/html" {attributes}>{inside}<content encoding="base64binary">{content}</content></record>'


def _in_title(unseen: str) -> str:
    word = _name("title", unseen)
    page = (
        f"<html><head><meta charset=utf-8><title>{unseen}before {word}{unseen} after {unseen}</title></head><body>words of it</body></html>"
    )
    return _record(_url("title", unseen), page.encode("utf-8", "surrogatepass"))


def _in_reference(unseen: str) -> str:
    word = _name("reference", unseen)
    code = f"&#{ord(unseen)};"
    meta = f'<meta name="{code}author" content="{code}a{code}b"><meta name=description content="{code} about {word} {code}">'
    return _record(
        _url("reference", unseen), f"<html><head><title>{code}before {word} {code} after</title>{meta}</head><body>{code} {word}".encode()
    )


def _in_text(unseen: str) -> str:
    word = _name("text", unseen)
    return _record(
        _url("text", unseen),
        f"<html><head><meta charset=utf-8><title>Text</title></head><body>{unseen} {word} {unseen}before {unseen}".encode(),
    )


def _in_metadata(unseen: str) -> str:
    word = _name("coded", unseen)
    name, value = (base64.b64encode(text.encode()).decode() for text in (f"author{unseen}x", f"{unseen} {word} a{unseen}b"))
    plain = base64.b64encode(b"author").decode()
    metas = "".join(f'<meta encoding="base64binary" name="{each}" content="{value}"/>' for each in (name, plain))
    return _record(_url("coded", unseen), b"<title>Coded</title>words", inside=f"<metadata>{metas}</metadata>")


def _in_feed(unseen: str) -> str:
    word, code = _name("fed", unseen), f"&#{ord(unseen)};"
    meta = f'<metadata><meta name="author" content="{code}{word} a{code}b"/><meta name="{code}x" content="{code}y"/></metadata>'
    return _record(_url("fed", unseen), b"<title>Fed</title>words", f'displayurl="http://{HOST}/shown/{code}/gpj{code}"', meta)


PLACES = {"title": _in_title, "reference": _in_reference, "text": _in_text, "coded": _in_metadata, "fed": _in_feed}


@pytest.fixture(scope="module")
def fed(server: Appliance) -> Appliance:
    records = [make(each) for place, make in PLACES.items() for each in (IN_XML if place == "fed" else UNSEEN)]
    receipt = server.feed(make_feed(*records), "unseen")
    assert (receipt["state"], receipt["errors"]) == ("completed", 0), receipt["log"]
    return server


def _get(server: Appliance, path: str, **parameters: str | int) -> bytes:
    status, _, body = server.request("GET", server.search_port, f"{path}?{urllib.parse.urlencode(parameters)}")
    assert status == 200, (path, parameters, body)
    return body


OFTEN = ("title", "fed")


@pytest.mark.parametrize("place", [place if place in OFTEN else pytest.param(place, marks=pytest.mark.thorough) for place in PLACES])
def test_unseen_characters_every_document_is_found_and_shown(fed: Appliance, place: str) -> None:
    for unseen in IN_XML if place == "fed" else UNSEEN:
        url, word = _url(place, unseen), _name(place, unseen)
        query = f"inmeta:author~{word}" if place in ("coded", "fed") else word
        wanted: dict[str, str | int] = {"q": query, "getfields": "*"}
        found = json.loads(_get(fed, "/api/v1/search", **wanted))["results"]
        assert [each["url"] for each in found] == [url], (hex(ord(unseen)), fed.document(url))
        for charset in ("utf8", "latin1", "sjis"):
            answer: Any = etree.fromstring(_get(fed, "/search", **wanted, output="xml_no_dtd", client="default_frontend", oe=charset))
            assert [each.text for each in answer.findall("RES/R/U")] == [found[0]["display_url"]]
        _check_page(_get(fed, "/", **wanted).decode(), unseen)
        _get(fed, "/cache", url=url)
        shown = json.loads(fed.request("GET", fed.gate, "/api/v1/documents?" + urllib.parse.urlencode({"url": url}))[2])
        assert shown["searchable"] is True


def _check_page(page: str, unseen: str) -> None:
    controls = [each for each in page if (each < " " and each not in "\t\n\r") or "\x7f" <= each <= "\x9f" or each in "\ufffe\uffff"]
    assert not controls, (hex(ord(unseen)), controls)
    assert not [each for each in page if each in TURNING], hex(ord(unseen))
    document: Any = html.document_fromstring(page)
    (heading,) = document.iterfind(".//article/h2")
    assert heading.text_content().strip()
