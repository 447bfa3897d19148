"""Random histories of a few URLs, and a reference that applies them, as plain as the rules' own sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from hypothesis import strategies as st

from feedmill.core.documents.urlstate import Rules
from feedmill.model.access import Acl, Scope
from feedmill.model.change import AclChange, Change, Delete, InvalidRecord, PutAcl, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.document import Attributes, AuthMethod, Metadata
from feedmill.model.feed import FeedKind
from feedmill.model.provenance import ProvenanceKind
from tests.builders.access import acl, permit
from tests.builders.changes import make_content

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
URLS = ("http://a.test/1", "http://a.test/2", "http://blocked.test/1")
SOURCES = ("hr", "wiki", "web")
SECURE_SOURCE = "wiki"


def refusal(url: str) -> str | None:
    return "the url matches the do-not-follow pattern 'blocked.test/'" if "blocked" in url else None


RULES = Rules(refusal=refusal, make_public=lambda _url: None, secure_sources=frozenset({SECURE_SOURCE}))
OPEN = replace(RULES, refusal=lambda _url: None)


# --- the reference --------------------------------------------------------------------------------------------------------------


@dataclass
class Doc:
    owner: str
    is_fed: bool
    metadata: Metadata = ()
    content: str | None = None


@dataclass
class AclOf:
    acl: Acl
    came_as: str
    writer: str


@dataclass
class Reference:
    docs: dict[str, Doc] = field(default_factory=dict)
    acls: dict[str, AclOf] = field(default_factory=dict)
    authmethods: dict[str, AuthMethod] = field(default_factory=dict)
    included: int = 0
    errors: int = 0
    good_acls: int = 0
    warned: int = 0

    def is_public(self, url: str) -> bool:
        guarded = self.authmethods.get(url, AuthMethod.NONE) is not AuthMethod.NONE
        return url in self.docs and url not in self.acls and not guarded and self.docs[url].owner != SECURE_SOURCE

    def feed(self, way: ProvenanceKind, source: str, kind: FeedKind, changes: Sequence[Change], blocks: bool) -> None:
        self.included = self.errors = self.good_acls = 0
        named_docs: set[str] = set()
        named_acls: set[str] = set()
        for change in changes:
            assert change.url is not None
            was_protected = change.url in self.acls or (change.url in self.docs and not self.is_public(change.url))
            is_error = self.take_fetched(source, change, blocks) if way is ProvenanceKind.FETCH else self.take(source, change, blocks)
            if change.place.record:
                self.errors += is_error
                self.included += not is_error
                named_docs.add(change.url)
            else:
                self.errors += is_error
                self.good_acls += not is_error
            named_acls.add(change.url)
            self.warned += was_protected and self.is_public(change.url)
        if kind is FeedKind.FULL and (self.included or self.good_acls or not self.errors):
            self.sweep(source, named_docs, named_acls)

    def take(self, source: str, change: Change, blocks: bool) -> bool:
        url = change.url
        assert url is not None
        if isinstance(change, InvalidRecord):
            return True
        if isinstance(change, PutDocument | RequestCrawl) and blocks and refusal(url):
            self.remove(url, source)
            return True
        if isinstance(change, PutDocument):
            self.put(url, source, change)
        elif isinstance(change, RequestCrawl):
            self.name(url, source, change)
        elif isinstance(change, Delete):
            self.delete(url, source)
        elif isinstance(change, PutAcl) and change.acl is not None:
            self.acls[url] = AclOf(change.acl, "acl", source)
        elif url in self.acls and self.acls[url].writer == source:
            del self.acls[url]
        return False

    def take_fetched(self, crawler: str, change: Change, blocks: bool) -> bool:
        url = change.url
        assert url is not None
        if isinstance(change, InvalidRecord | RequestCrawl | PutAcl):
            return True
        old = self.docs.get(url)
        source = crawler if old is None or old.is_fed else old.owner
        if isinstance(change, PutDocument) and blocks and refusal(url):
            self.remove(url, source)
            return True
        if old is not None and old.is_fed:
            return False
        if isinstance(change, PutDocument):
            self.put_fetched(url, source, change)
        elif old is not None:
            self.remove(url, source)
        return False

    def put_fetched(self, url: str, source: str, change: PutDocument) -> None:
        doc = self.docs.get(url) or Doc(owner=source, is_fed=False)
        given = change.metadata or ()
        stays = () if change.whole else doc.metadata
        doc.metadata = tuple(pair for pair in stays if pair[0] not in dict(given)) + given
        doc.content = text_of(change) if change.content is not None else doc.content
        self.docs[url] = doc
        if change.attributes.authmethod is not None:
            self.authmethods[url] = change.attributes.authmethod
        if change.acl.element is not None:
            self.acls[url] = AclOf(change.acl.element, "acl", source)
        elif change.acl.overwrite:
            self.acls.pop(url, None)

    def put(self, url: str, source: str, change: PutDocument) -> None:
        old = self.docs.get(url)
        doc = Doc(owner=source, is_fed=True)
        if old is not None and old.is_fed and not change.whole:
            doc.metadata, doc.content = old.metadata, old.content
        if change.metadata is not None:
            doc.metadata = change.metadata
        if change.content is not None:
            doc.content = text_of(change)
        self.docs[url] = doc
        self.guard(url, source, change)

    def name(self, url: str, source: str, change: RequestCrawl) -> None:
        old = self.docs.get(url)
        if old is not None and old.is_fed:
            return
        metadata = change.metadata if change.metadata is not None else (old.metadata if old else ())
        self.docs[url] = Doc(owner=source, is_fed=False, metadata=metadata, content=old.content if old else None)
        self.guard(url, source, change)

    def guard(self, url: str, source: str, change: PutDocument | RequestCrawl) -> None:
        if change.attributes.authmethod is not None:
            self.authmethods[url] = change.attributes.authmethod
        given, old = change.acl, self.acls.get(url)
        if given.element is not None:
            self.acls[url] = AclOf(given.element, "acl", source)
        elif given.legacy is not None:
            self.acls[url] = AclOf(given.legacy, "metadata", source)
        elif old is not None and change.metadata is not None:
            overwritten = given.overwrite is True or (given.overwrite is None and old.came_as == "metadata")
            if overwritten:
                del self.acls[url]

    def delete(self, url: str, source: str) -> None:
        doc = self.docs.get(url)
        if doc is None:
            if url in self.acls and self.acls[url].writer == source:
                del self.acls[url]
        elif not doc.is_fed or doc.owner == source:
            self.remove(url, source)

    def remove(self, url: str, source: str) -> None:
        if self.docs.pop(url, None) is not None and url in self.acls and self.acls[url].writer == source:
            del self.acls[url]

    def sweep(self, source: str, named_docs: set[str], named_acls: set[str]) -> None:
        for url in URLS:
            if url in self.docs and self.docs[url].owner == source and url not in named_docs:
                del self.docs[url]
            if url in self.acls and self.acls[url].writer == source and url not in named_acls:
                del self.acls[url]


def text_of(change: PutDocument) -> str:
    assert change.content is not None
    change.content.stream.seek(0)
    return change.content.stream.read().decode()


# --- histories ------------------------------------------------------------------------------------------------------------------


def an_acl(group: str) -> Acl:
    return acl(permit(group, scope=Scope.GROUP))


acls = st.sampled_from([an_acl("staff"), an_acl("board")])
metadata = st.sampled_from([None, (), (("k", "1"),), (("k", "2"), ("k", "3"))])
attributes = st.sampled_from([None, None, AuthMethod.NONE, AuthMethod.NTLM]).map(lambda method: Attributes(authmethod=method))
acl_changes = st.builds(AclChange, element=st.none() | acls, legacy=st.none() | acls, overwrite=st.sampled_from([None, None, True, False]))
contents = st.sampled_from(["one", "two"]).map(make_content)
RECORD, BESIDE = SourcePosition(record=1, line=1), SourcePosition(record=0, line=1)


@st.composite
def puts(draw: st.DrawFn, whole: bool) -> PutDocument:
    content = draw(contents if whole else st.none() | contents)
    acl = draw(acl_changes)
    given = draw(metadata)
    # Metadata that says nothing of an ACL is what the parser returns when there are no google:acl entries.
    acl = acl if given is not None else replace(acl, legacy=None)
    return PutDocument(
        place=RECORD,
        url=draw(st.sampled_from(URLS)),
        attributes=draw(attributes),
        metadata=given,
        content=content,
        acl=acl,
        whole=whole,
    )


crawls = st.builds(
    RequestCrawl, place=st.just(RECORD), url=st.sampled_from(URLS), attributes=attributes, metadata=metadata, acl=acl_changes
)
deletes = st.builds(Delete, place=st.just(RECORD), url=st.sampled_from(URLS))
put_acls = st.builds(PutAcl, place=st.just(BESIDE), url=st.sampled_from(URLS), acl=st.none() | acls)
faults = st.builds(InvalidRecord, place=st.sampled_from([RECORD, BESIDE]), url=st.sampled_from(URLS), reason=st.just("no host"))


Batch = tuple[ProvenanceKind, str, FeedKind, list[Change], bool]
"""The changes that come together: their way, source, kind of feed, and whether the patterns refuse URLs."""


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    way = draw(st.sampled_from([ProvenanceKind.FEED, ProvenanceKind.FEED, ProvenanceKind.RUN, ProvenanceKind.FETCH]))
    kinds = [FeedKind.FULL, FeedKind.INCREMENTAL, FeedKind.METADATA_AND_URL]
    kind = draw(st.sampled_from(kinds if way is ProvenanceKind.FEED else kinds[1:]))
    put: st.SearchStrategy[Change] = puts(whole=kind is FeedKind.FULL)
    if way is ProvenanceKind.FETCH:
        # metadata of the headers replaces all earlier metadata
        put = puts(whole=False) | puts(whole=True)
    elif kind is FeedKind.METADATA_AND_URL:
        put = crawls
    others: st.SearchStrategy[Change] = st.one_of(deletes, put_acls, faults)
    changes = draw(st.lists(st.one_of(put, put, others), max_size=5))
    return way, draw(st.sampled_from(SOURCES)), kind, changes, draw(st.booleans())


def expected(reference: Reference, url: str) -> tuple[object, object]:
    doc, acl = reference.docs.get(url), reference.acls.get(url)
    return (
        None if doc is None else (doc.owner, doc.is_fed, doc.metadata, doc.content, not reference.is_public(url)),
        None if acl is None else (acl.acl, acl.came_as, acl.writer),
    )
