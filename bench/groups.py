"""How long a groups feed takes to load, how much memory that costs, and how long it takes to find all groups of a user.

The load is measured from the post to the end of the feed, and against the same feed applied a second time, which replaces it. Its reference
in the same run is the reading alone: the whole feed parsed twice, as every load has to. The aim for 3 million memberships: under 60 s.

Groups of a user are found by the tables that a searching process holds, with nothing remembered of the user; the aim for 2,000 groups: p99
under 5 ms. The reference is the same from the store. Searches go on during the loads, as a user who has groups; the reference is the time
before.

``python -m bench.groups 3000000`` measures the whole of what a server takes.
"""

import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import peak_megabytes, percentile
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.access.groups import resolve_groups
from feedmill.services.access.grouptable import GroupTable
from tests.appliance import Appliance, running
from tests.builders.access import identity
from tests.builders.feedxml import make_feed, make_record
from tests.feedreaders import gsagroups_reader

MEMBERSHIPS = 300_000
MEMBERS_OF_A_GROUP = 50
GROUPS_OF_A_USER = (10, 100, 1_000, 2_000)
ROUNDS = 500
SLOW_ROUNDS = 10
BEFORE_SECONDS = 10
PAUSE_SECONDS = 0.05
SETTINGS = '[signin.proxy]\ntrusted = ["127.0.0.0/8"]\n'
ACL = '<acl><principal scope="group" access="permit">CORP\\group7</principal></acl>'


def main(memberships: int = MEMBERSHIPS) -> None:
    """Prints load times and peak memory, and p50 and p99 of the groups of a user."""
    xml = b"".join(feed(memberships))
    began = time.monotonic()
    reader = gsagroups_reader(xml)
    reader.scan()
    for _ in reader.changes():
        pass
    reading_seconds = time.monotonic() - began
    with TemporaryDirectory() as folder, running(Path(folder) / "data", SETTINGS) as appliance:
        appliance.feed(make_feed(*(make_record(f"http://found.example.com/{n}", f"<p>found {n}</p>", acl=ACL) for n in range(1_000))))
        for name in ("first load", "replaced"):
            with searching(appliance) as before:
                time.sleep(BEFORE_SECONDS)
            with searching(appliance) as during:
                seconds = load(appliance, xml)
                # until the new groups take effect
                appliance.search("found")
            rate = memberships / seconds
            print(f"  {name}: {memberships:,} memberships, {len(xml) / 1e6:.0f} MB in {seconds:.1f} s, {rate:,.0f} a second; ", end="")
            print(f"{seconds / reading_seconds:.1f} times reading it twice")
            print_searches(before, during)
        print(f"  peak memory: feeders {most_megabytes(appliance, 'feeder'):.0f} MB, web {most_megabytes(appliance, 'web'):.0f} MB")
        measure_closure(appliance)


def feed(memberships: int) -> Iterator[bytes]:
    """Returns a groups feed: users with many groups first, then groups of users who are in few."""
    yield b'<?xml version="1.0" encoding="UTF-8"?><xmlgroups>'
    for number in range(memberships // MEMBERS_OF_A_GROUP):
        users = [f"user{(number * 7919 + place * 104_729) % 500_000}" for place in range(MEMBERS_OF_A_GROUP - len(GROUPS_OF_A_USER))]
        users += [f"member-of-{count}" for count in GROUPS_OF_A_USER if number < count]
        users += [f"user{500_000 + number * 4 + place}" for place in range(MEMBERS_OF_A_GROUP - len(users))]
        members = "".join(
            f'<principal scope="USER" case-sensitivity-type="EVERYTHING_CASE_INSENSITIVE">CORP\\{user}</principal>' for user in users
        )
        yield f'<membership><principal scope="GROUP">CORP\\group{number}</principal><members>{members}</members></membership>'.encode()
    yield b"</xmlgroups>"


def load(appliance: Appliance, xml: bytes) -> float:
    """Pushes the feed as a full one and returns the seconds until it takes effect."""
    fields = [(b"groupsource", b"bench"), (b"feedtype", b"full"), (b"data", xml)]
    body = b"".join(b'--<<\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % field for field in fields) + b"--<<--\r\n"
    began = time.monotonic()
    headers = {"Content-Type": "multipart/form-data; boundary=<<"}
    status, answer, text = appliance.request("POST", appliance.gate, "/xmlgroups", body, headers)
    assert (status, text) == (200, b"Success"), text
    receipt = appliance.wait(answer["x-feedmill-feed"], seconds=1_200, pause_seconds=0.1)
    assert receipt["state"] == "completed", receipt
    return time.monotonic() - began


@contextmanager
def searching(appliance: Appliance) -> Iterator[list[float]]:
    """Searches in a thread during a block, as a user of a thousand groups; yields the milliseconds of each search."""
    taken: list[float] = []
    is_over = threading.Event()

    def search() -> None:
        while not is_over.wait(PAUSE_SECONDS):
            began = time.monotonic()
            headers = {"X-Forwarded-User": "CORP\\member-of-1000"}
            status, _, _ = appliance.request("GET", appliance.search_port, "/api/v1/search?q=found", None, headers)
            assert status == 200
            taken.append((time.monotonic() - began) * 1_000)

    thread = threading.Thread(target=search)
    thread.start()
    try:
        yield taken
    finally:
        is_over.set()
        thread.join()


def print_searches(before: list[float], during: list[float]) -> None:
    """Prints what searches took during a load, beside the time before."""
    figures = [(statistics.median(each), percentile(each, 99), max(each)) for each in (before, during)]
    text = ", ".join(
        f"{what} {new:.1f} ms ({new / old:.1f} times)" for what, old, new in zip(("p50", "p99", "worst"), *figures, strict=True)
    )
    print(f"    {len(during):,} searches during it: {text} the time before", flush=True)


def most_megabytes(appliance: Appliance, kind: str) -> float:
    """Returns the most memory that a process of a role had."""
    pids = (pid for role, those in appliance.role_pids().items() if role.startswith(kind) for pid in those)
    return max(map(peak_megabytes, pids), default=0.0)


def measure_closure(appliance: Appliance) -> None:
    """Prints how long all groups of users with different numbers of them take to be found."""
    store, table = open_sqlite(appliance.data / "store.sqlite"), GroupTable()
    began = time.monotonic()
    with store.reading() as unit:
        table.refresh(unit.groups.snapshots)
    if (put := table.prepare_merge()) is not None:
        put()
    print(f"  groups read into memory in {time.monotonic() - began:.1f} s")
    for count in GROUPS_OF_A_USER:
        current_user = identity(f"CORP\\member-of-{count}")
        with store.reading() as unit:
            find = unit.groups.memberships.find_parents
            slow = [measure_milliseconds(lambda: resolve_groups(current_user, find)) for _ in range(SLOW_ROUNDS)]  # noqa: B023 - called at once
        fast = [measure_milliseconds(lambda: table.resolve(current_user)) for _ in range(ROUNDS)]  # noqa: B023 - called at once
        p50, p99, of_store = statistics.median(fast), percentile(fast, 99), statistics.median(slow)
        found = len(table.resolve(current_user).reached)
        print(f"  all {found:,} groups of a user: p50 {p50:.2f} ms, p99 {p99:.2f} ms; from the store {of_store / p50:.1f} times that")
    store.close()


def measure_milliseconds(act: Callable[[], object]) -> float:
    """Returns the processor time that something takes, which other work on the machine does not change much."""
    began = time.thread_time()
    act()
    return (time.thread_time() - began) * 1_000


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
