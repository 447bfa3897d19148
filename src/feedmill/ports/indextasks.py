"""The outbox between the store and the index, and the single facts and settings that a store keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self

from feedmill.model.serving import StoredSetting


class Stage(Enum):
    """What a marked document waits for."""

    EXTRACT = "extract"
    INDEX = "index"


class Lane(Enum):
    """How urgent a mark is: a small change does not wait behind a large feed."""

    QUICK = 0
    BULK = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTask:
    """A document that the index is to write. ``revokes_access``: until it does, an access class of before is obeyed.

    Shape: ``is_refresh`` where the index shows its newest version already and something beside it is another: its patterns, what links say.
    """

    document_id: int
    version: int
    stage: Stage
    lane: Lane
    feed_id: int
    datasource: str
    revokes_access: bool = False
    is_refresh: bool = False

    @classmethod
    def repeating(cls, document_id: int, version: int, datasource: str) -> Self:
        """Returns the task of a document that is written again for a change beside it: no feed waits for it, and it waits behind others."""
        return cls(
            document_id=document_id, version=version, stage=Stage.INDEX, lane=Lane.BULK, feed_id=0, datasource=datasource, is_refresh=True
        )


class IndexTasks(Protocol):
    """The outbox between the store and the index: one mark a document, written in the transaction of its change."""

    def put_many(self, marks: Sequence[IndexTask]) -> None:
        """Sets marks; a later one of a document replaces the earlier, but the quicker lane wins,
        ``revokes_access`` stays once set, and ``is_refresh`` is lost once not set."""

    def list(self, stage: Stage, limit: int, *, lane: Lane | None = None, after: IndexTask | None = None) -> list[IndexTask]:
        """Lists marks of a stage, quick lane first, then oldest first; with ``after`` those that come behind that mark."""

    def advance(self, marks: Sequence[IndexTask]) -> None:
        """Moves marks of exactly these versions from EXTRACT to INDEX."""

    def remove(self, marks: Sequence[IndexTask]) -> None:
        """Removes marks of exactly these versions."""

    def find_many(self, document_ids: Sequence[int]) -> dict[int, IndexTask]:
        """Finds marks by document."""

    def count(self) -> dict[Stage, int]:
        """Counts marks by stage."""

    def list_open_feeds(self, feed_ids: Sequence[int]) -> tuple[set[int], set[int]]:
        """Returns which of the feeds still have marks, and which have marks that tighten."""


class KeyValueStore(Protocol):
    """Single values by name: index generation, settings digests, set-once facts of the data folder."""

    def get(self, name: str) -> str | None:
        """Returns a value, None when it was never set."""

    def find_many(self, names: Sequence[str]) -> dict[str, str]:
        """Finds the values of those names that were set."""

    def put(self, name: str, value: str) -> None:
        """Sets a value."""


class StoredSettings(Protocol):
    """What was set by API, by section and name; it wins over the settings file."""

    def list(self) -> list[StoredSetting]:
        """Lists all, by section and name."""

    def find(self, section: str, name: str) -> StoredSetting | None:
        """Finds one."""

    def put(self, kept: StoredSetting) -> None:
        """Sets one, in place of what it was."""

    def remove(self, section: str, name: str) -> None:
        """Removes one; none of that name is no error."""
