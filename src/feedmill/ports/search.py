"""The ports of the search index, which is derived from the store: reading, writing and building entries."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from feedmill.model.access import AccessFilter
from feedmill.model.entrybuild import BuildOutcome
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Node
from feedmill.model.ranking import Ranking, ScoreBias
from feedmill.model.results import Snippet
from feedmill.model.search import Hits, IndexDocument, Sort

MAX_HELD_PARTS: Final = 20
"""The most parts of a query that are looked for in documents at once."""


def go_on() -> None:
    """Does nothing: the default check, which never ends a count."""


class Vocabulary(Protocol):
    """The words of an index as people write them, ignoring letter case and accents."""

    def complete(self, start: str, within: Node, access: AccessFilter, limit: int) -> list[tuple[str, int]]:
        """Finds words of titles with this start in matching documents that the user may see, with their counts, most frequent first.

        If the start holds several words, the same titles must hold all words before the last.
        """

    def count(self, word: str, access: AccessFilter) -> int:
        """Counts the documents that the user may see and whose title or text holds a word. A count above a hundred may be an estimate."""

    def is_in_compound(self, word: str, access: AccessFilter) -> bool:
        """Whether a document that the user may see holds a word that a word is a part of (``Antrag`` of ``Urlaubsantrag``)."""

    def find_alike(self, word: str, access: AccessFilter, more_than: int) -> str | None:
        """Finds the likeliest similar word that is in more than ``more_than`` documents that the user may see.

        The choice between several words depends on those documents alone.
        """

    def has_read(self, word: str, more_than: int) -> bool:
        """Whether ``find_alike`` need not go through the dictionary of the index for a word, and takes as long as counting a few words."""

    def find_holding(self, parts: Sequence[Node], keys: Sequence[int], access: AccessFilter) -> tuple[frozenset[int], ...]:
        """Finds which of some documents that the user may see match each part of a query.

        Shape: for each part the keys. ``parts`` are at most ``MAX_HELD_PARTS`` and have words.
        """


class Highlighter(Protocol):
    """Highlights the words of one query in texts, in all forms that the index finds.

    Shape: ``language`` is that of the text, None if it is unknown.

    Example::

        snippet = index.make_highlighter(Word("invoice")).make_snippet("All invoices of 2024")
        words = [snippet.text[start:end] for start, end in snippet.marks]
    """

    def make_snippet(self, text: str, language: str | None = None) -> Snippet:
        """Returns the passage of a text that best shows the words of the query, with their positions in it."""

    def find_marks(self, text: str, language: str | None = None) -> tuple[tuple[int, int], ...]:
        """Returns the start and end positions of the words of the query in a text."""

    @property
    def weights(self) -> tuple[float, ...]:
        """How much each word or phrase of the query counts. They are numbered from 0."""

    def find_terms(self, text: str, language: str | None = None) -> list[tuple[int, int]]:
        """Returns where words of the query begin in a text, each with its number, in order: quickly, also words that only begin alike."""

    def count_terms(self, text: str, language: str | None = None) -> dict[int, int]:
        """Returns how often a text holds each word of the query, by its number, without those that it does not hold."""


class SearchIndex(Protocol):
    """Reads the search index. Every query needs the user's access filter; the type demands it.

    Example::

        hits = index.search(Word("invoice"), ANONYMOUS, start=0, num=10)
        keys = [hit.key for hit in hits.hits]
    """

    def search(
        self,
        query: Node,
        access: AccessFilter,
        *,
        start: int,
        num: int,
        sort: Sort | None = None,
        bias: ScoreBias | None = None,
        explains: bool = False,
    ) -> Hits:
        """Finds matching documents that the user may see, best first or in the order of ``sort``.

        ``bias`` moves the best of them if no other sort order is set. ``explains`` returns the parts of each score.
        """

    def list_by_key(self, query: Node, access: AccessFilter, *, after: int, num: int) -> Hits:
        """Lists matching documents that the user may see, by key, with keys above ``after``. The total counts all of them."""

    def count_facets(
        self, query: Node, access: AccessFilter, facets: Sequence[Facet], check: Callable[[], None] = go_on
    ) -> tuple[FacetCounts, ...]:
        """Counts facets exactly over all matching documents that the user may see, in the given order.

        The answer of a facet with ``as_of`` has the ranges of days that were chosen for what the user may see.
        It calls ``check`` between the steps; ``check`` may raise to end the count.
        """

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the index in its current state."""

    def make_highlighter(self, query: Node) -> Highlighter:
        """Returns the highlighter of a query, for the index in its current state."""

    def reload_to(self, token: str) -> bool:
        """Reloads the index if it is behind the commit that returned this token. Returns whether later searches see that commit."""

    def count(self) -> int:
        """Counts the documents in the index."""


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    """A document as the engine takes it. Shape: ``entry`` is the engine's own; ``key`` the document's id."""

    key: int
    entry: object


