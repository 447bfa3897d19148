"""The examples of the ports run, each against an adapter."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.blobs.packed import PackedBlobs
from feedmill.adapters.branding import LocalBrandingFiles
from feedmill.adapters.commands import ProcessCommands
from feedmill.adapters.databases.source import DatabaseAddress, DatabaseQueries, DatabaseSource
from feedmill.adapters.feedparts import FolderFeedParts
from feedmill.adapters.index.memory.index import MemoryIndex
from feedmill.adapters.index.tantivy.generations import TantivyGenerations
from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.listings import FolderListings
from feedmill.adapters.manual import PackagedManual
from feedmill.adapters.vectors import ExactVectorSearch
from feedmill.adapters.xslt.folder import StylesheetFolder
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.core.access.principals import exact_key, read_subject
from feedmill.model.access import ANONYMOUS, Scope
from feedmill.model.crawling import CrawlMention, CrawlState, FetchedPage, FetchRequest
from feedmill.model.feed import FeedType
from feedmill.model.pulling import RunMode
from feedmill.model.query import Word
from feedmill.model.queue import QueueName
from feedmill.ports import IndexTask, Lease, LinkWork
from feedmill.ports.commands import CommandLine
from feedmill.ports.counts import Count, LocalCounts
from feedmill.ports.feedformats import FormatOptions
from feedmill.ports.http import HttpRequest, HttpResponse, ServerAddress
from feedmill.wire.registry import FORMATS
from tests.conceptembedder import ConceptEmbedder
from tests.docexamples import SOURCE, DocExample, list_examples, list_modules_without
from tests.migratedstore import open_migrated

STYLESHEET = b'<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>'

PORTS = SOURCE / "ports"


class SilentFetcher:
    """A fetcher whose servers never answer."""

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        return FetchedPage(state=CrawlState.CONNECTION_TIMED_OUT, url=request.url)

    async def close(self) -> None:
        pass


class Server:
    """A server that answers every request, in place of the network."""

    def open(self, server: ServerAddress) -> "Server":
        return self

    def send(self, request: HttpRequest, seconds: float) -> HttpResponse:
        return HttpResponse(status=200)

    def close(self) -> None:
        pass


def open_source(folder: Path) -> DatabaseSource:
    """Opens a database with one row."""
    dsn = f"sqlite:///{folder}/rows.sqlite"
    with closing(sqlite3.connect(folder / "rows.sqlite")) as database:
        database.execute("CREATE TABLE staff (id INTEGER, name TEXT)")
        database.execute("INSERT INTO staff VALUES (7, 'Ann')")
        database.commit()
    queries = DatabaseQueries(crawl_query="SELECT * FROM staff", keys=("id",), serve_query="SELECT * FROM staff WHERE id = :id")
    return DatabaseSource("staff", DatabaseAddress(dsn=dsn), queries, ProcessTransformer().transform, max_characters=1_000)


def write_logo(folder: Path) -> str:
    """Writes a logo and returns its path."""
    path = folder / "logo.svg"
    path.write_bytes(b"<svg/>")
    return str(path)


def values(folder: Path) -> dict[str, Any]:
    """Returns what examples may name: the values of a caller, and the classes that it would import."""
    options = FormatOptions(feedtype=FeedType.FULL, spool=BytesIO, max_inflated_bytes=1_000, max_inflation=10)
    return (
        {
            "blobs": MemoryBlobs(),
            "client": Server(),
            "counts": LocalCounts(),
            "commands": ProcessCommands(folder / "rewritten"),
            "data": b"<gsafeed><header><datasource>hr</datasource><feedtype>full</feedtype></header><group/></gsafeed>",
            "digest": b"0" * 32,
            "garbage": PackedBlobs(folder / "blobs"),
            "fetcher": SilentFetcher(),
            "files": LocalBrandingFiles(),
            "format": FORMATS.documents["gsafeed"].open(options),
            "generations": TantivyGenerations(folder / "index"),
            "embedder": ConceptEmbedder(),
            "in_flight": MappedInFlight(folder, "role"),
            "index": MemoryIndex(),
            "key": exact_key(read_subject(Scope.USER, "ann")),
            "logo": write_logo(folder),
            "manual": PackagedManual(),
            "query": ConceptEmbedder().embed_query("company car", 1.0),
            "now": datetime(2026, 3, 1, tzinfo=UTC),
            "line": CommandLine(label="lister", arguments=("true",), folder=str(folder), seconds=60.0, max_bytes=1_000),
            "listings": FolderListings(folder / "listings"),
            "open_parts": partial(FolderFeedParts, folder / "feed.xml", 1_000),
            "reader": FORMATS.documents["gsafeed"].open(options).parse(0),
            "record": b"<record/>",
            "refs": [],
            "repository": StylesheetFolder(folder / "stylesheets"),
            "source": open_source(folder),
            "stylesheet": STYLESHEET,
            "transformer": ProcessTransformer(),
            "vectors": ExactVectorSearch(),
            "access": ANONYMOUS,
            "url": "http://files.example.com/a",
        }
        | {
            each.__name__: each
            for each in (
                BytesIO,
                Count,
                CrawlMention,
                FetchRequest,
                HttpRequest,
                IndexTask,
                Lease,
                LinkWork,
                QueueName,
                RunMode,
                ServerAddress,
                Word,
                datetime,
                timedelta,
            )
        }
        | {"ANONYMOUS": ANONYMOUS, "asyncio": asyncio, "UTC": UTC, "partial": partial}
    )


def test_every_module_of_the_ports_has_an_example() -> None:
    assert list_modules_without(PORTS) == {"__init__.py"}


@pytest.mark.parametrize("example", list_examples(PORTS), ids=lambda example: example.module)
def test_example_of_a_port_runs(example: DocExample, tmp_path: Path) -> None:
    with closing(open_migrated(tmp_path / "store.sqlite")) as store:
        exec(compile(example.code, example.module, "exec"), {"store": store, **values(tmp_path)})
