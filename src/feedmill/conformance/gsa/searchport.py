"""Cases of the search protocol."""

import json
import re
from typing import Any, Final

from feedmill.conformance.cases import CaseList, Unmet, expect
from feedmill.conformance.exchange import Reply
from feedmill.conformance.gsa.sources import library, search_protocol, toolkit
from feedmill.conformance.gsa.trial import SEARCH, FeedTrial, ResultXml, read_results

CASES: Final[CaseList[FeedTrial]] = CaseList()
_NEEDS: Final = (SEARCH,)


@CASES.add(
    "version",
    "/sw_version.txt answers with a version such as 7.4.0-0",
    library("src/com/google/enterprise/adaptor/GsaVersion.java"),
    needs=_NEEDS,
)
def check_version(trial: FeedTrial) -> None:
    reply = trial.request("/sw_version.txt", {})
    found = reply.status == 200 and re.fullmatch(r"(\d+)\.(\d+)\.\d+-\d+", "".join(reply.text.split()))
    expect(found, f"/sw_version.txt is answered with {reply.describe()}")


@CASES.add("result-grammar", "The response is GSP 3.2 with TM, Q and a PARAM for each parameter", search_protocol("results"), needs=_NEEDS)
def check_grammar(trial: FeedTrial) -> None:
    page = trial.search(trial.word)
    expect(page.root.get("VER") == "3.2", f"VER is '{page.root.get('VER')}'")
    expect(re.fullmatch(r"\d+\.\d+", page.root.findtext("TM") or ""), "TM is no number of seconds")
    expect(page.root.findtext("Q") == trial.word, f"Q is '{page.root.findtext('Q')}'")
    names = {each.get("name") for each in page.root.iter("PARAM")}
    expect({"q", "client", "output", "num"} <= names, f"there are PARAMs of {sorted(map(str, names))} only")
    kind = page.reply.find_header("content-type")
    expect(kind.startswith("text/xml"), f"the Content-Type is '{kind}', not text/xml")


@CASES.add("nothing-found", "There is no RES where nothing was found", search_protocol("results"), needs=_NEEDS)
def check_nothing_found(trial: FeedTrial) -> None:
    expect(trial.search(trial.word).root.find("RES") is None, "there is a RES though nothing was found")


@CASES.add(
    "parameters-echoed",
    "PARAM holds the value that was used, the raw text as it was sent, and unknown parameters",
    search_protocol("results"),
    needs=_NEEDS,
)
def check_echo(trial: FeedTrial) -> None:
    page = trial.search(trial.word, sort="date:D:L:d1", kitparameter="two words")
    found = {each.get("name"): (each.get("value"), each.get("original_value")) for each in page.root.iter("PARAM")}
    expect(found.get("sort") == ("date:D:L:d1", "date%3AD%3AL%3Ad1"), f"sort is repeated as {found.get('sort')}")
    expect(found.get("kitparameter") == ("two_words", "two+words"), f"an unknown parameter is repeated as {found.get('kitparameter')}")


@CASES.add("start-beyond-end", "A start beyond the end returns the last page", search_protocol("p. 106"), needs=_NEEDS)
def check_beyond_end(trial: FeedTrial) -> None:
    _feed_numbered(trial, 5)
    page = trial.search(trial.word, start="40", num="2")
    expect(len(page.results) > 0, "a start beyond the end returns no results")
    found = page.root.find("RES")
    expect(
        found is not None and found.get("EN") == "5",
        f"the last page ends at {found.get('EN') if found is not None else 'nothing'}, not at 5",
    )


@CASES.add("paging", "SN and EN count from 1, and NU leads to the next page", search_protocol("results"), needs=_NEEDS)
def check_paging(trial: FeedTrial) -> None:
    _feed_numbered(trial, 5)
    page = trial.search(trial.word, num="3")
    found = page.root.find("RES")
    expect(found is not None and (found.get("SN"), found.get("EN")) == ("1", "3"), "the first page is not 1 to 3")
    following = page.root.findtext("RES/NB/NU") or ""
    expect(following.startswith("/search?"), f"NU is '{following}', which is no relative URL of a search")
    assert trial.target.search is not None
    rest = read_results(trial.target.search.send("GET", following)).results
    seen = {result.url for result in (*page.results, *rest)}
    expect(len(rest) == 2 and len(seen) == 5, f"the next page holds {len(rest)} results, together {len(seen)} of 5")