@dataclass(frozen=True, slots=True)
class BuiltEntries:
    """Entries that another process built for the writer. Shape: ``payload`` is the engine's own."""

    keys: frozenset[int]
    payload: object


class EntryBuilder(Protocol):
    """Builds index entries in a separate process, so that a document that crashes it or is slow does not delay others."""

    def start(self, documents: Sequence[IndexDocument]) -> None:
        """Starts a build. Call it only if no build is running. Errors: DiskFull."""

    def find_outcome(self) -> BuildOutcome | None:
        """Returns the result of a build once; None while it runs or if there is none. Its entries stay until the next start."""

    def cancel(self) -> None:
        """Stops the running build and discards its entries."""


class IndexWriter(Protocol):
    """Writes the search index; each index has one writer."""

    def prepare(self, document: IndexDocument) -> PreparedEntry:
        """Builds a document's entry without changing the index. Errors: of any kind, each the document's own."""

    def put_prepared(self, entries: Iterable[PreparedEntry]) -> None:
        """Adds prepared entries. Each replaces the earlier entry of its key."""

    def put_many(self, documents: Iterable[IndexDocument]) -> None:
        """Adds documents. Each replaces the earlier entry of its key."""

    def remove_many(self, keys: Iterable[int]) -> None:
        """Removes documents by key."""

    def commit(self) -> str:
        """Makes all writes durable and returns the commit's token. After any error the batch is discarded and the writer is usable."""

    def adopt(self, built: BuiltEntries) -> str:
        """Adds entries that another process built. Each replaces the earlier entry of its key. Returns the token of that commit.

        The caller must have no uncommitted writes. The call is fast, whatever the entries hold.
        """

    def close(self) -> None:
        """Closes the writer and discards uncommitted writes."""


class IndexGenerations(Protocol):
    """The generations of the index by name. Searches use one; a rebuild fills another beside it.

    Example::

        token = generations.open_writer("5-1").commit()
        index = generations.open_index("5-1")
    """

    @property
    def schema(self) -> str:
        """The schema of the entries that this program writes. The name of a generation begins with its schema."""

    def list_names(self) -> Sequence[str]:
        """Lists the generations that exist, also unfinished ones."""

    def open_writer(self, name: str) -> IndexWriter:
        """Opens the only writer of a generation, and creates the generation if it does not exist. Errors: Busy, Conflict, Corrupt."""

    def open_index(self, name: str, ranking: Ranking | None = None) -> SearchIndex:
        """Opens a generation for searches. One that does not exist is empty. Errors: Corrupt."""

    def remove(self, name: str) -> None:
        """Removes a generation. One that does not exist is no error."""

    def exists(self, name: str) -> bool:
        """Returns whether a generation exists with what was committed to it."""

    def can_serve(self, name: str) -> bool:
        """Returns whether this program can read and write a generation of another schema."""
