"""Both kinds of the client against servers that are slow, broken or hostile."""

import asyncio
import gc
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill_client import (
    AsyncClient,
    BadAnswer,
    BadRequest,
    Busy,
    Client,
    Denied,
    FeedmillError,
    NotDone,
    NotFound,
    Options,
    Progress,
    Retries,
    ServerFault,
    Stuck,
    Timeouts,
    Unreachable,
)
from tests.eitherclient import KINDS, QUICK, Either
from tests.rawserver import Handler, Server, always, redirect, running
from tests.waiting import wait_until

ONCE = replace(QUICK, retries=Retries(attempts=1))
SUGGESTIONS = b'{"query": "x", "suggestions": ["xylophone"]}'
RECEIPT = json.dumps(
    dict.fromkeys(("records", "finished_at", "searchable_at"))
    | {"id": "7", "datasource": "d", "feedtype": "incremental", "groups": False, "state": "received", "client": "", "log": []}
    | {"received_at": "2026-01-01T00:00:00Z", "size_bytes": 1, "included": 0, "errors": 0}
).encode()
TOKEN = "secret-token"


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def read_body(peer: socket.socket, head: bytes) -> bytes:
    """Returns the body of a request as it was sent, with its chunks."""
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
    if b"content-length" in fields:
        length, body = int(fields[b"content-length"]), bytearray()
        while len(body) < length and (piece := peer.recv(1 << 20)):
            body += piece
        return bytes(body)
    tail = bytearray()
    while not tail.endswith(b"\r\n0\r\n\r\n") and (piece := peer.recv(1 << 20)):
        tail = tail[-1024:] + piece
    return bytes(tail)


def in_turn(*answers: bytes) -> Handler:
    """Writes one answer after another over the same connection, the last one for all later requests."""
    rest = list(answers)

    def handle(peer: socket.socket, head: bytes) -> bool:
        read_body(peer, head) if head.startswith((b"POST", b"PUT")) else None
        peer.sendall(rest.pop(0) if len(rest) > 1 else rest[0])
        return True

    return handle


def open_client(kind: str, server: Server, options: Options = ONCE, **given: Any) -> Either:
    return Either(kind, "Client", search=server.url(""), feeds=server.url(""), options=options, **{"token": TOKEN, **given})


# --- servers that do not answer as they should ---


@KINDS
def test_silent_server_is_unreachable_after_the_time_limit(kind: str) -> None:
    over = threading.Event()
    options = replace(ONCE, timeouts=Timeouts(silence_seconds=0.05))
    with running(lambda _peer, _head: over.wait()) as server, open_client(kind, server, options) as client:
        with pytest.raises(Unreachable, match=r"no answer within 0\.05 seconds") as raised:
            client.suggest("x")
        over.set()
    assert (raised.value.was_sent, TOKEN in str(raised.value)) == (True, False)