@CASES.add("post-search", "A search may be posted", search_protocol("request format"), needs=_NEEDS)
def check_post(trial: FeedTrial) -> None:
    reply = trial.request("/search", {"q": trial.word, "output": "xml_no_dtd", "client": "default_frontend"}, method="POST")
    expect(read_results(reply).root.findtext("Q") == trial.word, "the posted query is not repeated")


@CASES.add(
    "words-and-operators", "Words are ANDed; OR, a minus and quotes mean what they say", search_protocol("query terms"), needs=_NEEDS
)
def check_operators(trial: FeedTrial) -> None:
    one, two = f"one{trial.word}", f"two{trial.word}"
    texts = {"a": one, "b": two, "c": f"{one} and {two}", "d": f"{two} {one}"}
    trial.feed(*(trial.record(name, text=f"{text} {trial.word} {name}") for name, text in texts.items()))
    trial.expect_urls(trial.word, texts)
    trial.expect_urls(f"{one} {two}", ["c", "d"])
    trial.expect_urls(f"{one} OR {two}", texts)
    trial.expect_urls(f"{trial.word} -{two}", ["a"])
    trial.expect_urls(f'"{two} {one}"', ["d"])
    trial.expect_urls(f"{trial.word} {one} OR nowhere{trial.word}", ["a", "c", "d"])


@CASES.add("url-operators", "site:, inurl: and allinurl: restrict by the URL", search_protocol("special query terms"), needs=_NEEDS)
def check_url_operators(trial: FeedTrial) -> None:
    trial.feed(trial.record("left/a", text=f"{trial.word} a"), trial.record("right/b", text=f"{trial.word} b"))
    trial.expect_urls(trial.word, ["left/a", "right/b"])
    trial.expect_urls(f"{trial.word} inurl:left", ["left/a"])
    site = trial.url("right").partition("://")[2]
    trial.expect_urls(f"{trial.word} site:{site}", ["right/b"])


@CASES.add("daterange", "daterange: restricts by last-modified, both ends included", search_protocol("special query terms"), needs=_NEEDS)
def check_daterange(trial: FeedTrial) -> None:
    days = {"a": "2011-03-04", "b": "2011-03-05", "c": "2011-03-06"}
    trial.feed(*(trial.record(name, text=f"{trial.word} {name}", last_modified=day) for name, day in days.items()))
    trial.expect_urls(trial.word, days)
    trial.expect_urls(f"{trial.word} daterange:2011-03-05..2011-03-06", ["b", "c"])


@CASES.add("sort-by-date", "sort=date sorts by last-modified, in both directions", search_protocol("sorting"), needs=_NEEDS)
def check_sort(trial: FeedTrial) -> None:
    days = {"a": "2011-03-05", "b": "2013-03-05", "c": "2012-03-05"}
    trial.feed(*(trial.record(name, text=f"{trial.word} {name}", last_modified=day) for name, day in days.items()))
    trial.expect_urls(trial.word, days)
    for direction, expected in (("A", "acb"), ("D", "bca")):
        found = "".join(result.url[-1] for result in trial.search(trial.word, sort=f"date:{direction}:R:d1").results)
        expect(found == expected, f"date:{direction} returns the documents in the order {found}, not {expected}")


@CASES.add(
    "required-fields",
    "requiredfields means whole values, partialfields words in them; both are encoded twice, and decoded so",
    search_protocol("p. 19 and 41"),
    needs=_NEEDS,
)
def check_fields(trial: FeedTrial) -> None:
    metas = {"a": "human resources", "b": "resources", "c": "v1.2|x"}
    records = [
        trial.record(name, text=f"{trial.word} {name}", before=f'<metadata><meta name="kitdepartment" content="{value}"/></metadata>')
        for name, value in metas.items()
    ]
    trial.feed(*records)
    trial.expect_urls(trial.word, metas)
    # the second encoding is that of the query string
    trial.expect_urls(trial.word, ["a"], requiredfields="kitdepartment:human%20resources")
    trial.expect_urls(trial.word, ["b"], requiredfields="kitdepartment:resources")
    trial.expect_urls(trial.word, ["a", "b"], partialfields="kitdepartment:resources")
    trial.expect_urls(trial.word, ["c"], requiredfields="kitdepartment:v1%2E2%7Cx")
    trial.expect_urls(trial.word, ["a", "c"], requiredfields="-kitdepartment:resources")
    trial.expect_urls(trial.word, ["a", "b"], requiredfields="kitdepartment:resources|kitdepartment:human%20resources")


