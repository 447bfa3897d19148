"""Decides which documents may use the quick workers: extraction workers that are reserved for documents which take little time.

A small text is quick to read. Any other document is a risk, so a data source may have only one of them with the quick workers at a time.
If a document is too slow for a quick worker, the risky documents of its source go to the other workers for ``SLOW_SECONDS``. Its small
texts go there too if the slow document was a small text. So a source with hostile files blocks at most one quick worker in that time, and
the other quick worker stays free for all other sources.
"""

import time

from feedmill.model.document import Document
from feedmill.model.extraction import Task

SMALL_TEXT_BYTES = 65_536
SLOW_SECONDS = 60.0

_COSTLY_BEGINNINGS = (b"%PDF", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"{\\rt")


class Pacing:
    """Remembers which documents the quick workers have and which data sources were slow."""

    def __init__(self) -> None:
        self._risks: dict[int, str] = {}
        self._slow_until: dict[str, float] = {}
        self._barred_until: dict[str, float] = {}

    def must_wait(self, document: Document) -> bool:
        """Whether a document has to wait until another one of its source is finished."""
        is_large = document.content_bytes > SMALL_TEXT_BYTES
        return is_large and not self.is_slow(document.datasource) and document.datasource in self._risks.values()

    def admit(self, task: Task, datasource: str) -> bool:
        """Returns whether a document may go to the quick workers now; if so, it counts as being there."""
        if not _is_risk(task):
            return self._barred_until.get(datasource, 0.0) <= time.monotonic()
        if self.is_slow(datasource) or datasource in self._risks.values():
            return False
        self._risks[task.key] = datasource
        return True

    def dismiss(self, key: int, *, was_too_slow: bool, datasource: str) -> None:
        """Records that a document is finished."""
        was_risk = self._risks.pop(key, None) is not None
        if was_too_slow:
            until = time.monotonic() + SLOW_SECONDS
            self._slow_until[datasource] = until
            if not was_risk:
                self._barred_until[datasource] = until

    def is_slow(self, datasource: str) -> bool:
        """Returns whether a source was too slow lately."""
        return self._slow_until.get(datasource, 0.0) > time.monotonic()


def _is_risk(task: Task) -> bool:
    return task.data is None or len(task.data) > SMALL_TEXT_BYTES or task.data.startswith(_COSTLY_BEGINNINGS)
