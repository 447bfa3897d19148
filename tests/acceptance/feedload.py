"""Data sources that push feeds from threads of their own, through whatever happens to the server, and what must have become of them.

A push whose answer never came is pushed again, as real clients do: then the feed may be there twice, which the reference learns by
the server's own list of feeds. A feed that was acknowledged must stand in that list.
"""

import hashlib
import http.client
import io
import random
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.feedmodel import Act, Damage, FeedSpec, Reference, Step
from tests.appliance import FINAL, Appliance
from tests.waiting import PATIENCE_SECONDS

DISK_FULL = b"Feed not accepted due to insufficient disk space. Contact Google Cloud Support."
RETRY_SECONDS = 0.1
MOST_FEEDS = 800
TROUBLE = (OSError, http.client.HTTPException)
_HEAD = "--<<\r\nContent-Disposition: form-data; name={}\r\n\r\n{}\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlan:
    """How a source feeds. Units: bytes of padding in each page; ``open_feeds`` that may wait for their end at once."""

    name: str
    urls: int
    steps: int
    padding_bytes: int = 0
    open_feeds: int = 5
    full_share: float = 0.25


def make_padding(size_bytes: int) -> str:
    """Returns what fills a page: most of it is only stored, a quarter is text that is indexed too."""
    lines, line = size_bytes // 21, "all work and no play "
    return f"<p>{line * (lines // 4)}</p><!--{line * (lines - lines // 4)}-->"


