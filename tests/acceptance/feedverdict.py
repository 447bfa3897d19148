"""Compares a server with references: documents, searches, totals, and what it stores."""

import random
import sqlite3
from contextlib import closing

from tests.acceptance.feedload import Feeder, Load, list_feeds, replay_feeds
from tests.acceptance.feedmodel import Page, Reference
from tests.appliance import FINAL, Appliance
from tests.waiting import wait_for

STALE_WORDS_CHECKED = 300
_LEFT = "SELECT (SELECT count(*) FROM index_tasks), (SELECT count(*) FROM replaced_tasks)"


def wait_until_applied(appliance: Appliance) -> None:
    """Waits until no feed waits and all that was fed can be found."""
    wait_for([], lambda: list_unfinished(appliance))
    assert appliance.request("GET", appliance.gate, "/getbacklogcount")[::2] == (200, b"0")


def list_unfinished(appliance: Appliance) -> list[str]:
    """Lists feeds that are not final, or not entirely searchable."""
    sources = appliance.get_json(appliance.gate, "/api/v1/datasources")
    feeds = [feed for source in sources for feed in list_feeds(appliance, source["name"])]
    return [
        f"{feed['datasource']} {feed['id']} {feed['state']}" for feed in feeds if feed["state"] not in FINAL or not feed["searchable_at"]
    ]


def assert_as_reference(appliance: Appliance, load: Load) -> None:
    """Compares every feed, every document and every search with the references."""
    for feeder in load.feeders:
        reference = assert_documents(appliance, feeder)
        assert_words(appliance, feeder, reference)
    assert_nothing_left(appliance)


def assert_documents(appliance: Appliance, feeder: Feeder) -> Reference:
    """Compares one source's feeds and documents with its reference, URL by URL and as a whole, and returns the reference."""
    reference, source = replay_feeds(appliance, feeder), feeder.plan.name
    for url in sorted({step.url for spec in feeder.sent.values() for step in spec.steps}):
        document = appliance.document(url)
        shown = None if document is None else {name: document[name] for name in ("datasource", "searchable", "reason", "metadata")}
        page = reference.pages.get(url)
        wanted = {"datasource": source, "searchable": True, "reason": None}
        assert shown == (None if page is None else wanted | {"metadata": metadata_of(page)}), (url, document)
    indexed = list_indexed(appliance, f"site:{source}.test")
    assert len(indexed) == len(reference.pages)
    assert dict(indexed) == {url: metadata_of(page) for url, page in reference.pages.items()}
    counts = {each["name"]: each["documents"] for each in appliance.get_json(appliance.gate, "/api/v1/datasources")}
    assert counts[source] == len(reference.pages)
    return reference


def assert_words(appliance: Appliance, feeder: Feeder, reference: Reference) -> None:
    """Searches for the words of all documents, each of which is found once, and for words of versions that are no more."""
    current = {page.word: url for url, page in reference.pages.items() if page.word is not None}
    for words in batches(sorted(current)):
        assert find_any(appliance, words) == sorted(current[word] for word in words)
    stale = sorted(set(feeder.list_words()) - current.keys())
    for words in batches(random.Random(1).sample(stale, min(len(stale), STALE_WORDS_CHECKED))):
        found = find_any(appliance, words)
        assert found == [], f"words of versions that are no more are found: {words} {found}"


def list_indexed(appliance: Appliance, query: str) -> list[tuple[str, dict[str, list[str]]]]:
    """Lists all that a query finds, page by page, each as often as the index returns it."""
    found: list[tuple[str, dict[str, list[str]]]] = []
    total = 1
    while len(found) < total:
        page = appliance.search(query, start=len(found), num=1000, getfields="*")
        total = page["total"]
        assert page["results"] or not total
        found += [(result["url"], result["metadata"]) for result in page["results"]]
    return found


def metadata_of(page: Page) -> dict[str, list[str]]:
    """Returns a page's metadata as the server shows it."""
    return {} if page.rev is None else {"rev": [page.rev]}


def batches(words: list[str], size: int = 20) -> list[list[str]]:
    """Splits words into as many as one search asks for."""
    return [words[place : place + size] for place in range(0, len(words), size)]


def find_any(appliance: Appliance, words: list[str]) -> list[str]:
    """Finds the URLs that hold any of some words, each as often as the index returns it."""
    found = appliance.search(" OR ".join(words), num=1000)
    assert found["total"] == len(found["results"])
    return sorted(result["url"] for result in found["results"])


def assert_nothing_left(appliance: Appliance) -> None:
    """Looks into the store: no mark is left once work that no feed waits for has been done, and it is sound."""
    with open_read_only(appliance) as store:
        wait_for((0, 0), lambda: store.execute(_LEFT).fetchone())
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store.close()


def read_applied(appliance: Appliance, feed: str) -> int:
    """Returns how many records of a feed are applied."""
    with closing(open_read_only(appliance)) as store:
        found = store.execute("SELECT applied FROM feeds WHERE id = ?", (int(feed),)).fetchone()
    return int(found[0])


def open_read_only(appliance: Appliance) -> sqlite3.Connection:
    """Opens the store beside the server."""
    return sqlite3.connect(f"file:{appliance.data / 'store.sqlite'}?mode=ro", uri=True, timeout=30)
