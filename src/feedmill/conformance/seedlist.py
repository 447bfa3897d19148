"""The cases of seedlists: pages, timestamps, entries, access. They only read, so they may be run against any list that is not empty."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from xml.etree import ElementTree

from feedmill.conformance.cases import Case, CaseList, Unmet, expect
from feedmill.conformance.exchange import Exchange, Reply, make_word, parse_xml
from feedmill.core.text.dates import parse_iso
from feedmill.model.errors import BadFeed, BadRequest, UpstreamFailure
from feedmill.wire.seedlist.parse import iter_entries, scan_page
from feedmill.wire.seedlist.schema import ATOM, ATOM_TYPE, WPLC, Action, FieldType, InvalidEntry, SeedlistEntry, SeedlistPage
from feedmill.wire.seedlist.usertokens import parse_user_tokens

MAX_PAGES: Final = 10_000
SHORT_PAGES: Final = 3
CONTENTS: Final = 3
_FIRST: Final = "HCL Connections, Crawling data for the first time"
_NEXT: Final = "HCL Connections, Subsequently crawling data"
_RESPONSE: Final = "HCL Connections, Seedlist response"
_SECURING: Final = "HCL Connections, Securing access to seedlist SPIs"
_REST: Final = "HCL Digital Experience, Seedlist 1.0 REST service API"
_SWITCHES: Final = ("contentSearchable", "fieldSearchable", "parametric", "returnable", "sortable", "supportsExactMatch")
_TYPES: Final = frozenset(kind.value for kind in FieldType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The list under test: ``url`` is where its first page is."""

    server: Exchange
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page of the list."""

    reply: Reply
    root: ElementTree.Element
    page: SeedlistPage
    entries: list[SeedlistEntry]
    invalid: list[InvalidEntry]

    @property
    def ids(self) -> list[str]:
        """The ids of the entries, in their order."""
        return [entry.id for entry in self.entries]


class ListTrial:
    """Reads pages of the list."""

    def __init__(self, target: Target, case: "Case[ListTrial]") -> None:
        del case
        self.target = target

    def find_obstacle(self, needs: frozenset[str]) -> str:
        """Returns "": every case can be tried."""
        del needs
        return ""

    def clean_up(self) -> None:
        """Does nothing: the cases only read."""

    def make_url(self, **parameters: str) -> str:
        """Returns the URL of the first page, with parameters added or replaced."""
        return add_parameters(self.target.url, parameters)

    def read(self, url: str = "") -> ReadPage:
        """Reads one page, by default the first one. Errors: Unmet."""
        reply = self.target.server.send("GET", url or self.target.url)
        expect(reply.status == 200, f"{reply.url} is answered with {reply.describe()}")
        return read_page(reply)

    def iter_pages(self, url: str = "", limit: int = SHORT_PAGES) -> Iterator[ReadPage]:
        """Yields pages along their next links. Errors: Unmet, also where a page leads back to an earlier one."""
        seen: set[str] = set()
        following = url or self.target.url
        while following and len(seen) < limit:
            expect(following not in seen, f"the page {following} comes twice")
            seen.add(following)
            found = self.read(following)
            yield found
            following = found.page.next_url


def add_parameters(url: str, parameters: Mapping[str, str]) -> str:
    """Returns a URL with parameters added or replaced."""
    parts = urlsplit(url)
    given = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in parameters]
    return urlunsplit(parts._replace(query=urlencode([*given, *parameters.items()])))


def read_page(reply: Reply) -> ReadPage:
    """Reads a page, strictly as XML and as the server's own crawler reads it. Errors: Unmet."""
    root = parse_xml(reply)
    expect(root.tag == f"{{{ATOM}}}feed", f"{reply.url} is answered with <{root.tag}>, not with a feed of Atom")
    try:
        page = scan_page([reply.body], reply.url)
        entries = list(iter_entries([reply.body], reply.url, page))
    except BadFeed as exc:
        raise Unmet(f"{reply.url} cannot be read: {exc}") from exc
    valid = [entry for entry in entries if isinstance(entry, SeedlistEntry)]
    invalid = [entry for entry in entries if isinstance(entry, InvalidEntry)]
    return ReadPage(reply=reply, root=root, page=page, entries=valid, invalid=invalid)


