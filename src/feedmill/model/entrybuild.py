"""Results of building index entries in a separate process."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """A failure while a document was prepared for the index.

    Shape: ``omitted`` names what its entry is without, None if it has no entry.
    """

    step: str
    reason: str
    omitted: str | None = None

    @property
    def recorded_reason(self) -> str:
        """The reason as documents and receipts show it."""
        return self.reason if self.omitted is None else f"{self.reason}; it is indexed without {self.omitted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOutcome:
    """The result of a build.

    Shape: ``build_failures`` holds the failures by the documents' ids. ``payload`` belongs to the engine; it is None if the process ended
    early.
    Then ``ended_on`` is the document that it was working on, None if unknown, and ``reason`` says how it ended.
    """

    payload: object | None = None
    build_failures: Mapping[int, BuildFailure] = field(default_factory=dict)
    ended_on: int | None = None
    reason: str = ""