@KINDS
def test_server_that_sends_a_byte_now_and_then_is_left_at_the_end_of_the_time(kind: str) -> None:
    def trickle(peer: socket.socket, _head: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            peer.sendall(b"a")
            time.sleep(0.01)

    options = replace(ONCE, timeouts=Timeouts(silence_seconds=30, answer_seconds=0.2))
    with running(trickle) as server, open_client(kind, server, options) as client, pytest.raises(Unreachable, match=r"within 0\.|answer"):
        client.suggest("x")


@KINDS
def test_answer_without_end_is_refused_at_its_limit(kind: str) -> None:
    def pour(peer: socket.socket, _head: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            peer.sendall(b" " * 65536)

    options = replace(ONCE, max_answer_bytes=1 << 20)
    with running(pour) as server, open_client(kind, server, options) as client, pytest.raises(BadAnswer, match="more than 1048576 bytes"):
        client.suggest("x")


@KINDS
@pytest.mark.parametrize(
    ("raw", "error", "text"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", Unreachable, "the connection was closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n{", Unreachable, "the connection was closed"),
        (b"", Unreachable, "the connection was closed"),
        (b"\x15\x03\x01\x00\x02\x02\x46", Unreachable, "a port with TLS wants https://"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, Unreachable, "no answer from"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 100, BadAnswer, "more than 20 responses"),
        (answer(b"<html>", "200 OK", "Content-Type: text/html"), BadAnswer, "answers no JSON"),
        (answer(b"[" * 100_000), BadAnswer, "answers no JSON"),
        (answer(b"\xff\xfe"), BadAnswer, "answers no JSON"),
        (answer(b"[]"), BadAnswer, "not an object"),
        (answer(b'{"query": "x"}'), BadAnswer, "'suggestions' is missing"),
        (answer(b'{"query": 1, "suggestions": []}'), BadAnswer, "'query' is a int"),
        (answer(b'{"query": "x", "suggestions": ["a", 1]}'), BadAnswer, r"'suggestions\[1\]' is a int"),
        (answer(b"teapot", "418 No"), BadRequest, "418: teapot"),
        (answer(b"", "500 No"), ServerFault, "500: no text"),
        (answer(b"x" * 10_000, "507 No"), Busy, "507: x{1000}$"),
    ],
)  # fmt: skip
def test_answer_that_is_none_is_named(kind: str, raw: bytes, error: type[FeedmillError], text: str) -> None:
    with running(always(raw)) as server, open_client(kind, server) as client, pytest.raises(error, match=text) as raised:
        client.suggest("x")
    assert type(raised.value) is error or error is Busy
    assert TOKEN not in str(raised.value)


@KINDS
def test_backlog_that_is_no_number_is_refused(kind: str) -> None:
    with running(in_turn(answer(b"12\n"), answer(b"<html>"))) as server, open_client(kind, server) as client:
        assert client.count_backlog() == 12
        with pytest.raises(BadAnswer, match="does not answer as documented"):
            client.count_backlog()


@KINDS
def test_redirect_is_not_followed_and_named(kind: str) -> None:
    with running(always(answer(SUGGESTIONS))) as other, running(always(redirect(other.url("/stolen")))) as server:
        with open_client(kind, server) as client, pytest.raises(BadAnswer, match=r"redirects to 'http://\S+/stolen'; give that address"):
            client.suggest("x")
        assert other.heads == []


@KINDS
@pytest.mark.parametrize("link", ['<http://other.test/api/v1/feeds?cursor=a>; rel="next"', '<//other.test/?cursor=a>; rel="next"'])
def test_link_to_another_server_is_refused(kind: str, link: str) -> None:
    page = answer(b"[]", "200 OK", f"Link: {link}")
    with running(always(page)) as server, open_client(kind, server) as client, pytest.raises(BadAnswer, match="to another server"):
        client.iter_receipts()


@KINDS
def test_list_that_leads_to_itself_is_refused(kind: str) -> None:
    page = answer(b"[]", "200 OK", 'Link: </api/v1/feeds?cursor=a>; rel="next"')
    with running(in_turn(page)) as server, open_client(kind, server) as client, pytest.raises(BadAnswer, match="to itself"):
        client.iter_receipts()


@KINDS
def test_pages_are_followed_by_their_links(kind: str) -> None:
    first = answer(b"[" + RECEIPT + b"]", "200 OK", 'Link: </elsewhere?limit=1&cursor=a%20b>; rel="next"')
    with running(in_turn(first, answer(b"[" + RECEIPT + b"]"))) as server, open_client(kind, server) as client:
        assert [receipt.id for receipt in client.iter_receipts("d")] == ["7", "7"]
        assert [head.split(b" ", 2)[1] for head in server.heads] == [
            b"/api/v1/feeds?limit=100&datasource=d",
            b"/api/v1/feeds?limit=1&cursor=a%20b",
        ]
        assert server.connections == 1


# --- addresses and errors ---


@KINDS
@pytest.mark.parametrize("host", ["a..test", "a" * 70, "a\0b"])
def test_name_that_is_none_is_refused(kind: str, host: str) -> None:
    with Either(kind, "Port", f"http://{host}:9", options=ONCE) as port, pytest.raises((BadRequest, Unreachable), match=r"address|name"):
        port.get_json("/")


@KINDS
@pytest.mark.parametrize("given", [{"token": "tökén"}, {"token": "a b\r\nX: y"}, {"user": "a", "options": replace(ONCE, user_agent="ü")}])
def test_characters_that_http_does_not_allow_are_refused(kind: str, given: dict[str, Any]) -> None:
    with running(always(b"")) as server, Either(kind, "Port", server.url("/"), **{"options": ONCE, **given}) as port:
        with pytest.raises(BadRequest, match="characters that HTTP does not allow"):
            port.get_json("/")
        assert server.heads == []


@KINDS
def test_names_that_unicode_does_not_allow_are_replaced(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    file.write_bytes(b"<gsafeed/>")
    with running(in_turn(answer(b"", "404 None"), answer(b"no", "400 No"))) as server, open_client(kind, server) as client:
        with pytest.raises(NotFound):
            client.get_receipt("\ud800")
        with pytest.raises(BadRequest, match="refused the feed"):
            client.push(file, datasource="\ud800")
        assert b"/api/v1/feeds/%3F " in server.heads[0]


@KINDS
def test_error_has_what_the_problem_says(kind: str) -> None:
    given = {"type": "/manual/x#forbidden", "title": "Forbidden", "status": 403, "detail": "you may not", "code": "forbidden"}
    raw = answer(json.dumps(given).encode(), "403 Forbidden", "X-Request-Id: r-1")
    with running(always(raw)) as server, open_client(kind, server) as client, pytest.raises(Denied, match=r"^you may not$") as raised:
        client.suggest("x")
    error = raised.value
    assert error.problem is not None
    assert (error.status, error.request_id, error.problem.type, error.problem.title, error.problem.code) == (
        403,
        "r-1",
        "/manual/x#forbidden",
        "Forbidden",
        "forbidden",
    )


@KINDS
def test_fault_of_the_server_names_the_request_by_which_its_log_has_more(kind: str) -> None:
    given = {"detail": "internal error", "request_id": "r-1"}
    raw = answer(json.dumps(given).encode(), "500 Internal Server Error", "X-Request-Id: r-1")
    with running(always(raw)) as server, open_client(kind, server) as client:
        with pytest.raises(ServerFault, match=r"^internal error; the log of the server has more, by the request_id r-1$") as raised:
            client.suggest("x")
        assert raised.value.problem is not None
        assert raised.value.problem.request_id == raised.value.request_id == "r-1"


# --- trying again ---


@KINDS
@pytest.mark.parametrize("status", ["429 Many", "502 Bad", "503 Busy", "504 Late"])
def test_request_that_only_reads_is_sent_again(kind: str, status: str) -> None:
    with running(in_turn(answer(b"", status), answer(b"", status, "Retry-After: 0"), answer(SUGGESTIONS))) as server:
        with open_client(kind, server, QUICK) as client:
            assert client.suggest("x") == ["xylophone"]
        assert (len(server.heads), server.connections) == (3, 1)


@KINDS
def test_request_is_given_up_after_its_attempts(kind: str) -> None:
    with running(in_turn(answer(b"later", "503 Busy"))) as server, open_client(kind, server, QUICK) as client:
        with pytest.raises(Busy, match=rf"^http://127\.0\.0\.1:{server.port} answered 503: later$"):
            client.suggest("x")
        assert len(server.heads) == 3


@KINDS
def test_server_that_wants_more_time_than_there_is_is_not_asked_again(kind: str) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    for header, least in (("Retry-After: 999", 999), (f"Retry-After: {date}", 3_000)):
        with running(in_turn(answer(b"", "503 Busy", header))) as server, open_client(kind, server, QUICK) as client:
            with pytest.raises(Busy) as raised:
                client.suggest("x")
            assert len(server.heads) == 1
        assert raised.value.retry_after_seconds is not None
        assert raised.value.retry_after_seconds >= least


@KINDS
def test_connection_that_breaks_is_tried_again_only_for_what_may_be_repeated(kind: str) -> None:
    with running(always(b"")) as server, open_client(kind, server, QUICK) as client:
        with pytest.raises(Unreachable):
            client.retrieve("x")
        assert server.connections == 3
    with running(lambda peer, head: read_body(peer, head) and None) as server, open_client(kind, server, QUICK) as client:
        with pytest.raises(Unreachable) as raised:
            client.push_documents([{"url": "http://a.test/"}], datasource="d")
        assert (server.connections, raised.value.was_sent) == (1, True)


@KINDS
def test_port_at_which_nothing_listens_is_tried_again_for_everything(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        url = f"http://user:{TOKEN}@127.0.0.1:{held.getsockname()[1]}"
    with Either(kind, "Client", feeds=url, options=QUICK) as client, pytest.raises(Unreachable, match="no server answers at") as raised:
        client.push_documents(iter([{"url": "http://a.test/"}]), datasource="d")
    assert (raised.value.was_sent, TOKEN in str(raised.value)) == (False, False)


@KINDS
def test_refused_push_is_sent_again_where_its_documents_can_be(kind: str, tmp_path: Path) -> None:
    refused, taken = answer(b"", "503 Busy"), answer(RECEIPT, "202 Accepted")
    documents = [{"url": "http://a.test/"}]
    with running(in_turn(refused, taken)) as server, open_client(kind, server, QUICK) as client:
        assert client.push_documents(documents, datasource="d").id == "7"
    with running(in_turn(refused, taken)) as server, open_client(kind, server, QUICK) as client, pytest.raises(Busy):
        client.push_documents(iter(documents), datasource="d")
    file = tmp_path / "feed.xml"
    file.write_bytes(b"<gsafeed/>")
    accepted = answer(b"Success", "200 OK", "X-Feedmill-Feed: 7")
    with running(in_turn(refused, accepted)) as server, open_client(kind, server, QUICK) as client:
        assert client.push(file, datasource="d") == "7"


# --- waiting ---


@KINDS
def test_waiting_ends_with_its_time_or_where_nothing_moves(kind: str) -> None:
    seen = list[str]()
    over = r"feed 7 is not done after 0\.01 seconds: received; it goes on"
    with running(in_turn(answer(RECEIPT))) as server, open_client(kind, server) as client, pytest.raises(NotDone, match=over):
        client.wait("7", timeout_seconds=0.01, on_progress=lambda receipt: seen.append(receipt.state))
    stuck = {"queue": "extract", "since": "2026-01-01T00:00:00Z", "document": "http://a.test/", "reason": "no process"}
    receipt = RECEIPT[:-1] + b', "stuck": ' + json.dumps(stuck).encode() + b"}"
    unmoved = r"queue extract.*no process \(http://a\.test/\)"
    with running(in_turn(answer(receipt))) as server, open_client(kind, server) as client, pytest.raises(Stuck, match=unmoved):
        client.wait("7")
    assert seen == ["received"]


# --- connections ---


@KINDS
def test_connection_is_used_again_until_the_server_closes_it(kind: str) -> None:
    taken = answer(SUGGESTIONS)
    turns = iter([True, False, True])

    def handle(peer: socket.socket, _head: bytes) -> bool:
        peer.sendall(taken)
        return next(turns)

    with running(handle) as server, open_client(kind, server) as client:
        client.suggest("x")
        client.suggest("x")
        assert server.connections == 1
        client.suggest("x")
        assert server.connections == 2


@KINDS
def test_closed_client_opens_connections_again(kind: str) -> None:
    with running(in_turn(answer(SUGGESTIONS))) as server, open_client(kind, server) as client:
        client.suggest("x")
        client.close()
        assert client.suggest("x") == ["xylophone"]
        assert server.connections == 2


@KINDS
def test_request_names_host_token_and_user_agent(kind: str) -> None:
    with running(in_turn(answer(SUGGESTIONS))) as server:
        with open_client(kind, server, replace(ONCE, user_agent="crawler/1")) as client:
            client.suggest("ä b&c")
        (head,) = server.heads
        assert head.startswith(b"GET /api/v1/suggest?q=%C3%A4+b%26c&num=10 HTTP/1.1\r\n")
        for line in (f"Host: 127.0.0.1:{server.port}", "User-Agent: crawler/1", f"Authorization: Bearer {TOKEN}"):
            assert f"\r\n{line}\r\n".encode().lower() in head.lower()


@KINDS
def test_server_behind_a_path_is_asked_there(kind: str) -> None:
    with running(in_turn(answer(SUGGESTIONS))) as server:
        with Either(kind, "Client", search=server.url("/find/"), options=ONCE) as client:
            client.suggest("x")
        assert server.heads[0].startswith(b"GET /find/api/v1/suggest?")


def test_cancelled_request_closes_its_connection() -> None:
    over = threading.Event()

    async def cancel(server: Server) -> bool:
        async with AsyncClient(search=server.url("")) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.suggest("x")
            return not client._core.search.idle

    with running(lambda _peer, _head: over.wait()) as server:
        assert asyncio.run(cancel(server))
        over.set()


@pytest.mark.filterwarnings("ignore:.*unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_client_of_asyncio_runs_requests_at_once_and_in_another_loop() -> None:
    together = threading.Barrier(3, timeout=30)

    def handle(peer: socket.socket, _head: bytes) -> bool:
        together.wait()
        peer.sendall(answer(SUGGESTIONS))
        return True

    async def ask_thrice() -> list[list[str]]:
        return await asyncio.gather(*(client.suggest("x") for _ in range(3)))

    with running(handle) as server:
        client = AsyncClient(search=server.url(""), options=ONCE)
        assert asyncio.run(ask_thrice()) == [["xylophone"]] * 3
        assert asyncio.run(ask_thrice()) == [["xylophone"]] * 3
        assert server.connections == 6
        # asyncio warns of what a loop leaves open
        client._core.search.idle.clear()
        gc.collect()


def test_threads_share_a_client_that_waits() -> None:
    with running(in_turn(answer(SUGGESTIONS))) as server, Client(search=server.url(""), options=ONCE) as client:
        found: list[list[str]] = []
        threads = [threading.Thread(target=lambda: found.extend(client.suggest("x") for _ in range(20))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [["xylophone"]] * 80
        assert server.connections <= 4


# --- pushes of any size ---


@KINDS
def test_refusal_before_the_end_of_a_push_is_read(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    with file.open("wb") as stream:
        stream.truncate(200 << 20)

    def refuse(peer: socket.socket, _head: bytes) -> None:
        peer.sendall(answer(b"Error - Unauthorized Request", "403 No", "Connection: close"))
        peer.shutdown(socket.SHUT_WR)
        # as a server does that lets the client read its answer
        while peer.recv(65536):
            pass

    with running(refuse) as server, open_client(kind, server) as client, pytest.raises(Denied, match="Unauthorized"):
        client.push(file, datasource="d")


@KINDS
def test_connection_that_breaks_within_a_push_is_named(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    with file.open("wb") as stream:
        stream.truncate(200 << 20)

    def close(peer: socket.socket, _head: bytes) -> None:
        peer.recv(1 << 20)

    with running(close) as server, open_client(kind, server) as client:
        with pytest.raises(Unreachable, match=rf"no answer from http://127\.0\.0\.1:{server.port}: the connection was closed") as raised:
            client.push(file, datasource="d")
        assert (server.connections, raised.value.was_sent) == (1, True)


@KINDS
@pytest.mark.parametrize("size", [1_000, 3_000_000])
def test_interim_response_within_a_push_does_not_end_it(kind: str, size: int) -> None:
    bodies: list[bytes] = []

    def greet(peer: socket.socket, head: bytes) -> None:
        peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n")
        first = peer.recv(1)
        peer.sendall(b"\r\n")
        bodies.append(first + read_body(peer, head))
        peer.sendall(answer(RECEIPT, "202 Accepted"))

    with running(greet) as server, open_client(kind, server) as client:
        documents = [{"url": "http://a.example.com/", "content": "x" * 1_000}] * (size // 1_000)
        assert client.push_documents(iter(documents), datasource="d").id == "7"
    assert bodies[0].endswith(b"\r\n0\r\n\r\n")


@KINDS
def test_push_of_a_file_needs_little_memory_and_tells_its_progress(kind: str, tmp_path: Path) -> None:
    size, seen = 64 << 20, list[Progress]()
    file = tmp_path / "feed.xml"
    with file.open("wb") as stream:
        stream.truncate(size)
    received = 0

    def drain(peer: socket.socket, head: bytes) -> None:
        nonlocal received
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        while received < length:
            received += len(peer.recv(65536))
        peer.sendall(answer(b"Success", "200 OK", "X-Feedmill-Feed: 7"))

    with running(drain) as server, open_client(kind, server) as client:
        tracemalloc.start()
        try:
            assert client.push(file, datasource="d", on_progress=seen.append) == "7"
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert received > size
    assert peak < 12 << 20
    assert (seen[-1].sent_bytes, seen[-1].total_bytes) == (size, size)
    assert [each.sent_bytes for each in seen] == sorted({each.sent_bytes for each in seen})


@KINDS
def test_push_of_documents_needs_little_memory_and_tells_its_progress(kind: str) -> None:
    seen = list[Progress]()

    def drain(peer: socket.socket, head: bytes) -> None:
        read_body(peer, head)
        peer.sendall(answer(RECEIPT, "202 Accepted"))

    def make() -> Iterator[dict[str, object]]:
        for number in range(1_000):
            yield {"url": f"http://a.test/{number}", "content": "words " * 5_000}

    with running(drain) as server, open_client(kind, server) as client:
        tracemalloc.start()
        try:
            assert client.push_documents(make(), datasource="d", on_progress=seen.append).id == "7"
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 8 << 20
    assert (seen[-1].documents, seen[-1].total_bytes, seen[-1].sent_bytes > 30_000_000) == (1_000, None, True)


@KINDS
def test_iterator_that_fails_leaves_the_push_without_its_end(kind: str) -> None:
    tails = list[bytes]()

    def fail() -> Iterator[dict[str, object]]:
        yield {"url": "http://a.test/", "content": "x" * 100_000}
        raise ConnectionResetError("of the source of the documents")

    with running(lambda peer, head: tails.append(read_body(peer, head))) as server, open_client(kind, server, QUICK) as client:
        with pytest.raises(ConnectionResetError, match="of the source"):
            client.push_documents(fail(), datasource="d")
        wait_until(lambda: tails, "the server's end of the connection")
    assert len(tails) == 1
    assert not tails[0].endswith(b"0\r\n\r\n")


def test_documents_that_come_asynchronously_are_pushed_by_asyncio_only() -> None:
    async def make() -> AsyncIterator[dict[str, object]]:
        for number in range(3):
            await asyncio.sleep(0)
            yield {"url": f"http://a.test/{number}"}

    with running(in_turn(answer(RECEIPT, "202 Accepted"))) as server:
        with open_client("asyncio", server) as client:
            assert client.push_documents(make(), datasource="d").id == "7"
        with open_client("blocking", server) as client, pytest.raises(TypeError, match="need an AsyncClient"):
            client.push_documents(make(), datasource="d")


@KINDS
def test_file_that_is_missing_is_no_fault_of_the_server(kind: str, tmp_path: Path) -> None:
    with Either(kind, "Client", feeds="http://127.0.0.1:9") as client, pytest.raises(FileNotFoundError):
        client.push(tmp_path / "none.xml", datasource="d")


@KINDS
def test_download_writes_content_of_any_size_and_its_failure_is_the_callers(kind: str, tmp_path: Path) -> None:
    class Full:
        def write(self, _data: bytes) -> int:
            raise OSError(28, "No space left on device")

    with running(in_turn(answer(b"feed" * 100_000))) as server, open_client(kind, server, replace(ONCE, max_answer_bytes=10)) as client:
        file = tmp_path / "feed.xml"
        with file.open("wb") as stream:
            client.download_feed("7", stream)
        assert file.read_bytes() == b"feed" * 100_000
        with pytest.raises(OSError, match="No space left"):
            client.download_feed("7", Full())
