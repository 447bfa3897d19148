"""Cases of the feed port alone: how bodies are written, and what is answered at once."""

import gzip
import re
from typing import Final
from urllib.parse import urlencode

from feedmill.conformance.cases import CaseList, expect
from feedmill.conformance.exchange import write_form
from feedmill.conformance.gsa.sources import feed_sender, guide, library, manager, toolkit
from feedmill.conformance.gsa.trial import FeedTrial, expect_refusal, expect_success

CASES: Final[CaseList[FeedTrial]] = CaseList()
_TOOLKIT_BOUNDARY: Final = "----------boundary_of_feed_data$"
_URLENCODED: Final = "application/x-www-form-urlencoded"
_SENDER: Final = "src/com/google/enterprise/adaptor/GsaFeedFileSender.java"
_PUSHING: Final = "How a Feed Client Pushes a Feed"


def _fields(trial: FeedTrial) -> dict[str, str | bytes]:
    trial.empty_later(trial.source)
    return {"datasource": trial.source, "feedtype": "incremental", "data": trial.write_feed(trial.record("a"))}


@CASES.add("success-exact", "A stored feed is answered with the seven bytes Success and status 200", guide(_PUSHING), library(_SENDER))
def check_success(trial: FeedTrial) -> None:
    reply = trial.post_form("/xmlfeed", _fields(trial))
    expect_success(reply)
    expect(reply.status == 200, f"the status is {reply.status}")
    kind = reply.find_header("content-type").partition(";")[0].strip().lower()
    expect(kind == "text/plain", f"the Content-Type is '{kind}', not text/plain")


@CASES.add("boundary-brackets", "A multipart boundary of two angle brackets, not quoted, is understood", library(_SENDER))
def check_boundary_brackets(trial: FeedTrial) -> None:
    expect_success(trial.post_form("/xmlfeed", _fields(trial), "<<"))


@CASES.add(
    "boundary-dollar",
    "A boundary that ends in $ is understood, with feedtype first and without types or file names of the parts",
    toolkit("gsa_feed.py"),
    guide("Creating a Groups Feed Client"),
)
def check_boundary_dollar(trial: FeedTrial) -> None:
    fields = _fields(trial)
    body = write_form({name: fields[name] for name in ("feedtype", "datasource", "data")}, _TOOLKIT_BOUNDARY, types=False)
    expect_success(trial.post("/xmlfeed", body, {"Content-Type": f"multipart/form-data; boundary={_TOOLKIT_BOUNDARY}"}))


@CASES.add("empty-line-before-end", "An empty line before the last delimiter does no harm", toolkit("connectormanager/connector.py"))
def check_empty_line(trial: FeedTrial) -> None:
    body = write_form(_fields(trial), _TOOLKIT_BOUNDARY)
    end = f"--{_TOOLKIT_BOUNDARY}--".encode()
    body = body.replace(end, b"\r\n" + end)
    expect_success(trial.post("/xmlfeed", body, {"Content-Type": f"multipart/form-data; boundary={_TOOLKIT_BOUNDARY}"}))


@CASES.add("data-as-file", "The feed may be a file with a name and a type of its own", guide("Using a Web Form Feed Client"))
def check_data_as_file(trial: FeedTrial) -> None:
    body = write_form(_fields(trial), "file").replace(
        b'name="data"\r\nContent-Type: text/xml', b'name="data"; filename="feed.xml"\r\nContent-Type: application/octet-stream'
    )
    expect_success(trial.post("/xmlfeed", body, {"Content-Type": 'multipart/form-data; boundary="file"'}))


