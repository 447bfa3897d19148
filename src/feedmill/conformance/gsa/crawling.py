"""Cases of crawling: feeds name pages of the kit's own site, which answers as a web server or as an adaptor."""

import json
from typing import Final
from urllib.parse import quote

from feedmill.conformance.cases import CaseList, expect, iter_polls
from feedmill.conformance.gsa.site import CLOSED, Page
from feedmill.conformance.gsa.sources import guide, library
from feedmill.conformance.gsa.trial import CRAWL, SEARCH, USERS, FeedTrial

CASES: Final[CaseList[FeedTrial]] = CaseList()
_NEEDS: Final = (SEARCH, CRAWL)
_USERS: Final = (SEARCH, CRAWL, USERS)
_HANDLER: Final = "src/com/google/enterprise/adaptor/DocumentHandler.java"
_ACL: Final = "src/com/google/enterprise/adaptor/Acl.java"
_MODIFIED: Final = "Mon, 02 Mar 2026 10:00:00 GMT"
_ROBOTS: Final = "RFC 9309, 2.2"


def controls(**values: object) -> tuple[tuple[str, str], ...]:
    """Returns one header line for each control, as Google's library sends them."""
    written = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    return tuple(("X-gsa-doc-controls", f"{name}={quote(value, safe='')}") for name, value in written.items())


def permit(user: str) -> dict[str, object]:
    """Returns an ACL as the JSON of the library has it."""
    return {"entries": [{"access": "permit", "name": user, "scope": "user"}]}


@CASES.add("crawl-web-feed", "A URL that the feed web names is fetched, and found by its words", guide("Web Feed"), needs=_NEEDS)
def check_web_feed(trial: FeedTrial) -> None:
    urls = [trial.put_page("a", Page(body=f"<title>About {trial.word}</title><p>text</p>"))]
    trial.name_pages("a")
    title = trial.expect_urls(trial.word, [], urls=urls).results[0].title
    expect(trial.word in title, f"the title is '{title}'")


@CASES.add("crawl-user-agent", "The User-Agent begins with gsa-crawler, and is never SecMgr", library(_HANDLER), needs=(CRAWL,))
def check_user_agent(trial: FeedTrial) -> None:
    trial.put_page("a", Page(body=trial.word))
    trial.name_pages("a")
    (request, *_) = trial.wait_for_fetches("a", 1)
    agent = request.headers.get("user-agent", "")
    expect(agent.startswith("gsa-crawler"), f"the User-Agent is '{agent}'")
    expect(
        request.method == "GET" and "range" not in request.headers, f"the page is fetched by {request.method}, with a Range or not as GET"
    )


@CASES.add(
    "crawl-metadata-and-url",
    "The metadata of a metadata-and-url feed joins the page that is crawled",
    guide("Web Feed with Metadata"),
    needs=_NEEDS,
)
def check_metadata_and_url(trial: FeedTrial) -> None:
    urls = [trial.put_page("a", Page(body=f"<p>{trial.word}</p>"))]
    trial.name_pages("a", metadata={"conformance": trial.word}, feedtype="metadata-and-url")
    page = trial.expect_urls(trial.word, [], urls=urls, getfields="*", requiredfields=f"conformance:{trial.word}")
    found = page.results[0].metadata
    expect(("conformance", trial.word) in found, f"the metadata is {found}")


@CASES.add("crawl-links", "Links of a page that was crawled are followed", guide("Web Feed"), needs=_NEEDS)
def check_links(trial: FeedTrial) -> None:
    linked = trial.put_page("b", Page(body=f"<p>{trial.word}</p>"))
    first = trial.put_page("a", Page(body=f"<p>{trial.word} <a href='{linked}'>next</a></p>"))
    trial.name_pages("a")
    trial.expect_urls(trial.word, [], urls=[first, linked])


@CASES.add("crawl-robots-txt", "A page that robots.txt closes is not fetched", _ROBOTS, needs=_NEEDS)
def check_robots_txt(trial: FeedTrial) -> None:
    closed = trial.put_page("b", Page(body=trial.word), folder=CLOSED)
    opened = trial.put_page("a", Page(body=f"{trial.word} <a href='{closed}'>closed</a>"))
    trial.name_pages("b", "a")
    trial.expect_urls(trial.word, [], urls=[opened])
    expect(not trial.list_fetches("b"), "the page is fetched")


@CASES.add("crawl-noindex", "A page with X-Robots-Tag: noindex is not found", library(_HANDLER), needs=_NEEDS)
def check_noindex(trial: FeedTrial) -> None:
    trial.put_page("b", Page(body=trial.word, headers=(("X-Robots-Tag", "noindex"),)))
    shown = trial.put_page("a", Page(body=trial.word, headers=(("X-Robots-Tag", "noarchive"),)))
    trial.name_pages("b")
    trial.wait_for_fetches("b", 1)
    trial.name_pages("a")
    trial.expect_urls(trial.word, [], urls=[shown])


