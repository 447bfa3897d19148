"""The store on PostgreSQL, for more than one machine; needs the extra ``postgres``.

Writers take turns as on SQLite, by a lock of the database that ends with the transaction. So the ids of feeds grow in the order of their
commits, two feeders never claim the same feed, and serialization failures do not occur.
"""

import sqlalchemy as sa

from feedmill.adapters.store.engine import SqlStore

BUSY_SECONDS = 60
_TURN_KEY = 0x66_65_65_64_6D_69_6C_6C  # "feedmill" in ASCII


def open_postgres(url: str, *, busy_seconds: float = BUSY_SECONDS) -> SqlStore:
    """Opens the store in a database that the migrations have created.

    Shape: ``postgresql://USER@HOST/NAME``; the driver is added if it is missing. ``busy_seconds`` limits the wait for the writer lock.
    """
    address = sa.make_url(url)
    if address.drivername == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, pool_pre_ping=True, pool_size=8, max_overflow=32)
    # The limit of the wait and the lock both end with the transaction.
    begin = f"SET LOCAL lock_timeout = {int(busy_seconds * 1000)}; SELECT pg_advisory_xact_lock({_TURN_KEY})"
    # At READ COMMITTED, the default, each query of a transaction may see another state of the store.
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @sa.event.listens_for(engine, "begin")
    def _take_turn(connection: sa.Connection) -> None:
        if not connection.get_execution_options().get("postgresql_readonly"):
            connection.exec_driver_sql(begin)

    return SqlStore(engine, reader.begin)
