"""What feed clients send, and what pull sources answer: bodies of requests, feeds, groups feeds, seedlists."""

import base64
import io
import json
import zlib
from collections import deque
from dataclasses import replace
from typing import BinaryIO

from feedmill.model.change import PutDocument
from feedmill.model.errors import BadFeed, BadRequest, TooLarge
from feedmill.services.feeds.reading import FeedReader
from feedmill.wire.gsafeed.parse import FeedParser
from feedmill.wire.gsagroups.parse import GroupsParser
from feedmill.wire.jsondocuments.body import ArrayBody, LinesBody
from feedmill.wire.registry import DATALOAD, FORMATS, JSON_ARRAY, JSON_LINES
from feedmill.wire.seedlist.parse import iter_entries, scan_page
from feedmill.wire.seedlist.schema import SeedlistEntry
from feedmill.wire.upload.reader import FEED_FORM, GROUPS_FORM, UploadReader
from tests.builders.requests import make_multipart
from tests.feedreaders import GIVEN
from tests.fuzz.target import Finding, Target

_CHUNK = 1_000
_MAX_BYTES = 1_000_000

_PACKED = base64.b64encode(zlib.compress(b"packed words " * 40)).decode()
_FEED = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "gsafeed.dtd">
<gsafeed><header><datasource>fuzz</datasource><feedtype>incremental</feedtype></header>
<group action="add"><acl url="http://a.example.com/x" inheritance-type="child-overrides" inherit-from="http://a.example.com/y">
<principal scope="user" access="permit" namespace="ns" case-sensitivity-type="everything-case-insensitive">ann</principal></acl>
<record url="http://a.example.com/1" mimetype="text/html" last-modified="Tue, 06 Nov 2007 12:45:26 GMT" lock="true" authmethod="httpbasic"
 pagerank="98" displayurl="http://d.example.com/1" crawl-immediately="true" crawl-once="false"><metadata overwrite-acls="false">
<meta name="dept" content="a &amp; b"/><meta encoding="base64binary" name="ZGVwdA==" content="c2FsZXM="/></metadata>
<content encoding="base64compressed">{_PACKED}</content></record>
<record url="http://a.example.com/2" action="delete"/><record url="http://a.example.com/3" mimetype="text/plain">
<content><![CDATA[some <b>words</b>]]></content></record></group></gsafeed>""".encode()
_GROUPS = b"""<?xml version="1.0" encoding="UTF-8"?><xmlgroups><membership>
<principal namespace="Default" case-sensitivity-type="EVERYTHING_CASE_INSENSITIVE" scope="GROUP">eng</principal>
<members><principal scope="USER" namespace="Default">ann</principal><principal scope="GROUP">CORP\\ops</principal></members>
</membership></xmlgroups>"""
_REFS = base64.b64encode(b"<results><result><Url>http://a/</Url><Ref>http://a/b</Ref></result></results>").decode()
_DATALOAD = f"""<?xml version="1.0"?><ThunderstoneReplication xmlns:dt="urn:schemas-microsoft-com:datatypes"><Item><Type>I</Type>
<Url>http://a.example.com/1</Url><Size>1</Size><CTR>0.5</CTR><Visited>2005-10-25 15:25:18</Visited><Body dt:dt="bin.base64">dGV4dA==</Body>
<Charset>ISO-8859-1</Charset><Title>t</Title><Category>c</Category><Refs dt:dt="bin.base64">{_REFS}</Refs><u:State>NY</u:State>
<RawData dt:dt="bin.base64">PHA+eDwvcD4=</RawData></Item><Item><Type>D</Type><Url>http://a.example.com/2</Url></Item>
<Item><Type>U</Type><Url>http://a.example.com/1</Url><Title/><Views>2</Views></Item>
<Item><Type>DP</Type><Url>http://a.example.com/*</Url></Item><Item><Type>UI</Type></Item></ThunderstoneReplication>""".encode()
_JSON = b"""[{"url": "http://a.example.com/1", "content": "words", "mimetype": "text/plain", "title": "t", "pagerank": 98,
"display_url": "http://d.example.com/", "last_modified": "2024-05-31T12:00:00Z", "metadata": {"dept": "x", "tag": ["y", 1, true]},
"acl": {"inheritance_type": "child-overrides", "inherit_from": "http://a.example.com/p", "principals": [
{"scope": "user", "access": "permit", "namespace": "ad", "name": "ann", "case_sensitive": false}]}},
{"url": "http://a.example.com/2", "content_base64": "d29yZHM="}, {"url": "http://a.example.com/3", "action": "delete"}]"""
_JSON_LINES = b"\n".join(json.dumps(item).encode() for item in json.loads(_JSON))
_SEEDLIST = b"""<feed xmlns="http://www.w3.org/2005/Atom" xmlns:wplc="http://www.ibm.com/wplc/atom/1.0" xml:base="http://a.example.com/">
<link rel="next" href="/list?Start=1&State=x"/><wplc:timestamp>AAABFoVf8zs=</wplc:timestamp><wplc:action do="update"/>
<wplc:fieldInfo id="f" type="fields" returnable="true"><wplc:fieldInfo id="g"/></wplc:fieldInfo><wplc:acl>page</wplc:acl>
<entry xml:lang="en"><id>1</id><link rel="via" type="text/html" href="a"/>
<content type="application/pdf" src="b"/><author><name>n</name></author>
<category term="t" scheme="com.ibm.wplc.taxonomy://location_taxonomy" label="l"/><updated>2007-08-21T18:03:45+03:00</updated>
<wplc:field id="f"><wplc:field id="g">x</wplc:field></wplc:field><wplc:acls><wplc:acl>uid=a,o=b</wplc:acl></wplc:acls></entry>
<entry><id>2</id><wplc:action do="delete"/></entry></feed>"""
_XML_WORDS = tuple(
    word.encode()
    for word in """<group> </group> <record> </record> <acl> </acl> <principal> <metadata> <meta <content> </content> <![CDATA[ ]]> <!-- -->
    <?pi ?> &#0; &#xFFFF; &amp; &nbsp; &bogus; <!DOCTYPE <!ENTITY %pe; xmlns:x="y" encoding="UTF-16" encoding="Shift_JIS"
    url="" action="delete"     encoding="base64binary" inherit-from=""  <gsafeed> <xmlgroups> """.split()
)