@CASES.add("crawl-acl", "The ACL in X-Gsa-Doc-Controls says who finds a document", library(_HANDLER), library(_ACL), needs=_USERS)
def check_acl(trial: FeedTrial) -> None:
    hidden = trial.put_page("a", Page(body=trial.word, headers=(*controls(acl=permit("ann")), ("X-gsa-serve-security", "secure"))))
    shown = trial.put_page("b", Page(body=trial.word, headers=(("X-gsa-serve-security", "public"),)))
    trial.name_pages("a", "b")
    trial.expect_urls(trial.word, [], urls=[hidden, shown], user="ann")
    trial.expect_urls(trial.word, [], urls=[shown], user="bob")
    trial.expect_urls(trial.word, [], urls=[shown])


@CASES.add("crawl-secure", "A document that its adaptor calls secure is not public without an ACL", library(_HANDLER), needs=_NEEDS)
def check_secure(trial: FeedTrial) -> None:
    trial.put_page("a", Page(body=trial.word, headers=(*controls(acl=""), ("X-gsa-serve-security", "secure"))))
    trial.name_pages("a")
    trial.wait_for_fetches("a", 1)
    shown = trial.put_page("b", Page(body=trial.word, headers=(*controls(acl=""), ("X-gsa-serve-security", "public"))))
    trial.name_pages("b")
    trial.expect_urls(trial.word, [], urls=[shown])


@CASES.add("crawl-metadata", "X-Gsa-External-Metadata is metadata of the document, percent-decoded", library(_HANDLER), needs=_NEEDS)
def check_metadata(trial: FeedTrial) -> None:
    header = ("X-gsa-external-metadata", "conformance=a%2Cb%20%C3%BC,other%3Dname=1")
    urls = [trial.put_page("a", Page(body=trial.word, headers=(header,)))]
    trial.name_pages("a")
    found = trial.expect_urls(trial.word, [], urls=urls, getfields="*").results[0].metadata
    expect({("conformance", "a,b ü"), ("other=name", "1")} <= set(found), f"the metadata is {found}")


@CASES.add("crawl-unchanged", "A page is fetched again with If-Modified-Since, and 304 keeps it", library(_HANDLER), needs=_NEEDS)
def check_unchanged(trial: FeedTrial) -> None:
    urls = [trial.put_page("a", Page(body=trial.word, last_modified=_MODIFIED))]
    trial.name_pages("a")
    trial.expect_urls(trial.word, [], urls=urls)
    trial.name_pages("a")
    _, again, *_ = trial.wait_for_fetches("a", 2)
    since = again.headers.get("if-modified-since", "")
    expect(since == _MODIFIED, f"If-Modified-Since is '{since}'")
    trial.expect_urls(trial.word, [], urls=urls)


@CASES.add("crawl-failure", "A page whose server fails stays as it was", library(_HANDLER), needs=_NEEDS)
def check_failure(trial: FeedTrial) -> None:
    urls = [trial.put_page("a", Page(body=trial.word))]
    trial.name_pages("a")
    trial.expect_urls(trial.word, [], urls=urls)
    trial.put_page("a", Page(status=500, body="repository unavailable", mimetype="text/plain"))
    trial.name_pages("a")
    trial.wait_for_fetches("a", 2)
    trial.expect_urls(trial.word, [], urls=urls)


@CASES.add("crawl-gone", "A page that answers 404 is no longer found", guide("Removing Feed Content From the Index"), needs=_NEEDS)
def check_gone(trial: FeedTrial) -> None:
    urls = [trial.put_page(name, Page(body=trial.word)) for name in ("a", "b")]
    trial.name_pages("a", "b")
    trial.expect_urls(trial.word, [], urls=urls)
    trial.put_page("a", Page(status=404, body="gone"))
    trial.name_pages("a")
    trial.expect_urls(trial.word, [], urls=urls[1:])


@CASES.add("crawl-display-url", "A search shows the URL that display_url names", library(_HANDLER), needs=_NEEDS)
def check_display_url(trial: FeedTrial) -> None:
    shown = f"http://shown.example.com/{trial.word}"
    trial.put_page("a", Page(body=trial.word, headers=controls(display_url=shown)))
    trial.name_pages("a")
    for is_last in iter_polls(trial.target.wait_seconds):
        found = {url for result in trial.search(trial.word).root.iter("R") for url in (result.findtext("UD"), result.findtext("U")) if url}
        if shown in found:
            return
        if is_last:
            break
    expect(shown in found, f"the result has {sorted(found)}")
