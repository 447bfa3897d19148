"""What came of building index entries in a process of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Trouble:
    """What failed while a document was prepared for the index.

    Shape: ``lacks`` says what its entry is without, None where it has no entry.
    """

    step: str
    reason: str
    lacks: str | None = None

    @property
    def told_reason(self) -> str:
        """The reason as documents and receipts show it."""
        return self.reason if self.lacks is None else f"{self.reason}; it is indexed without {self.lacks}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOutcome:
    """How a build ended.

    Shape: by the documents' ids, what failed; ``payload`` is the engine's own, None where the process ended before its time: then
    ``ended_on`` is the document that it worked on, None where that is not known, and ``reason`` says how it ended.
    """

    payload: object | None = None
    troubles: Mapping[int, Trouble] = field(default_factory=dict)
    ended_on: int | None = None
    reason: str = ""
