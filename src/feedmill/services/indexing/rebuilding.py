"""Writing every live document to an index folder beside the serving one.

A folder of an older schema is served, and written, until the new one is full, where this program can do both; the index adapter says so.
Else a new one serves at once with what it holds so far.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from feedmill.model.document import Document
from feedmill.model.queue import QueueName
from feedmill.ports import IndexWriter, Store, UnitOfWork
from feedmill.services import facts

DOCUMENTS_AT_ONCE = 250
TOLD_EVERY_SECONDS = 2.0


def choose_folder(unit: UnitOfWork, schema: str, can_serve: Callable[[str], bool]) -> str:
    """Gives the folder to serve and asks for a rebuild where it is one of another schema. Shape: ``SCHEMA-NUMBER``."""
    folder, asked = unit.facts.get(facts.INDEX_FOLDER), unit.facts.get(facts.INDEX_REBUILD) or ""
    if folder is not None and folder.startswith(f"{schema}-"):
        return folder
    if folder is not None and can_serve(folder):
        if not asked.startswith(f"{schema}-"):
            unit.facts.put(facts.INDEX_REBUILD, f"{schema}-1")
            unit.queues.begin(QueueName.REBUILD)
        return folder
    if folder is not None:
        unit.facts.put(facts.INDEX_REBUILD, f"{schema}-2")
        unit.queues.begin(QueueName.REBUILD)
        unit.facts.put(facts.INDEX_PARTIAL, "1")
    folder = f"{schema}-1"
    unit.facts.put(facts.INDEX_FOLDER, folder)
    unit.facts.put(facts.INDEX_TOKEN, "")
    return folder


@dataclass(slots=True)
class Rebuild:
    """A folder that is being filled with every live document, by id; ``reached`` is the last one."""

    folder: str
    writer: IndexWriter
    reached: int = 0
    written: int = 0
    total: int = 0
    begun_at_seconds: float = field(default_factory=time.monotonic)
    told_at_seconds: float = 0.0

    def next_documents(self, store: Store) -> list[Document] | None:
        """Gives the next documents to copy, None at the end; tells now and then how far it is."""
        with store.reading() as unit:
            documents = unit.documents.list_live(after=self.reached, limit=DOCUMENTS_AT_ONCE)
            if not self.reached:
                self.total = unit.documents.count_live()
        if not documents:
            return None
        self.reached = documents[-1].id or 0
        self.written += len(documents)
        if time.monotonic() - self.told_at_seconds >= TOLD_EVERY_SECONDS:
            self.told_at_seconds = time.monotonic()
            with store.writing() as unit:
                unit.facts.put(facts.INDEX_PROGRESS, self._tell_progress())
                unit.queues.note_progress(QueueName.REBUILD, reached=self.reached)
        return documents

    def _tell_progress(self) -> str:
        taken = time.monotonic() - self.begun_at_seconds
        total = max(self.total, self.written)
        remaining = round(taken * (total - self.written) / self.written)
        return json.dumps({"written": self.written, "total": total, "remaining_seconds": remaining})


def request_rebuild(store: Store) -> str:
    """Asks for a rebuild and gives the name of its folder; one that is asked for already is the answer again."""
    with store.writing() as unit:
        asked = unit.facts.get(facts.INDEX_REBUILD)
        if not asked:
            schema, _, number = (unit.facts.get(facts.INDEX_FOLDER) or "0-0").partition("-")
            asked = f"{schema}-{int(number) + 1}"
            unit.facts.put(facts.INDEX_REBUILD, asked)
            unit.queues.begin(QueueName.REBUILD)
    return asked