class SlowBody(io.BytesIO):
    """A body that takes its time."""

    def __init__(self, body: bytes, pause_seconds: float) -> None:
        super().__init__(body)
        self._pause_seconds = pause_seconds

    def read(self, size: int | None = -1, /) -> bytes:
        time.sleep(self._pause_seconds)
        return super().read(max(1, len(self.getvalue()) // 8))


@dataclass
class Feeder:
    """One source: makes random feeds by its own seed and pushes them until it is stopped."""

    plan: SourcePlan
    dice: random.Random
    sent: dict[str, FeedSpec] = field(default_factory=dict)
    acknowledged: dict[str, str] = field(default_factory=dict)
    retries: int = 0
    is_pushing: bool = False
    _words: int = 0

    def make(self) -> FeedSpec:
        """Makes the next feed."""
        feedtype = "full" if self.dice.random() < self.plan.full_share else "incremental"
        damage = self.dice.choices([Damage.NONE, Damage.CUT, Damage.CROSSED], [18, 1, 1])[0]
        count = self.dice.randint(self.plan.steps // 2, self.plan.steps)
        steps = tuple(self._step(feedtype) for _ in range(count))
        padding = make_padding(self.plan.padding_bytes) if self.plan.padding_bytes else ""
        return FeedSpec(
            source=self.plan.name, feedtype=feedtype, steps=steps, padding=padding, damage=damage, cut_at=self.dice.uniform(0, 0.999)
        )

    def _step(self, feedtype: str) -> Step:
        acts = [Act.PUT, Act.DESCRIBE, Act.DELETE, Act.FAIL]
        act = self.dice.choices(acts, [80, 3, 5, 3] if feedtype == "full" else [50, 20, 25, 5])[0]
        url = f"http://{self.plan.name}.test/page/{self.dice.randrange(self.plan.urls)}"
        self._words += 1
        unique = f"{self.plan.name}w{self._words:05d}"
        match act:
            case Act.PUT:
                return Step(act=act, url=url, word=unique, rev=f"{unique}r" if self.dice.random() < 0.5 else None)
            case Act.DESCRIBE:
                return Step(act=act, url=url, rev=f"{unique}r")
            case _:
                return Step(act=act, url=url)

    def run(self, appliance: Appliance, is_stopped: threading.Event) -> None:
        """Pushes feed after feed; those that wait for their end are never more than the plan says, all no more than the server lists."""
        while not is_stopped.is_set() and len(self.sent) < MOST_FEEDS:
            deliver(appliance, self, self.make(), self.dice.choice([0.0, 0.0, 0.02]))
            while self._count_open(appliance) >= self.plan.open_feeds and not is_stopped.is_set():
                time.sleep(0.05)
            time.sleep(self.dice.uniform(0, 0.2))

    def list_words(self) -> list[str]:
        """Lists every word that was ever sent."""
        return [step.word for spec in self.sent.values() for step in spec.steps if step.word is not None]

    def _count_open(self, appliance: Appliance) -> int:
        try:
            feeds = list_feeds(appliance, self.plan.name, 20)
        except (*TROUBLE, AssertionError):
            return self.plan.open_feeds
        return sum(feed["state"] not in FINAL for feed in feeds)


def deliver(appliance: Appliance, feeder: Feeder, spec: FeedSpec, pause_seconds: float = 0.0) -> None:
    """Pushes a feed until it is acknowledged."""
    body = spec.render()
    digest = hashlib.sha256(body).hexdigest()
    feeder.sent[digest] = spec
    while True:
        feeder.is_pushing = True
        try:
            status, headers, answer = post(appliance, spec.source, spec.feedtype, body, pause_seconds)
        except TROUBLE:
            status, headers, answer = 503, {}, b""
        finally:
            feeder.is_pushing = False
        if status < 500 and answer != DISK_FULL:
            assert (status, answer) == (200, b"Success"), (status, answer)
            feeder.acknowledged[headers["x-feedmill-feed"]] = digest
            return
        feeder.retries += 1
        time.sleep(RETRY_SECONDS)


def post(
    appliance: Appliance, datasource: str, feedtype: str, body: bytes, pause_seconds: float = 0.0
) -> tuple[int, dict[str, str], bytes]:
    """Posts a feed, slowly where a pause is given, and returns status, headers and body."""
    head = _HEAD.format('"datasource"', datasource) + _HEAD.format('"feedtype"', feedtype)
    whole = head.encode() + b'--<<\r\nContent-Disposition: form-data; name="data"\r\n\r\n' + body + b"\r\n--<<--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=<<", "Content-Length": str(len(whole))}
    sending = SlowBody(whole, pause_seconds) if pause_seconds else whole
    return appliance.request("POST", appliance.gate, "/xmlfeed", sending, headers)


def list_feeds(appliance: Appliance, datasource: str, limit: int = 1000) -> list[dict[str, Any]]:
    """Lists receipts of a source, newest first."""
    query = urllib.parse.urlencode({"datasource": datasource, "limit": limit})
    return list(appliance.get_json(appliance.gate, f"/api/v1/feeds?{query}"))


class Load:
    """Several sources at once."""

    def __init__(self, plans: list[SourcePlan], seed: int) -> None:
        self.feeders = [Feeder(plan=plan, dice=random.Random(f"{seed} {plan.name}")) for plan in plans]
        self._stopping = threading.Event()
        self._failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def start(self, appliance: Appliance) -> None:
        """Begins to push."""
        self._threads = [threading.Thread(target=self._run, args=(feeder, appliance)) for feeder in self.feeders]
        for thread in self._threads:
            thread.start()

    def _run(self, feeder: Feeder, appliance: Appliance) -> None:
        try:
            feeder.run(appliance, self._stopping)
        except BaseException as error:  # noqa: BLE001 - raised again by stop
            self._failures.append(error)

    def stop(self) -> None:
        """Lets every feeder end its push, and raises what went wrong in any."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        assert not any(thread.is_alive() for thread in self._threads)
        if self._failures:
            raise self._failures[0]

    @property
    def is_pushing(self) -> bool:
        """Whether a body is on its way."""
        return any(feeder.is_pushing for feeder in self.feeders)


def replay_feeds(appliance: Appliance, feeder: Feeder) -> Reference:
    """Applies all feeds of a source to a reference in the order of their ids, and compares every receipt with it."""
    reference = Reference()
    listed = {feed["id"]: feed for feed in list_feeds(appliance, feeder.plan.name)}
    assert feeder.acknowledged.keys() <= listed.keys()
    assert len(listed) <= len(feeder.acknowledged) + feeder.retries
    for feed_id in sorted(listed, key=int):
        _, _, body = appliance.request("GET", appliance.gate, f"/api/v1/feeds/{feed_id}/content")
        digest = hashlib.sha256(body).hexdigest()
        assert feeder.acknowledged.get(feed_id, digest) == digest
        spec = feeder.sent[digest]
        receipt = spec.receipt()
        assert {name: listed[feed_id][name] for name in receipt} == receipt, listed[feed_id]
        reference.take(spec)
    return reference
