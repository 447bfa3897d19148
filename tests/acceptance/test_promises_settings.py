"""Settings that decide on documents: patterns, secure sources, crawl access, host names, sizes, trust; and reading them again.

One server for all, whose settings the last tests change while it runs.
"""

import gzip
import http.client
import json
import ssl
from collections.abc import Iterator

import pytest

from tests.acceptance.promises import counts, get, is_public, put, run_json
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record
from tests.builders.requests import make_multipart
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import wait_for

SETTINGS = """
[urls]
follow = {follow}
do_not_follow = {deny}
[gate]
trusted = {trusted}
certificate = "gate.pem"
key = "gate.key"
require_fqdn = true
max_feed_bytes = 200000
server_header = "mill/1"
allow_origins = ["http://tools.example.com"]
[[datasources]]
name = "vault"
secure = true
[[crawl.access]]
pattern = "locked.example.com/"
user = "robot"
password = "env:FEEDMILL_TEST_PASSWORD"
[[crawl.access]]
pattern = "opened.example.com/"
user = "robot"
password = "env:FEEDMILL_TEST_PASSWORD"
make_public = true
[limits]
max_document_bytes = 5000
"""
FOLLOW = ["example.com/", "regexp:/wiki[0-9]/", "contains:anywhere", ".pdf$", "^smb://share.example.net/", "# a comment", ""]
DENY = ["contains:?sid=", "example.com/private/", r"regexpIgnoreCase:\.TMP$", "http://exact.example.com:8080/"]
LOOPBACK = ["127.0.0.0/8"]


def settings(deny: list[str], trusted: list[str], more: str = "") -> str:
    return SETTINGS.format(follow=json.dumps(FOLLOW), deny=json.dumps(deny), trusted=json.dumps(trusted)) + more


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "gate.pem").write_text(CERTIFICATE)
    (folder / "gate.key").write_text(KEY)
    with running(folder / "data", settings(DENY, LOOPBACK), {"FEEDMILL_TEST_PASSWORD": "x"}) as appliance:
        yield appliance


@pytest.mark.parametrize(
    ("url", "passes"),
    [
        ("http://www.example.com/a", True),
        ("https://notexample.com/a", True),
        ("http://www.example.com:9999/a", True),
        ("http://www.example.org/a", False),
        ("http://www.example.com.evil.org/a", False),
        ("http://other.org/wiki7/page", True),
        ("http://other.org/wiki/page", False),
        ("http://other.org/x?anywhere=1", True),
        ("http://other.org/file.pdf", True),
        ("http://other.org/file.pdf?x", False),
        ("smb://share.example.net/dir/file", True),
        ("smb://other.example.net/dir/file", False),
        ("http://www.example.com/a?sid=7", False),
        ("http://www.example.com/private/a", False),
        ("http://www.example.com/not/private/a", True),
        ("http://www.example.com/x.tmp", False),
        ("http://www.example.com/x.TMP", False),
        ("http://exact.example.com:8080/a", False),
        ("http://exact.example.com:8081/a", True),
        ("http://exact.example.com/a", True),
    ],
)
def test_pattern_decides_whether_a_url_is_taken(guarded: Appliance, url: str, passes: bool) -> None:
    receipt = guarded.feed(make_feed(make_record(url, "x")), "decides")
    assert receipt["state"] == ("completed" if passes else "failed in error"), receipt["log"]
    assert (guarded.document(url) is not None) is passes
    if not passes:
        assert any(entry["level"] == "error" and "pattern" in entry["reason"] for entry in receipt["log"])


def test_refused_url_is_an_error_of_its_record_in_every_kind_of_feed(guarded: Appliance) -> None:
    good, bad = "http://kinds.example.com/a", "http://kinds.example.org/a"
    for feedtype in ("incremental", "full", "metadata-and-url"):
        receipt = guarded.feed(make_feed(make_record(good), make_record(bad)), f"kinds-{feedtype}", feedtype)
        assert counts(receipt) == ("completed with errors", 2, 1, 1), feedtype
        assert guarded.document(bad) is None


def test_deletes_and_acls_pass_whatever_the_patterns_say(guarded: Appliance) -> None:
    url = "http://deleted.example.org/a"
    receipt = put(guarded, "deleted", make_record(url, action="delete"), make_acl_element("ann", url="http://deleted.example.org/folder"))
    assert counts(receipt) == ("completed", 1, 1, 0)


def test_source_that_is_secure_hides_documents_without_an_acl(guarded: Appliance) -> None:
    url = "http://vault.example.com/a"
    put(guarded, "vault", make_record(url, "vaultword"), make_record(f"{url}2", "vaultnone", authmethod="none"))
    assert get(guarded, url)["acl"] is None
    assert not is_public(guarded, url, "vaultword")
    assert not is_public(guarded, f"{url}2", "vaultnone")
    put(guarded, "openvault", make_record(url, "vaultword"))
    assert is_public(guarded, url, "vaultword")


def test_url_of_a_crawl_access_pattern_is_secure_unless_made_public(guarded: Appliance) -> None:
    locked, opened, guarded_open = "http://locked.example.com/a", "http://opened.example.com/a", "http://opened.example.com/acl"
    put(
        guarded,
        "access",
        make_record(locked, "lockedword"),
        make_record(opened, "openedword", authmethod="httpbasic"),
        make_record(guarded_open, "openedaclword", acl=make_acl_element("ann")),
    )
    assert not is_public(guarded, locked, "lockedword")
    assert is_public(guarded, opened, "openedword")
    assert not is_public(guarded, guarded_open, "openedaclword")


