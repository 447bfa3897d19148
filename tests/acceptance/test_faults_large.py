"""Single documents of great size: memory does not grow with them, they are cut or limited in time, and searched all the same."""

import base64
from collections.abc import Iterator
from typing import BinaryIO, cast

import pytest

from tests.acceptance.hostile import GeneratedBody, pages_pdf, peak_bytes
from tests.appliance import ROLES, Appliance, running
from tests.builders.feedxml import make_feed, make_record

MB = 1_000_000
_FORM = '--<<\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
_DATA = b'--<<\r\nContent-Disposition: form-data; name="data"\r\n\r\n'


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("large") / "data", environment={"FEEDMILL_EXTRACTION_SECONDS": "20"}) as appliance:
        yield appliance


@pytest.mark.parametrize("size_bytes", [30 * MB, pytest.param(300 * MB, marks=pytest.mark.slow)])
def test_record_of_any_size_goes_through_in_flat_memory(appliance: Appliance, size_bytes: int) -> None:
    name = f"huge{size_bytes}"
    assert appliance.wait(push_huge_record(appliance, f"{name}not", 6 * MB))["state"] == "completed"
    before = peak_bytes(appliance, *ROLES)

    receipt = appliance.wait(push_huge_record(appliance, name, size_bytes), seconds=600)

    assert (receipt["state"], receipt["included"]) == ("completed", 1)
    assert receipt["size_bytes"] > size_bytes
    assert appliance.urls(f"{name}firstword") == [f"http://{name}.test/document.txt"]
    document = appliance.document(f"http://{name}.test/document.txt")
    assert document is not None
    assert document["searchable"]
    assert "cut" in document["reason"]
    after = peak_bytes(appliance, *ROLES)
    print({role: f"{before[role] // MB} -> {after[role] // MB} MB" for role in ROLES})
    assert {role: grown for role in ("gate", "feeder", "feeder-quick") if (grown := after[role] - before[role]) > 20 * MB} == {}
    assert max(after.values()) < 700 * MB


def push_huge_record(appliance: Appliance, name: str, size_bytes: int) -> str:
    """Pushes one record of so many bytes of base64, made while it is sent, and returns the feed's id."""
    first = base64.b64encode(f"{name}firstword in the first line\n".ljust(3_000).encode())
    piece = base64.b64encode((b"some more lines that say what all of them say\n" * 1_000)[:30_000])
    pieces = -(-size_bytes // len(piece))
    head = "".join(_FORM.format(*field) for field in (("datasource", name), ("feedtype", "full"))).encode() + _DATA
    empty = make_feed(make_record(f"http://{name}.test/document.txt", "~", mimetype="text/plain", encoding="base64binary"))
    before, _, behind = empty.partition(b"~")
    start, end = head + before + first, behind + b"\r\n--<<--\r\n"

    def iter_body() -> Iterator[bytes]:
        yield start
        for _ in range(pieces):
            yield piece
        yield end

    length = len(start) + pieces * len(piece) + len(end)
    headers = {"Content-Type": "multipart/form-data; boundary=<<", "Content-Length": str(length)}
    body = cast(BinaryIO, GeneratedBody(iter_body()))
    status, response_headers, answer = appliance.request("POST", appliance.gate, "/xmlfeed", body, headers)
    assert (status, answer) == (200, b"Success")
    return response_headers["x-feedmill-feed"]


def test_pdf_of_ten_thousand_pages_is_searched_by_its_early_pages_within_its_time(appliance: Appliance) -> None:
    pdf = pages_pdf([f"leaf{place} of a book without end" for place in range(10_000)])
    book = make_record("http://book.test/", pdf, mimetype="application/pdf")

    receipt = appliance.feed(make_feed(book, make_record("http://book.test/beside", "<p>besidethebook</p>")), "book")

    assert (receipt["state"], receipt["included"]) == ("completed", 2)
    assert appliance.urls("leaf3 leaf700") == ["http://book.test/"]
    assert appliance.urls("besidethebook") == ["http://book.test/beside"]
