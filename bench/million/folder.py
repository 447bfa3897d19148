"""Changes the ACL of a folder with half of all documents below it, and waits until it takes effect in searches."""

import time
from collections.abc import Callable
from pathlib import Path

from bench.million.build import ONE_PROCESS, SETTINGS
from bench.million.data import HOST, SHARES, CurrentUser, queries, read_shape
from bench.million.measure import Line, report
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

LATE = "late"
PATIENCE_SECONDS = 600
ROUNDS = 5


def change_folder(data: Path) -> None:
    """Prints how long a permit, a denial and their end take, beside one new document, the reference."""
    shape = read_shape(data)
    current_user = CurrentUser(groups=shape.groups[-1], share=SHARES[0])
    with running(data, SETTINGS, ONE_PROCESS) as appliance:
        line, query = Line(appliance.search_port, appliance.role_pids()["web"][0]), queries()[0]
        line.ask(query, LATE)
        total = total_of(line, query, current_user.name)
        report(f"a folder with {shape.documents // 2:,} of {shape.documents:,} documents below it")
        one = min(measure_one(appliance, number) for number in range(ROUNDS))
        report(f"one new document, the reference: found {one:.2f} s after its feed was sent")
        for number in range(ROUNDS):
            open_ = change(appliance, "permit", lambda: total_of(line, query, LATE) > 0)
            closed = change(
                appliance, "deny", lambda: total_of(line, query, LATE) == 0 and total_of(line, query, current_user.name) < 0.8 * total
            )
            ended = change(appliance, "", lambda: total_of(line, query, current_user.name) > 0.9 * total)
            times = f"permitted {open_:.2f} s, denied {closed:.2f} s, neither {ended:.2f} s after the feed was sent"
            report(f"round {number + 1}: {times}; {max(open_, closed, ended) / one:.1f} times one document")


def change(appliance: Appliance, access: str, is_obeyed: Callable[[], bool]) -> float:
    """Sets what the first of the outermost folders says, and returns the seconds until searches show it."""
    entries = ['<principal scope="group" access="permit">root0</principal>']
    if access == "permit":
        entries.append(f'<principal scope="user" access="permit">{LATE}</principal>')
    if access == "deny":
        names = [CurrentUser(groups=count, share=SHARES[0]).name for count in (1_000, 5_000)]
        entries += [f'<principal scope="user" access="deny">{name}</principal>' for name in names]
    kind = "parent-overrides" if access else "child-overrides"
    began = time.monotonic()
    appliance.push(make_feed(f'<acl url="{HOST}/root/0" inheritance-type="{kind}">{"".join(entries)}</acl>'), "folders")
    while not is_obeyed():
        assert time.monotonic() - began < PATIENCE_SECONDS, access
    return time.monotonic() - began


def measure_one(appliance: Appliance, number: int) -> float:
    """Returns the seconds until one new document is found."""
    word = f"needle{number}x{time.time_ns()}"
    began = time.monotonic()
    appliance.push(make_feed(make_record(f"{HOST}/needle/{number}", f"<p>{word}</p>")), "needles")
    while not appliance.urls(word):
        assert time.monotonic() - began < PATIENCE_SECONDS, word
    return time.monotonic() - began


def total_of(line: Line, query: str, name: str) -> int:
    """Returns how many documents a user finds."""
    return int(line.ask(query, name)[1]["total"])
