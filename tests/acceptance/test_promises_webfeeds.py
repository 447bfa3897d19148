"""URLs that web feeds and metadata-and-url feeds name, and how they and content feeds meet."""

import pytest

from tests.acceptance.promises import counts, get, is_public, levels, put, read_acl
from tests.appliance import Appliance
from tests.builders.feedxml import make_acl_element, make_feed, make_record

LINK = "metadata-and-url"


def test_named_url_is_known_with_its_metadata_until_crawled(server: Appliance) -> None:
    url = "http://named.example.com/a"
    xml = make_feed(make_record(url, None, [("Dept", "Press"), ("Dept", "Law")], lock="true", crawl_immediately="true", crawl_once="true"))
    assert counts(server.feed(xml, "named", LINK)) == ("completed", 1, 1, 0)
    document = get(server, url)
    assert (document["searchable"], document["metadata"], document["datasource"]) == (False, {"Dept": ["Press", "Law"]}, "named")
    assert (document["locked"], document["crawl_immediately"], document["crawl_once"]) == (True, True, True)
    assert document["reason"] is not None
    assert server.urls("inmeta:Dept=Press site:named.example.com") == []


@pytest.mark.parametrize("feedtype", ["full", "incremental", LINK])
def test_source_named_web_is_a_web_feed_and_sweeps_nothing(server: Appliance, feedtype: str) -> None:
    first, second = (f"http://web.example.com/{feedtype}/{name}" for name in "ab")
    assert server.feed(make_feed(make_record(first)), "web", feedtype)["state"] == "completed"
    assert server.feed(make_feed(make_record(second)), "web", feedtype)["state"] == "completed"
    assert [get(server, url)["searchable"] for url in (first, second)] == [False, False]
    assert server.feed(make_feed(), "web", feedtype)["state"] == "completed"
    assert server.feed(make_feed(make_record(first, action="delete")), "web", feedtype)["state"] == "completed"
    assert server.document(first) is None
    assert get(server, second)["searchable"] is False


def test_content_in_a_url_feed_is_ignored_with_a_warning(server: Appliance) -> None:
    url = "http://ignored.example.com/a"
    receipt = server.feed(make_feed(make_record(url, "ignoredcontent")), "ignored", LINK)
    assert counts(receipt) == ("completed", 1, 1, 0)
    assert "warning" in levels(receipt)
    assert get(server, url)["searchable"] is False
    assert server.urls("ignoredcontent", match="all") == []


def test_url_feed_on_fed_content_changes_nothing_until_the_content_is_deleted(server: Appliance) -> None:
    url = "http://fedfirst.example.com/a"
    put(server, "fedcontent", make_record(url, "fedfirstword", [("k", "content")]))
    receipt = server.feed(make_feed(make_record(url, None, [("k", "web")], lock="true", acl=make_acl_element("ann"))), "fedurls", LINK)
    assert counts(receipt) == ("completed", 1, 1, 0)
    assert "notice" in levels(receipt)
    document = get(server, url)
    assert (document["datasource"], document["metadata"], document["locked"]) == ("fedcontent", {"k": ["content"]}, False)
    assert server.feed(make_feed(make_record(url, action="delete")), "fedurls", LINK)["state"] == "completed"
    assert get(server, url)["datasource"] == "fedcontent"
    put(server, "fedcontent", make_record(url, action="delete"))
    assert server.document(url) is None
    assert server.feed(make_feed(make_record(url, None, [("k", "web")])), "fedurls", LINK)["state"] == "completed"
    document = get(server, url)
    assert (document["datasource"], document["metadata"], document["searchable"]) == ("fedurls", {"k": ["web"]}, False)


def test_content_takes_a_named_url_over_whole_and_its_deletion_leaves_nothing(server: Appliance) -> None:
    url = "http://taken.example.com/a"
    server.feed(make_feed(make_record(url, None, [("k", "web")], lock="true")), "takenurls", LINK)
    put(server, "takencontent", make_record(url, "takenword"))
    document = get(server, url)
    assert (document["datasource"], document["metadata"], document["searchable"]) == ("takencontent", {}, True)
    assert server.urls("takenword", match="all") == [url]
    put(server, "takencontent", make_record(url, action="delete"))
    assert server.document(url) is None


def test_named_url_that_no_content_source_owns_may_be_deleted_by_any_source(server: Appliance) -> None:
    url = "http://anyone.example.com/a"
    server.feed(make_feed(make_record(url)), "anyone1", LINK)
    put(server, "anyone2", make_record(url, action="delete"))
    assert server.document(url) is None


def test_later_url_feed_replaces_metadata_of_a_named_url(server: Appliance) -> None:
    url = "http://renamed.example.com/a"
    server.feed(make_feed(make_record(url, None, [("a", "1"), ("b", "1")])), "renamed", LINK)
    server.feed(make_feed(make_record(url, None, [("a", "2")])), "renamed", LINK)
    assert get(server, url)["metadata"] == {"a": ["2"]}


def test_acls_and_authmethod_of_a_url_feed_guard_the_url(server: Appliance) -> None:
    url, ntlm = "http://guardednames.example.com/a", "http://guardednames.example.com/b"
    server.feed(make_feed(make_record(url, acl=make_acl_element("ann")), make_record(ntlm, authmethod="ntlm")), "guardednames", LINK)
    assert read_acl(server, url) == {("permit", "user", "ann")}
    put(server, "guardedcontent", make_record(url, "guardednamesword"))
    assert read_acl(server, url) == {("permit", "user", "ann")}
    assert not is_public(server, url, "guardednamesword")


def test_empty_url_feed_and_wrong_mimetypes_are_accepted(server: Appliance) -> None:
    url = "http://nomime.example.com/a"
    xml = make_feed(make_record(url, mimetype=None), make_record(f"{url}2", mimetype=""), make_record(f"{url}3", mimetype="no such type"))
    assert counts(server.feed(xml, "nomime", LINK)) == ("completed", 3, 3, 0)
    assert server.feed(make_feed(), "nomime", LINK)["state"] == "completed"
    assert get(server, url)["datasource"] == "nomime"
