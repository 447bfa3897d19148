"""What the server remembers of a URL, also of one that is gone."""

import json
from typing import Any

import pytest

from tests.acceptance.promises import get, put, run_command
from tests.appliance import Appliance
from tests.builders.feedxml import make_feed, make_record


def show(server: Appliance, url: str) -> dict[str, Any]:
    code, out, err = run_command("documents", "show", url, "--json", "--data", server.data)
    assert code == 0, err
    return dict(json.loads(out))


def events(server: Appliance, url: str) -> list[str]:
    return [event["event"] for event in show(server, url)["history"]]


def test_history_shows_what_happened_with_feed_and_line(server: Appliance) -> None:
    url = "http://history.example.com/a"
    first = put(server, "history", make_record(url, "historyword"))
    second = put(server, "history", make_record("http://history.example.com/b", "x"), "\n\n" + make_record(url, "historyword two"))
    third = server.feed(make_feed(make_record("http://history.example.com/b", "x")), "history", "full")
    assert server.document(url) is None
    shown = show(server, url)
    assert (shown["url"], shown["searchable"]) == (url, False)
    assert "full feed" in shown["reason"]
    fed, replaced, swept = shown["history"]
    assert [event["feed"] for event in shown["history"]] == [first["id"], second["id"], third["id"]]
    assert (fed["event"], fed["line"], replaced["line"]) == ("fed", 1, 3)
    assert "swept" in swept["event"]
    assert replaced["at"] >= fed["at"]


def test_history_of_a_document_stands_in_its_resource(server: Appliance) -> None:
    url = "http://history.example.com/live"
    receipt = put(server, "historylive", make_record(url, "x"))
    assert [(event["event"], event["feed"]) for event in get(server, url)["history"]] == [("fed", receipt["id"])]


@pytest.mark.parametrize("action", ["delete", "source", "owner", "rejected"])
def test_end_of_a_document_is_remembered(server: Appliance, action: str) -> None:
    url, source = f"http://remembered.example.com/{action}", f"remembered-{action}"
    put(server, source, make_record(url, "x"))
    match action:
        case "delete":
            put(server, source, make_record(url, action="delete"))
            assert "deleted" in events(server, url)[-1]
        case "source":
            assert server.request("DELETE", server.gate, f"/api/v1/datasources/{source}")[0] == 200
            assert "source" in events(server, url)[-1]
        case "owner":
            put(server, "remembered-other", make_record(url, "y"))
            assert len(events(server, url)) == 2
        case _:
            server.feed(make_feed(make_record(url, "y", action="explode")), source)
            assert events(server, url)[-1] == "rejected"


def test_url_that_was_only_rejected_is_remembered(server: Appliance) -> None:
    url = "http://remembered.example.com/never"
    receipt = server.feed(make_feed(make_record(url, "x", action="explode")), "neverfed")
    shown = show(server, url)
    assert [(event["event"], event["feed"]) for event in shown["history"]] == [("rejected", receipt["id"])]
    assert "explode" in shown["reason"]


def test_failed_extraction_is_remembered(server: Appliance) -> None:
    url = "http://remembered.example.com/broken.pdf"
    put(server, "brokenpdf", make_record(url, "%PDF-1.4 nothing else", mimetype="application/pdf"))
    assert get(server, url)["reason"] is not None
    assert "extraction failed" in events(server, url)


def test_history_keeps_the_last_twenty_events(server: Appliance) -> None:
    url = "http://remembered.example.com/often"
    ids = [put(server, "often", *(make_record(url, f"{number} {count}") for count in range(5)))["id"] for number in range(6)]
    shown = show(server, url)["history"]
    assert len(shown) == 20
    assert shown[-1]["feed"] == ids[-1]
    assert ids[0] not in {event["feed"] for event in shown}


def test_url_never_heard_of_is_an_error(server: Appliance) -> None:
    code, out, _ = run_command("documents", "show", "http://remembered.example.com/unheard", "--json", "--data", server.data)
    assert code == 1
    assert "error" in json.loads(out)
