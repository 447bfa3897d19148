"""How long a groups feed takes to load, how much memory that costs, and how long it takes to find all groups of a user.

The load is measured from the post to the end of the feed, and against the same feed applied a second time, which replaces it. Its reference
in the same run is the reading alone: the whole feed parsed twice, as every load has to. The aim for 3 million memberships: under 60 s.
"""

import io
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.appliance import Appliance, running

from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.groupresolution import resolve_groups
from feedmill.core.principals import read_subject
from feedmill.model.access import Scope
from feedmill.model.identity import Identity
from feedmill.services.reading import GroupsReader

MEMBERSHIPS = 300_000
MEMBERS_OF_A_GROUP = 50
GROUPS_OF_A_USER = (10, 100, 1_000, 2_000)
ROUNDS = 30


def main(memberships: int = MEMBERSHIPS) -> None:
    """Prints load times and peak memory, and p50 and p99 of the groups of a user."""
    xml = b"".join(feed(memberships))
    began = time.monotonic()
    reader = GroupsReader(opener=lambda: io.BytesIO(xml))
    reader.scan()
    for _ in reader.changes():
        pass
    reading_seconds = time.monotonic() - began
    with TemporaryDirectory() as folder, running(Path(folder) / "data") as appliance:
        for name in ("first load", "replaced"):
            seconds = load(appliance, xml)
            rate = memberships / seconds
            print(f"  {name}: {memberships:,} memberships, {len(xml) / 1e6:.0f} MB in {seconds:.1f} s, {rate:,.0f} a second; ", end="")
            print(f"{seconds / reading_seconds:.1f} times reading it twice")
        print(f"  peak memory of the feeders: {peak_megabytes(appliance):.0f} MB")
        measure_closure(appliance)


def feed(memberships: int) -> Iterator[bytes]:
    """Gives a groups feed: users with many groups first, then groups of users who are in few."""
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
    """Pushes the feed as a full one and gives the seconds until it is obeyed."""
    fields = [(b"groupsource", b"bench"), (b"feedtype", b"full"), (b"data", xml)]
    body = b"".join(b'--<<\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % field for field in fields) + b"--<<--\r\n"
    began = time.monotonic()
    headers = {"Content-Type": "multipart/form-data; boundary=<<"}
    status, answer, text = appliance.request("POST", appliance.gate, "/xmlgroups", body, headers)
    assert (status, text) == (200, b"Success"), text
    receipt = appliance.wait(answer["x-feedmill-feed"], seconds=1_200, pause_seconds=0.1)
    assert receipt["state"] == "completed", receipt
    return time.monotonic() - began


def peak_megabytes(appliance: Appliance) -> float:
    """Gives the most memory that a feeder had."""
    peaks = [0.0]
    for role, pids in appliance.role_pids().items():
        for pid in pids if role.startswith("feeder") else ():
            [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
            peaks.append(int(line.split()[1]) / 1024)
    return max(peaks)


def measure_closure(appliance: Appliance) -> None:
    """Prints how long all groups of users with different numbers of them take to be found."""
    store = open_sqlite(appliance.data / "store.sqlite")
    for count in GROUPS_OF_A_USER:
        asker = Identity(users=(read_subject(Scope.USER, f"CORP\\member-of-{count}"),))
        taken = []
        for _ in range(ROUNDS):
            began = time.monotonic()
            with store.reading() as unit:
                found = resolve_groups(asker, unit.groups.find_parents)
            taken.append((time.monotonic() - began) * 1_000)
        p50, p99 = statistics.median(taken), sorted(taken)[int(len(taken) * 0.99)]
        print(f"  all {len(found.reached):,} groups of a user, from the store: p50 {p50:.1f} ms, p99 {p99:.1f} ms")
    store.close()


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
