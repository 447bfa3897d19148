"""The outbox between the store and the index, and the store's single values and stored settings."""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol, Self

from feedmill.model.lightdataclass import light_dataclass
from feedmill.model.serving import StoredSetting


class Stage(Enum):
    """The step for which an index task waits."""

    EXTRACT = "extract"
    INDEX = "index"


class Lane(Enum):
    """The urgency of an index task: a small change does not wait behind a large feed."""

    QUICK = 0
    BULK = 1


@light_dataclass(frozen=True, slots=True, kw_only=True)
class IndexTask:
    """A document to write to the index. ``revokes_access``: until it is written, the index applies an earlier access class.

    Shape: ``is_refresh`` if the index already has its newest version and only related data changed, such as patterns or links to it.
    ``feed_id`` is None if no feed waits for it.
    """

    document_id: int
    version: int
    stage: Stage
    lane: Lane
    feed_id: int | None
    datasource: str
    revokes_access: bool = False
    is_refresh: bool = False

    @classmethod
    def refresh(cls, document_id: int, version: int, datasource: str) -> Self:
        """Returns the task of a document that is rewritten because related data changed.

        No feed waits for it, and it runs after other tasks.
        """
        return cls(
            document_id=document_id,
            version=version,
            stage=Stage.INDEX,
            lane=Lane.BULK,
            feed_id=None,
            datasource=datasource,
            is_refresh=True,
        )


class IndexTasks(Protocol):
    """The outbox between the store and the index: one index task per document, written in the transaction of the document's change.

    Example::

        with store.writing() as unit:
            unit.processing.index_tasks.put_many([IndexTask.refresh(document_id=7, version=1, datasource="hr")])
    """

    def put_many(self, tasks: Sequence[IndexTask]) -> None:
        """Stores tasks. A later task of a document replaces the earlier one, with three exceptions.
        The quicker lane wins, ``revokes_access`` stays once set, and ``is_refresh`` stays unset once unset."""

    def list(self, stage: Stage, limit: int, *, lane: Lane | None = None, after: IndexTask | None = None) -> list[IndexTask]:
        """Lists the tasks of a stage, quick lane first, then oldest first; with ``after``, only those of its lane behind it."""

    def advance(self, tasks: Sequence[IndexTask]) -> None:
        """Moves tasks from EXTRACT to INDEX if their versions are exactly these."""

    def remove(self, tasks: Sequence[IndexTask]) -> None:
        """Removes tasks if their versions are exactly these."""

    def find_many(self, document_ids: Sequence[int]) -> dict[int, IndexTask]:
        """Finds index tasks by document."""

    def count(self) -> dict[Stage, int]:
        """Counts index tasks by stage."""

    def list_open_feeds(self, feed_ids: Sequence[int]) -> tuple[set[int], set[int]]:
        """Returns which of the feeds still have index tasks, and which have tasks that revoke access."""


class KeyValueStore(Protocol):
    """Single values by name: index generation, settings digests, and facts of the data folder that are set once."""

    def get(self, name: str) -> str | None:
        """Returns a value, or None if it was never set."""

    def find_many(self, names: Sequence[str]) -> dict[str, str]:
        """Finds the values of the names that were set."""

    def put(self, name: str, value: str) -> None:
        """Sets a value."""


class StoredSettings(Protocol):
    """Settings that the admin API stored, by section and name. They win over the settings file."""

    def list(self) -> list[StoredSetting]:
        """Lists all stored settings, by section and name."""

    def find(self, section: str, name: str) -> StoredSetting | None:
        """Finds one stored setting."""

    def put(self, setting: StoredSetting) -> None:
        """Stores a setting, replacing the earlier value."""

    def remove(self, section: str, name: str) -> None:
        """Removes a setting. A setting that is not stored is no error."""
