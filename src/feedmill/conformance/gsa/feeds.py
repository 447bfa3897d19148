"""Cases of feeds: what a push changes in what searches find."""

import base64
import zlib
from typing import Final

from feedmill.conformance.cases import CaseList, expect
from feedmill.conformance.gsa.sources import feed_sender, guide, library, manager, search_protocol, toolkit
from feedmill.conformance.gsa.trial import SEARCH, FeedTrial

CASES: Final[CaseList[FeedTrial]] = CaseList()
_NEEDS: Final = (SEARCH,)
_MAKER: Final = "src/com/google/enterprise/adaptor/GsaFeedFileMaker.java"
_XML_FEED: Final = "XmlFeed.java"
_PUBLIC: Final = "-//Google//DTD GSA Feeds//EN"


@CASES.add("content-text", "Text in <content> is found by its words", guide("Providing Content in the Feed"), needs=_NEEDS)
def check_text(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", text=f"some {trial.word} here"))
    trial.expect_urls(trial.word, ["a"])


@CASES.add(
    "content-html",
    "The title of HTML is the title of the result",
    guide("Providing Content in the Feed"),
    search_protocol("results"),
    needs=_NEEDS,
)
def check_html(trial: FeedTrial) -> None:
    text = f"<html><head><title>About {trial.word}</title></head><body>words</body></html>"
    trial.feed(trial.record("a", text=text, mimetype="text/html"))
    title = trial.expect_urls(trial.word, ["a"]).results[0].title
    expect(trial.word in title and title.startswith("About"), f"the title is '{title}'")


@CASES.add(
    "content-base64",
    "Content in base64 may be broken into lines and lack its padding",
    guide("Providing Content in the Feed"),
    toolkit("connectormanager/connector.py"),
    needs=_NEEDS,
)
def check_base64(trial: FeedTrial) -> None:
    records = []
    for name, text in (("a", f"one {trial.word} "), ("b", f"two {trial.word}  "), ("c", f"three {trial.word}")):
        encoded = base64.b64encode(text.encode()).decode().rstrip("=")
        lines = "\n".join(encoded[at : at + 8] for at in range(0, len(encoded), 8))
        records.append(
            f'<record url="{trial.url(name)}" mimetype="text/plain"><content encoding="base64binary">\n{lines}\n</content></record>'
        )
    trial.feed(*records)
    trial.expect_urls(trial.word, ["a", "b", "c"])


@CASES.add(
    "content-compressed", "base64compressed is a zlib stream in base64", guide("Content Compression"), manager(_XML_FEED), needs=_NEEDS
)
def check_compressed(trial: FeedTrial) -> None:
    encoded = base64.b64encode(zlib.compress(trial.word.encode())).decode()
    content = f'<content encoding="base64compressed">\n{encoded}\n</content>'
    trial.feed(f'<record url="{trial.url("a")}" mimetype="text/plain">{content}</record>')
    trial.expect_urls(trial.word, ["a"])


@CASES.add("encoding-latin1", "A feed that declares iso-8859-1 is read so", guide("Designing an XML Feed"), needs=_NEEDS)
def check_latin1(trial: FeedTrial) -> None:
    word = f"{trial.word}é"
    xml = trial.write_feed(trial.record("a", text=word)).replace('encoding="UTF-8"', 'encoding="iso-8859-1"')
    trial.push(xml.encode("latin-1"))
    trial.expect_urls(word, ["a"])


@CASES.add("encoding-utf8-label", "The encoding may be labelled UTF8", guide("Designing an XML Feed"), needs=_NEEDS)
def check_utf8_label(trial: FeedTrial) -> None:
    word = f"{trial.word}ß"
    trial.push(trial.write_feed(trial.record("a", text=word)).replace('encoding="UTF-8"', 'encoding="UTF8"'))
    trial.expect_urls(word, ["a"])


@CASES.add(
    "doctypes",
    "A DOCTYPE may have an empty system id, a relative one, single quotes, or be absent; none is fetched",
    library(_MAKER),
    manager(_XML_FEED),
    needs=_NEEDS,
)
def check_doctypes(trial: FeedTrial) -> None:
    prologs = {
        "a": f'<?xml version="1.0" encoding="UTF-8" standalone="no"?><!DOCTYPE gsafeed PUBLIC "{_PUBLIC}" "">',
        "b": f"<?xml version='1.0' encoding='UTF-8'?><!DOCTYPE gsafeed PUBLIC '{_PUBLIC}' 'gsafeed.dtd'>",
        "c": '<?xml version="1.0"?>',
        "d": "",
    }
    for name, prolog in prologs.items():
        xml = trial.write_feed(trial.record(name))
        trial.push(prolog + xml[xml.index("<gsafeed>") :])
    trial.expect_urls(trial.word, prologs)


@CASES.add("comment-before-header", "Comments may stand inside the root before the header", library(_MAKER), needs=_NEEDS)
def check_comment(trial: FeedTrial) -> None:
    trial.push(trial.write_feed(trial.record("a")).replace("<gsafeed>", "<gsafeed><!-- GSA EasyConnector -->"))
    trial.expect_urls(trial.word, ["a"])


@CASES.add(
    "line-ends",
    "A feed from the text field of a browser, with CR LF and white space before it, is read",
    toolkit("remove-or-recrawl-urls.html"),
    needs=_NEEDS,
)
def check_line_ends(trial: FeedTrial) -> None:
    trial.push("\r\n" + trial.write_feed(trial.record("a")).replace("\n", "\r\n"))
    trial.expect_urls(trial.word, ["a"])


@CASES.add("bare-ampersand", "A bare & in a URL is read as &amp;", toolkit("remove-or-recrawl-urls.html"), needs=_NEEDS)
def check_ampersand(trial: FeedTrial) -> None:
    trial.push(trial.write_feed(trial.record("a?b=1&c=2")).replace("&amp;", "&"))
    trial.expect_urls(trial.word, ["a?b=1&c=2"])


@CASES.add("unknown-names", "Unknown elements and attributes are ignored", "coveo-labs/GSAFeedPushConverter, Samples", needs=_NEEDS)
def check_unknown_names(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", after="<attachments><path>x</path></attachments>", sourceid="9"))
    trial.expect_urls(trial.word, ["a"])


@CASES.add(
    "header-loses", "The posted data source and feedtype win over those in the header", guide("Designing a Feed Client"), needs=_NEEDS
)
def check_header_loses(trial: FeedTrial) -> None:
    for name in ("a", "b"):
        xml = trial.write_feed(trial.record(name), feedtype="full", source=trial.other_source("other"))
        trial.push(xml, feedtype="incremental")
    trial.expect_urls(trial.word, ["a", "b"])


@CASES.add(
    "full-replaces", "A full feed replaces all documents of its data source", guide("Full Feeds and Incremental Feeds"), needs=_NEEDS
)
def check_full(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"), trial.record("b"), feedtype="full")
    trial.expect_urls(trial.word, ["a", "b"])
    trial.feed(trial.record("b"), trial.record("c"), feedtype="full")
    trial.expect_urls(trial.word, ["b", "c"])


@CASES.add(
    "full-empty",
    "A full feed without records deletes all documents of its data source",
    guide("Removing Feed Content From the Index"),
    needs=_NEEDS,
)
def check_full_empty(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"), feedtype="full")
    trial.expect_urls(trial.word, ["a"])
    trial.feed(feedtype="full")
    trial.expect_urls(trial.word, [])


@CASES.add(
    "full-own-source-only", "A full feed leaves other data sources as they are", guide("Full Feeds and Incremental Feeds"), needs=_NEEDS
)
def check_own_source(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"), source=trial.other_source("other"))
    trial.expect_urls(trial.word, ["a"])
    trial.feed(trial.record("b"), feedtype="full")
    trial.expect_urls(trial.word, ["a", "b"])


@CASES.add("broken-full", "A full feed whose XML is broken deletes nothing", guide("Error Messages on the Feeds Status Page"), needs=_NEEDS)
def check_broken_full(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"), feedtype="full")
    trial.expect_urls(trial.word, ["a"])
    trial.push(trial.write_feed(feedtype="full").partition("</group>")[0] + "<rec", feedtype="full")
    trial.feed(trial.record("b"))
    trial.expect_urls(trial.word, ["a", "b"])


@CASES.add("incremental-updates", "A second record of a URL replaces its content", guide("Full Feeds and Incremental Feeds"), needs=_NEEDS)
def check_update(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", text=f"{trial.word} early{trial.word}"))
    trial.expect_urls(f"early{trial.word}", ["a"])
    trial.feed(trial.record("a", text=f"{trial.word} late{trial.word}"))
    trial.expect_urls(f"late{trial.word}", ["a"])
    trial.expect_urls(f"early{trial.word}", [])


@CASES.add(
    "delete-record", 'A record with action="delete" removes its document', guide("Removing Feed Content From the Index"), needs=_NEEDS
)
def check_delete(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"), trial.record("b"))
    trial.expect_urls(trial.word, ["a", "b"])
    trial.feed(trial.deletion("a"))
    trial.expect_urls(trial.word, ["b"])


@CASES.add("record-action-wins", "The action of a record overrides that of its group", guide("Grouping Records Together"), needs=_NEEDS)
def check_record_action(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"))
    trial.expect_urls(trial.word, ["a"])
    trial.feed(f'<record url="{trial.url("a")}" mimetype="text/plain"/>', trial.record("b", action="add"), action="delete")
    trial.expect_urls(trial.word, ["b"])


@CASES.add(
    "delete-other-source",
    "A data source cannot delete a document that another one fed",
    guide("Removing Feed Content From the Index"),
    needs=_NEEDS,
)
def check_delete_other(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"))
    trial.expect_urls(trial.word, ["a"])
    trial.feed(trial.deletion("a"), trial.record("b"), source=trial.other_source("other"))
    trial.expect_urls(trial.word, ["a", "b"])


@CASES.add("last-updater-owns", "The data source that fed a URL last owns it", guide("Impact of Feeds on Document Relevancy"), needs=_NEEDS)
def check_owner(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"), feedtype="full")
    trial.expect_urls(trial.word, ["a"])
    trial.feed(trial.record("a", text=f"{trial.word} second{trial.word}"), source=trial.other_source("other"))
    trial.expect_urls(f"second{trial.word}", ["a"])
    trial.feed(trial.record("b"), feedtype="full")
    trial.expect_urls(trial.word, ["a", "b"])


@CASES.add("explicit-false", 'crawl-once="false" and lock="false" are taken, on deletes too', library(_MAKER), needs=_NEEDS)
def check_explicit_false(trial: FeedTrial) -> None:
    flags = {"lock": "false", "crawl-once": "false", "crawl-immediately": "false"}
    trial.feed(trial.record("a", **flags), trial.record("b", **flags))
    trial.expect_urls(trial.word, ["a", "b"])
    trial.feed(trial.deletion("a", ' crawl-immediately="false" crawl-once="false" lock="false"'))
    trial.expect_urls(trial.word, ["b"])


@CASES.add(
    "urls-as-fed",
    "URLs that differ in their query, in dots or in index.html are different documents",
    library("src/com/google/enterprise/adaptor/DocIdCodec.java"),
    needs=_NEEDS,
)
def check_urls_as_fed(trial: FeedTrial) -> None:
    names = ["doc", "doc?generated", "doc?shareAcl", "doc/...", "doc/_index.html", "doc/.../x"]
    trial.feed(*(trial.record(name, text=f"{trial.word} {number}") for number, name in enumerate(names)))
    trial.expect_urls(trial.word, names)


@CASES.add("url-schemes", "URLs may have the schemes googleconnector and smb", manager(_XML_FEED), "googlegsa/filesystem", needs=_NEEDS)
def check_schemes(trial: FeedTrial) -> None:
    urls = [f"googleconnector://{trial.word}.localhost/doc?docid=9", f"smb://{trial.word}.example.com/share/a.txt"]
    trial.feed(*(trial.record("a", url=url, text=f"{trial.word} {number}") for number, url in enumerate(urls)))
    trial.expect_urls(trial.word, [], urls=urls)


@CASES.add("display-url", "Results show the displayurl", guide("Changing the Display URL in Search Results"), needs=_NEEDS)
def check_display_url(trial: FeedTrial) -> None:
    shown = f"http://shown.example.com/{trial.word}"
    trial.feed(trial.record("a", displayurl=shown))
    trial.expect_urls(trial.word, [], urls=[shown])


@CASES.add(
    "date-forms",
    "last-modified is read with one-digit days, zones, offsets and in ISO 8601",
    guide("Defining the XML Record for a Document"),
    library(_MAKER),
    feed_sender("examples"),
    needs=_NEEDS,
)
def check_dates(trial: FeedTrial) -> None:
    forms = {
        "a": "Tue, 6 Nov 2007 12:45:26 GMT",
        "b": "Tue, 06 Nov 2007 12:45:26 +0000",
        "c": "Tue, 06 Nov 2007 04:45:26 -0800",
        "d": "2007-11-06T12:45:26Z",
        "e": "2007-11-06",
    }
    trial.feed(*(trial.record(name, text=f"{trial.word} {name}", last_modified=text) for name, text in forms.items()))
    for result in trial.expect_urls(trial.word, forms).results:
        expect(result.date == "2007-11-06", f"the date of '{forms[result.url[-1]]}' is shown as '{result.date}'")


@CASES.add(
    "robots-in-content",
    "A robots meta tag in fed HTML is obeyed",
    guide("Including Protected Documents in Search Results"),
    guide("Adding Feed Content"),
    needs=_NEEDS,
)
def check_robots_in_content(trial: FeedTrial) -> None:
    html = f'<html><head><meta name="robots" content="noindex"></head><body>{trial.word}</body></html>'
    trial.feed(trial.record("a", text=html, mimetype="text/html"), trial.record("b"))
    trial.expect_urls(trial.word, ["b"])


@CASES.add(
    "robots-in-metadata",
    "A robots meta in the metadata of a record is not obeyed",
    guide("Adding Metadata Information to a Record"),
    needs=_NEEDS,
)
def check_robots_in_metadata(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", before='<metadata><meta name="robots" content="noindex"/></metadata>'))
    trial.expect_urls(trial.word, ["a"])


@CASES.add(
    "metadata",
    "Metadata is found by inmeta and shown by getfields, with every value of a repeated name",
    guide("Adding Metadata Information to a Record"),
    library(_MAKER),
    needs=_NEEDS,
)
def check_metadata(trial: FeedTrial) -> None:
    metas = '<meta name="reviewer" content="Jane"/><meta name="reviewer" content="John"/><meta name="kind" content="memo"/>'
    trial.feed(trial.record("a", before=f"<metadata>{metas}</metadata>"), trial.record("b", text=f"{trial.word} other"))
    trial.expect_urls(trial.word, ["a", "b"])
    page = trial.expect_urls(f"{trial.word} inmeta:reviewer=John", ["a"], getfields="reviewer")
    values = sorted(value for name, value in page.results[0].metadata if name == "reviewer")
    expect(values == ["Jane", "John"], f"getfields shows {values}")


@CASES.add(
    "metadata-after-content",
    "Metadata may stand after the content",
    guide("Example Feeds"),
    "coveo-labs/GSAFeedPushConverter, Samples",
    needs=_NEEDS,
)
def check_metadata_after(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", after='<metadata><meta name="kind" content="memo"/></metadata>'))
    trial.expect_urls(f"{trial.word} inmeta:kind=memo", ["a"])


@CASES.add(
    "metadata-base64",
    'encoding="base64binary" of a meta means its name and its content',
    guide("Adding Metadata Information to a Record"),
    needs=_NEEDS,
)
def check_metadata_base64(trial: FeedTrial) -> None:
    name, value = (base64.b64encode(text).decode() for text in (b"kind", b"memo & more"))
    trial.feed(trial.record("a", before=f'<metadata><meta encoding="base64binary" name="{name}" content="{value}"/></metadata>'))
    page = trial.expect_urls(trial.word, ["a"], getfields="*")
    expect(("kind", "memo & more") in page.results[0].metadata, f"the metadata is {list(page.results[0].metadata)}")


@CASES.add(
    "metadata-empty",
    "A meta with an empty content costs itself, not its record",
    guide("Error Messages on the Feeds Status Page"),
    needs=_NEEDS,
)
def check_metadata_empty(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", before='<metadata><meta name="x" content=""/><meta name="kind" content="memo"/></metadata>'))
    trial.expect_urls(f"{trial.word} inmeta:kind=memo", ["a"])


@CASES.add("one-bad-record", "A record in error costs itself alone", guide("Error Messages on the Feeds Status Page"), needs=_NEEDS)
def check_bad_record(trial: FeedTrial) -> None:
    bad = f'<record url="" mimetype="text/plain"><content>{trial.word}</content></record>'
    trial.feed(trial.record("a"), bad, trial.record("b", text=f"{trial.word} b"))
    trial.expect_urls(trial.word, ["a", "b"])


@CASES.add("backlog-empties", "/getbacklogcount goes down once feeds are processed", guide("Feed Files Awaiting Processing"), needs=_NEEDS)
def check_backlog_empties(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"))
    trial.expect_urls(trial.word, ["a"])
    reply = trial.target.feeds.send("GET", "/getbacklogcount")
    expect(reply.text.strip().isdigit() and int(reply.text) < 4000, f"/getbacklogcount is answered with {reply.describe()}")


@CASES.add(
    "query-info",
    "info: with its URL finds a fed document",
    search_protocol("special query terms"),
    guide("Turning Feed Contents Into Search Results"),
    needs=_NEEDS,
)
def check_info(trial: FeedTrial) -> None:
    trial.feed(trial.record("a"))
    trial.expect_urls(f"info:{trial.url('a')}", ["a"])