@CASES.add(
    "restriction-by-parameters",
    "as_q, as_epq, as_oq and as_eq add words, a phrase, alternatives and exclusions",
    search_protocol("p. 11"),
    needs=_NEEDS,
)
def check_advanced(trial: FeedTrial) -> None:
    texts = {"a": "red apples", "b": "green apples", "c": "apples red"}
    trial.feed(*(trial.record(name, text=f"{trial.word} {text} {name}") for name, text in texts.items()))
    trial.expect_urls(trial.word, texts)
    trial.expect_urls(trial.word, ["a"], as_epq="red apples")
    trial.expect_urls(trial.word, ["b"], as_eq="red")
    trial.expect_urls(trial.word, ["b"], as_oq="green zebra")
    trial.expect_urls(trial.word, ["a", "c"], as_q="red")


@CASES.add(
    "cached-copy",
    "C holds a CID, by which cache: answers with the copy",
    search_protocol("p. 55"),
    toolkit("convert_cached_copy_to_feed.py"),
    needs=_NEEDS,
)
def check_cache(trial: FeedTrial) -> None:
    trial.feed(trial.record("a", text=f"<html><body>{trial.word}</body></html>", mimetype="text/html"))
    page = trial.expect_urls(trial.word, ["a"])
    copy = page.root.find("RES/R/HAS/C")
    if copy is None:
        raise Unmet("the result holds no HAS/C")
    reply = trial.request("/search", {"q": f"cache:{copy.get('CID')}:{trial.url('a')}", "output": "xml_no_dtd"})
    expect(read_results(reply).root.find("CACHE/CACHE_HTML/BLOB") is not None, "the response to cache: holds no CACHE_HTML/BLOB")


@CASES.add(
    "suggest",
    "/suggest answers with JSON: an array for token, an object with format=rich",
    search_protocol("p. 96"),
    toolkit("load.py"),
    needs=_NEEDS,
)
def check_suggest(trial: FeedTrial) -> None:
    plain = _read_json(trial.request("/suggest", {"token": trial.word, "max_matches": "10", "use_similar": "0"}))
    expect(isinstance(plain, list), f"/suggest?token= answers {plain!r}, not an array")
    rich = _read_json(
        trial.request("/suggest", {"q": trial.word, "format": "rich", "site": "default_collection", "client": "default_frontend"})
    )
    expect(
        isinstance(rich, dict) and rich.get("query") == trial.word and isinstance(rich.get("results"), list),
        f"format=rich answers {rich!r}",
    )


@CASES.add(
    "cluster", "/cluster answers a POST with clusters and documents as JSON", search_protocol("p. 86"), toolkit("load.py"), needs=_NEEDS
)
def check_cluster(trial: FeedTrial) -> None:
    given = {"coutput": "json", "q": trial.word, "site": "default_collection", "client": "default_frontend"}
    answer = _read_json(trial.request("/cluster", given, method="POST"))
    expect(isinstance(answer, dict) and {"clusters", "documents"} <= answer.keys(), f"/cluster answers {answer!r}")


def _feed_numbered(trial: FeedTrial, count: int) -> ResultXml:
    names = [f"d{number}" for number in range(count)]
    trial.feed(*(trial.record(name, text=f"{trial.word} {name}") for name in names))
    return trial.expect_urls(trial.word, names)


def _read_json(reply: Reply) -> Any:
    expect(reply.status == 200, f"{reply.url} is answered with {reply.describe()}")
    try:
        return json.loads(reply.body)
    except ValueError as exc:
        raise Unmet(f"{reply.url} is answered with what is no JSON: {reply.describe()}") from exc
