"""Hostile feeds over the wire: each costs itself at most, deletes nothing, and the server goes on in flat memory."""

import base64
import random
import zlib
from collections.abc import Callable, Iterator

import pytest

from tests.acceptance.hostile import bomb_docx, endless_pdf, nested_zip, peak_bytes, zero_bomb
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

MB = 1_000_000
MAX_FEED_BYTES = 150 * MB
"""The limit of the server below, which is also what a content may inflate to."""

FLAT_BYTES = 100 * MB
"""What the feeders may grow by; each bomb is larger."""


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    limits = {"FEEDMILL_GATE_MAX_FEED_BYTES": str(MAX_FEED_BYTES), "FEEDMILL_EXTRACTION_SECONDS": "5"}
    with running(tmp_path_factory.mktemp("hostile") / "data", environment=limits) as appliance:
        yield appliance


def pages_of(name: str, count: int) -> list[str]:
    return [make_record(f"http://{name}.test/{place}", f"<p>{name}w{place}</p>", [("place", str(place))]) for place in range(count)]


def test_full_feed_cut_off_anywhere_deletes_and_changes_nothing(appliance: Appliance) -> None:
    dice = random.Random(11)
    urls = [f"http://cut.test/{place}" for place in range(40)]
    assert appliance.feed(make_feed(*pages_of("cut", 40)), "cut", "full")["state"] == "completed"
    other = make_feed(*(make_record(url, f"<p>never{place} &amp; <![CDATA[x]]></p>") for place, url in enumerate(urls[5:])))
    body_from, end = other.index(b"<record"), len(other)
    places = sorted({end - 1, end - len(b"</gsafeed>"), body_from, *(dice.randrange(body_from, end) for _ in range(20))})

    feeds = [appliance.push(other[:place], "cut", "full") for place in places]

    for feed in feeds:
        receipt = appliance.wait(feed)
        assert (receipt["state"], receipt["included"], receipt["errors"]) == ("failed in error", 0, 0)
        assert [entry["level"] for entry in receipt["log"]][-1] == "error"
        assert receipt["log"][-1]["line"] >= 1
    assert appliance.search("site:cut.test")["total"] == 40
    assert sorted(appliance.urls("site:cut.test", num=100)) == sorted(urls)
    assert appliance.search("never7")["total"] == 0


MALFORMED = {
    "crossed tags": b"<gsafeed><group></gsafeed></group>",
    "two roots": b"<gsafeed><group/></gsafeed><gsafeed/>",
    "no feed": b"<html><body>hello</body></html>",
    "no group": b"<gsafeed><header/></gsafeed>",
    "no xml": b"\x00\xff\xfe" * 1000,
    "words": b"full feed please",
    "raw bracket": b'<gsafeed><group><record url="http://a.test/<b"/></group></gsafeed>',
    "twice the same attribute": b'<gsafeed><group><record url="http://a.test/" url="http://b.test/"/></group></gsafeed>',
    "unknown encoding": b'<?xml version="1.0" encoding="klingon"?><gsafeed><group></gsafeed>',
    "external entity": b'<!DOCTYPE gsafeed [<!ENTITY x SYSTEM "file:///etc/passwd">]><gsafeed><group><record url="&x;"/></group></gsafeed>',
    "parameter entity": b'<!DOCTYPE gsafeed [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x;]><gsafeed><group/></gsafeed>',
}


def billion_laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
    return f'<!DOCTYPE gsafeed [<!ENTITY l0 "lol">{entities}]><gsafeed><group><record url="&l9;"/></group></gsafeed>'.encode()


def quadratic_laughs() -> bytes:
    return f'<!DOCTYPE gsafeed [<!ENTITY a "{"a" * 100_000}">]><gsafeed><group>{"&a;" * 100_000}</group></gsafeed>'.encode()


OVERSIZED: dict[str, Callable[[], bytes]] = {
    "billion laughs": billion_laughs,
    "quadratic laughs": quadratic_laughs,
    "giant attribute": lambda: b'<gsafeed><group><record url="http://giant.test/' + b"a" * (40 * MB) + b'"/></group></gsafeed>',
    "giant name": lambda: b"<gsafeed><group><" + b"a" * (40 * MB) + b"/></group></gsafeed>",
    "endless comment": lambda: b"<gsafeed><group><!--" + b" no end" * (6 * MB),
    "endless instruction": lambda: b"<gsafeed><group><?pi " + b" no end" * (6 * MB),
    "deep nesting": lambda: b"<gsafeed><group>" + b"<a>" * (10 * MB),
    "many attributes": lambda: b"<gsafeed><group " + b"".join(b'a%d="" ' % number for number in range(200_000)) + b"/></gsafeed>",
    "many names": lambda: b"<gsafeed><group>" + b"".join(b"<a%d/>" % number for number in range(500_000)) + b"</group></gsafeed>",
}


