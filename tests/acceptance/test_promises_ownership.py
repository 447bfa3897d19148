"""Which data source owns a URL that several name, what a foreign delete does, and what goes with a data source."""

import pytest

from tests.acceptance.promises import counts, get, put, read_acl
from tests.appliance import Appliance
from tests.builders.feedxml import make_acl_element, make_feed, make_record

EMPTY = make_feed()


def test_last_content_source_owns_and_alone_removes(server: Appliance) -> None:
    url = "http://owners.example.com/a"
    put(server, "owner1", make_record(url, "ownedfirst"), feedtype="full")
    put(server, "owner2", make_record(url, "ownedsecond"), feedtype="full")
    assert get(server, url)["datasource"] == "owner2"
    assert counts(server.feed(make_feed(make_record(url, action="delete")), "owner1")) == ("completed", 1, 1, 0)
    assert server.feed(EMPTY, "owner1", "full")["state"] == "completed"
    assert server.urls("ownedsecond", match="all") == [url]
    assert server.urls("ownedfirst", match="all") == []
    assert server.feed(EMPTY, "owner2", "full")["state"] == "completed"
    assert server.document(url) is None


def test_metadata_alone_and_a_bare_record_make_their_source_the_owner(server: Appliance) -> None:
    described, bare = "http://owners.example.com/described", "http://owners.example.com/bare"
    put(server, "owner3", make_record(described, "describedword", [("k", "1")]), make_record(bare, "bareword", [("k", "1")]))
    put(server, "owner4", make_record(described, None, [("k", "2")]), make_record(bare))
    assert [get(server, url)["datasource"] for url in (described, bare)] == ["owner4", "owner4"]
    assert [get(server, url)["metadata"] for url in (described, bare)] == [{"k": ["2"]}, {"k": ["1"]}]
    assert server.urls("describedword", match="all") == [described]
    assert server.feed(EMPTY, "owner3", "full")["state"] == "completed"
    assert server.urls("bareword", match="all") == [bare]


def test_record_in_error_does_not_change_the_owner(server: Appliance) -> None:
    url = "http://owners.example.com/error"
    put(server, "owner5", make_record(url, "x"))
    assert server.feed(make_feed(make_record(url, None, [("k", "1")])), "owner6", "full")["state"] == "failed in error"
    assert get(server, url)["datasource"] == "owner5"


def test_acl_of_another_source_changes_no_owner_and_goes_with_its_source(server: Appliance) -> None:
    url = "http://owners.example.com/guarded"
    put(server, "owner7", make_record(url, "guardedword", acl=make_acl_element("ann")))
    put(server, "guards", make_acl_element("bob", url=url))
    assert get(server, url)["datasource"] == "owner7"
    assert read_acl(server, url) == {("permit", "user", "bob")}
    put(server, "owner7", make_record(url, "guardedword again"), feedtype="full")
    assert read_acl(server, url) == {("permit", "user", "bob")}
    put(server, "guards", make_acl_element("bob", url="http://owners.example.com/elsewhere"), feedtype="full")
    assert read_acl(server, url) is None


def test_full_feed_keeps_acls_of_urls_named_by_a_record_or_by_an_acl(server: Appliance) -> None:
    base = "http://fullacl.example.com/"
    put(
        server,
        "fullacl",
        *(make_record(f"{base}{name}", "x", acl=make_acl_element("ann")) for name in "abc"),
        make_acl_element("ann", url=f"{base}folder"),
    )
    put(
        server,
        "fullacl",
        make_record(f"{base}a", "y"),
        make_acl_element("bob", url=f"{base}b"),
        make_record(f"{base}c", "z"),
        feedtype="full",
    )
    assert read_acl(server, f"{base}a") == {("permit", "user", "ann")}
    assert server.document(f"{base}b") is None
    put(server, "fullacl", make_record(f"{base}b", "again"), make_record(f"{base}folder", "now a document"))
    assert read_acl(server, f"{base}b") == {("permit", "user", "bob")}
    assert read_acl(server, f"{base}folder") is None


def test_url_with_an_acl_alone_is_no_document_and_only_its_writer_deletes_it(server: Appliance) -> None:
    url = "http://aclonly.example.com/folder"
    put(server, "aclonly1", make_acl_element("ann", url=url))
    assert server.document(url) is None
    assert counts(server.feed(make_feed(make_record(url, action="delete")), "aclonly2")) == ("completed", 1, 1, 0)
    put(server, "aclonly2", make_record(url, "aclonlyword"))
    assert read_acl(server, url) == {("permit", "user", "ann")}
    put(server, "aclonly2", make_record(url, action="delete"))
    put(server, "aclonly1", make_record(url, action="delete"))
    put(server, "aclonly2", make_record(url, "aclonlyword"))
    assert read_acl(server, url) is None


def test_document_deleted_by_its_owner_takes_its_own_acl_and_leaves_the_foreign_one(server: Appliance) -> None:
    own, foreign = "http://aclgone.example.com/own", "http://aclgone.example.com/foreign"
    put(server, "aclgone1", make_record(own, "x", acl=make_acl_element("ann")), make_record(foreign, "x"))
    put(server, "aclgone2", make_acl_element("bob", url=foreign))
    put(server, "aclgone1", make_record(own, action="delete"), make_record(foreign, action="delete"))
    put(server, "aclgone1", make_record(own, "y"), make_record(foreign, "y"))
    assert read_acl(server, own) is None
    assert read_acl(server, foreign) == {("permit", "user", "bob")}


@pytest.mark.parametrize("query", ["", "?destroy=true"], ids=["delete", "destroy"])
def test_deleted_source_is_gone_from_searches_when_the_deletion_is_answered(server: Appliance, query: str) -> None:
    for turn in range(3):
        server.feed(make_feed(*(make_record(f"http://fading.com/{turn}/{number}", "fadingword") for number in range(20))), "fading")
        assert server.search("fadingword", num=0)["total"] == 20
        assert server.request("DELETE", server.gate, f"/api/v1/datasources/fading{query}")[0] // 100 == 2
        assert server.search("fadingword", num=0)["total"] == 0


def test_deleting_a_source_removes_its_documents_and_acls_and_frees_its_name(server: Appliance) -> None:
    url, other = "http://leaving.example.com/a", "http://leaving.example.com/other"
    put(server, "staying", make_record(other, "stayingword"))
    put(server, "leaving", make_record(url, "leavingword"), make_acl_element("ann", url=other))
    assert server.request("DELETE", server.gate, "/api/v1/datasources/leaving")[0] // 100 == 2
    assert server.document(url) is None
    assert read_acl(server, other) is None
    assert server.urls("leavingword", match="all") == []
    put(server, "leaving", make_record(url, "leavingword"))
    assert server.urls("leavingword", match="all") == [url]
    [source] = [each for each in server.get_json(server.gate, "/api/v1/datasources") if each["name"] == "leaving"]
    assert source["documents"] == 1
    assert set(source) >= {"name", "kind", "documents", "feeds"}
    assert server.request("DELETE", server.gate, "/api/v1/datasources/neverheard")[0] == 404


def test_sources_count_documents_and_not_acls(server: Appliance) -> None:
    put(server, "counted", make_record("http://counted.example.com/a", "x"), make_acl_element("ann", url="http://counted.example.com/acl"))
    put(server, "counted", make_record("http://counted.example.com/b", "x"))
    [source] = [each for each in server.get_json(server.gate, "/api/v1/datasources") if each["name"] == "counted"]
    assert source["documents"] == 2
