"""The cases of Thunderstone's dataload: what a profile takes, what it replies, and what its search returns."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from feedmill.conformance.cases import Case, CaseList, Unmet, expect, iter_polls
from feedmill.conformance.exchange import Exchange, Reply, make_word, parse_xml, write_form
from feedmill.model.errors import BadRequest

SEARCH: Final = "search"
RECEIVER: Final = "/recvdata.xml"
PATH: Final = "/texis/dowalk/recvdata.xml"
SEARCH_PATH: Final = "/texis/search/main.xml"
_DT: Final = 'xmlns:dt="urn:schemas-microsoft-com:datatypes"'
_SUBMISSION: Final = "Thunderstone Search Appliance Manual, Submission Format"
_REPLY: Final = "Thunderstone Search Appliance Manual, Reply Format"
_MEMBERS: Final = "Thunderstone Search Appliance Manual, Cluster Members"
_QUERY: Final = "Webinator Manual, Issuing a Query"
_XML: Final = "Webinator Manual, XML Elements in Search Results"
_EXIT: Final = "Thunderstone Search Appliance Manual, XML Elements in Search Results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The server under test. ``search`` is None without a search port."""

    loads: Exchange
    search: Exchange | None
    profile: str = "default"
    base_url: str = "http://conformance.example.com/"
    wait_seconds: float = 60.0
    run_id: str = field(default_factory=lambda: make_word(8))

    def load(self, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Posts a body to the receiver of dataloads."""
        return self.loads.send("POST", "" if self.loads.base_url.endswith(RECEIVER) else PATH, body, headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What the reply says of an item."""

    type: str
    status: str
    deleted: str
    info: str


class LoadTrial:
    """Sends the requests of one case. Its URLs belong to it alone."""

    def __init__(self, target: Target, case: "Case[LoadTrial]") -> None:
        self.target = target
        self.word = make_word()
        self._prefix = f"{target.base_url}{target.run_id}/{case.name}/"

    def find_obstacle(self, needs: frozenset[str]) -> str:
        """Returns why a case with these needs cannot be tried, "" if it can."""
        return "needs --search-url" if SEARCH in needs and self.target.search is None else ""

    def clean_up(self) -> None:
        """Deletes the documents of the case."""
        self.load(f"<Type>DP</Type><Url>{self._prefix}*</Url>")

    def url(self, name: str) -> str:
        """Returns a URL of this case."""
        return self._prefix + name

    def insert(self, name: str, inside: str = "") -> str:
        """Returns an item that inserts."""
        return f"<Type>I</Type><Url>{escape(self.url(name))}</Url>{inside or f'<Body>{self.word}</Body>'}"

    def load(self, *items: str, root: str = _DT) -> list[Item]:
        """Posts items, and returns what the reply says of each. Errors: Unmet."""
        return read_items(self.post({"profile": self.target.profile, "data": write_items(items, root)}))

    def load_all(self, *items: str, root: str = _DT) -> None:
        """Posts items that must all succeed. Errors: Unmet."""
        for item in self.load(*items, root=root):
            expect(item.status == "OK", f"the status of an item of type {item.type} is '{item.status}' ({item.info or 'no Info'})")

    def post(self, fields: Mapping[str, str]) -> Reply:
        """Posts a urlencoded form."""
        return self.target.load(urlencode(fields).encode(), {"Content-Type": "application/x-www-form-urlencoded"})

    def search(self, query: str, **parameters: str) -> ElementTree.Element:
        """Searches the profile. Errors: Unmet."""
        search = self.target.search
        assert search is not None
        path = "" if search.base_url.endswith(".xml") else SEARCH_PATH
        given = {"pr": self.target.profile, "query": query, "dropXSL": "1", "rpp": "100", **parameters}
        root = parse_xml(search.send("GET", path, parameters=given))
        expect(root.tag == "ThunderstoneResults", f"a search is answered with <{root.tag}>")
        return root

    def expect_urls(self, query: str, names: Sequence[str], **parameters: str) -> ElementTree.Element:
        """Updates the indexes, and waits until a search finds exactly these documents. Errors: Unmet."""
        self.load("<Type>UI</Type>")
        expected, found = {self.url(name) for name in names}, set[str]()
        for is_last in iter_polls(self.target.wait_seconds):
            root = self.search(query, **parameters)
            found = {each.findtext("Url") or "" for each in root.iter("Result")}
            if found == expected:
                return root
            if is_last:
                break
        shown = sorted(url.removeprefix(self._prefix) for url in found)
        raise Unmet(f"a search for '{query}' finds {shown}, not {sorted(names)}, within {self.target.wait_seconds:g} seconds")


def write_items(items: Sequence[str], root: str = _DT) -> str:
    """Returns the XML of a dataload."""
    inside = "".join(f"<Item>{item}</Item>\n" for item in items)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<ThunderstoneReplication {root}>\n{inside}</ThunderstoneReplication>'


def read_items(reply: Reply) -> list[Item]:
    """Reads the reply to a dataload. Errors: Unmet."""
    root = parse_xml(reply)
    expect(root.tag == "ThunderstoneReplicationResult", f"a dataload is answered with <{root.tag}>")
    names = {"type": "Type", "status": "Status", "deleted": "DP", "info": "Info"}
    return [Item(**{key: each.findtext(name) or "" for key, name in names.items()}) for each in root.iter("ItemResult")]


def check_receiver(target: Target) -> None:
    """Checks that there is a receiver with the profile, before the cases. Errors: BadRequest, UpstreamFailure."""
    form = {"profile": target.profile, "data": write_items(["<Type>UI</Type>"])}
    reply = target.load(urlencode(form).encode(), {"Content-Type": "application/x-www-form-urlencoded"})
    try:
        statuses = [item.status for item in read_items(reply)]
    except Unmet as exc:
        raise BadRequest(f"{target.loads.base_url} takes no dataloads: {exc}") from exc
    if "Not Allowed" in statuses:
        raise BadRequest(f"{target.loads.base_url} does not let this machine load; add its address to those allowed for the profile")
    if "No Profile" in statuses:
        raise BadRequest(f"{target.loads.base_url} has no profile '{target.profile}'; name one with --profile")


def encode(text: str) -> str:
    """Returns a text in base64."""
    return base64.b64encode(text.encode()).decode()


CASES: Final[CaseList[LoadTrial]] = CaseList()
_NEEDS: Final = (SEARCH,)


@CASES.add("reply-grammar", "The reply holds an ItemResult for each item, then Rows, then Version", _REPLY)
def check_grammar(trial: LoadTrial) -> None:
    form = {"profile": trial.target.profile, "data": write_items([trial.insert("a"), "<Type>UI</Type>"])}
    reply = trial.post(form)
    names = [each.tag for each in parse_xml(reply)]
    expect(names == ["ItemResult", "ItemResult", "Rows", "Version"], f"the elements of the reply are {names}")
    expect(parse_xml(reply).findtext("Rows") == "2", "Rows is not the number of items")
    found = [(item.type, item.status) for item in read_items(reply)]
    expect(found == [("I", "OK"), ("UI", "OK")], f"the results are {found}")


@CASES.add("results-in-order", "Results come in the order of the items, also where one fails", _REPLY)
def check_order(trial: LoadTrial) -> None:
    items = trial.load(trial.insert("a"), "<Type>I</Type>", f"<Type>D</Type><Url>{trial.url('a')}</Url>")
    found = [(item.type, item.status == "OK") for item in items]
    expect(found == [("I", True), ("I", False), ("D", True)], f"the results are {items}")


@CASES.add("multipart", "A multipart form is taken like a urlencoded one", _SUBMISSION)
def check_multipart(trial: LoadTrial) -> None:
    body = write_form({"profile": trial.target.profile, "data": write_items([trial.insert("a")])}, "kit")
    items = read_items(trial.target.load(body, {"Content-Type": "multipart/form-data; boundary=kit"}))
    expect([item.status for item in items] == ["OK"], f"the results are {items}")


@CASES.add("no-profile", "A request without a profile is answered with the status No Profile", _REPLY)
def check_no_profile(trial: LoadTrial) -> None:
    items = read_items(trial.post({"data": write_items([trial.insert("a")])}))
    expect([item.status for item in items] == ["No Profile"], f"the results are {items}")


@CASES.add("no-data", "A request without data, or with data that is no XML, is answered with NODATA", _REPLY)
def check_no_data(trial: LoadTrial) -> None:
    for fields in ({}, {"data": ""}, {"data": "nothing"}):
        items = read_items(trial.post({"profile": trial.target.profile, **fields}))
        expect([item.status for item in items] == ["NODATA"], f"the results are {items}")


@CASES.add("unknown-type", "An item of an unknown type is FAIL_UNKNOWNTYPE, and the others are applied", _REPLY)
def check_unknown_type(trial: LoadTrial) -> None:
    items = trial.load(f"<Type>X</Type><Url>{trial.url('x')}</Url>", trial.insert("a"))
    expect([item.status for item in items] == ["FAIL_UNKNOWNTYPE", "OK"], f"the results are {items}")


@CASES.add("missing-url", "An insert without a URL fails", _SUBMISSION)
def check_missing_url(trial: LoadTrial) -> None:
    (item,) = trial.load(f"<Type>I</Type><Body>{trial.word}</Body>")
    expect(item.status.startswith("FAIL"), f"the status is '{item.status}'")


@CASES.add("wrong-base64", "An item whose base64 cannot be read fails", _REPLY)
def check_wrong_base64(trial: LoadTrial) -> None:
    items = trial.load(trial.insert("a", '<RawData dt:dt="bin.base64">!!! no base64 !!!</RawData>'), trial.insert("b"))
    expect(items[0].status.startswith("FAIL") and items[1].status == "OK", f"the results are {items}")


@CASES.add("delete-unknown", "Deleting a URL that does not exist is OK, with the Info Not found", _REPLY)
def check_delete_unknown(trial: LoadTrial) -> None:
    (item,) = trial.load(f"<Type>D</Type><Url>{trial.url('nowhere')}</Url>")
    expect((item.status, item.info) == ("OK", "Not found"), f"the result is {item}")


@CASES.add("delete-pattern-count", "The result of DP has the number of URLs that were deleted", _REPLY)
def check_pattern_count(trial: LoadTrial) -> None:
    trial.load_all(trial.insert("dir/a"), trial.insert("dir/b"), trial.insert("other"))
    (item,) = trial.load(f"<Type>DP</Type><Url>{trial.url('dir/')}*</Url>")
    expect((item.type, item.status, item.deleted) == ("DP", "OK", "2"), f"the result is {item}")


@CASES.add("all-elements", "An item with every element of the manual is OK", _SUBMISSION)
def check_all_elements(trial: LoadTrial) -> None:
    refs = f"<results><result><Url>{trial.url('a')}</Url><Ref>{trial.url('b')}</Ref></result></results>"
    errors = f"<results><result><Url>{trial.url('a')}</Url><Reason>Document not found: 404 (Not Found)</Reason></result></results>"
    inside = (
        "<Size>150369</Size><Visited>2005-10-25 15:25:18</Visited><Dlsecs>0</Dlsecs><Depth>0</Depth>"
        f"<Title>Sprocket Specifications</Title><Body>{trial.word}</Body><Keywords>sprockets, gears, hubs</Keywords>"
        "<Description>Sprocket details</Description><Meta></Meta><Modified>2005-10-25 11:21:07</Modified>"
        "<NextCheck>2005-10-25 16:25:18</NextCheck><Views>0</Views><Clicks>0</Clicks><CTR>0.000000</CTR><Pop>0</Pop>"
        f'<MimeType>text/html</MimeType><Charset>UTF-8</Charset><Refs dt:dt="bin.base64">{encode(refs)}</Refs>'
        f'<Errors dt:dt="bin.base64">{encode(errors)}</Errors><RawData dt:dt="bin.base64"></RawData>'
    )
    trial.load_all(trial.insert("a", inside))


@CASES.add("undeclared-prefix", "Elements with the prefix u are taken though the manual's sample does not declare it", _SUBMISSION)
def check_undeclared_prefix(trial: LoadTrial) -> None:
    trial.load_all(trial.insert("a", f"<Body>{trial.word}</Body><u:Quantity>57</u:Quantity><u:State>NY</u:State>"))


@CASES.add("soap-namespace", "The root and the items may be in a namespace", "Webinator Manual, Dataload SOAP API")
def check_namespace(trial: LoadTrial) -> None:
    trial.load_all(trial.insert("a"), root=f'xmlns="urn:example" {_DT}')


@CASES.add("insert-found", "What was inserted is found after UI, with its URL and title", _SUBMISSION, _XML, needs=_NEEDS)
def check_insert(trial: LoadTrial) -> None:
    trial.load_all(trial.insert("a", f"<Title>Sprocket {trial.word}</Title><Body>some {trial.word} &amp; more</Body>"))
    root = trial.expect_urls(trial.word, ["a"])
    title = root.findtext("Result/ResultTitle") or ""
    expect(title == f"Sprocket {trial.word}", f"the title is '{title}'")


@CASES.add("insert-replaces", "An insert overwrites everything that the URL had", _SUBMISSION, needs=_NEEDS)
def check_replaces(trial: LoadTrial) -> None:
    trial.load_all(trial.insert("a", f"<Title>early{trial.word}</Title><Body>{trial.word}</Body>"))
    trial.expect_urls(f"early{trial.word}", ["a"])
    trial.load_all(trial.insert("a", f"<Body>{trial.word}</Body>"))
    trial.expect_urls(f"early{trial.word}", [])
    trial.expect_urls(trial.word, ["a"])


@CASES.add("update-keeps", "An update leaves unspecified fields as they are", _SUBMISSION, needs=_NEEDS)
def check_update(trial: LoadTrial) -> None:
    trial.load_all(trial.insert("a"))
    trial.load_all(f"<Type>U</Type><Url>{trial.url('a')}</Url><Title>late{trial.word}</Title>")
    trial.expect_urls(f"late{trial.word}", ["a"])
    trial.expect_urls(trial.word, ["a"])


@CASES.add("delete-removes", "A deleted URL is not found", _SUBMISSION, needs=_NEEDS)
def check_delete(trial: LoadTrial) -> None:
    trial.load_all(trial.insert("a"), trial.insert("b", f"<Body>{trial.word} other</Body>"))
    trial.expect_urls(trial.word, ["a", "b"])
    trial.load_all(f"<Type>D</Type><Url>{trial.url('a')}</Url>")
    trial.expect_urls(trial.word, ["b"])


@CASES.add("delete-pattern", "A deletion by pattern removes what matches, and nothing else", _SUBMISSION, needs=_NEEDS)
def check_pattern(trial: LoadTrial) -> None:
    trial.load_all(*(trial.insert(name, f"<Body>{trial.word} {number}</Body>") for number, name in enumerate(("dir/a", "dir/b", "dirt"))))
    trial.expect_urls(trial.word, ["dir/a", "dir/b", "dirt"])
    trial.load_all(f"<Type>DP</Type><Url>{trial.url('dir/')}*</Url>")
    trial.expect_urls(trial.word, ["dirt"])


@CASES.add("base64-anywhere", "Any element may be base64", _SUBMISSION, needs=_NEEDS)
def check_base64(trial: LoadTrial) -> None:
    title, body = encode(f"Sprocket {trial.word}"), encode(f"a body <of> {trial.word}")
    trial.load_all(trial.insert("a", f'<Title dt:dt="bin.base64">{title}</Title><Body dt:dt="bin.base64">{body}</Body>'))
    root = trial.expect_urls(trial.word, ["a"])
    expect(root.findtext("Result/ResultTitle") == f"Sprocket {trial.word}", "the title in base64 is not decoded")


@CASES.add("raw-data", "The text of RawData is extracted, without a MimeType, and other fields override it", _SUBMISSION, needs=_NEEDS)
def check_raw_data(trial: LoadTrial) -> None:
    html = f"<!DOCTYPE html><html><head><title>Inner title</title></head><body>{trial.word}</body></html>"
    raw = f'<RawData dt:dt="bin.base64">{encode(html)}</RawData>'
    trial.load_all(trial.insert("a.pdf", raw), trial.insert("b", f"<Title>Outer title</Title>{raw}"))
    root = trial.expect_urls(trial.word, ["a.pdf", "b"])
    titles = {(each.findtext("Url") or "")[-1]: each.findtext("ResultTitle") for each in root.iter("Result")}
    expect(titles == {"f": "Inner title", "b": "Outer title"}, f"the titles are {sorted(map(str, titles.values()))}")


@CASES.add("empty-raw-data", "An empty RawData beside a Body means none", _SUBMISSION, needs=_NEEDS)
def check_empty_raw_data(trial: LoadTrial) -> None:
    trial.load_all(trial.insert("a", f'<Body>{trial.word}</Body><RawData dt:dt="bin.base64"></RawData>'))
    trial.expect_urls(trial.word, ["a"])


@CASES.add("charset", "A Body in base64 is read in the Charset of the item", _SUBMISSION, needs=_NEEDS)
def check_charset(trial: LoadTrial) -> None:
    body = base64.b64encode(f"{trial.word}é".encode("latin-1")).decode()
    trial.load_all(trial.insert("a", f'<Charset>iso-8859-1</Charset><Body dt:dt="bin.base64">{body}</Body>'))
    trial.expect_urls(f"{trial.word}é", ["a"])


@CASES.add("search-grammar", "A search repeats Query and Profile, and has the ExitReason ok", _XML, _EXIT, needs=_NEEDS)
def check_search(trial: LoadTrial) -> None:
    root = trial.search(trial.word)
    found = tuple(root.findtext(name) for name in ("Query", "Profile", "ExitReason"))
    expect(found == (trial.word, trial.target.profile, "ok"), f"Query, Profile and ExitReason are {found}")


@CASES.add("search-unknown-profile", "A search of an unknown profile has the ExitReason NoSuchProfile", _EXIT, needs=_NEEDS)
def check_unknown_profile(trial: LoadTrial) -> None:
    reason = trial.search(trial.word, pr=f"no{trial.word}").findtext("ExitReason")
    expect(reason == "NoSuchProfile", f"the ExitReason is '{reason}'")


@CASES.add(
    "search-operators",
    "A blank means AND, a minus excludes, quotes are phrases",
    "Thunderstone Search Appliance Manual, Applying Search Logic",
    needs=_NEEDS,
)
def check_operators(trial: LoadTrial) -> None:
    texts = {"a": "red apples", "b": "green apples", "c": "apples red"}
    trial.load_all(*(trial.insert(name, f"<Body>{trial.word} {text}</Body>") for name, text in texts.items()))
    trial.expect_urls(trial.word, list(texts))
    trial.expect_urls(f"{trial.word} red", ["a", "c"])
    trial.expect_urls(f"{trial.word} -red", ["b"])
    trial.expect_urls(f'{trial.word} "red apples"', ["a"])


@CASES.add("search-order", "order=dd sorts newest first, order=da oldest first", _QUERY, needs=_NEEDS)
def check_order_by_date(trial: LoadTrial) -> None:
    days = {"a": "2011-03-05", "b": "2013-03-05", "c": "2012-03-05"}
    items = [trial.insert(name, f"<Body>{trial.word} {name}</Body><Modified>{day} 10:00:00</Modified>") for name, day in days.items()]
    trial.load_all(*items)
    trial.expect_urls(trial.word, list(days))
    for order, expected in (("dd", "bca"), ("da", "acb")):
        found = "".join((each.findtext("Url") or "")[-1] for each in trial.search(trial.word, order=order).iter("Result"))
        expect(found == expected, f"order={order} returns the documents in the order {found}, not {expected}")
