"""Each old client, byte for byte, against a running feed port."""

import gzip
import http.client
import socket
import threading
from pathlib import Path

from feedmill.model.feed import FeedKind
from tests.acceptance.gateserver import Gate, body_of, header, read_answer, run_gate, status
from tests.builders.requests import make_multipart
from tests.waiting import PATIENCE_SECONDS

XML = b'<?xml version="1.0" encoding="UTF-8"?><gsafeed><header><datasource>x</datasource></header><group/></gsafeed>'
LIBRARY = (
    b'--<<\r\nContent-Disposition: form-data; name="datasource"\r\nContent-Type: text/plain\r\n\r\nadaptor_host_5678\r\n'
    b'--<<\r\nContent-Disposition: form-data; name="feedtype"\r\nContent-Type: text/plain\r\n\r\nmetadata-and-url\r\n'
    b'--<<\r\nContent-Disposition: form-data; name="data"\r\nContent-Type: text/xml\r\n\r\n' + XML + b"\r\n--<<--\r\n"
)
SUCCESS = b"Success"


def check_recorded(gate: Gate, datasource: str, kind: FeedKind, data: bytes) -> None:
    [feed] = gate.feeds()
    assert (feed.datasource, feed.kind) == (datasource, kind)
    assert gate.content(feed) == data


