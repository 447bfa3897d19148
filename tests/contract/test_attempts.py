"""An item that ends its process is counted by the next one, and set aside in the end."""

import subprocess
import sys
from pathlib import Path

import pytest

from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.store.engine import SqlStore
from feedmill.services.isolation.attempts import LONGEST_SECONDS, MAX_INTERRUPTIONS, OTHERS_FIRST_SECONDS, Attempts, key_of
from tests.builders.times import NOW


def start(store: SqlStore, folder: Path) -> Attempts:
    return Attempts(store, MappedInFlight(folder, "role"), lambda: NOW)


def test_killed_item_is_counted_until_it_is_hopeless(store: SqlStore, tmp_path: Path) -> None:
    key = key_of("index.entry", "document:7")
    for count in range(1, MAX_INTERRUPTIONS + 1):
        MappedInFlight(tmp_path, "role").begin(key)
        attempts = start(store, tmp_path)
        assert (attempts.count(key), attempts.is_hopeless(key)) == (count, count == MAX_INTERRUPTIONS)
    assert start(store, tmp_path).count(key) == MAX_INTERRUPTIONS
    attempts.clear([key, "index.entry document:8"])
    assert start(store, tmp_path).count(key) == 0


def test_error_is_no_interruption(store: SqlStore, tmp_path: Path) -> None:
    with pytest.raises(KeyError), start(store, tmp_path).on("item"):
        raise KeyError
    assert start(store, tmp_path).count("item") == 0


def test_suspected_item_waits_for_others_but_not_for_ever(store: SqlStore, tmp_path: Path) -> None:
    MappedInFlight(tmp_path, "role").begin("suspected")
    attempts = start(store, tmp_path)
    assert (attempts.is_due("other"), attempts.is_due("suspected")) == (True, False)
    attempts._begun_at_seconds -= OTHERS_FIRST_SECONDS
    assert (attempts.is_due("suspected"), attempts.may_risk(is_idle=False)) == (True, False)
    attempts._begun_at_seconds -= LONGEST_SECONDS
    assert attempts.may_risk(is_idle=False)


def test_process_that_hangs_ends_and_leaves_its_item(store: SqlStore, tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from feedmill.adapters.inflight import MappedInFlight; from feedmill.adapters.store.sqlite import open_sqlite\n"
        "from feedmill.adapters.store.migrate import migrate; from feedmill.services.isolation.attempts import Attempts\n"
        "folder = Path(sys.argv[1]); store = open_sqlite(folder / 'own.sqlite'); migrate(store)\n"
        "attempts = Attempts(store, MappedInFlight(folder, 'role'), lambda: None)\n"
        "with attempts.bounded(60.0), attempts.on('first'): pass\n"
        "with attempts.bounded(0.2), attempts.on('second'): time.sleep(600)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, capture_output=True)
    assert ended.returncode == 1
    assert start(store, tmp_path).count("second") == 1
