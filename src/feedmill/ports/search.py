"""The derived index."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from feedmill.core.snippets import Sought
from feedmill.model.access import AccessFilter
from feedmill.model.entrybuild import BuildOutcome
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Node
from feedmill.model.ranking import ScoreBias
from feedmill.model.search import Hits, IndexDocument, Sort


def go_on() -> None:
    """Lets every step be followed by the next."""


class Vocabulary(Protocol):
    """The words of an index as people write them, but for letter case and accents."""

    def complete(self, start: str, within: Node, access: AccessFilter, limit: int) -> list[tuple[str, int]]:
        """Finds words of titles that begin so, in documents that match and that the asker may see, each with their number, most first.

        Where the start holds several words, those before the last are in the same titles.
        """

    def count(self, word: str, access: AccessFilter) -> int:
        """Counts the documents that hold a word in title or text and that the asker may see; more than a hundred may be an estimate."""

    def find_alike(self, word: str, access: AccessFilter, more_than: int) -> str | None:
        """Finds the likeliest word that differs little from a word and stands in more than so many documents that the asker may see.

        Which of several words it is depends on those documents alone.
        """


class SearchIndex(Protocol):
    """The derived index, read side. Every query takes the asker's class set: the type demands it."""

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
        """Finds documents that match and that the asker may see, best first or as the sort says.

        ``bias`` moves the best of them where they are not sorted otherwise; ``explains`` gives scores in their parts.
        """

    def list_by_key(self, query: Node, access: AccessFilter, *, after: int, num: int) -> Hits:
        """Lists documents that match and that the asker may see by their keys, those behind one; the total counts all that match."""

    def count_facets(
        self, query: Node, access: AccessFilter, facets: Sequence[Facet], check: Callable[[], None] = go_on
    ) -> tuple[FacetCounts, ...]:
        """Counts facets, in the order given, over all documents that match and that the asker may see; counts are exact.

        ``check`` is called between the steps and may raise to end them.
        """

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the index as it is now."""

    def terms(self, query: Node) -> tuple[str, ...]:
        """Returns the words that a query would highlight, as the index folds them."""

    def fold(self, text: str) -> list[tuple[str, int, int]]:
        """Splits a text as the index does: folded token, start and end character in the text."""

    def seek(self, query: Node) -> Sought:
        """Returns what a query highlights, its words in all the forms that it finds."""

    def is_visible(self, token: str) -> bool:
        """Whether searches from now on see what the commit that gave the token wrote; reloads when behind."""

    def count(self) -> int:
        """Counts documents in the index."""


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    """A document as the engine takes it. Shape: ``entry`` is the engine's own; ``key`` the document's id."""

    key: int
    entry: object


@dataclass(frozen=True, slots=True)
class BuiltEntries:
    """Entries that were built beside the writer. Shape: ``payload`` is the engine's own."""

    keys: frozenset[int]
    payload: object


class EntryBuilder(Protocol):
    """Builds index entries in a process of its own; a document that crashes it or takes long costs no other's time."""

    def start(self, documents: Sequence[IndexDocument]) -> None:
        """Begins to build; only when nothing is being built. Errors: DiskFull."""

    def find_outcome(self) -> BuildOutcome | None:
        """Returns how the build ended, once; None while it goes on and when there is none. What it built is kept until the next start."""

    def cancel(self) -> None:
        """Ends what is being built, and forgets what was."""


class IndexWriter(Protocol):
    """The derived index, write side; one writer an index."""

    def prepare(self, document: IndexDocument) -> PreparedEntry:
        """Builds a document's entry and changes nothing. Errors: of any kind, each the document's own."""

    def put_prepared(self, entries: Iterable[PreparedEntry]) -> None:
        """Adds prepared entries, each replacing the earlier one of its key."""

    def put_many(self, documents: Iterable[IndexDocument]) -> None:
        """Adds documents, each replacing the earlier one of its key."""

    def remove_many(self, keys: Iterable[int]) -> None:
        """Removes documents by key."""

    def commit(self) -> str:
        """Makes all of it durable and gives the commit's token. After any error nothing of the batch is kept and the writer is usable."""

    def adopt(self, built: BuiltEntries) -> str:
        """Takes over entries that were built beside it, each replacing the earlier one of its key, and gives the token of that commit.

        The caller has nothing uncommitted. Quick whatever the entries hold.
        """

    def close(self) -> None:
        """Closes the writer; what was not committed is gone."""
