"""How many items of a dataload a second are applied and searchable, against the same documents in a GSA feed.

Both go to one server, one after the other, with the same pages: as ``RawData`` in base64, and as the content of records. Each round
measures both, since a machine's speed is not the same all the time.
"""

import sys
import time
from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.corpus import Corpus

ITEMS = 2_000
ROUNDS = 2
SETTINGS = '[[dataload.profiles]]\nname = "load"\n'
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_ROOT = "ThunderstoneReplication"


def main(items: int = ITEMS, rounds: int = ROUNDS) -> None:
    """Prints the rates and the ratio."""
    feed_seconds = load_seconds = applied_seconds = 0.0
    with TemporaryDirectory() as folder, running(Path(folder) / "data", SETTINGS) as appliance:
        appliance.feed(make_feed(make_record("http://bench.example.com/warm", "<p>warm</p>")), "warm")
        for round_ in range(rounds):
            corpus = Corpus(seed=round_)
            pages = [corpus.page(number) for number in range(items)]
            feed_seconds += feed(appliance, pages, round_)
            applied, searchable = load(appliance, pages, round_)
            applied_seconds, load_seconds = applied_seconds + applied, load_seconds + searchable
    count = items * rounds
    print(f"  GSA feed, searchable: {count / feed_seconds:,.0f} items a second")
    print(f"  dataload, replied:    {count / applied_seconds:,.0f} items a second")
    print(f"  dataload, searchable: {count / load_seconds:,.0f} items a second, {feed_seconds / load_seconds:.2f} times the feed")


def feed(appliance: Appliance, pages: list[str], round_: int) -> float:
    """Returns the seconds of a GSA feed until it is searchable."""
    body = make_feed(*(make_record(f"http://bench.example.com/feed/{round_}/{number}", page) for number, page in enumerate(pages)))
    began = time.monotonic()
    receipt = appliance.wait(appliance.push(body, f"feed{round_}"), seconds=600, pause_seconds=0.05)
    assert receipt["included"] == len(pages), receipt
    return time.monotonic() - began


def load(appliance: Appliance, pages: list[str], round_: int) -> tuple[float, float]:
    """Returns the seconds of a dataload until the reply comes, and until it is searchable."""
    raw = (f'<RawData dt:dt="bin.base64">{b64encode(page.encode()).decode()}</RawData>' for page in pages)
    urls = (f"<Url>http://bench.example.com/load/{round_}/{number}</Url>" for number in range(len(pages)))
    items = "".join(f"<Item><Type>I</Type>{url}{data}</Item>" for url, data in zip(urls, raw, strict=True))
    data = f'<{_ROOT} xmlns:dt="urn:schemas-microsoft-com:datatypes">{items}</{_ROOT}>'
    body = urlencode({"profile": "load", "data": data}).encode()
    began = time.monotonic()
    status, headers, reply = appliance.request("POST", appliance.gate, "/recvdata.xml", body, FORM)
    applied = time.monotonic() - began
    assert (status, reply.count(b"<Status>OK</Status>")) == (200, len(pages)), reply[:500]
    appliance.wait(headers["x-feedmill-feed"], seconds=600, pause_seconds=0.05)
    return applied, time.monotonic() - began


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS)
