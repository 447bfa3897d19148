"""``make test-real``: feeds documents of Debian packages to a server, then the same damaged; each must be found or have a reason."""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.appliance import Appliance, running
from tests.real.corpus import Document, make_mutants, make_originals
from tests.real.feeding import MemoryWatch, Pushed, push_all, wait_for_all
from tests.real.packages import Picked, fetch, list_packages, pick
from tests.real.verdict import Verdict, judge_server, render_table

ORIGINALS, MUTANTS = "real.example.com", "mutated.example.com"
SHOWN = 60


def main(words: Sequence[str]) -> int:
    """Returns 0 when everything held, 1 for violations, 3 when no package can be had here."""
    options = _read(words)
    packages = options.packages.split() if options.packages else list_packages()
    picked, missing = _gather(packages, Path(options.cache), options.limit)
    if missing:
        print(f"not to be had here: {' '.join(missing)}")
    if not picked:
        print("no package can be had: is there a Debian mirror in /etc/apt, and did `apt-get update` run?")
        return 3
    violations: list[str] = []
    verdicts: list[tuple[str, Verdict]] = []
    with tempfile.TemporaryDirectory(prefix="feedmill-real-", dir=options.work) as folder:
        with running(Path(folder, "data")) as server, MemoryWatch(server) as memory:
            originals = make_originals(ORIGINALS, picked)
            verdicts.append(("as it is", _feed_and_judge(server, originals, Path(folder, "originals"), options.stalled, violations)))
            if not options.no_mutants:
                mutants = make_mutants(MUTANTS, originals, picked, options.seed)
                verdicts.append(("mutated", _feed_and_judge(server, mutants, Path(folder, "mutants"), options.stalled, violations)))
            violations += judge_server(server)
        print("\nmost memory of a process: " + ", ".join(f"{role} {most / 1e6:.0f} MB" for role, most in sorted(memory.most.items())))
        if options.keep_log:
            Path(options.keep_log).write_bytes(server.log.read_bytes())
    _report(verdicts, violations)
    return 1 if violations else 0


def _read(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.real", description=__doc__)
    parser.add_argument("--packages", default="", help="names of packages; the list's when not given")
    parser.add_argument("--limit", type=int, default=40, help="most documents of a package")
    parser.add_argument("--seed", type=int, default=1, help="of the damage")
    parser.add_argument("--no-mutants", action="store_true", help="only the documents as they are")
    parser.add_argument("--stalled", type=float, default=120.0, help="seconds without any progress that count as stuck")
    parser.add_argument("--cache", default=".tools/real", help="folder that keeps the packages")
    parser.add_argument("--work", default=None, help="folder for the server's data")
    parser.add_argument("--keep-log", default="", help="file for the server's log")
    return parser.parse_args(words)


def _gather(packages: Sequence[str], cache: Path, limit: int) -> tuple[list[Picked], list[str]]:
    picked: list[Picked] = []
    missing = []
    for package in packages:
        folder = fetch(package, cache.resolve())
        if folder is None:
            missing.append(package)
        else:
            picked += pick(package, folder, limit)
    return picked, missing


def _feed_and_judge(server: Appliance, documents: Sequence[Document], work: Path, stalled: float, violations: list[str]) -> Verdict:
    began = time.monotonic()
    print(f"feeding {len(documents)} documents, {sum(len(each.data) for each in documents) / 1e6:.0f} MB", flush=True)
    pushed = push_all(server, documents, work.name, work)
    print(f"  pushed after {time.monotonic() - began:.0f} s", flush=True)
    stuck = wait_for_all(server, pushed, stalled)
    print(f"  searchable after {time.monotonic() - began:.0f} s", flush=True)
    _print_slowest(pushed)
    violations += [f"stuck: feed of {each.name} is {each.state}" for each in stuck]
    violations += [f"feed of {each.name}: {reason}" for each in pushed for reason in each.errors]
    verdict = Verdict()
    verdict.decide_each(server, documents)
    violations += verdict.violations
    print(f"  judged after {time.monotonic() - began:.0f} s, {len(violations)} violations so far", flush=True)
    return verdict


def _print_slowest(pushed: Sequence[Pushed]) -> None:
    single = [each for each in pushed if each.seconds is not None and each.name.startswith("http")]
    for each in sorted(single, key=lambda one: -(one.seconds or 0))[:8]:
        print(f"    {each.seconds:6.1f} s in the queue and in work, {each.size_bytes / 1e6:5.1f} MB: {each.name}")


def _report(verdicts: Sequence[tuple[str, Verdict]], violations: Sequence[str]) -> None:
    print("\n" + render_table(verdicts))
    for name, verdict in verdicts:
        print(f"\nreasons, {name}:")
        for reason, count in verdict.reasons.most_common(SHOWN):
            print(f"  {count:5} {reason}")
    print(f"\n{len(violations)} violations")
    for violation in violations[: SHOWN * 5]:
        print(f"  {violation}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
