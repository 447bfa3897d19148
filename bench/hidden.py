"""Whether the time of a response distinguishes a hidden document from one that does not exist.

A server has public documents and hidden ones with ACLs of one level and of thirty. A signed-in user who may see none of the hidden asks
for them and for URLs that do not exist, in turn and in random order, by the JSON resource, by the cached copy, by the queries that name
a URL and by the tool of assistants. Printed are the median
difference, the noise, which is the same figure for other URLs that do not exist, and how likely so great a difference is by chance
(Mann and Whitney's test, two-sided).

    python -m bench.hidden [ROUNDS]
"""

import http.client
import itertools
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote

from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

ROUNDS = 4_000
HIDDEN = 200
LEVELS = 30
ASSISTANTS = "/mcp#"
"""The address of the tools, and what a URL follows here: it is sent in the body."""
QUERIES = ("info", "cache", "related", "link")
USER = {"X-Forwarded-User": "ann", "Content-Type": "application/json", "Accept": "application/json"}


def main(rounds: int = ROUNDS) -> None:
    """Prints the differences for both ways to ask and both depths of ACLs."""
    config = '[signin.proxy]\ntrusted = ["127.0.0.0/8"]\n'
    with TemporaryDirectory() as folder, running(Path(folder) / "data", config) as appliance:
        fill(appliance)
        connection = http.client.HTTPConnection("127.0.0.1", appliance.search_port, timeout=30)
        for path in ("/api/v1/documents?url=", "/cache?url=", ASSISTANTS, *(f"/search?access=a&q={name}:" for name in QUERIES)):
            for kind in ("shallow", "deep"):
                compare(connection, path, kind, rounds)


def fill(appliance: Appliance) -> None:
    """Pushes public documents and hidden ones of both depths."""
    chain = "".join(_acl(f"http://acl.example.com/{level}", f"http://acl.example.com/{level + 1}") for level in range(LEVELS))
    chain += _acl(f"http://acl.example.com/{LEVELS}", "")
    own = _acl("", "")
    inherited = _acl("", "http://acl.example.com/0")
    records = [make_record(f"http://open.example.com/{number}", "<title>open</title>text") for number in range(HIDDEN)]
    for kind, acl in (("shallow", own), ("deep", inherited)):
        records += [make_record(f"http://{kind}.example.com/{number}", "text", acl=acl) for number in range(HIDDEN)]
    appliance.wait(appliance.push(make_feed(chain, *records), "hidden"))


def _acl(url: str, parent: str) -> str:
    named = f' url="{url}"' if url else ""
    inherits = f' inheritance-type="child-overrides" inherit-from="{parent}"' if parent else ' inheritance-type="child-overrides"'
    return f'<acl{named}{inherits}><principal scope="user" access="permit">bob</principal></acl>'


def compare(connection: http.client.HTTPConnection, path: str, kind: str, rounds: int) -> None:
    """Asks for hidden and unknown URLs in turn and prints how their times differ."""
    times: dict[str, list[float]] = {"hidden": [], "unknown": [], "other": []}
    numbers, chance = itertools.count(), random.Random(5)
    for _ in range(rounds):
        number = next(numbers)
        requests = [
            ("hidden", f"http://{kind}.example.com/{number % HIDDEN}"),
            ("unknown", f"http://{kind}.example.org/{number % HIDDEN}"),
            ("other", f"http://{kind}.example.net/{number % HIDDEN}"),
        ]
        chance.shuffle(requests)
        for name, url in requests:
            times[name].append(timed(connection, path + quote(url, safe="")))
    unknown = times["unknown"]
    difference, noise = (statistics.median(times[name]) - statistics.median(unknown) for name in ("hidden", "other"))
    differences = f"hidden {difference * 1e6:+.1f} us, another unknown {noise * 1e6:+.1f} us, of {statistics.median(unknown) * 1e6:.0f}"
    chances = ", ".join(f"{name} {chance_of(times[name], unknown):.2f}" for name in ("hidden", "other"))
    print(f"  {path} {kind}: {differences}; by chance: {chances}", flush=True)


def timed(connection: http.client.HTTPConnection, path: str) -> float:
    """Returns the seconds of one answer, which must be 404, of a search one without results, of a tool its error."""
    path, _, key = path.partition("#")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fetch", "arguments": {"id": unquote(key)}}}
    begun = time.perf_counter()
    connection.request("POST" if key else "GET", path, json.dumps(call) if key else None, USER)
    answer = connection.getresponse()
    body = answer.read()
    seconds = time.perf_counter() - begun
    is_nothing = b'"isError":true' in body if key else path.startswith("/search") and b"<RES " not in body
    assert answer.status == 404 or is_nothing, (path, answer.status)
    return seconds


def chance_of(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns how likely two samples of one kind differ as these do. Source: Mann and Whitney (1947), by the normal distribution."""
    ranked = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    ranks = sum(place for place, (_, which) in enumerate(ranked, 1) if which == 0)
    count, other = len(first), len(second)
    deviation = math.sqrt(count * other * (count + other + 1) / 12)
    score = (ranks - count * (count + other + 1) / 2) / deviation
    return math.erfc(abs(score) / math.sqrt(2))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
