"""What a database's errors mean to a caller: by the code that the driver gives, since texts come in the server's language.

What no row of the table names is a fault of ours (a broken constraint, a wrong statement) and stays as it is.
Source: SQLite, "Result and Error Codes"; PostgreSQL, appendix A.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from feedmill.model.errors import Busy, Corrupt, DiskFull, FeedmillError

# The first row whose text begins the code decides.
_BY_CODE: tuple[tuple[str, type[FeedmillError]], ...] = (
    # SQLite. A write that fails for a quota or a file's size limit is an I/O error there.
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
    # PostgreSQL: class 08 is the connection, 40 a lost race, 53 resources, 57 an operator, XX the data itself.
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


def translate(error: exc.SQLAlchemyError) -> FeedmillError | None:
    """Returns the error that a database's error means, None where it means a fault of ours."""
    if isinstance(error, exc.TimeoutError):
        return Busy(f"the store has no connection free: {error}")
    if not isinstance(error, exc.DBAPIError):
        return None
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None) or ""
    for beginning, meaning in _BY_CODE:
        if code.startswith(beginning):
            return meaning(f"the store failed: {error.orig}")
    if not code and isinstance(error, exc.OperationalError):
        return Busy(f"the store cannot be reached: {error.orig}")
    return None


@contextmanager
def translated() -> Iterator[None]:
    """Raises what a database's errors mean in their place."""
    try:
        yield
    except exc.SQLAlchemyError as error:
        meaning = translate(error)
        if meaning is None:
            raise
        raise meaning from error
