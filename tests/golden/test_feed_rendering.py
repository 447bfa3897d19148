"""The bytes of feeds that the client writes, and what they mean to the server."""

from datetime import UTC, datetime

from feedmill.model.access import Principal, Scope
from feedmill.model.change import Delete, PutAcl, PutDocument, PutGroup
from feedmill_client import AclEntry, FeedBuilder, GroupsBuilder
from tests.golden.feedtext import read_all, read_groups, reader

OPS = AclEntry(name="ops", scope="group", access="deny", namespace="ext", case_sensitive=False)

FEED = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">
<gsafeed>
<header><datasource>feed</datasource><feedtype>full</feedtype></header>
<group>
<record url='http://a.test/?a=1&amp;b="2"' mimetype="text/html" displayurl="http://d.test/" \
last-modified="Fri, 02 Jan 2026 00:00:00 +0000" lock="true" pagerank="90"><acl inherit-from="http://a.test/p"><principal namespace="ext" \
case-sensitivity-type="everything-case-insensitive" scope="group" access="deny">ops</principal></acl><metadata>\
<meta name="dept" content="a&lt;b"/><meta name="dept" content="c"/><meta name="k\ufffd" content="v"/></metadata>\
<content>&lt;p&gt;x &amp; y&lt;/p&gt;</content></record>
<record url="http://a.test/2" mimetype="application/pdf"><acl></acl><content encoding="base64binary">AAE=</content></record>
<record url="http://a.test/3" mimetype="text/html"><content encoding="base64binary">bGluZQ0KZW5kIAI=</content></record>
<record url="http://a.test/4" mimetype="text/html"></record>
<record url="http://a.test/5" mimetype="text/plain" action="delete"></record>
<acl url="http://a.test/6" inherit-from="http://x.test/" inheritance-type="and-both-permit"><principal namespace="Default" \
case-sensitivity-type="everything-case-sensitive" scope="user" access="permit">b&amp;b</principal></acl>
</group>
</gsafeed>
"""

GROUPS = """<?xml version="1.0" encoding="UTF-8"?>
<xmlgroups>
<membership>
<principal namespace="Default" case-sensitivity-type="everything-case-sensitive" scope="group">eng</principal>
<members>
<principal namespace="ext" case-sensitivity-type="everything-case-insensitive" scope="group">ops</principal>
</members>
</membership>
<membership>
<principal namespace="n&amp;s" case-sensitivity-type="everything-case-sensitive" scope="group">empty</principal>
<members>
</members>
</membership>
</xmlgroups>
"""


def test_client_writes_a_feed_that_the_server_reads_as_it_was_meant() -> None:
    with FeedBuilder("full") as feed:
        feed.add(
            'http://a.test/?a=1&b="2"',
            "<p>x & y</p>",
            metadata={"dept": ["a<b", "c"], "k\x01": "v"},
            acl=[OPS],
            inherit_from="http://a.test/p",
            display_url="http://d.test/",
            last_modified=datetime(2026, 1, 2, tzinfo=UTC),
            lock=True,
            pagerank=90,
        )
        feed.add("http://a.test/2", b"\x00\x01", mimetype="application/pdf", acl=[])
        feed.add("http://a.test/3", "line\r\nend \x02")
        feed.add("http://a.test/4")
        feed.delete("http://a.test/5")
        feed.add_acl("http://a.test/6", [AclEntry(name="b&b")], inherit_from="http://x.test/", inheritance_type="and-both-permit")
        written = feed.finish().read_bytes()

    assert written.decode() == FEED
    report, changes = read_all(reader(written))
    assert (report.records, report.log, report.repaired) == (5, (), False)
    assert [type(change) for change in changes] == [PutDocument, PutDocument, PutDocument, PutDocument, Delete, PutAcl]
    first = changes[0]
    assert isinstance(first, PutDocument)
    assert (first.url, first.metadata) == ('http://a.test/?a=1&b="2"', (("dept", "a<b"), ("dept", "c"), ("k\ufffd", "v")))


def test_client_writes_a_groups_feed_that_the_server_reads_as_it_was_meant() -> None:
    with GroupsBuilder() as groups:
        groups.add("eng", [OPS])
        groups.add("empty", [], namespace="n&s")
        written = groups.finish().read_bytes()

    assert written.decode() == GROUPS
    assert [(change.group, change.members) for change in read_groups(written) if isinstance(change, PutGroup)] == [
        (
            Principal(scope=Scope.GROUP, name="eng"),
            (Principal(scope=Scope.GROUP, name="ops", namespace="ext", case_sensitive=False),),
        ),
        (Principal(scope=Scope.GROUP, name="empty", namespace="n&s"), ()),
    ]
