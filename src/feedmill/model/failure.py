"""Failed steps of a document's processing."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A step that failed for one version of a document.

    ``attempts`` counts the failures of this version. ``program`` is the version of the program that failed; a newer one tries again.
    ``is_found``: the index has the document in a reduced form.
    """

    document_id: int
    version: int
    step: str
    reason: str
    at: datetime
    program: str
    attempts: int = 1
    is_found: bool = False
