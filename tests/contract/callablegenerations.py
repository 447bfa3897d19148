"""Generations of an index from functions of a test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedmill.model.ranking import Ranking
from feedmill.ports import IndexWriter, SearchIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class CallableGenerations:
    """Implements ``ports.IndexGenerations``."""

    list: Callable[[], Sequence[str]]
    open: Callable[[str], IndexWriter]
    read: Callable[[str], SearchIndex]
    remove_one: Callable[[str], None]
    serves: Callable[[str], bool] = lambda _name: False
    schema: str = "1"

    def list_names(self) -> Sequence[str]:
        return self.list()

    def open_writer(self, name: str) -> IndexWriter:
        return self.open(name)

    def open_index(self, name: str, ranking: Ranking | None = None) -> SearchIndex:
        return self.read(name)

    def remove(self, name: str) -> None:
        self.remove_one(name)

    def exists(self, name: str) -> bool:
        return name in self.list()

    def can_serve(self, name: str) -> bool:
        return self.serves(name)
