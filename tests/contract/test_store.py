"""The store's transactions, schema, turns and errors; one suite for every database."""

import itertools
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.migrate import migrate, schema_differences
from feedmill.adapters.store.postgres import open_postgres
from feedmill.adapters.store.repositories import SqlUnit
from feedmill.adapters.store.revision import is_newest
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.adapters.store.writerlock import WriterLock
from feedmill.model.errors import Busy, Corrupt, DiskFull, FeedmillError
from feedmill.model.feed import FeedKind
from feedmill.ports import Stage, UnitOfWork
from feedmill.services.keyvalues import HISTORY_SINCE
from tests.builders.access import make_stored_acl
from tests.builders.documents import make_document, make_event, save
from tests.builders.tasks import make_index_task
from tests.builders.times import NOW
from tests.contract.databases import NewDatabase
from tests.contract.dumpwriter import upgrade_to
from tests.waiting import PATIENCE_SECONDS

URL = "http://a.test/"


def address_of(store: SqlStore) -> str:
    return store.writer.url.render_as_string(hide_password=False)


def is_sqlite(store: SqlStore) -> bool:
    return store.writer.dialect.name == "sqlite"


def run(unit: UnitOfWork, statement: str) -> sa.CursorResult[object]:
    assert isinstance(unit, SqlUnit)
    return unit.connection.exec_driver_sql(statement)


# --- transactions ---------------------------------------------------------------------------------------------------------------


class Broken(Exception):
    pass


def look_and_break(unit: UnitOfWork) -> None:
    assert set(unit.documents.reader.find_many([URL])) == {URL}
    raise Broken


def write_everything_and_break(unit: UnitOfWork) -> None:
    ids = unit.documents.writer.save_many([make_document(URL)])
    assert ids == {URL: 1}
    unit.documents.writer.add_events([(1, 0, make_event())])
    unit.access.acls.save_many([make_stored_acl(URL)], at=NOW)
    unit.processing.index_tasks.put_many([make_index_task(1)])
    unit.state.key_values.put("a", "1")
    raise Broken


def test_writing_with_exception_keeps_nothing(store: SqlStore) -> None:
    with pytest.raises(Broken), store.writing() as unit:
        write_everything_and_break(unit)
    with store.reading() as unit:
        assert unit.documents.reader.find_many([URL]) == {}
        assert unit.documents.reader.list_events(1) == []
        assert unit.access.acls.find_many([URL]) == {}
        assert unit.processing.index_tasks.count() == {Stage.EXTRACT: 0, Stage.INDEX: 0}
        assert unit.state.key_values.get("a") is None


def test_reading_with_writer_beside_it_sees_one_state(store: SqlStore) -> None:
    save(store, make_document(URL))
    with store.reading() as unit:
        assert unit.documents.scan.count_live() == 1
        save(store, make_document(URL + "2"))
        assert unit.documents.scan.count_live() == 1
        assert set(unit.documents.reader.find_many([URL, URL + "2"])) == {URL}
    with store.reading() as unit:
        assert unit.documents.scan.count_live() == 2


def test_reading_after_exception_begins_again(store: SqlStore) -> None:
    save(store, make_document(URL))
    for _ in range(2):
        with pytest.raises(Broken), store.reading() as unit:
            look_and_break(unit)
    save(store, make_document(URL + "2"))
    with store.reading() as unit:
        assert unit.documents.scan.count_live() == 2


def test_reading_many_at_once_shows_each_its_own_state(store: SqlStore) -> None:
    with ExitStack() as stack:
        units = []
        for number in range(12):
            with store.writing() as writer:
                writer.state.key_values.put("n", str(number))
            units.append(stack.enter_context(store.reading()))
            assert units[-1].state.key_values.get("n") == str(number)
        assert [unit.state.key_values.get("n") for unit in units] == [str(number) for number in range(12)]
    with store.reading() as unit:
        assert unit.state.key_values.get("n") == "11"


def test_reading_with_any_number_of_keys_finds_those_that_there_are(store: SqlStore) -> None:
    urls = [f"{URL}{number}" for number in range(1_201)]
    for url in (urls[0], urls[-1]):
        save(store, make_document(url))
    with store.reading() as unit:
        for wanted in ([], urls[:1], urls[:2], urls):
            found = unit.documents.reader.find_many(wanted)
            assert set(found) == set(wanted) & {urls[0], urls[-1]}
            by_id = unit.documents.reader.find_by_id([document.id or 0 for document in found.values()])
            assert set(by_id.values()) == set(found.values())


