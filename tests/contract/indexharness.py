"""An index with its writer, whichever engine it is of, and documents to put into it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.adapters.index.tantivy.reader import TantivyIndex, TantivyWriter
from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.query import Node
from feedmill.model.search import IndexDocument
from feedmill.ports import IndexWriter, SearchIndex

ENGINES = ("tantivy", "memory")

Opened = tuple[SearchIndex, IndexWriter]
BOTH = AccessFilter(permitted=frozenset({0, 1}))


@contextmanager
def open_index(engine: str, folder: Path, clock: Callable[[], float] = time.time) -> Iterator[Opened]:
    index: SearchIndex
    writer: IndexWriter
    if engine == "memory":
        memory = MemoryIndex(clock=clock)
        index, writer = memory, MemoryWriter(memory)
    else:
        index = TantivyIndex(folder, clock=clock)
        writer = TantivyWriter(folder, heap_bytes=15_000_000)
    yield index, writer
    writer.close()


def put(opened: Opened, *documents: IndexDocument) -> None:
    index, writer = opened
    writer.put_many(documents)
    assert index.reload_to(writer.commit())


def keys(opened: Opened, query: Node, access: AccessFilter = ANONYMOUS) -> list[int]:
    return [hit.key for hit in opened[0].search(query, access, start=0, num=100).hits]
