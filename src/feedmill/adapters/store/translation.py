"""Translates a database's errors by the code that the driver returns, since message texts are in the server's language.

A code that is not in the table is a bug of this program (a broken constraint, a wrong statement); its exception is not translated.
Source: SQLite, "Result and Error Codes"; PostgreSQL, appendix A.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from feedmill.model.errors import Busy, Corrupt, DiskFull, FeedmillError

# the first row whose text is a prefix of the code decides
_BY_CODE: tuple[tuple[str, type[FeedmillError]], ...] = (
    # SQLite; a write that fails for a quota or a file size limit is an I/O error there
    ("SQLITE_FULL", DiskFull),
    ("SQLITE_IOERR_READ", Corrupt),
    ("SQLITE_IOERR_SHORT_READ", Corrupt),
    ("SQLITE_IOERR_CORRUPTFS", Corrupt),
    ("SQLITE_IOERR_DATA", Corrupt),
    ("SQLITE_IOERR", DiskFull),
    ("SQLITE_BUSY", Busy),
    ("SQLITE_LOCKED", Busy),
    ("SQLITE_PROTOCOL", Busy),
    ("SQLITE_CANTOPEN", Busy),
    ("SQLITE_NOMEM", Busy),
    ("SQLITE_CORRUPT", Corrupt),
    ("SQLITE_NOTADB", Corrupt),
    # PostgreSQL: class 08 is the connection, 40 a lost race, 53 resources, 57 an operator, XX the data itself
    ("53100", DiskFull),
    ("58030", DiskFull),
    ("08", Busy),
    ("25P03", Busy),
    ("40", Busy),
    ("53", Busy),
    ("55P03", Busy),
    ("57", Busy),
    ("XX001", Corrupt),
    ("XX002", Corrupt),
)


_ADVICE = {
    "SQLITE_FULL": "; free some space on the disk of the data folder",
    "SQLITE_IOERR": "; is the disk of the data folder full?",
    "SQLITE_CANTOPEN": "; do the files of the data folder belong to another user?",
}


def translate(error: exc.SQLAlchemyError) -> FeedmillError | None:
    """Returns the Feedmill error for a database's error, or None if it is a bug of this program."""
    if isinstance(error, exc.TimeoutError):
        return Busy(f"the store has no connection free: {error}")
    if not isinstance(error, exc.DBAPIError):
        return None
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None) or ""
    for beginning, meaning in _BY_CODE:
        if code.startswith(beginning):
            return meaning(f"the store failed: {error.orig}{_ADVICE.get(beginning, '')}")
    # psycopg reports a connection that fails without a code, since no server sent one.
    if not code and isinstance(error, exc.OperationalError):
        return Busy(f"the store cannot be reached: {error.orig}")
    return None


@contextmanager
def translated() -> Iterator[None]:
    """Replaces a database's errors by the Feedmill errors that they mean."""
    try:
        yield
    except exc.SQLAlchemyError as error:
        meaning = translate(error)
        if meaning is None:
            raise
        raise meaning from error
