"""Faults of a file: its encoding, or the content of its lines, all reported together."""

from collections.abc import Sequence

from feedmill.model.errors import BadRequest

MAX_REPORTED_FAULTS = 20


def refuse_faults(faults: Sequence[str]) -> None:
    """Refuses a file that has faults, naming the first of them. Errors: BadRequest."""
    if not faults:
        return
    more = f"; and {len(faults) - MAX_REPORTED_FAULTS} more" if len(faults) > MAX_REPORTED_FAULTS else ""
    raise BadRequest("; ".join(faults[:MAX_REPORTED_FAULTS]) + more)


def decode_file(data: bytes) -> str:
    """Returns the text of a file. Errors: BadRequest, naming the line that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = 1 + data.count(b"\n", 0, exc.start)
        raise BadRequest(f"line {line}: not UTF-8; save the file with that encoding") from exc