def test_adaptor_library_fixed_length_is_taken(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        answer = gate.post(LIBRARY, "multipart/form-data; boundary=<<", "User-Agent: Java/1.8.0", "Connection: keep-alive")
        assert body_of(answer) == SUCCESS
        check_recorded(gate, "adaptor_host_5678", FeedKind.METADATA_AND_URL, XML)


def test_adaptor_library_compressed_in_chunks_is_taken(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        packed = gzip.compress(LIBRARY)
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(packed[at : at + 50]), packed[at : at + 50]) for at in range(0, len(packed), 50))
        head = (
            b"POST /xmlfeed HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=<<\r\nContent-Encoding: gzip\r\n"
            b"User-Agent: Java/1.7.0\r\nHost: gsa:19900\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        assert body_of(gate.send(head + chunks + b"0\r\n\r\n")) == SUCCESS
        check_recorded(gate, "adaptor_host_5678", FeedKind.METADATA_AND_URL, XML)


def test_java_waiting_for_continue_is_taken(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate, socket.create_connection(("127.0.0.1", gate.port), timeout=PATIENCE_SECONDS) as connection:
        head = (
            f"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Type: multipart/form-data; boundary=<<\r\nContent-Length: {len(LIBRARY)}\r\n"
        )
        connection.sendall(head.encode() + b"Expect: 100-continue\r\n\r\n")
        assert connection.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(LIBRARY)
        assert body_of(read_answer(connection)) == SUCCESS


def test_toolkit_dollar_boundary_and_order_is_taken(tmp_path: Path) -> None:
    boundary = "----------boundary_of_feed_data$"
    with run_gate(tmp_path) as gate:
        lines: list[bytes] = []
        for name, value in ((b"feedtype", b"full"), (b"datasource", b"sample"), (b"data", XML)):
            lines += [b"--" + boundary.encode(), b'Content-Disposition: form-data; name="%s"' % name, b"", value]
        body = b"\r\n".join([*lines, b"--" + boundary.encode() + b"--", b""])
        client = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=PATIENCE_SECONDS)
        client.request("POST", "/xmlfeed", body, {"Content-type": f"multipart/form-data; boundary={boundary}"})
        response = client.getresponse()
        assert (response.status, response.read()) == (200, SUCCESS)
        client.close()
        check_recorded(gate, "sample", FeedKind.FULL, XML)


def test_connector_script_with_an_extra_empty_line_is_taken(tmp_path: Path) -> None:
    boundary = "----------boundary_of_feed_data$"
    with run_gate(tmp_path) as gate:
        lines: list[bytes] = []
        for name, value in ((b"datasource", b"sample"), (b"feedtype", b"incremental")):
            lines += [b"--" + boundary.encode(), b'Content-Disposition: form-data; name="%s"' % name, b"", value]
        lines += [
            b"--" + boundary.encode(),
            b'Content-Disposition: form-data; name="data"',
            b"Content-Type: application/xml",
            b"",
            XML,
            b"",
        ]
        body = b"\r\n".join([*lines, b"--" + boundary.encode() + b"--", b""])
        assert body_of(gate.post(body, f"multipart/form-data; boundary={boundary}")) == SUCCESS
        check_recorded(gate, "sample", FeedKind.INCREMENTAL, XML + b"\r\n")


def test_browser_form_with_slash_is_taken(tmp_path: Path) -> None:
    boundary = "----WebKitFormBoundary7MA4YWxkTrZu0gW"
    with run_gate(tmp_path) as gate:
        form = make_multipart(("datasource", b"web"), ("feedtype", b"incremental"), ("data", XML), ("submit", b"Remove"), boundary=boundary)
        origin = f"Origin: http://gsa:{19900}"
        assert body_of(gate.post(form, f"multipart/form-data; boundary={boundary}", origin, path="/xmlfeed/")) == SUCCESS
        check_recorded(gate, "web", FeedKind.METADATA_AND_URL, XML)


def test_own_form_with_file_or_text_is_taken(tmp_path: Path) -> None:
    file = b'--B\r\nContent-Disposition: form-data; name="data"; filename="f.xml"\r\nContent-Type: text/xml\r\n\r\n%s\r\n'
    text = b'--B\r\nContent-Disposition: form-data; name="data"\r\n\r\n%s\r\n'
    fields = make_multipart(("datasource", b"hr"), ("feedtype", b"full"), boundary="B").removesuffix(b"--B--\r\n")
    with run_gate(tmp_path) as gate:
        for body in (file % XML + text % b"", file.replace(b"f.xml", b"") % b"" + text % XML):
            assert body_of(gate.post(fields + body + b"--B--\r\n", "multipart/form-data; boundary=B")) == SUCCESS
        assert [gate.content(feed) for feed in gate.feeds()] == [XML, XML]


def test_guide_sample_urlencoded_under_a_wrong_header_is_taken(tmp_path: Path) -> None:
    body = b"feedtype=full&datasource=sample&data=%3C%3Fxml+version%3D%221.0%22%3F%3E%3Cgsafeed%2F%3E"
    with run_gate(tmp_path) as gate:
        head = f"POST /xmlfeed HTTP/1.0\r\nUser-Agent: Wget/1.9\r\nContent-Type: multipart/form-data\r\nContent-Length: {len(body)}\r\n\r\n"
        assert body_of(gate.send(head.encode() + body)) == SUCCESS
        check_recorded(gate, "sample", FeedKind.FULL, b'<?xml version="1.0"?><gsafeed/>')


def test_raw_xml_whose_header_names_both_is_taken(tmp_path: Path) -> None:
    xml = b"<gsafeed><header><datasource>hr</datasource><feedtype>full</feedtype></header><group/></gsafeed>"
    with run_gate(tmp_path) as gate:
        assert body_of(gate.post(xml, "text/xml")) == SUCCESS
        check_recorded(gate, "hr", FeedKind.FULL, xml)


def test_posted_fields_beat_the_header_of_the_xml(tmp_path: Path) -> None:
    xml = b"<gsafeed><header><datasource>other</datasource><feedtype>full</feedtype></header><group/></gsafeed>"
    with run_gate(tmp_path) as gate:
        body = make_multipart(("data", xml), ("datasource", b"hr"), ("feedtype", b"incremental"))
        assert body_of(gate.post(body, "multipart/form-data; boundary=<<")) == SUCCESS
        check_recorded(gate, "hr", FeedKind.INCREMENTAL, xml)


def test_several_feeds_on_one_connection_are_taken_in_order(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        client = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=PATIENCE_SECONDS)
        ids = []
        for _ in range(3):
            client.request("POST", "/xmlfeed", LIBRARY, {"Content-Type": "multipart/form-data; boundary=<<"})
            response = client.getresponse()
            assert response.read() == SUCCESS
            ids.append(response.headers["X-Feedmill-Feed"])
        client.close()
        assert ids == ["1", "2", "3"]


def test_fifty_clients_at_once_are_all_taken(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        answers: dict[int, bytes] = {}

        def push(number: int) -> None:
            body = make_multipart(("datasource", b"s%d" % number), ("feedtype", b"full"), ("data", b"<a>%d</a>" % number * 20_000))
            answers[number] = gate.post(body, "multipart/form-data; boundary=<<")

        threads = [threading.Thread(target=push, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        assert [body_of(answers[number]) for number in range(50)] == [SUCCESS] * 50
        stored = {str(feed.id): feed for feed in gate.feeds()}
        assert len({header(answer, "x-feedmill-feed") for answer in answers.values()}) == len(stored) == 50
        for number, answer in answers.items():
            feed = stored[header(answer, "x-feedmill-feed") or ""]
            assert feed.datasource == f"s{number}"
            assert gate.content(feed) == b"<a>%d</a>" % number * 20_000
        assert gate.files() == sorted(feed.file for feed in stored.values())


def test_large_feed_with_slow_parts_is_stored_whole(tmp_path: Path) -> None:
    data = b"".join(b"<r>%08d</r>\r\n" % number for number in range(1_000_000))
    with run_gate(tmp_path) as gate:
        answer = gate.post(make_multipart(("data", data), ("datasource", b"hr"), ("feedtype", b"full")), "multipart/form-data; boundary=<<")
        assert (status(answer), body_of(answer)) == (200, SUCCESS)
        check_recorded(gate, "hr", FeedKind.FULL, data)