def read_feed(data: bytes) -> int:
    """Reads a feed in pieces; returns how much came out."""
    spools: list[BinaryIO] = []

    def open_spool() -> BinaryIO:
        spools.append(io.BytesIO())
        return spools[-1]

    parser = FeedParser(spool=open_spool, max_inflated_bytes=_MAX_BYTES)
    try:
        items = [item for at in range(0, len(data), _CHUNK) for item in parser.feed(data[at : at + _CHUNK])]
        items += parser.close()
    finally:
        parser.discard()
    return sum(len(repr(item)) for item in items) + len(repr(parser.remarks))


def read_groups(data: bytes) -> int:
    """Reads a groups feed in pieces."""
    parser = GroupsParser()
    try:
        changes = [change for at in range(0, len(data), _CHUNK) for change in parser.feed(data[at : at + _CHUNK])]
        changes += parser.close()
    finally:
        parser.discard()
    return sum(len(repr(change)) for change in changes) + len(repr(parser.remarks))


def read_dataload(data: bytes) -> int:
    """Reads a dataload as the feeder does."""
    reader = FeedReader(opener=lambda: io.BytesIO(data), format=FORMATS.documents[DATALOAD].open(GIVEN), piece_bytes=_CHUNK)
    reader.scan()
    size = 0
    for change in reader.changes():
        size += len(repr(change))
        if isinstance(change, PutDocument) and change.content is not None:
            change.content.stream.close()
    return size


def read_json(data: bytes) -> int:
    """Reads documents as JSON as the feeder does, if the feed port takes them. The feeder finds as many items as the port."""
    body = ArrayBody() if data.lstrip()[:1] == b"[" else LinesBody()
    for at in range(0, len(data), _CHUNK):
        deque(body.read_events(data[at : at + _CHUNK]), 0)
    deque(body.finish(), 0)
    name = JSON_ARRAY if isinstance(body, ArrayBody) else JSON_LINES
    reader = FeedReader(opener=lambda: io.BytesIO(data), format=FORMATS.documents[name].open(GIVEN), piece_bytes=_CHUNK)
    report = reader.scan()
    if isinstance(body, ArrayBody) and report.records != body.count:
        raise Finding(f"{report.records} items were read, {body.count} were counted")
    size = 0
    for change in reader.changes():
        size += len(repr(change))
        if isinstance(change, PutDocument) and change.content is not None:
            change.content.stream.close()
    return size


