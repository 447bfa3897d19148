"""A searcher over a real store, an index in memory and documents made for a test."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lxml import etree
from starlette.types import ASGIApp

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.adapters.store.engine import SqlStore
from feedmill.core.access.classes import class_of, in_one_order
from feedmill.core.query.patternsets import CompiledPatterns, list_patterns
from feedmill.core.text.textblob import encode_text
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import AccessKey, Acl, StoredAcl
from feedmill.model.document import BlobRef, Document, Metadata, Text
from feedmill.model.search import IndexDocument
from feedmill.model.serving import Serving
from feedmill.ports import SearchIndex, UnitOfWork
from feedmill.services.keyvalues import INDEX_FOLDER, INDEX_TOKEN
from feedmill.services.searchconfigprovider import SearchConfigProvider
from feedmill.services.searching.searchservices import SearchServices, wire_search_services
from feedmill.services.searching.semanticranking import SemanticRanking
from tests.asgi import Answer, ask_app
from tests.builders.access import make_stored_acl
from tests.builders.documents import make_document
from tests.migratedstore import open_migrated

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@dataclass(slots=True)
class SearchHarness:
    """Store, blobs, index and searcher of one test."""

    store: SqlStore
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    opened: list[str] = field(default_factory=list)
    serving: Serving = field(default_factory=Serving)
    semantic: SemanticRanking | None = None

    def services(self) -> SearchServices:
        def open_index(folder: str) -> SearchIndex:
            self.opened.append(folder)
            return self.index

        search_config = SearchConfigProvider(lambda _settings: self.serving)
        return wire_search_services(self.store, open_index, self.blobs, search_config=search_config, semantic=self.semantic)

    def make(self, url: str, body: str = "", **given: Any) -> Document:
        """Makes a live document.

        ``given``: blob (of its stored text), title, metadata, own (metadata), navigation, robots, secure, attributes, language, state.
        """
        data = encode_text(body, [], navigation=given.get("navigation", ""))
        text = Text(
            source=BlobRef("source"),
            blob=given.get("blob") or self.blobs.put(io.BytesIO(data), len(data)),
            title=given.get("title"),
            mimetype="text/html",
            language=given.get("language"),
            metadata=given.get("own", ()),
            robots=frozenset(given.get("robots", ())),
        )
        fields = {name: value for name, value in given.items() if name in ("state", "attributes", "metadata", "secure")}
        return make_document(url, datasource="hr", content=BlobRef("source"), content_bytes=len(data), text=text, updated_at=NOW, **fields)

    def add(self, documents: Sequence[Document], *, into_index: bool = True, acls: Mapping[str, Acl] | None = None) -> list[int]:
        """Stores documents and ACLs, by URL, and, as the indexer would, brings the index up to them; returns their ids."""
        with self.store.writing() as unit:
            guards = dict(acls or {})
            documents = [_guarded(unit, document, guards.pop(document.url, None)) for document in documents]
            unit.access.acls.save_many([_stored(url, acl) for url, acl in guards.items()], at=NOW)
            ids = unit.documents.writer.save_many(documents)
        if into_index:
            writer = MemoryWriter(self.index)
            writer.put_many(self._entry(ids[document.url], document) for document in documents)
            token = writer.commit()
            with self.store.writing() as unit:
                unit.state.key_values.put(INDEX_FOLDER, "first")
                unit.state.key_values.put(INDEX_TOKEN, token)
        return [ids[document.url] for document in documents]

    def _entry(self, key: int, document: Document) -> IndexDocument:
        assert document.text is not None
        assert document.text.blob is not None
        metadata: Metadata = document.metadata + document.text.metadata
        return IndexDocument(
            key=key,
            url=document.url,
            display_url=document.attributes.display_url,
            access_class=class_of(document),
            title=document.text.title or "",
            body=self.blobs.read(document.text.blob).partition(b"\n")[2].decode(),
            metadata=metadata,
            datasource=document.datasource,
            mimetype="text/html",
            language=document.text.language,
            last_modified=document.attributes.last_modified,
            pagerank=document.rank,
            patterns=CompiledPatterns(list_patterns(self.serving)).terms_of(document.url),
        )


def _stored(url: str, acl: Acl) -> StoredAcl:
    return make_stored_acl(url, acl=acl, datasource="hr")


def _guarded(unit: UnitOfWork, document: Document, acl: Acl | None) -> Document:
    policy = unit.access.policies.current().find_policy(document.url)
    if acl is None and (policy is None or not document.secure):
        return document
    key = AccessKey(acl=None if acl is None else in_one_order(acl), policy_number=0 if policy is None else policy.number)
    if acl is not None:
        unit.access.acls.save_many([_stored(document.url, acl)], at=NOW)
    return replace(document, secure=True, access_class=unit.access.classes.number_many([key])[key])


def open_harness(folder: Path) -> SearchHarness:
    """Opens a harness on a new store in a folder."""
    store = open_migrated(folder / "store.sqlite")
    return SearchHarness(store)


def ask(
    app: ASGIApp, path: str, parameters: Sequence[tuple[str, str]] | str = (), method: str = "GET", posted: str = "", **headers: str
) -> Answer:
    """Asks the search port for a path with parameters."""
    query = parameters if isinstance(parameters, str) else urlencode(parameters)
    return ask_app(app, method, path, query=query, body=posted.encode(), headers=headers)


def search_xml(harness: SearchHarness, query: str, method: str = "GET", **site: Any) -> Any:
    """Searches over the appliance's protocol and returns the root of the XML."""
    answer = ask(search_app(harness.services(), SearchSite(clock=lambda: NOW, **site)), "/search", query, method)
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"].startswith("text/xml")
    return etree.fromstring(answer.body)


def add_pages(harness: SearchHarness, count: int) -> None:
    """Adds documents that no filter leaves out."""
    harness.add([harness.make(f"http://a.com/{number}/x", f"needle {number}", title=f"T{number}") for number in range(count)])
