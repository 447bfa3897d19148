"""What is wrong with a file, told all at once."""

from collections.abc import Sequence

from feedmill.model.errors import BadRequest

MAX_TOLD_FAULTS = 20


def refuse_faults(faults: Sequence[str]) -> None:
    """Refuses a file that has faults, naming the first of them. Errors: BadRequest."""
    if not faults:
        return
    more = f"; and {len(faults) - MAX_TOLD_FAULTS} more" if len(faults) > MAX_TOLD_FAULTS else ""
    raise BadRequest("; ".join(faults[:MAX_TOLD_FAULTS]) + more)
