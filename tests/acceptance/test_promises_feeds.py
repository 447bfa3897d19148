"""Feeds and their receipts: what counts, what a record in error costs, what a full feed removes, what the port answers."""

from datetime import datetime
from typing import Any

import pytest

from tests.acceptance.promises import counts, get, levels, post_fields, put
from tests.appliance import Appliance
from tests.builders.feedxml import make_acl_element, make_feed, make_group, make_grouped_feed, make_record
from tests.builders.requests import make_multipart

NOWHERE = make_record("", "nowhere", mimetype="text/plain")


def test_receipt_of_a_mixed_feed_counts_records_alone(server: Appliance) -> None:
    url = "http://counts.example.com/a"
    xml = make_feed(
        make_record(url, "one"), make_record(url, "two"), make_record("http://counts.example.com/never", action="delete"), NOWHERE
    )
    receipt = server.feed(xml, "counts")
    assert counts(receipt) == ("completed with errors", 4, 3, 1)
    assert (receipt["datasource"], receipt["feedtype"]) == ("counts", "incremental")
    assert datetime.fromisoformat(receipt["received_at"]).tzinfo is not None
    assert datetime.fromisoformat(receipt["searchable_at"]) >= datetime.fromisoformat(receipt["received_at"])
    [entry] = [entry for entry in receipt["log"] if entry["level"] == "error"]
    assert (entry["record"], entry["line"]) == (4, 1)
    assert set(entry) >= {"record", "line", "url", "level", "reason"}
    assert server.urls("two site:counts.example.com", match="all") == [url]


def test_feed_with_errors_alone_fails_and_sweeps_nothing(server: Appliance) -> None:
    url = "http://allbad.example.com/stays"
    put(server, "allbad", make_record(url, "stays"), feedtype="full")
    assert counts(server.feed(make_feed(NOWHERE, NOWHERE), "allbad", "full")) == ("failed in error", 2, 0, 2)
    assert get(server, url)["searchable"] is True


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (make_acl_element("ann", url="http://aclcount.example.com/a"), ("completed", 0, 0, 0)),
        (make_acl_element("ann", url="http://aclcount.example.com/b") + NOWHERE, ("completed with errors", 1, 0, 1)),
        (make_acl_element("ann"), ("failed in error", 0, 0, 1)),
        (make_acl_element("ann") + make_record("http://aclcount.example.com/c", "c"), ("completed with errors", 1, 1, 1)),
    ],
)
def test_group_level_acls_are_no_records_but_count_as_good_or_bad(server: Appliance, inside: str, expected: Any) -> None:
    assert counts(server.feed(make_feed(inside), "aclcount")) == expected


def test_unknown_action_is_an_error_of_its_record_and_remove_is_delete(server: Appliance) -> None:
    gone, staying = "http://actions.example.com/gone", "http://actions.example.com/stays"
    put(server, "actions", make_record(gone, "gone"), make_record(staying, "stays"))
    receipt = server.feed(make_feed(make_record(gone, action="remove"), make_record(staying, action="explode")), "actions")
    assert counts(receipt) == ("completed with errors", 2, 1, 1)
    assert server.document(gone) is None
    assert get(server, staying)["searchable"] is True


def test_full_feed_replaces_all_but_what_is_in_error(server: Appliance) -> None:
    base = "http://replace.example.com/"
    put(server, "replace", *(make_record(f"{base}{name}", f"replaceold {name}", [("rev", "1")]) for name in "abcd"))
    xml = make_feed(
        make_record(f"{base}a", "replacenew"),
        make_record(f"{base}b", "x", action="explode"),
        make_record(f"{base}c", None, [("rev", "2")]),
        make_record(f"{base}e", "replacenew"),
    )
    receipt = server.feed(xml, "replace", "full")
    assert counts(receipt) == ("completed with errors", 4, 2, 2)
    assert get(server, f"{base}a")["metadata"] == {}
    assert get(server, f"{base}b")["metadata"] == get(server, f"{base}c")["metadata"] == {"rev": ["1"]}
    assert server.document(f"{base}d") is None
    assert sorted(server.urls("replacenew", match="all")) == [f"{base}a", f"{base}e"]
    assert sorted(server.urls("replaceold", match="all")) == [f"{base}b", f"{base}c"]


