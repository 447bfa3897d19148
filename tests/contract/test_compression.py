"""Text answers are compressed for clients that ask for it, and for no others."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Iterator

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp

from feedmill.http.common.compression import MIN_BYTES, Compression, choose_coding
from feedmill.http.search.app import search_app
from tests.asgi import Answer, ask_app
from tests.contract.searchharness import SearchHarness, ask, open_harness

TEXT = "leek soup " * 200


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path_factory.mktemp("compressed"))
    made.add([made.make(f"http://a.com/{number}", TEXT) for number in range(10)])
    yield made
    made.store.close()


def fetch(app: ASGIApp, accepted: str, method: str = "GET") -> Answer:
    return ask_app(Compression(app), method, "/", headers={"accept-encoding": accepted})


@pytest.mark.parametrize("path", ["/", "/search", "/api/v1/search", "/static/search.css", "/static/search.js"])
def test_answers_of_the_search_port_are_the_same_compressed(harness: SearchHarness, path: str) -> None:
    app = search_app(harness.services())
    plain = ask(app, path, "q=leek")
    assert "content-encoding" not in plain.headers
    assert "Accept-Encoding" in plain.headers["vary"]
    for coding, unpack in (("gzip", gzip.decompress), ("br", brotli.decompress)):
        packed = ask(app, path, "q=leek", **{"accept-encoding": coding})
        assert packed.headers["content-encoding"] == coding
        assert len(packed.body) < len(plain.body) / 2
        if path.startswith("/static"):
            assert unpack(packed.body) == plain.body
            assert packed.headers["etag"] == f"W/{plain.headers['etag']}"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", ""),
        ("identity", ""),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("gzip, deflate, br", "br"),
        ("br;q=0.1, gzip;q=0.5", "gzip"),
        ("gzip;q=0, br;q=0", ""),
        ("*", "br"),
        ("br;q=0, *", "gzip"),
        ("gzip;q=x", ""),
        ("zstd", ""),
        (",;=,", ""),
    ],
)
def test_coding_is_the_best_of_what_the_client_accepts(accepted: str, coding: str) -> None:
    assert choose_coding(accepted) == coding


@given(st.text(max_size=60))
def test_any_header_is_read(accepted: str) -> None:
    assert choose_coding(accepted) in ("", "br", "gzip")


def test_small_binary_encoded_and_partial_answers_stay_as_they_are() -> None:
    assert "content-encoding" not in fetch(Response("x" * (MIN_BYTES - 1), media_type="text/plain"), "gzip").headers
    assert "content-encoding" not in fetch(Response(TEXT.encode(), media_type="application/pdf"), "gzip").headers
    packed = Response(gzip.compress(TEXT.encode()), media_type="text/plain", headers={"content-encoding": "gzip"})
    assert fetch(packed, "br").headers["content-encoding"] == "gzip"
    part = Response(TEXT, 206, media_type="text/plain", headers={"content-range": "bytes 0-9/20"})
    assert "content-encoding" not in fetch(part, "gzip").headers
    assert fetch(Response(TEXT, media_type="text/plain"), "gzip", "HEAD").headers["content-length"] == str(len(TEXT))


@pytest.mark.parametrize(("coding", "unpack"), [("gzip", gzip.decompress), ("br", brotli.decompress)])
def test_answer_in_pieces_is_compressed_piece_by_piece(coding: str, unpack: Callable[[bytes], bytes]) -> None:
    async def send_pieces() -> AsyncIterator[str]:
        for number in range(5):
            await asyncio.sleep(0)
            yield f"{number} {TEXT}"

    answer = fetch(StreamingResponse(send_pieces(), media_type="text/plain"), coding)
    assert unpack(answer.body).decode() == "".join(f"{number} {TEXT}" for number in range(5))