def check_list(target: Target) -> None:
    """Checks that there is a list with entries, before the cases. Errors: BadRequest, UpstreamFailure."""
    reply = target.server.send("GET", target.url)
    if reply.status in (401, 403):
        raise BadRequest(
            f"{target.url} is answered with status {reply.status}; name a user with --user, who has the role of a search administrator"
        )
    if reply.status != 200:
        raise BadRequest(f"{target.url} is no seedlist, or an empty one: it is answered with {reply.describe()}")
    try:
        entries = read_page(reply).entries
    except Unmet as exc:
        raise BadRequest(f"{target.url} is no seedlist: {exc}") from exc
    if not entries:
        raise BadRequest(f"{target.url} has no entries; the cases need some, better more than one page")


CASES: Final[CaseList[ListTrial]] = CaseList()


@CASES.add("media-type", "The page is sent as XML, with a Content-Type that says so", _RESPONSE)
def check_media_type(trial: ListTrial) -> None:
    kind = trial.read().reply.find_header("content-type").partition(";")[0].strip().lower()
    expect(kind in ("application/atom+xml", "application/xml", "text/xml"), f"the Content-Type is '{kind}'")


@CASES.add("namespaces", "Elements of the list are in the namespaces of Atom and of IBM", _RESPONSE)
def check_namespaces(trial: ListTrial) -> None:
    known = {ATOM, WPLC}
    names = {child.tag for found in trial.iter_pages() for child in found.root}
    foreign = sorted(name for name in names if name.partition("}")[0][1:] not in known)
    expect(not foreign, f"there are elements {', '.join(foreign)}")


@CASES.add("paging", "The next links lead to an end, and no entry comes twice", _FIRST)
def check_paging(trial: ListTrial) -> None:
    seen: set[str] = set()
    last = None
    for last in trial.iter_pages(limit=MAX_PAGES):
        ids = set(last.ids)
        expect(
            len(ids) == len(last.ids) and not ids & seen, f"an entry of {last.reply.url} comes twice: {', '.join(sorted(ids & seen)[:3])}"
        )
        seen |= ids
    expect(last is not None and not last.page.next_url, f"the list has more than {MAX_PAGES} pages")


@CASES.add("timestamp", "The last page has a wplc:timestamp", _FIRST)
def check_timestamp(trial: ListTrial) -> None:
    expect(_find_timestamp(trial), "the last page has no wplc:timestamp")


@CASES.add("page-repeatable", "A page can be read again by its URL, with the same entries", _FIRST)
def check_repeatable(trial: ListTrial) -> None:
    first = trial.read(trial.make_url(Range="1"))
    if not first.page.next_url:
        return
    one, two = trial.read(first.page.next_url), trial.read(first.page.next_url)
    expect(one.ids == two.ids, f"the page {first.page.next_url} holds {one.ids}, then {two.ids}")


@CASES.add("range", "Range limits the entries of a page, and changes neither the entries nor their order", _REST, _NEXT)
def check_range(trial: ListTrial) -> None:
    expected = trial.read().ids[:SHORT_PAGES]
    found: list[str] = []
    for page in trial.iter_pages(trial.make_url(Range="1"), limit=len(expected)):
        expect(len(page.ids) <= 1, f"a page of Range=1 has {len(page.ids)} entries")
        found += page.ids
    expect(found == expected, f"pages of one entry hold {found}, the first page {expected}")


@CASES.add("start", "Start leaves out the entries before it", _REST)
def check_start(trial: ListTrial) -> None:
    ids = trial.read().ids
    if len(ids) > 1:
        found = trial.read(trial.make_url(Start="1", Range="1")).ids
        expect(found == ids[1:2], f"Start=1 begins with {found}, not with {ids[1:2]}")


