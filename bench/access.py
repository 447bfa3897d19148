"""What access control costs: searches as users who see 95, 50, 10 and 1 % through HTTP, against the same search without a user.

Documents are small. Half of the words of a query's documents are everybody's: ``open``; the same number are guarded by distinct ACLs in
chains of depth 4. The groups of a user decide their share. Aims, warm: at most 1.3 times where more than a tenth is visible, at
most 15 ms more below; a first query of 1,000 groups under 200 ms; a changed folder obeyed at the next search.
"""

import random
import statistics
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import percentile
from bench.groups import load
from bench.uniquequeries import make_unique
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.corpus import Corpus

DOCUMENTS = 100_000
SHARES = (95, 50, 10, 1)
GROUPS = (10, 100, 1_000, 5_000)
ROUNDS = 60
AT_ONCE = 10_000
SETTINGS = '[signin.proxy]\ntrusted = ["127.0.0.0/8"]\n'
HOST = "http://access.example.com"


def main(documents: int = DOCUMENTS, acls_per_document: float = 0.1) -> None:
    """Prints p50 and p99 of searches with and without ACLs, cold and warm; then how long a changed folder takes to take effect."""
    with TemporaryDirectory() as folder, running(Path(folder) / "data", SETTINGS) as appliance:
        fill(appliance, documents, max(int(documents * acls_per_document), 1))
        print(
            f"  {documents:,} documents of everybody and as many in {int(documents * acls_per_document):,} distinct ACLs, chains of depth 4"
        )
        compare_shares(appliance)
        compare_groups(appliance)
        change_folder(appliance)


def fill(appliance: Appliance, documents: int, acls: int) -> None:
    """Feeds public and guarded documents, folders, and groups of which a user of a share is in so many."""
    corpus, chance = Corpus(), random.Random(7)
    began = time.monotonic()
    folders = max(acls // 20, 3)
    for start in range(0, folders, AT_ONCE):
        push(appliance, [folder_acl(number) for number in range(start, min(start + AT_ONCE, folders))], "folders")
    for first in range(0, documents, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, documents))
        texts = [corpus.text(20) for _ in numbers]
        push(appliance, [make_record(f"{HOST}/open/{n}", f"<p>open {text}</p>") for n, text in zip(numbers, texts, strict=True)], "open")
        guarded = [
            make_record(f"{HOST}/shut/{n}", f"<p>shut {text}</p>", acl=own_acl(n % acls, chance.randrange(folders)))
            for n, text in zip(numbers, texts, strict=True)
        ]
        push(appliance, guarded, "shut")
    print(f"  fed and indexed in {time.monotonic() - began:.0f} s")
    load(appliance, b"".join(memberships()))


def push(appliance: Appliance, records: list[str], source: str) -> None:
    appliance.wait(appliance.push(make_feed(*records), source), seconds=3_600, pause_seconds=0.2)


def folder_acl(number: int) -> str:
    """Returns the ACL of a folder; folders stand four deep, and none of them says anything of the users measured."""
    parent = f' inherit-from="{HOST}/folder/{number // 3}"' if number >= 3 else ""
    entry = f'<principal scope="group" access="permit">folder{number}</principal>'
    return f'<acl url="{HOST}/folder/{number}" inheritance-type="child-overrides"{parent}>{entry}</acl>'


def own_acl(number: int, folder: int) -> str:
    """Returns one of the distinct ACLs: it permits those who see enough, and a group of its own."""
    place = number * 7_919 % 100
    groups = [f"see{share}" for share in SHARES if place < share] + [f"own{number}", f"member{number % 10_000}"]
    entries = "".join(f'<principal scope="group" access="permit">{group}</principal>' for group in groups)
    return f'<acl inherit-from="{HOST}/folder/{folder}">{entries}</acl>'


def memberships() -> Iterator[bytes]:
    """Returns a groups feed: a user who sees a share is in one group for it; a user of many groups sees a little by each."""
    yield b'<?xml version="1.0" encoding="UTF-8"?><xmlgroups>'
    groups = {f"see{share}": [f"sees{share}", f"again{share}"] for share in SHARES}
    for number in range(max(GROUPS)):
        groups[f"member{number}"] = [f"in{count}" for count in GROUPS if number < count]
    for group, users in groups.items():
        members = "".join(f'<principal scope="USER">{user}</principal>' for user in users)
        yield f'<membership><principal scope="GROUP">{group}</principal><members>{members}</members></membership>'.encode()
    yield b"</xmlgroups>"


def compare_shares(appliance: Appliance) -> None:
    """Prints what a share costs against the same number of public documents."""
    bare = [timed(appliance, "open", "")[0] for _ in range(ROUNDS)][5:]
    print_row("signed out, the public half", bare)
    for share in SHARES:
        cold, total, is_exact = timed(appliance, "shut", f"sees{share}")
        warm = [timed(appliance, "shut", f"sees{share}")[0] for _ in range(ROUNDS)]
        print_row(f"{share} % visible", warm, bare, cold, total, is_exact=is_exact)


def compare_groups(appliance: Appliance) -> None:
    """Prints what groups cost, at a first query and after it."""
    bare = [timed(appliance, "open", "")[0] for _ in range(ROUNDS)]
    for count in GROUPS:
        cold, total, is_exact = timed(appliance, "shut", f"in{count}")
        warm = [timed(appliance, "shut", f"in{count}")[0] for _ in range(ROUNDS)]
        print_row(f"{count:,} groups", warm, bare, cold, total, is_exact=is_exact)


def change_folder(appliance: Appliance) -> None:
    """Prints how long the ACL of the outermost folder takes to take effect in searches."""
    xml = make_feed(
        f'<acl url="{HOST}/folder/0" inheritance-type="parent-overrides"><principal scope="user" access="permit">late</principal></acl>'
    )
    assert timed(appliance, "shut", "late")[1] == 0
    began = time.monotonic()
    appliance.push(xml, "folders")
    while (total := timed(appliance, "shut", "late")[1]) == 0:
        time.sleep(0.01)
    print(f"  a folder above {total:,} documents: searches obey {time.monotonic() - began:.2f} s after its feed was sent")


def timed(appliance: Appliance, query: str, user: str) -> tuple[float, int, bool]:
    """Returns the seconds of one search as a user, its total and whether that is exact."""
    headers = {"X-Forwarded-User": user} if user else {}
    path = "/api/v1/search?" + urllib.parse.urlencode({"q": make_unique(query)})
    began = time.monotonic()
    status, _, body = appliance.request("GET", appliance.search_port, path, None, headers)
    seconds = time.monotonic() - began
    assert status == 200, body
    total, exact = body.partition(b'"total":')[2].split(b",")[0], b'"exact":true' in body.replace(b" ", b"")
    return seconds, int(total), exact


def print_row(
    name: str, warm: list[float], bare: list[float] | None = None, cold: float = 0.0, total: int = 0, *, is_exact: bool = True
) -> None:
    """Prints the figures of one user."""
    p50, p99 = statistics.median(warm) * 1_000, percentile(warm, 99) * 1_000
    text = f"  {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms"
    if bare is not None:
        reference = statistics.median(bare) * 1_000
        text += f"; {p50 / reference:.2f} times, {p50 - reference:+.1f} ms; first query {cold * 1_000:.0f} ms; "
        text += f"{total:,} found, {'exact' if is_exact else 'estimated'}"
    print(text)


if __name__ == "__main__":
    main(*(int(word) if word.isdigit() else float(word) for word in sys.argv[1:]))  # type: ignore[arg-type]
