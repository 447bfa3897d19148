"""Translates Tantivy's exceptions into Feedmill's errors.

The engine reports almost everything as ``ValueError`` with a text, and a panic of its Rust code as a ``BaseException`` whose class
cannot be imported. This module is the only place that distinguishes them.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from feedmill.model.errors import Conflict, Corrupt, DiskFull, FeedmillError

_DISK_FULL = ("No space left", "StorageFull", "os error 28")


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Translates the engine's errors. Errors: Conflict, DiskFull, Corrupt."""
    try:
        yield
    except BaseException as exc:
        error = _translate(exc, doing)
        if error is None:
            raise
        try:
            raise error from exc
        finally:
            # A frame that refers to its own error is a cycle. It would hold an index writer, and its lock, until the next garbage
            # collection.
            del error


def _translate(exc: BaseException, doing: str) -> FeedmillError | None:
    text = str(exc)
    is_panic = type(exc).__name__ == "PanicException"
    if isinstance(exc, FeedmillError) or not (is_panic or isinstance(exc, ValueError | OSError | RuntimeError)):
        return None
    if "LockBusy" in text:
        return Conflict(f"{doing}: another process writes this index; end it or wait for it")
    if (isinstance(exc, OSError) and exc.errno == errno.ENOSPC) or any(sign in text for sign in _DISK_FULL):
        return DiskFull(f"{doing}: no space on the disk")
    if "schema does not match" in text:
        return Conflict(f"{doing}: the folder holds an index of another schema; rebuild the index in another folder")
    return Corrupt(f"{doing}: {text[:500]}")