@CASES.add("entry-ids", "Every entry has an id and an action that is known", _RESPONSE)
def check_ids(trial: ListTrial) -> None:
    for found in trial.iter_pages():
        reasons = [f"line {entry.line}: {entry.reason}" for entry in found.invalid]
        expect(not reasons, f"{found.reply.url}: {'; '.join(reasons[:3])}")


@CASES.add("full-names-no-deletions", "A first crawl holds no deletions: it says what there is", _FIRST)
def check_no_deletions(trial: ListTrial) -> None:
    for found in trial.iter_pages():
        deleted = [entry.id for entry in found.entries if entry.action is Action.DELETE]
        expect(not deleted, f"{found.reply.url} deletes {', '.join(deleted[:3])}")


@CASES.add("entry-links", "Every document has a page to show or a content to fetch, with an address that can be resolved", _RESPONSE)
def check_links(trial: ListTrial) -> None:
    for found in trial.iter_pages():
        for entry in found.entries:
            if entry.is_container:
                continue
            urls = [
                *(link.url for link in (*entry.via, *entry.related)),
                *([entry.content.url] if entry.content and entry.content.url else []),
            ]
            expect(urls or entry.content, f"the entry {entry.id} has neither a link nor a content")
            wrong = [url for url in urls if urlsplit(url).scheme not in ("http", "https")]
            expect(not wrong, f"the entry {entry.id} leads to '{wrong[0] if wrong else ''}'")


@CASES.add("contents", "The content of an entry can be fetched with the credentials of the list", _RESPONSE)
def check_contents(trial: ListTrial) -> None:
    urls = [entry.content.url for entry in trial.read().entries if entry.content is not None and entry.content.url]
    for url in urls[:CONTENTS]:
        reply = trial.target.server.send("GET", url)
        expect(reply.status == 200, f"the content {url} is answered with {reply.describe()}")


@CASES.add("related-files", "Files at related links can be fetched with the credentials of the list", _RESPONSE)
def check_related(trial: ListTrial) -> None:
    entries = trial.read().entries
    links = [link for entry in entries for link in entry.related if link.media_type != ATOM_TYPE]
    for link in links[:CONTENTS]:
        reply = trial.target.server.send("GET", link.url)
        expect(reply.status == 200, f"the related file {link.url} is answered with {reply.describe()}")


@CASES.add("user-tokens", "getACLTokens lists the ACL tokens of the signed-in user, the same each time", _SECURING)
def check_user_tokens(trial: ListTrial) -> None:
    found = [_read_authverify(trial, "getACLTokens") for _ in range(2)]
    try:
        tokens = [sorted(parse_user_tokens(body)) for body in found if body is not None]
    except UpstreamFailure as exc:
        raise Unmet(f"the tokens of the user cannot be read: {exc}") from exc
    if tokens:
        expect(tokens[0] == tokens[-1], f"the user has the tokens {tokens[0][:3]}, then {tokens[-1][:3]}")


@CASES.add("validate-user", "validateUser says whether the user is signed in, as true or false", _SECURING)
def check_validate_user(trial: ListTrial) -> None:
    body = _read_authverify(trial, "validateUser")
    if body is None:
        return
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - the parser of Python refuses large expansions of entities
    except ElementTree.ParseError as exc:
        raise Unmet(f"validateUser is not answered with XML: {exc}") from exc
    said = next((element.text or "" for element in root.iter() if element.tag.rpartition("}")[2] == "validated"), None)
    expect((said or "").strip() in ("true", "false"), f"validated is '{said}'")


@CASES.add("dates", "updated and published are dates of RFC 3339 with an offset", "RFC 4287, 3.3", _RESPONSE)
def check_dates(trial: ListTrial) -> None:
    for found in trial.iter_pages():
        for name in ("updated", "published"):
            for element in found.root.iter(f"{{{ATOM}}}{name}"):
                text = (element.text or "").strip()
                moment = parse_iso(text) if "T" in text else None
                has_offset = text.endswith(("Z", "z")) or text[-6:-5] in ("+", "-")
                expect(moment is not None and has_offset, f"{name} is '{text}'")


