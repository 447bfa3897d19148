"""Writing every live document to an index folder beside the serving one."""

from dataclasses import dataclass

from feedmill.model.document import Document
from feedmill.ports import IndexWriter, Store
from feedmill.services import facts

DOCUMENTS_AT_ONCE = 250


@dataclass(slots=True)
class Rebuild:
    """A folder that is being filled with every live document, by id; ``reached`` is the last one."""

    folder: str
    writer: IndexWriter
    reached: int = 0

    def next_documents(self, store: Store) -> list[Document] | None:
        """Gives the next documents to copy, None at the end."""
        with store.reading() as unit:
            documents = unit.documents.list_live(after=self.reached, limit=DOCUMENTS_AT_ONCE)
        if not documents:
            return None
        self.reached = documents[-1].id or 0
        return documents


def request_rebuild(store: Store) -> str:
    """Asks for a rebuild and gives the name of its folder; one that is asked for already is the answer again."""
    with store.writing() as unit:
        asked = unit.facts.get(facts.INDEX_REBUILD)
        if not asked:
            schema, _, number = (unit.facts.get(facts.INDEX_FOLDER) or "0-0").partition("-")
            asked = f"{schema}-{int(number) + 1}"
            unit.facts.put(facts.INDEX_REBUILD, asked)
    return asked