def test_full_record_with_neither_content_nor_metadata_is_an_empty_document(server: Appliance) -> None:
    url = "http://fullneither.example.com/a"
    put(server, "fullneither", make_record(url, "fullneitherword", [("k", "v")]), feedtype="full")
    put(server, "fullneither", make_record(url), feedtype="full")
    assert get(server, url)["metadata"] == {}
    assert server.urls("fullneitherword", match="all") == []


def test_empty_full_feed_empties_and_a_feed_without_group_is_refused(server: Appliance) -> None:
    url = "http://emptied.example.com/a"
    put(server, "emptied", make_record(url, "emptied"), feedtype="full")
    for refused in (b"<gsafeed><header/></gsafeed>", b"<gsafeed/>", b"<xmlgroups><group/></xmlgroups>", b"<html><group/></html>", b" "):
        assert server.feed(refused, "emptied", "full")["state"] == "failed in error", refused
        assert get(server, url)["searchable"] is True
    assert counts(server.feed(make_feed(), "emptied", "full")) == ("completed", 0, 0, 0)
    assert server.document(url) is None


@pytest.mark.parametrize("end", ["</group>", "<record url='http://broken.example.com/x'></group></gsafeed>", "<a b=<></group></gsafeed>"])
def test_feed_that_is_not_well_formed_changes_nothing_and_its_log_names_the_line(server: Appliance, end: str) -> None:
    url = "http://broken.example.com/stays"
    put(server, "broken", make_record(url, "brokenkept"))
    records = f"{make_record(url, action='delete')}\n{make_record('http://broken.example.com/new', 'new')}"
    xml = f"<gsafeed>\n<header/>\n<group>\n{records}\n{end}".encode()
    receipt = server.feed(xml, "broken", "full")
    assert receipt["state"] == "failed in error"
    assert any(entry["level"] == "error" and entry["line"] == 6 for entry in receipt["log"]), receipt["log"]
    assert get(server, url)["searchable"] is True
    assert server.document("http://broken.example.com/new") is None


def test_later_statement_wins_and_record_action_beats_its_group(server: Appliance) -> None:
    base = "http://later.example.com/"
    put(server, "later", *(make_record(f"{base}{name}", "x") for name in "abcd"))
    xml = make_grouped_feed(
        make_group(make_record(f"{base}a"), make_record(f"{base}b", "laterkept", action="add"), action="delete"),
        make_group(make_record(f"{base}c", "laterkept"), make_record(f"{base}d", "laterkept")),
        make_group(make_record(f"{base}d"), action="delete"),
        make_group(make_record(f"{base}c", action="delete"), make_record(f"{base}c", "laterkept again")),
    )
    assert counts(server.feed(xml, "later")) == ("completed", 7, 7, 0)
    assert sorted(server.urls("laterkept", match="all")) == [f"{base}b", f"{base}c"]


def test_incremental_feed_updates_the_part_that_it_sends(server: Appliance) -> None:
    url, new, bare = (f"http://parts.example.com/{name}" for name in ("a", "new", "bare"))
    put(server, "parts", make_record(url, "partsfirst", [("k", "1"), ("gone", "1")]))
    put(server, "parts", make_record(url, None, [("k", "2")]), make_record(new, None, [("k", "3")]), make_record(bare))
    assert get(server, url)["metadata"] == {"k": ["2"]}
    assert server.urls("partsfirst", match="all") == [url]
    put(server, "parts", make_record(url, "partssecond"))
    assert get(server, url)["metadata"] == {"k": ["2"]}
    put(server, "parts", make_record(url))
    assert get(server, url)["metadata"] == {"k": ["2"]}
    assert (server.urls("partsfirst", match="all"), server.urls("partssecond", match="all")) == ([], [url])
    assert get(server, new)["metadata"] == {"k": ["3"]}
    assert get(server, bare)["datasource"] == "parts"
    assert server.urls("inmeta:k=3 site:parts.example.com") == [new]