def read_seedlist(data: bytes) -> int:
    """Reads a page of a seedlist. A page whose scan succeeds has as many entries as the scan counted."""
    pieces = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    page = scan_page(pieces, "http://a.example.com/list")
    try:
        entries = list(iter_entries(pieces, "http://a.example.com/list", page))
    except BadFeed as exc:
        raise Finding("entries of a page that was scanned are refused") from exc
    if len(entries) != page.entries:
        raise Finding(f"{len(entries)} entries were read, {page.entries} were counted")
    # Field infos of the page are shared by its entries.
    return len(repr(page)) + sum(
        len(repr(replace(entry, field_infos={}) if isinstance(entry, SeedlistEntry) else entry)) for entry in entries
    )


def read_upload(data: bytes) -> int:
    """Reads a body: the first line is Content-Type, the second Content-Encoding."""
    kind, _, rest = data.partition(b"\n")
    encoding, _, body = rest.partition(b"\n")
    form = GROUPS_FORM if b"groups" in body[:200] else FEED_FORM
    reader = UploadReader(form, content_type=kind.decode("latin-1"), content_encoding=encoding.decode("latin-1"), max_feed_bytes=_MAX_BYTES)
    size = sum(len(piece) for at in range(0, len(body), _CHUNK) for piece in reader.read_chunk(body[at : at + _CHUNK]))
    return size + sum(len(piece) for piece in reader.finish())


_FIELDS = (("datasource", b"fuzz"), ("feedtype", b"full"), ("data", _FEED))
_BODY = make_multipart(*_FIELDS)
_UPLOADS = (
    b"multipart/form-data; boundary=<<\n\n" + _BODY,
    b'multipart/form-data; boundary="<<"\ngzip\n' + zlib.compress(_BODY, wbits=31),
    b"multipart/form-data; boundary=<<\ndeflate\n" + zlib.compress(_BODY),
    b"application/x-www-form-urlencoded\n\ndatasource=fuzz&feedtype=full&data=%3Cgsafeed%3E+x%3C%2Fgsafeed%3E",
    b"text/xml\n\n" + _FEED,
    b"\n\n" + _BODY,
    b"multipart/form-data; boundary=<<\n\n" + make_multipart(("groupsource", b"g"), ("replace", b"true"), ("data", _GROUPS)),
)

TARGETS = (
    Target(
        name="feed",
        run=read_feed,
        seeds=(_FEED, _FEED.replace(b"UTF-8", b"ISO-8859-1"), _FEED.decode().replace("UTF-8", "UTF-16").encode("utf-16")),
        errors=(BadFeed,),
        words=_XML_WORDS,
    ),
    Target(name="groups", run=read_groups, seeds=(_GROUPS,), errors=(BadFeed,), words=_XML_WORDS),
    Target(
        name="dataload", run=read_dataload, seeds=(_DATALOAD,), errors=(BadFeed,), words=(*_XML_WORDS, b'dt:dt="bin.base64"', b"<Item>")
    ),
    Target(
        name="json",
        run=read_json,
        seeds=(_JSON, _JSON_LINES),
        errors=(BadFeed, BadRequest),
        words=(b'"content_base64": "', b'"acl": {', b'"metadata": {"', b"\\ud800", b"\\u0000", b"[{", b"}, {", b"}\n{", b"null", b"1e999"),
    ),
    Target(
        name="seedlist",
        run=read_seedlist,
        seeds=(_SEEDLIST,),
        errors=(BadFeed,),
        words=(*_XML_WORDS, b"<entry>", b"</entry>", b"<wplc:acl/>", b'xml:base="//["', b"<wplc:field>", b'xmlns="urn:x"'),
        output_per_byte=1_000,
    ),
    Target(
        name="upload",
        run=read_upload,
        seeds=_UPLOADS,
        errors=(BadRequest, TooLarge),
        words=(b"\r\n--<<", b"--<<--", b"boundary=", b"&", b"%", b"=", b"Content-Disposition: form-data; name=", b"\r\n\r\n", b"gzip"),
        output_per_byte=2_000,
        base_output=_MAX_BYTES,
    ),
)