OFTEN = ("billion laughs", "giant attribute", "endless comment", "deep nesting")
"""Feeds that every run pushes; ``golden/test_feed_hostile.py`` parses each kind without a server."""


@pytest.mark.parametrize("name", MALFORMED)
def test_feed_that_is_no_feed_is_acknowledged_refused_and_changes_nothing(appliance: Appliance, name: str) -> None:
    check_refused(appliance, MALFORMED[name])


@pytest.mark.parametrize("name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.thorough) for name in OVERSIZED])
def test_feed_without_end_is_refused_in_flat_memory(appliance: Appliance, name: str) -> None:
    before = peak_bytes(appliance, "gate", "feeder", "feeder-quick")

    check_refused(appliance, OVERSIZED[name]())

    after = peak_bytes(appliance, "gate", "feeder", "feeder-quick")
    assert {role: grown for role in after if (grown := after[role] - before[role]) > 60 * MB} == {}


def check_refused(appliance: Appliance, xml: bytes) -> None:
    appliance.feed(make_feed(*pages_of("older", 3)), "older", "full")
    receipt = appliance.feed(xml, "older", "full")
    assert receipt["state"] == "failed in error", receipt
    assert any(entry["level"] == "error" for entry in receipt["log"])
    assert sorted(appliance.urls("site:older.test")) == [f"http://older.test/{place}" for place in range(3)]


def test_compressed_bombs_cost_their_records_alone(appliance: Appliance) -> None:
    appliance.feed(make_feed(*pages_of("warm", 1)), "bombs")
    before = peak_bytes(appliance, "gate", "feeder", "feeder-quick")
    huge = zero_bomb(300 * MB)
    twice = base64.b64encode(zlib.compress(base64.b64decode(huge))).decode()

    receipt = appliance.feed(
        make_feed(
            make_record("http://bombs.test/before", "<p>bombsbefore</p>"),
            make_record("http://bombs.test/huge", huge, encoding="base64compressed", mimetype="text/plain"),
            make_record("http://bombs.test/large", zero_bomb(100 * MB), encoding="base64compressed", mimetype="text/plain"),
            make_record("http://bombs.test/twice", twice, encoding="base64compressed"),
            make_record("http://bombs.test/nested", nested_zip(6), mimetype="application/zip"),
            make_record("http://bombs.test/word", bomb_docx(500 * MB), mimetype="application/msword"),
            make_record("http://bombs.test/pdf", endless_pdf(), mimetype="application/pdf"),
            make_record("http://bombs.test/after", "<p>bombsafter</p>"),
        ),
        "bombs",
    )

    assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed with errors", 6, 2)
    refused = {entry["url"]: entry["reason"] for entry in receipt["log"] if entry["level"] == "error"}
    assert refused.keys() == {"http://bombs.test/huge", "http://bombs.test/large"}
    assert all("gate.max_inflation" in message for message in refused.values())
    assert sorted(appliance.urls("bombsbefore OR bombsafter")) == ["http://bombs.test/after", "http://bombs.test/before"]
    for name in ("twice", "nested", "word", "pdf"):
        document = appliance.document(f"http://bombs.test/{name}")
        assert document is not None
        assert document["searchable"], document
        assert document["reason"], name
        if name == "pdf":  # it grows without end: a fast machine meets the bound of memory first, a slow one that of time
            assert document["reason"] in {"extraction took longer than 5 s", "the extractor crashed over this document"}
    after = peak_bytes(appliance, "gate", "feeder", "feeder-quick")
    assert {role: grown for role in after if (grown := after[role] - before[role]) > FLAT_BYTES} == {}


def test_hostile_files_leave_the_extractor_at_work(appliance: Appliance) -> None:
    assert appliance.feed(make_feed(*pages_of("later", 30)), "later")["state"] == "completed"
    assert appliance.urls("laterw29") == ["http://later.test/29"]