def test_feeds_are_listed_newest_first_and_stored_as_received(server: Appliance) -> None:
    xml = make_feed(make_record("http://listed.example.com/a", "listed"))
    ids = [server.feed(xml + b"<!-- %d -->" % number, "listed")["id"] for number in range(3)]
    listed = server.get_json(server.gate, "/api/v1/feeds?datasource=listed&limit=2")
    assert [feed["id"] for feed in listed] == [ids[2], ids[1]]
    status, _, body = server.request("GET", server.gate, f"/api/v1/feeds/{ids[1]}/content")
    assert (status, body) == (200, xml + b"<!-- 1 -->")
    for path in ("/api/v1/feeds/999999", "/api/v1/feeds/nonsense", "/api/v1/feeds/999999/content"):
        assert server.request("GET", server.gate, path)[0] == 404, path


def test_form_fields_beat_the_header_and_the_header_serves_a_raw_body(server: Appliance) -> None:
    url = "http://rawbody.example.com/a"
    assert server.feed(make_feed(make_record(url, "x")), "rawfields")["datasource"] == "rawfields"
    xml = (
        "<?xml version='1.0'?><gsafeed><header><datasource>\n rawbody </datasource><feedtype>full</feedtype></header>"
        f"<group>{make_record(url, 'x')}</group></gsafeed>"
    )
    status, headers, body = server.request("POST", server.gate, "/xmlfeed", xml.encode(), {"Content-Type": "text/xml"})
    assert (status, body) == (200, b"Success")
    receipt = server.wait(headers["x-feedmill-feed"])
    assert (receipt["datasource"], receipt["feedtype"], receipt["state"]) == ("rawbody", "full", "completed")
    bare = b"<gsafeed><header/><group/></gsafeed>"
    assert server.request("POST", server.gate, "/xmlfeed", bare, {"Content-Type": "text/xml"})[0] // 100 == 4


@pytest.mark.parametrize(
    ("datasource", "feedtype"),
    [("nofields", None), (None, "full"), ("no-fields", "fulll"), ("1fields", "full"), ("a b", "full"), ("", "full"), ("ä", "full")],
)
def test_push_with_missing_or_senseless_fields_leaves_nothing(server: Appliance, datasource: str | None, feedtype: str | None) -> None:
    before = newest_feed(server)
    sources = names_of_sources(server)
    fields = [("datasource", datasource), ("feedtype", feedtype), ("data", "<gsafeed><group/></gsafeed>")]
    status, headers, body = post_fields(server, "/xmlfeed", [(name, value.encode()) for name, value in fields if value is not None])
    assert status // 100 == 4
    assert body not in (b"", b"Success")
    assert "x-feedmill-feed" not in headers
    assert newest_feed(server) == before
    assert names_of_sources(server) == sources


def newest_feed(server: Appliance) -> list[str]:
    return [feed["id"] for feed in server.get_json(server.gate, "/api/v1/feeds?limit=1")]


def names_of_sources(server: Appliance) -> list[str]:
    """Lists the sources without their counts, which move while feeds of other tests are still applied."""
    return [source["name"] for source in server.get_json(server.gate, "/api/v1/datasources")]


def test_answer_to_a_push_is_what_old_clients_compare(server: Appliance) -> None:
    xml = make_feed(make_record("http://answer.example.com/a", "x"))
    for path in ("/xmlfeed", "/xmlfeed/"):
        status, headers, body = post_fields(server, path, [("feedtype", b"full"), ("data", xml), ("datasource", b"answer")])
        assert (status, body, headers["content-length"]) == (200, b"Success", "7")
        assert headers["content-type"].startswith("text/plain")
        assert headers["server"] == "feedergate_1.0"
        assert server.wait(headers["x-feedmill-feed"])["state"] == "completed"


