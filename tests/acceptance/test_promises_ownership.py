"""Which data source owns a URL that several name, what a foreign delete does, and what goes with a data source."""

import pytest

from tests.acceptance.promises import acl_of, counts, get, put, read_acl
from tests.appliance import Appliance, feed_of, record

EMPTY = feed_of()


def test_last_content_source_owns_and_alone_removes(server: Appliance) -> None:
    url = "http://owners.example.com/a"
    put(server, "owner1", record(url, "ownedfirst"), feedtype="full")
    put(server, "owner2", record(url, "ownedsecond"), feedtype="full")
    assert get(server, url)["datasource"] == "owner2"
    assert counts(server.feed(feed_of(record(url, action="delete")), "owner1")) == ("completed", 1, 1, 0)
    assert server.feed(EMPTY, "owner1", "full")["state"] == "completed"
    assert server.urls("ownedsecond", match="all") == [url]
    assert server.urls("ownedfirst", match="all") == []
    assert server.feed(EMPTY, "owner2", "full")["state"] == "completed"
    assert server.document(url) is None


def test_metadata_alone_and_a_bare_record_make_their_source_the_owner(server: Appliance) -> None:
    described, bare = "http://owners.example.com/described", "http://owners.example.com/bare"
    put(server, "owner3", record(described, "describedword", [("k", "1")]), record(bare, "bareword", [("k", "1")]))
    put(server, "owner4", record(described, None, [("k", "2")]), record(bare))
    assert [get(server, url)["datasource"] for url in (described, bare)] == ["owner4", "owner4"]
    assert [get(server, url)["metadata"] for url in (described, bare)] == [{"k": ["2"]}, {"k": ["1"]}]
    assert server.urls("describedword", match="all") == [described]
    assert server.feed(EMPTY, "owner3", "full")["state"] == "completed"
    assert server.urls("bareword", match="all") == [bare]


def test_record_in_error_does_not_change_the_owner(server: Appliance) -> None:
    url = "http://owners.example.com/error"
    put(server, "owner5", record(url, "x"))
    assert server.feed(feed_of(record(url, None, [("k", "1")])), "owner6", "full")["state"] == "failed in error"
    assert get(server, url)["datasource"] == "owner5"


def test_acl_of_another_source_changes_no_owner_and_goes_with_its_source(server: Appliance) -> None:
    url = "http://owners.example.com/guarded"
    put(server, "owner7", record(url, "guardedword", acl=acl_of("ann")))
    put(server, "guards", acl_of("bob", url=url))
    assert get(server, url)["datasource"] == "owner7"
    assert read_acl(server, url) == {("permit", "user", "bob")}
    put(server, "owner7", record(url, "guardedword again"), feedtype="full")
    assert read_acl(server, url) == {("permit", "user", "bob")}
    put(server, "guards", acl_of("bob", url="http://owners.example.com/elsewhere"), feedtype="full")
    assert read_acl(server, url) is None


def test_full_feed_keeps_acls_of_urls_named_by_a_record_or_by_an_acl(server: Appliance) -> None:
    base = "http://fullacl.example.com/"
    put(server, "fullacl", *(record(f"{base}{name}", "x", acl=acl_of("ann")) for name in "abc"), acl_of("ann", url=f"{base}folder"))
    put(server, "fullacl", record(f"{base}a", "y"), acl_of("bob", url=f"{base}b"), record(f"{base}c", "z"), feedtype="full")
    assert read_acl(server, f"{base}a") == {("permit", "user", "ann")}
    assert server.document(f"{base}b") is None
    put(server, "fullacl", record(f"{base}b", "again"), record(f"{base}folder", "now a document"))
    assert read_acl(server, f"{base}b") == {("permit", "user", "bob")}
    assert read_acl(server, f"{base}folder") is None


def test_url_with_an_acl_alone_is_no_document_and_only_its_writer_deletes_it(server: Appliance) -> None:
    url = "http://aclonly.example.com/folder"
    put(server, "aclonly1", acl_of("ann", url=url))
    assert server.document(url) is None
    assert counts(server.feed(feed_of(record(url, action="delete")), "aclonly2")) == ("completed", 1, 1, 0)
    put(server, "aclonly2", record(url, "aclonlyword"))
    assert read_acl(server, url) == {("permit", "user", "ann")}
    put(server, "aclonly2", record(url, action="delete"))
    put(server, "aclonly1", record(url, action="delete"))
    put(server, "aclonly2", record(url, "aclonlyword"))
    assert read_acl(server, url) is None


def test_document_deleted_by_its_owner_takes_its_own_acl_and_leaves_the_foreign_one(server: Appliance) -> None:
    own, foreign = "http://aclgone.example.com/own", "http://aclgone.example.com/foreign"
    put(server, "aclgone1", record(own, "x", acl=acl_of("ann")), record(foreign, "x"))
    put(server, "aclgone2", acl_of("bob", url=foreign))
    put(server, "aclgone1", record(own, action="delete"), record(foreign, action="delete"))
    put(server, "aclgone1", record(own, "y"), record(foreign, "y"))
    assert read_acl(server, own) is None
    assert read_acl(server, foreign) == {("permit", "user", "bob")}


@pytest.mark.parametrize("query", ["", "?destroy=true"], ids=["delete", "destroy"])
def test_deleted_source_is_gone_from_searches_when_the_deletion_is_answered(server: Appliance, query: str) -> None:
    for turn in range(3):
        server.feed(feed_of(*(record(f"http://fading.com/{turn}/{number}", "fadingword") for number in range(20))), "fading")
        assert server.search("fadingword", num=0)["total"] == 20
        assert server.request("DELETE", server.gate, f"/api/v1/datasources/fading{query}")[0] // 100 == 2
        assert server.search("fadingword", num=0)["total"] == 0


def test_deleting_a_source_removes_its_documents_and_acls_and_frees_its_name(server: Appliance) -> None:
    url, other = "http://leaving.example.com/a", "http://leaving.example.com/other"
    put(server, "staying", record(other, "stayingword"))
    put(server, "leaving", record(url, "leavingword"), acl_of("ann", url=other))
    assert server.request("DELETE", server.gate, "/api/v1/datasources/leaving")[0] // 100 == 2
    assert server.document(url) is None
    assert read_acl(server, other) is None
    assert server.urls("leavingword", match="all") == []
    put(server, "leaving", record(url, "leavingword"))
    assert server.urls("leavingword", match="all") == [url]
    [source] = [each for each in server.get_json(server.gate, "/api/v1/datasources") if each["name"] == "leaving"]
    assert source["documents"] == 1
    assert set(source) >= {"name", "kind", "documents", "feeds"}
    assert server.request("DELETE", server.gate, "/api/v1/datasources/neverheard")[0] == 404


def test_sources_count_documents_and_not_acls(server: Appliance) -> None:
    put(server, "counted", record("http://counted.example.com/a", "x"), acl_of("ann", url="http://counted.example.com/acl"))
    put(server, "counted", record("http://counted.example.com/b", "x"))
    [source] = [each for each in server.get_json(server.gate, "/api/v1/datasources") if each["name"] == "counted"]
    assert source["documents"] == 2