def test_host_without_a_domain_is_an_error_when_that_is_required(guarded: Appliance) -> None:
    xml = make_feed(make_record("http://shorthost/a", "x"), make_record("http://long.example.com/a", "x"))
    assert counts(guarded.feed(xml, "fqdn")) == ("completed with errors", 2, 1, 1)


def test_text_beyond_the_limit_is_cut_and_the_document_says_so(guarded: Appliance) -> None:
    url = "http://cut.example.com/a"
    put(guarded, "cut", make_record(url, "cutfirst " + "filler words " * 1000 + " cutlast", mimetype="text/plain"))
    assert guarded.urls("cutfirst", match="all") == [url]
    assert guarded.urls("cutlast", match="all") == []
    document = get(guarded, url)
    assert document["reason"]


def test_feed_beyond_the_limit_is_refused(guarded: Appliance) -> None:
    body = make_multipart(
        ("datasource", b"toolarge"), ("feedtype", b"full"), ("data", b"<gsafeed><!--" + b"x" * 300_000 + b"--><group/></gsafeed>")
    )
    headers = {"Content-Type": "multipart/form-data; boundary=<<"}
    assert guarded.request("POST", guarded.gate, "/xmlfeed", body, headers)[0] == 413
    packed = headers | {"Content-Encoding": "gzip"}
    assert guarded.request("POST", guarded.gate, "/xmlfeed", gzip.compress(body), packed)[0] == 413
    assert "toolarge" not in [source["name"] for source in guarded.get_json(guarded.gate, "/api/v1/datasources")]


def test_server_header_and_allowed_origins_are_settings(guarded: Appliance) -> None:
    body = make_multipart(("datasource", b"tools"), ("feedtype", b"full"), ("data", b"<gsafeed><group/></gsafeed>"))
    headers = {"Content-Type": "multipart/form-data; boundary=<<", "Origin": "http://tools.example.com"}
    status, answered, answer = guarded.request("POST", guarded.gate, "/xmlfeed", body, headers)
    assert (status, answer, answered["server"]) == (200, b"Success", "mill/1")
    assert guarded.request("POST", guarded.gate, "/xmlfeed", body, headers | {"Origin": "http://evil.example.com"})[0] == 403


def test_feed_port_speaks_tls_where_a_certificate_is_set(guarded: Appliance) -> None:
    xml = make_feed(make_record("http://tls.example.com/a", "x"))
    body = make_multipart(("datasource", b"tls"), ("feedtype", b"incremental"), ("data", xml))
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    client = http.client.HTTPSConnection("127.0.0.1", guarded.tls, timeout=30, context=trusting)
    try:
        client.request("POST", "/xmlfeed", body, {"Content-Type": "multipart/form-data; boundary=<<"})
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, b"Success")
        assert guarded.wait(answer.headers["x-feedmill-feed"])["state"] == "completed"
    finally:
        client.close()


def test_changed_settings_remove_and_hide_and_bring_nothing_back(guarded: Appliance) -> None:
    staying, gone, hidden = (f"http://{name}.example.com/changing/a" for name in ("stays", "gone", "hidden"))
    put(guarded, "changing", make_record(staying, "changingword"), make_record(gone, "changingword"))
    put(guarded, "closing", make_record(hidden, "closingword"))
    now_secure = '[[datasources]]\nname = "closing"\nsecure = true\n'
    guarded.reload(settings([*DENY, "gone.example.com/changing/"], LOOPBACK, now_secure))
    wait_for(None, lambda: guarded.document(gone))
    wait_for([staying], lambda: guarded.urls("changingword", match="all"))
    wait_for([], lambda: guarded.urls("closingword", match="all"))
    # what leaves is decided by the store, what is counted by the index, which follows
    wait_for(True, lambda: get(guarded, hidden)["searchable"])
    assert not is_public(guarded, hidden, "closingword")
    code, output = run_json("documents", "show", gone, "--data", guarded.data)
    assert code == 0
    assert "gone.example.com/changing/" in output["history"][-1]["detail"]
    receipt = guarded.feed(make_feed(make_record(gone, "changingword"), make_record(staying, "changingword")), "changing")
    assert counts(receipt) == ("completed with errors", 2, 1, 1)
    guarded.reload(settings(DENY, LOOPBACK))
    wait_for([hidden], lambda: guarded.urls("closingword", match="all"))
    assert guarded.document(gone) is None
    put(guarded, "changing", make_record(gone, "changingword"))
    assert sorted(guarded.urls("changingword", match="all")) == [gone, staying]


def test_address_no_longer_trusted_gets_nothing_from_the_feed_port(guarded: Appliance) -> None:
    guarded.reload(settings(DENY, ["10.9.8.7"]))
    body = make_multipart(("datasource", b"s"), ("feedtype", b"full"), ("data", b"<gsafeed><group/></gsafeed>"))
    headers = {"Content-Type": "multipart/form-data; boundary=<<", "X-Forwarded-For": "10.9.8.7"}
    _, answered, answer = guarded.request("POST", guarded.gate, "/xmlfeed", body, headers)
    assert (answer, "x-feedmill-feed" in answered) == (b"Error - Unauthorized Request", False)
    assert guarded.request("POST", guarded.gate, "/xmlgroups", body, headers)[2] == b"Error - Unauthorized Request"
    for path in ("/api/v1/feeds", "/api/v1/documents?url=http://a.example.com/", "/api/v1/datasources", "/api/v1/feeds/1/content"):
        assert guarded.request("GET", guarded.gate, path, None, headers)[0] in (401, 403, 404), path
    assert guarded.request("DELETE", guarded.gate, "/api/v1/datasources/s", None, headers)[0] in (401, 403, 404)
    assert guarded.request("GET", guarded.search_port, "/api/v1/search?q=x")[0] == 200
