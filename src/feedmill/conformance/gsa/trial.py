"""What a case of the appliance works with: pushes under its own data sources and URLs, and searches that wait for an effect."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from feedmill.conformance.cases import Case, Unmet, expect, iter_polls
from feedmill.conformance.counterparts.server import Request
from feedmill.conformance.exchange import Exchange, Reply, make_word, parse_xml, write_form
from feedmill.conformance.gsa.site import CrawledSite, Page
from feedmill.model.errors import BadRequest
from feedmill_client import feedxml

SEARCH: Final = "search"
USERS: Final = "users"
CRAWL: Final = "crawl"
EMPTY_FEED: Final = "<gsafeed><header><datasource>{source}</datasource><feedtype>full</feedtype></header><group/></gsafeed>"
SUCCESS: Final = b"Success"
WEB: Final = "web"
_OBSTACLES: Final = {SEARCH: "needs --search-url", USERS: "needs --search-url and --user-header", CRAWL: "needs --site"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The server under test. ``search`` is None without a search port; ``user_header`` is the header that names the user.

    ``site`` is the site that the server crawls, None without one.
    """

    feeds: Exchange
    search: Exchange | None
    site: CrawledSite | None = None
    user_header: str = ""
    base_url: str = "http://conformance.example.com/"
    wait_seconds: float = 60.0
    run_id: str = field(default_factory=lambda: make_word(8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A result of a search."""

    url: str
    title: str
    date: str
    metadata: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ResultXml:
    """The response to a search, in the appliance's XML."""

    reply: Reply
    root: ElementTree.Element

    @property
    def results(self) -> list[Found]:
        """The results in their order."""
        return [
            Found(
                url=_text(found, "U"),
                title=_text(found, "T"),
                date=next((each.get("VALUE", "") for each in found.iter("FS") if each.get("NAME") == "date"), ""),
                metadata=tuple((each.get("N", ""), each.get("V", "")) for each in found.iter("MT")),
            )
            for found in self.root.iter("R")
        ]


class FeedTrial:
    """Sends the requests of one case. Its data sources and URLs belong to it alone."""

    def __init__(self, target: Target, case: "Case[FeedTrial]") -> None:
        self.target = target
        self.word = make_word()
        self.source = f"conformance_{target.run_id}_{case.name.replace('-', '_')}"
        self._prefix = f"{target.base_url}{target.run_id}/{case.name}/"
        self._sources: set[str] = set()
        self._group_sources: set[str] = set()
        self._paths: dict[str, str] = {}

    # --- what the runner needs ---

    def find_obstacle(self, needs: frozenset[str]) -> str:
        """Returns why a case with these needs cannot be tried, "" if it can."""
        has_search = self.target.search is not None
        is_met = {SEARCH: has_search, USERS: has_search and bool(self.target.user_header), CRAWL: self.target.site is not None}
        return next((_OBSTACLES[need] for need in sorted(needs) if not is_met[need]), "")

    def clean_up(self) -> None:
        """Empties the data sources and the group sources of the case, and deletes the pages that were crawled."""
        if self._paths:
            self.push(
                self.write_feed(*(feedxml.render_delete(self._site.url + path) for path in self._paths.values()), source=WEB), source=WEB
            )
            self._sources.discard(WEB)
        for source in sorted(self._sources):
            self.post_form("/xmlfeed", {"datasource": source, "feedtype": "full", "data": EMPTY_FEED.format(source=source)})
        for source in sorted(self._group_sources):
            self.post_form("/xmlgroups", {"cleanup": source})

    # --- names ---

    def url(self, name: str) -> str:
        """Returns a URL of this case."""
        return self._prefix + name

    def other_source(self, name: str) -> str:
        """Returns a further data source of this case."""
        return f"{self.source}_{name}"

    def empty_later(self, source: str) -> None:
        """Names a data source that the case feeds by itself, for ``clean_up``."""
        self._sources.add(source)

    # --- the feed port ---

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Posts a body as it is."""
        return self.target.feeds.send("POST", path, body, headers)

    def post_form(self, path: str, fields: Mapping[str, str | bytes], boundary: str = "<<") -> Reply:
        """Posts a multipart form as Google's own library writes it: the boundary is ``<<``, and no part has a file name."""
        if "datasource" in fields:
            self._sources.add(_as_text(fields["datasource"]))
        if "groupsource" in fields or "replace" in fields:
            self._group_sources.add(_as_text(fields.get("groupsource") or fields["replace"]))
        return self.post(path, write_form(fields, boundary), {"Content-Type": f"multipart/form-data; boundary={boundary}"})

    def push(self, xml: str | bytes, *, feedtype: str = "incremental", source: str = "") -> None:
        """Pushes a feed that the server must take. Errors: Unmet."""
        fields = {"datasource": source or self.source, "feedtype": feedtype, "data": xml}
        expect_success(self.post_form("/xmlfeed", fields))

    def feed(self, *records: str, feedtype: str = "incremental", source: str = "", action: str = "") -> None:
        """Pushes records, ACLs too, in one group."""
        self.push(self.write_feed(*records, feedtype=feedtype, source=source, action=action), feedtype=feedtype, source=source)

    def write_feed(self, *records: str, feedtype: str = "incremental", source: str = "", action: str = "") -> str:
        """Returns a feed of records in one group."""
        group = f"<group action={quoteattr(action)}>" if action else "<group>"
        return feedxml.begin_feed(source or self.source, feedtype).replace("<group>", group) + "\n".join(records) + feedxml.END_FEED

    def push_groups(self, memberships: str, *, feedtype: str = "incremental", source: str = "") -> None:
        """Pushes memberships that the server must take. Errors: Unmet."""
        fields = {
            "groupsource": source or self.source,
            "feedtype": feedtype,
            "data": f'<?xml version="1.0"?>\n<xmlgroups>{memberships}</xmlgroups>',
        }
        expect_success(self.post_form("/xmlgroups", fields))

    # --- the site ---

    @property
    def _site(self) -> CrawledSite:
        assert self.target.site is not None
        return self.target.site

    def put_page(self, name: str, page: Page, *, folder: str = "/") -> str:
        """Adds or replaces a page of this case, and returns its URL."""
        path = self._paths.setdefault(name, f"{folder}{self.target.run_id}/{self.source}/{name}")
        self._site.put(path, page)
        return self._site.url + path

    def name_pages(self, *names: str, metadata: Mapping[str, str] | None = None, feedtype: str = "") -> None:
        """Pushes a feed that names pages, which are to be crawled at once."""
        records = (
            feedxml.begin_record(self._site.url + self._paths[name], "text/html", {"crawl-immediately": "true"})
            + feedxml.render_metadata((metadata or {}).items())
            + feedxml.END_RECORD
            for name in names
        )
        self.feed(*records, feedtype=feedtype or "incremental", source="" if feedtype else WEB)

    def list_fetches(self, name: str) -> list[Request]:
        """Lists the requests for a page."""
        return self._site.list_requests(self._paths[name])

    def wait_for_fetches(self, name: str, count: int) -> list[Request]:
        """Waits until a page was requested so often, and returns the requests. Errors: Unmet."""
        for _ in iter_polls(self.target.wait_seconds):
            found = self.list_fetches(name)
            if len(found) >= count:
                return found
        raise Unmet(f"the page '{name}' is fetched {len(self.list_fetches(name))} times within {self.target.wait_seconds:g} seconds")

    # --- records ---

    def record(self, name: str, *, text: str = "", before: str = "", after: str = "", **attributes: str) -> str:
        """Returns a record of plain text; ``before`` and ``after`` stand around the content. ``_`` in attributes means a hyphen."""
        given = {"url": self.url(name), "mimetype": "text/plain", **{key.replace("_", "-"): value for key, value in attributes.items()}}
        content = f"<content>{escape(text or self.word)}</content>"
        return f"<record{''.join(f' {key}={quoteattr(value)}' for key, value in given.items())}>{before}{content}{after}</record>"

    def deletion(self, name: str, attributes: str = "") -> str:
        """Returns a record that deletes."""
        return f'<record url={quoteattr(self.url(name))} mimetype="text/plain" action="delete"{attributes}/>'

    # --- the search port ---

    def request(self, path: str, parameters: Mapping[str, str], *, user: str = "", method: str = "GET") -> Reply:
        """Sends a request to the search port, as a user if one is given."""
        search = self.target.search
        assert search is not None
        headers = {self.target.user_header: user} if user else {}
        if method == "POST":
            return search.send("POST", path, b"", headers, parameters)
        return search.send("GET", path, b"", headers, parameters)

    def search(self, query: str, *, user: str = "", **parameters: str) -> ResultXml:
        """Searches by the protocol of the appliance: public documents, or all that a user may see. Errors: Unmet."""
        given = {"q": query, "client": "default_frontend", "output": "xml_no_dtd", "num": "100", "filter": "0", "ie": "utf8", "oe": "utf8"}
        given["access"] = "a" if user else "p"
        return read_results(self.request("/search", {**given, **parameters}, user=user))

    def expect_urls(self, query: str, names: Collection[str], *, user: str = "", urls: Sequence[str] = (), **parameters: str) -> ResultXml:
        """Waits until a search finds exactly the documents of these names, and returns its response. Errors: Unmet.

        If there is a document that all see, and that was fed together with the others, then the others were indexed too when it is found.
        """
        expected = {self.url(name) for name in names} | set(urls)
        for is_last in iter_polls(self.target.wait_seconds):
            page = self.search(query, user=user, **parameters)
            found = {result.url for result in page.results}
            if found == expected:
                return page
            if is_last:
                break
        raise Unmet(f"a search for '{query}'{f' as {user}' if user else ''} {self._compare(found, expected)}")

    def _compare(self, found: Collection[str], expected: Collection[str]) -> str:
        wrong = (
            [f"finds {', '.join(self._shorten(url) for url in sorted(set(found) - set(expected)))}"] if set(found) - set(expected) else []
        )
        missing = sorted(set(expected) - set(found))
        if missing:
            wrong.append(f"does not find {', '.join(self._shorten(url) for url in missing)} within {self.target.wait_seconds:g} seconds")
        return " and ".join(wrong)

    def _shorten(self, url: str) -> str:
        return f"'{url.removeprefix(self._prefix)}'"


def expect_success(reply: Reply) -> None:
    """Raises Unmet unless the reply is exactly what old clients compare with."""
    expect(reply.body == SUCCESS, f"the push is answered with {reply.describe()}, not with exactly 'Success'")


def expect_refusal(reply: Reply) -> None:
    """Raises Unmet if the reply says that the feed was taken."""
    expect(reply.body.strip().lower() != SUCCESS.lower(), "the push is answered with Success")


def read_results(reply: Reply) -> ResultXml:
    """Reads the XML of a search. Errors: Unmet."""
    expect(reply.status == 200, f"a search is answered with {reply.describe()}")
    root = parse_xml(reply)
    expect(root.tag == "GSP", f"a search is answered with <{root.tag}> in place of <GSP>")
    return ResultXml(reply, root)


def _text(element: ElementTree.Element, name: str) -> str:
    return element.findtext(name) or ""


def _as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


def check_feed_port(target: Target) -> None:
    """Checks that there is a feed port that takes feeds of this machine, before the cases. Errors: BadRequest, UpstreamFailure."""
    source = f"conformance_{target.run_id}"
    xml = feedxml.begin_feed(source, "incremental") + feedxml.END_FEED
    body = write_form({"datasource": source, "feedtype": "incremental", "data": xml}, "<<")
    reply = target.feeds.send("POST", "/xmlfeed", body, {"Content-Type": "multipart/form-data; boundary=<<"})
    text = reply.text.lower()
    if "unauthorized" in text:
        raise BadRequest(f"{target.feeds.base_url} does not trust this machine; add its address to those that may push feeds")
    if "success" not in text:
        raise BadRequest(f"{target.feeds.base_url} takes no feeds: it answers /xmlfeed with {reply.describe()}; is it the feed port")


def check_search_port(target: Target) -> None:
    """Checks that there is a search port, if one is given. Errors: BadRequest, UpstreamFailure."""
    if target.search is None:
        return
    reply = target.search.send("GET", "/search", parameters={"q": make_word(), "output": "xml_no_dtd", "client": "default_frontend"})
    try:
        read_results(reply)
    except Unmet as exc:
        raise BadRequest(f"{target.search.base_url} is no search port of the appliance: {exc}") from exc
