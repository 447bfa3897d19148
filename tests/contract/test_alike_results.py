"""Results whose texts are nearly the same: the page shows them as one, and counts only what its user may see."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.document import Attributes, Document
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from tests.asgi import Answer
from tests.builders.access import acl, identity, permit
from tests.contract.searchharness import SearchHarness, ask, open_harness
from tests.unit.test_fingerprints import make_text


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


def make_copies(harness: SearchHarness, count: int, name: str = "copy", **given: Any) -> list[Document]:
    text = f"needle. {make_text(7)}"
    return [harness.make(f"http://a.com/{name}{number}", text, title=f"Handbook {name} {number}", **given) for number in range(count)]


def make_others(harness: SearchHarness, count: int) -> list[Document]:
    return [harness.make(f"http://a.com/other{number}", f"needle. {make_text(100 + number)}", title="Other") for number in range(count)]


def show(harness: SearchHarness, query: str, user: Identity = ANONYMOUS_IDENTITY) -> Answer:
    services = harness.services()
    answer = ask(search_app(services, SearchSite(identify=lambda _request: services.filters.find_filter(user))), "/", query)
    assert answer.status == 200
    return answer


def count_of(page: Answer) -> str:
    found = re.search(r'class="count">(.*?) <span>', page.text, re.DOTALL)
    return found[1] if found else ""


def list_addresses(page: Answer) -> list[str]:
    return re.findall(r'<a href="(http://a\.com/[^"]*)" rel="noopener">', page.text)


def test_copies_are_one_result_that_opens_the_others(harness: SearchHarness) -> None:
    harness.add([*make_copies(harness, 3), *make_others(harness, 2)])
    page = show(harness, "q=needle")
    assert count_of(page) == "5 results"
    assert page.text.count("<article") == 3
    assert '<summary><bdi dir="ltr">2 similar results<span class="hidden"> to Handbook' in page.text
    assert len(set(list_addresses(page))) == 5
    ungrouped = show(harness, "q=needle&filter=0")
    assert (ungrouped.text.count("<article"), count_of(ungrouped)) == (5, "5 results")
    assert "similar result" not in ungrouped.text


def test_pages_of_a_grouped_list_count_documents(harness: SearchHarness) -> None:
    harness.add([*make_copies(harness, 6), *make_others(harness, 12)])
    first, second = show(harness, "q=needle"), show(harness, "q=needle&start=10")
    assert count_of(first) == "1–15 of 18 results"
    assert count_of(second) == "16–18 of 18 results"
    assert len({*list_addresses(first), *list_addresses(second)}) == 18
    assert 'start="11"' in second.text
    assert 'rel="next"' not in second.text


def test_group_holds_only_what_its_user_may_see(harness: SearchHarness) -> None:
    secret = make_copies(harness, 4, "secret", secure=True)
    harness.add([*make_copies(harness, 2), *secret], acls={document.url: acl(permit("ann")) for document in secret})
    ann = show(harness, "q=needle", identity("ann"))
    assert "5 similar results<span" in ann.text
    assert count_of(ann) == "6 results"
    anonymous = show(harness, "q=needle")
    assert "1 similar result<span" in anonymous.text
    assert "secret" not in anonymous.text
    assert count_of(anonymous) == "2 results"


def test_document_that_is_closed_after_the_last_commit_leaves_its_group(harness: SearchHarness) -> None:
    harness.add([*make_copies(harness, 3), *make_others(harness, 1)])
    with harness.store.writing() as unit:
        found = unit.documents.reader.find_many(["http://a.com/copy0", "http://a.com/copy1"])
        unit.documents.writer.save_many([replace(document, secure=True) for document in found.values()])
    page = show(harness, "q=needle")
    assert count_of(page) == "2 results"
    assert page.text.count("<article") == 2
    assert "copy0" not in page.text
    assert "copy1" not in page.text
    assert "similar result" not in page.text


@pytest.mark.parametrize("path", ["/api/v1/search", "/search"])
def test_lists_for_programs_hold_each_document(harness: SearchHarness, path: str) -> None:
    harness.add(make_copies(harness, 3))
    answer = ask(search_app(harness.services()), path, "q=needle&filter=0" if path == "/search" else "q=needle")
    assert all(f"http://a.com/copy{number}" in answer.text for number in range(3))


@pytest.mark.parametrize("sort", ["date:D:S:d1", "date:A:S:d1", "date:D:R:d1", "meta:size:A"])
def test_lists_in_other_orders_are_grouped_below_their_first_document(harness: SearchHarness, sort: str) -> None:
    def make(name: str, text: str, place: int) -> Document:
        day = datetime(2026, 1, 20 - place, tzinfo=UTC)
        metadata = (("size", f"{place}"),)
        return harness.make(f"http://a.com/{name}", text, title="Copy", attributes=Attributes(last_modified=day), metadata=metadata)

    copies = [make(f"copy{place}", f"needle. {make_text(7)}", place) for place in range(4)]
    harness.add([*copies, make("other", f"needle. {make_text(8)}", 1)])
    page = show(harness, f"q=needle&sort={sort}")
    assert page.text.count("<article") == 2
    assert "3 similar results<span" in page.text
    assert count_of(page) == "5 results"
    assert list_addresses(page)[0] == ("http://a.com/copy3" if sort.startswith("date:A") else "http://a.com/copy0")
    assert show(harness, f"q=needle&sort={sort}&filter=0").text.count("<article") == 5


def test_groups_in_another_order_hold_only_what_their_user_may_see(harness: SearchHarness) -> None:
    secret = make_copies(harness, 4, "secret", secure=True)
    harness.add([*secret, *make_copies(harness, 2)], acls={document.url: acl(permit("ann")) for document in secret})
    assert "5 similar results<span" in show(harness, "q=needle&sort=date:D:S:d1", identity("ann")).text
    anonymous = show(harness, "q=needle&sort=date:D:S:d1")
    assert "1 similar result<span" in anonymous.text
    assert "secret" not in anonymous.text