@CASES.add("field-infos", "Every wplc:fieldInfo has an id, a known type, and switches that are true or false", _RESPONSE)
def check_field_infos(trial: ListTrial) -> None:
    for found in trial.iter_pages():
        for info in found.root.iter(f"{{{WPLC}}}fieldInfo"):
            expect(info.get("id"), "a wplc:fieldInfo has no id")
            kind = info.get("type", "string").lower()
            expect(kind in _TYPES, f"the type of the field {info.get('id')} is '{kind}'")
            wrong = [name for name in _SWITCHES if info.get(name, "true") not in ("true", "false")]
            expect(not wrong, f"{', '.join(wrong)} of the field {info.get('id')} is neither true nor false")


@CASES.add("acl-tokens", "No ACL token is empty", _RESPONSE)
def check_acls(trial: ListTrial) -> None:
    for found in trial.iter_pages():
        expect(all((token.text or "").strip() for token in found.root.iter(f"{{{WPLC}}}acl")), f"{found.reply.url} has an empty wplc:acl")


@CASES.add(
    "timestamp-continues",
    "A crawl with the timestamp of the last one is answered, brings no more than there is, and ends with a timestamp of its own",
    _NEXT,
)
def check_incremental(trial: ListTrial) -> None:
    timestamp = _find_timestamp(trial)
    expect(timestamp, "the last page has no wplc:timestamp")
    url = trial.make_url(Timestamp=timestamp)
    reply = trial.target.server.send("GET", url)
    # Portal answers 404 where nothing has changed
    if reply.status == 404:
        return
    expect(reply.status == 200, f"{url} is answered with {reply.describe()}")
    pages = list(trial.iter_pages(url, limit=MAX_PAGES))
    expect(pages[-1].page.timestamp, "the last page of an incremental crawl has no wplc:timestamp")
    known = sum(1 for page in trial.iter_pages(limit=MAX_PAGES) for _ in page.ids)
    changed = sum(len(page.ids) for page in pages)
    # a server may name entries again that it named shortly before, so that none is missed
    deleted = sum(entry.action is Action.DELETE for page in pages for entry in page.entries)
    expect(changed - deleted <= known, f"{changed - deleted} entries come, though the list has {known}")


@CASES.add("unknown-parameter", "A parameter that is unknown is answered with an error", _REST)
def check_unknown_parameter(trial: ListTrial) -> None:
    reply = trial.target.server.send("GET", trial.make_url(**{f"No{make_word()}": "1"}))
    expect(400 <= reply.status < 500, f"an unknown parameter is answered with status {reply.status}")


@CASES.add("unknown-action", "An action that is unknown is answered with an error", _REST)
def check_unknown_action(trial: ListTrial) -> None:
    reply = trial.target.server.send("GET", trial.make_url(Action="GetNonsense"))
    expect(400 <= reply.status < 500, f"an unknown action is answered with status {reply.status}")


@CASES.add("wrong-numbers", "A Range or a Start that is no number is no fault of the server", _REST)
def check_wrong_numbers(trial: ListTrial) -> None:
    for name in ("Range", "Start"):
        for value in ("-1", "x", "9" * 40):
            reply = trial.target.server.send("GET", trial.make_url(**{name: value}))
            expect(reply.status < 500, f"{name}={value} is answered with status {reply.status}")


def _read_authverify(trial: ListTrial, name: str) -> bytes | None:
    """Returns what a resource of authverify says, None if the server has none, as those of Portal. Errors: Unmet."""
    before, found, _ = trial.target.url.partition("/seedlist/")
    if not found:
        return None
    reply = trial.target.server.send("GET", f"{before}/seedlist/authverify/{name}")
    if reply.status == 404:
        return None
    expect(reply.status == 200, f"{reply.url} is answered with {reply.describe()}")
    return reply.body


def _find_timestamp(trial: ListTrial) -> str:
    """Returns the timestamp of the last page, "" if it has none."""
    timestamp = ""
    for found in trial.iter_pages(limit=MAX_PAGES):
        timestamp = found.page.timestamp
    return timestamp