def test_reading_with_open_write_does_not_wait_for_it(store: SqlStore) -> None:
    with store.writing() as writer:
        writer.state.key_values.put("a", "1")
        with store.reading() as reader:
            assert reader.state.key_values.get("a") is None


def test_reading_with_attempt_to_write_refuses(store: SqlStore) -> None:
    with pytest.raises(sa.exc.DBAPIError, match=r"read-?only"), store.reading() as unit:
        unit.state.key_values.put("a", "1")
    with store.writing() as unit:
        assert unit.state.key_values.get("a") is None


def test_writing_with_threads_that_read_first_loses_no_update(store: SqlStore) -> None:
    def increment() -> None:
        for _ in range(20):
            with store.writing() as unit:
                unit.state.key_values.put("n", str(int(unit.state.key_values.get("n") or 0) + 1))

    threads = [threading.Thread(target=increment) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.reading() as unit:
        assert unit.state.key_values.get("n") == "80"
        assert unit.state.key_values.find_many(["n", "never set"]) == {"n": "80"}
        assert unit.state.key_values.find_many([]) == {}


def test_sqlite_store_with_connection_is_durable(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "store.sqlite")
    migrate(store)
    with store.writing() as unit:
        assert (run(unit, "PRAGMA journal_mode").scalar(), run(unit, "PRAGMA synchronous").scalar()) == ("wal", 2)
    store.close()


# --- processes ------------------------------------------------------------------------------------------------------------------

PRELUDE = """
import sys, time
from contextlib import ExitStack
from pathlib import Path
from feedmill.adapters.store.postgres import open_postgres
from feedmill.adapters.store.sqlite import open_sqlite
address = sys.argv[1]
store = open_sqlite(Path(address.removeprefix("sqlite:///"))) if address.startswith("sqlite") else open_postgres(address)
"""

INCREMENT = """
print("ready", flush=True)
sys.stdin.readline()
for _ in range(30):
    with store.writing() as unit:
        unit.state.key_values.put("n", str(int(unit.state.key_values.get("n") or 0) + 1))
"""

HURRY = """
is_ready = False
while True:
    with store.writing() as unit:
        unit.state.key_values.put("turns", str(int(unit.state.key_values.get("turns") or 0) + 1))
        time.sleep(0.003)
    if not is_ready:
        print("ready", flush=True)
        is_ready = True
"""

HOLD = """
with store.writing() as unit:
    unit.state.key_values.put("half", "done")
    print("ready", flush=True)
    time.sleep(60)
"""


Start = Callable[[str, str], subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes that use a store, waits until they are ready, and kills them in the end."""
    started: list[subprocess.Popen[str]] = []

    def begin(address: str, code: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + code, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_writing_with_three_processes_that_read_first_loses_no_update(store: SqlStore, start: Start) -> None:
    processes = [start(address_of(store), INCREMENT) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.wait(PATIENCE_SECONDS) for process in processes] == [0, 0, 0]
    with store.reading() as unit:
        assert unit.state.key_values.get("n") == "90"


def test_writing_with_hurried_processes_beside_it_is_never_starved(store: SqlStore, start: Start) -> None:
    for _ in range(2):
        start(address_of(store), HURRY)
    waits = []
    for number in range(25):
        with store.reading() as unit:
            before = int(unit.state.key_values.get("turns") or 0)
        with store.writing() as unit:
            waits.append(int(unit.state.key_values.get("turns") or 0) - before)
            unit.state.key_values.put("mine", str(number))
    assert_is_fair(waits)


def assert_is_fair(waits: list[int]) -> None:
    """Holds how many turns others had before one's own against what is fair; a busy machine may delay a thread now and then."""
    assert sorted(waits)[len(waits) * 3 // 4] < 12, waits


def test_writing_with_holder_killed_goes_on_without_his_half(store: SqlStore, start: Start) -> None:
    holder = start(address_of(store), HOLD)
    holder.kill()
    holder.wait()
    with store.writing() as unit:
        assert unit.state.key_values.get("half") is None


def test_turn_with_hurried_thread_beside_it_is_never_starved(tmp_path: Path) -> None:
    turn, stop, waits, turns = WriterLock(tmp_path), threading.Event(), list[int](), list[None]()

    def hurry() -> None:
        while not stop.is_set():
            with turn.taken():
                turns.append(None)
                time.sleep(0.002)

    threads = [threading.Thread(target=hurry) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        before = len(turns)
        with turn.taken():
            waits.append(len(turns) - before)
    stop.set()
    for thread in threads:
        thread.join()
    turn.close()
    assert_is_fair(waits)


@contextmanager
def alarm_soon() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    yield


def test_turn_with_interrupted_waiter_goes_to_the_next(tmp_path: Path) -> None:
    turn = WriterLock(tmp_path)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with turn.taken():
            entered.set()
            leave.wait(PATIENCE_SECONDS)

    def interrupt(_number: int, _frame: object) -> None:
        raise Broken

    before = signal.signal(signal.SIGALRM, interrupt)
    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(PATIENCE_SECONDS)
    try:
        with pytest.raises(Broken), alarm_soon(), turn.taken():
            pass
    finally:
        signal.signal(signal.SIGALRM, before)
        leave.set()
    holder.join()
    with turn.taken():
        pass
    turn.close()


# --- schema ---------------------------------------------------------------------------------------------------------------------


def test_migrate_with_empty_database_sums_up_to_the_schema(empty_store: SqlStore) -> None:
    assert not is_newest(empty_store)
    revision = migrate(empty_store)
    assert schema_differences(empty_store) == []
    assert is_newest(empty_store)
    assert migrate(empty_store) == revision


def test_schema_differences_with_changed_database_names_them(empty_store: SqlStore) -> None:
    migrate(empty_store)
    with empty_store.writing() as unit:
        run(unit, "DROP TABLE key_values")
        run(unit, "ALTER TABLE feeds ADD COLUMN extra TEXT")
    assert len(schema_differences(empty_store)) == 2


@pytest.mark.parametrize("has_data", [True, False])
def test_migrate_with_groups_of_before_keeps_since_when_history_is_known(empty_store: SqlStore, has_data: bool) -> None:
    upgrade_to(empty_store, "0007")
    if has_data:
        with empty_store.writer.begin() as connection:
            columns = "feed_id, source, whole, state, memberships, replaced"
            connection.execute(sa.text(f"INSERT INTO group_layers ({columns}) VALUES (1, 'src', TRUE, 'visible', 0, 0)"))
    migrate(empty_store)
    with empty_store.reading() as unit:
        since = unit.state.key_values.get(HISTORY_SINCE)
    assert (since is not None) is has_data


def test_migrate_with_feeds_of_before_names_their_formats_by_their_kinds(empty_store: SqlStore) -> None:
    upgrade_to(empty_store, "0015")
    with empty_store.writing() as unit:
        for kind in FeedKind:
            columns = "datasource, kind, file, size_bytes, received_at, client, state, phase"
            run(unit, f"INSERT INTO feeds ({columns}) VALUES ('src', '{kind.value}', '', 1, 0, '', 'received', 'scan')")
    migrate(empty_store)
    with empty_store.reading() as unit:
        formats = {feed.kind: feed.format for feed in unit.feeds.reader.list_newest(None, 100)}
    assert formats == {
        **dict.fromkeys((FeedKind.FULL, FeedKind.INCREMENTAL, FeedKind.METADATA_AND_URL), "gsafeed"),
        **dict.fromkeys((FeedKind.GROUPS_FULL, FeedKind.GROUPS_INCREMENTAL), "gsagroups"),
        **dict.fromkeys((FeedKind.DELETE_SOURCE, FeedKind.DESTROY_SOURCE, FeedKind.GROUPS_CLEANUP), ""),
    }


def test_migrate_with_newer_revision_is_refused_and_changes_nothing(empty_store: SqlStore) -> None:
    migrate(empty_store)
    with empty_store.writing() as unit:
        run(unit, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Corrupt, match="9999"):
        migrate(empty_store)
    assert not is_newest(empty_store)


# --- errors ---------------------------------------------------------------------------------------------------------------------


def test_writing_with_fault_of_ours_raises_it_as_it_is(store: SqlStore) -> None:
    with pytest.raises(sa.exc.IntegrityError), store.writing() as unit:
        run(unit, "INSERT INTO key_values (name) VALUES ('without a value')")


def test_sqlite_writing_with_foreign_lock_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = open_sqlite(path, busy_seconds=0.05)
    migrate(store)
    foreign = sqlite3.connect(path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy), store.writing():
        pass
    foreign.close()
    save(store, make_document(URL))
    store.close()


def test_postgres_writing_with_turn_taken_is_busy(postgres_database: NewDatabase) -> None:
    address = postgres_database()
    first, second = open_postgres(address), open_postgres(address, busy_seconds=0.1)
    with first.writing(), pytest.raises(Busy), second.writing():
        pass
    with second.writing():
        pass
    first.close()
    second.close()


def test_sqlite_writing_with_full_disk_keeps_nothing_and_goes_on(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "store.sqlite")
    migrate(store)
    save(store, make_document("http://before/"))
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, old[1]))
    large = [make_document(f"{URL}{number}", metadata=(("text", "x" * 20_000),)) for number in range(100)]
    try:
        with pytest.raises(DiskFull):
            save(store, *large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, before)
    with store.reading() as unit:
        assert unit.documents.scan.count_live() == 1
    save(store, *large)
    with store.reading() as unit:
        assert unit.documents.scan.count_live() == 101
    store.close()


def test_sqlite_with_file_of_something_else_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"this is no database at all. " * 1000)
    store = open_sqlite(path)
    for act in (migrate, is_newest):
        with pytest.raises(Corrupt):
            act(store)
    with pytest.raises(Corrupt), store.reading():
        pass
    store.close()


def test_sqlite_with_pages_overwritten_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = open_sqlite(path)
    migrate(store)
    save(store, *[make_document(f"{URL}{number}", metadata=(("text", "x" * 2000),)) for number in range(200)])
    store.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        for start in range(size // 2, size, 4096):
            file.seek(start // 4096 * 4096)
            file.write(b"\xff" * 4096)
    store = open_sqlite(path)
    with pytest.raises(Corrupt), store.reading() as unit:
        unit.documents.scan.list_live(after=0, limit=1000)
    store.close()


@pytest.mark.parametrize(
    ("code", "meaning"),
    [("53100", DiskFull), ("53300", Busy), ("40001", Busy), ("40P01", Busy), ("57014", Busy), ("08006", Busy), ("XX001", Corrupt)],
)
def test_postgres_with_error_of_the_server_means_what_a_caller_can_do(
    postgres_database: NewDatabase, code: str, meaning: type[FeedmillError], postgres_addresses: Iterator[str]
) -> None:
    store = open_postgres(next(postgres_addresses))
    with pytest.raises(meaning) as caught, store.writing() as unit:
        run(unit, f"DO $$ BEGIN RAISE EXCEPTION 'zu voll' USING ERRCODE = '{code}'; END $$")
    assert type(caught.value) is meaning
    store.close()


@pytest.fixture(scope="module")
def postgres_addresses(postgres_database: NewDatabase) -> Iterator[str]:
    """Returns the address of one empty database again and again."""
    return itertools.repeat(postgres_database())


def test_postgres_with_connection_cut_is_busy_and_connects_again(postgres_addresses: Iterator[str]) -> None:
    store = open_postgres(next(postgres_addresses))
    with pytest.raises(Busy), store.writing() as unit:
        run(unit, "SELECT pg_terminate_backend(pg_backend_pid())")
    with store.writing() as unit:
        assert run(unit, "SELECT 1").scalar() == 1
    store.close()


def test_postgres_without_server_is_busy(tmp_path: Path) -> None:
    store = open_postgres(f"postgresql://nobody@/none?host={tmp_path}")
    for act in (store.reading, store.writing):
        with pytest.raises(Busy), act():
            pass
    with pytest.raises(Busy):
        migrate(store)
    store.close()


def test_store_without_free_connection_is_busy(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'store.sqlite'}", pool_size=1, max_overflow=0, pool_timeout=0.05)
    store = SqlStore(engine, engine.begin)
    with store.reading(), pytest.raises(Busy), store.reading():
        pass
    store.close()