def test_small_resources_of_the_ports_answer_as_the_appliance(server: Appliance) -> None:
    status, _, body = server.request("GET", server.gate, "/getbacklogcount")
    assert (status, body.strip().isdigit()) == (200, True)
    for port, path in ((server.gate, "/getdtd"), (server.dtd, "/gsafeed.dtd")):
        status, _, body = server.request("GET", port, path)
        assert (status, b"<!ELEMENT acl " in body, b"<!ELEMENT gsafeed" in body) == (200, True, True)
    status, _, body = server.request("GET", server.search_port, "/sw_version.txt")
    assert (status, body.strip()) == (200, b"7.4.0-0")
    status, headers, body = server.request("GET", server.gate, "/push")
    assert (status, headers["content-type"].split(";")[0], b"<form" in body) == (200, "text/html", True)


def test_url_needs_a_host_and_short_hosts_are_warned_of(server: Appliance) -> None:
    for url in ("relative/path", "http:///nohost", "http://", "mailto:someone"):
        assert counts(server.feed(make_feed(make_record(url, "x")), "hosts"))[0] == "failed in error", url
    receipt = server.feed(make_feed(make_record("http://shorthost/a", "x")), "hosts")
    assert (receipt["state"], levels(receipt)) == ("completed", ["warning"])


def test_urls_are_identities_and_never_normalised(server: Appliance) -> None:
    urls = [
        "http://same.example.com/a",
        "http://same.example.com/a/",
        "http://same.example.com/a?",
        "http://same.example.com/a?generated",
        "http://same.example.com/a?b=1&c=2",
        "http://same.example.com/a?c=2&b=1",
        "http://same.example.com/.../a",
        "http://same.example.com/x/../a",
        "http://same.example.com/%61",
        "http://same.example.com/a#part",
        "http://Same.example.com/a",
        "http://same.example.com:80/a",
        "googleconnector://same.localhost/doc?docid=%2Fa",
        "smb://same.example.com/share/a",
        "test://same.example.com/a",
    ]
    put(server, "same", *(make_record(url, f"sameword number{number}") for number, url in enumerate(urls)))
    assert sorted(server.urls("sameword", num=100, match="all")) == sorted(urls)
    for number, url in enumerate(urls):
        assert get(server, url)["url"] == url
        assert server.urls(f"sameword number{number}", match="all") == [url]


def test_form_posted_url_encoded_under_a_wrong_header_is_taken(server: Appliance) -> None:
    body = b"feedtype=incremental&datasource=wrongheader&data=%3Cgsafeed%3E%3Cgroup%2F%3E%3C%2Fgsafeed%3E"
    status, headers, answer = server.request("POST", server.gate, "/xmlfeed", body, {"Content-Type": "multipart/form-data"})
    assert (status, answer) == (200, b"Success")
    assert server.wait(headers["x-feedmill-feed"])["datasource"] == "wrongheader"


@pytest.mark.parametrize("origin", ["http://evil.example.com", "null"])
def test_requests_from_other_sites_are_refused_on_every_port(server: Appliance, origin: str) -> None:
    headers = {"Origin": origin, "Content-Type": "multipart/form-data; boundary=<<"}
    body = make_multipart(("datasource", b"origin"), ("feedtype", b"full"), ("data", b"<gsafeed><group/></gsafeed>"))
    for port, path in (
        (server.gate, "/xmlfeed"),
        (server.search_port, "/api/v1/search"),
        (server.search_port, "/cluster"),
        (server.dtd, "/gsafeed.dtd"),
        (server.admin, "/api/v1/reindex"),
    ):
        status = server.request("POST", port, path, body, headers)[0]
        assert status == 403 or (port == server.admin and status == 401), (port, path, status)
    assert server.request("DELETE", server.gate, "/api/v1/datasources/origin", None, {"Origin": origin})[0] == 403
    assert server.request("GET", server.gate, "/getbacklogcount", None, {"Origin": origin})[0] == 200
    own = {"Origin": f"http://127.0.0.1:{server.gate}", "Content-Type": "multipart/form-data; boundary=<<"}
    assert server.request("POST", server.gate, "/xmlfeed", body, own)[2] == b"Success"