@CASES.add("gzip-chunked", "A request that is one gzip stream, sent in chunks without a length, is understood", library(_SENDER))
def check_gzip(trial: FeedTrial) -> None:
    body = gzip.compress(write_form(_fields(trial), "<<"))
    headers = {"Content-Type": "multipart/form-data; boundary=<<", "Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}
    expect_success(trial.post("/xmlfeed", body, headers))


@CASES.add("urlencoded", "A urlencoded form is understood", guide("Designing a Feed Client"))
def check_urlencoded(trial: FeedTrial) -> None:
    expect_success(trial.post("/xmlfeed", urlencode(_fields(trial)).encode(), {"Content-Type": _URLENCODED}))


@CASES.add("urlencoded-mislabelled", "A urlencoded form is understood under the header of a multipart form", guide(_PUSHING))
def check_mislabelled(trial: FeedTrial) -> None:
    expect_success(trial.post("/xmlfeed", urlencode(_fields(trial)).encode(), {"Content-Type": "multipart/form-data"}))


@CASES.add("path-with-slash", "Feeds are taken at /xmlfeed/ too", "coveo-labs/GSAFeedPushConverter, WebServer.cs")
def check_path_with_slash(trial: FeedTrial) -> None:
    expect_success(trial.post_form("/xmlfeed/", _fields(trial)))


@CASES.add("user-agent-free", "A push without a User-Agent, or with any, is taken", library(_SENDER))
def check_user_agent(trial: FeedTrial) -> None:
    for agent in ({}, {"User-Agent": "Java/1.8.0_202"}, {"User-Agent": "Python-urllib/2.7"}):
        body = write_form(_fields(trial), "<<")
        expect_success(trial.post("/xmlfeed", body, {"Content-Type": "multipart/form-data; boundary=<<", **agent}))


@CASES.add("missing-datasource", "A push without a data source is not answered with Success", guide("Designing a Feed Client"))
def check_missing_datasource(trial: FeedTrial) -> None:
    expect_refusal(trial.post_form("/xmlfeed", {"feedtype": "incremental", "data": trial.write_feed(trial.record("a"))}))


@CASES.add("missing-data", "A push without a feed is not answered with Success", guide("Designing a Feed Client"))
def check_missing_data(trial: FeedTrial) -> None:
    expect_refusal(trial.post_form("/xmlfeed", {"datasource": trial.source, "feedtype": "incremental"}))


@CASES.add("invalid-datasource", "A data source whose name breaks the rule is not taken", guide("Choosing a Name for the Feed Data Source"))
def check_invalid_datasource(trial: FeedTrial) -> None:
    body = write_form({"datasource": "9 lives!", "feedtype": "incremental", "data": trial.write_feed(trial.record("a"))}, "<<")
    expect_refusal(trial.post("/xmlfeed", body, {"Content-Type": "multipart/form-data; boundary=<<"}))


@CASES.add("invalid-feedtype", "An unknown feedtype is not taken", guide("Choosing the Feed Type"))
def check_invalid_feedtype(trial: FeedTrial) -> None:
    expect_refusal(trial.post_form("/xmlfeed", {**_fields(trial), "feedtype": "sideways"}))


@CASES.add("malformed-received", "Success means received: XML that is broken is answered with Success too", guide(_PUSHING))
def check_malformed(trial: FeedTrial) -> None:
    expect_success(trial.post_form("/xmlfeed", {**_fields(trial), "data": "<gsafeed><header>"}))


@CASES.add(
    "groups-cleanup-alone",
    "cleanup is taken at /xmlgroups without any other field",
    library(_SENDER),
    feed_sender("GsaFeedFileSender.java"),
)
def check_cleanup(trial: FeedTrial) -> None:
    expect_success(trial.post_form("/xmlgroups", {"cleanup": trial.source}))


@CASES.add("groups-replace", "replace names the group source of a feed, without a feedtype", feed_sender("GsaFeedFileSender.java"))
def check_replace(trial: FeedTrial) -> None:
    expect_success(trial.post_form("/xmlgroups", {"replace": trial.source, "data": "<xmlgroups/>"}))


@CASES.add(
    "groups-any-source",
    "Group sources may have any legal name, such as adaptor_host-example_5678 and SITEID-GUID",
    library("src/com/google/enterprise/adaptor/Config.java"),
    "googlegsa/sharepoint, SharePointAdaptor.java",
)
def check_any_group_source(trial: FeedTrial) -> None:
    for name in (f"adaptor_{trial.source}-example-com_5678", f"SITEID-{trial.target.run_id}-4b5f-9f57-0a1b2c3d4e5f"):
        trial.push_groups("", source=name)


@CASES.add("groups-doctype", "A groups feed may have a DOCTYPE, with an empty system id or for gsafeed", library("GsaFeedFileMaker.java"))
def check_groups_doctype(trial: FeedTrial) -> None:
    for root in ("xmlgroups", "gsafeed"):
        data = (
            f'<?xml version="1.0" encoding="UTF-8" standalone="no"?><!DOCTYPE {root} PUBLIC "-//Google//DTD GSA Feeds//EN" ""><xmlgroups/>'
        )
        expect_success(trial.post_form("/xmlgroups", {"groupsource": trial.source, "feedtype": "incremental", "data": data}))


@CASES.add(
    "backlog",
    "/getbacklogcount answers 200 with a number and nothing else",
    guide("Feed Files Awaiting Processing"),
    manager("GsaFeedConnection.java"),
)
def check_backlog(trial: FeedTrial) -> None:
    reply = trial.target.feeds.send("GET", "/getbacklogcount")
    expect(reply.status == 200 and re.fullmatch(r"\s*\d+\s*", reply.text), f"/getbacklogcount is answered with {reply.describe()}")


@CASES.add("dtd", "/getdtd answers 200 with a DTD that holds the text '<!ELEMENT acl '", manager("GsaFeedConnection.java"))
def check_dtd(trial: FeedTrial) -> None:
    reply = trial.target.feeds.send("GET", "/getdtd")
    expect(reply.status == 200, f"/getdtd is answered with {reply.describe()}")
    expect("<!ELEMENT acl " in reply.text, "the DTD does not hold '<!ELEMENT acl ', so clients take ACL inheritance as unknown")
