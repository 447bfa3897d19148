"""``make fuzz``: every fuzzer for a share of the time, each in a process of its own, so that a crash costs itself alone.

Inputs are guided by coverage where atheris is there, which ``make fuzz`` fetches; else they are the seeds changed by chance. What is found
is stored in a file; put it into ``tests/fuzz/corpus/NAME/`` with its repair, and it is tried in every run of the tests.
"""

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FOUND = Path(".tools/fuzz")
PACKAGES = Path(".tools/fuzz-packages")
MEMORY_BYTES = 6_000_000_000
HANGS_SECONDS = 600


def main(words: Sequence[str]) -> int:
    """Returns 0 when nothing was found, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for all targets together")
    parser.add_argument("--targets", nargs="*", default=[], help="names; all when not given")
    parser.add_argument("--run", default="", help="run one target in this process, as the program does for each")
    parser.add_argument("--unguided", action="store_true", help="without atheris")
    parser.add_argument("--input", default="", help="with --run: try this file alone")
    options = parser.parse_args(words)
    if options.run:
        return _run_here(options)
    from tests.fuzz.targets import TARGETS

    names = options.targets or list(TARGETS)
    share = options.seconds / len(names)
    bad = [name for name in names if not _run_apart(name, share, unguided=options.unguided or not (PACKAGES / "atheris").is_dir())]
    print(f"{len(names)} targets, findings in {len(bad)}: {' '.join(bad) or 'none'}")
    return 1 if bad else 0


def _run_apart(name: str, seconds: float, *, unguided: bool) -> bool:
    """Runs a target in a process; returns whether it found nothing."""
    folder = FOUND / name
    folder.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "tests.fuzz", "--run", name, "--seconds", str(seconds), *(["--unguided"] if unguided else [])]
    log = folder / "log.txt"
    with log.open("wb") as output:
        try:
            code = subprocess.run(words, stdout=output, stderr=subprocess.STDOUT, timeout=seconds + HANGS_SECONDS, check=False).returncode
        except subprocess.TimeoutExpired:
            code = -1
    last = log.read_text(errors="replace").strip().splitlines()[-12:]
    if code:
        print(f"{name}: found something (exit code {code}); see {log} and the inputs beside it", *last, sep="\n    ", flush=True)
    else:
        print(f"{name}: {last[-1] if last else 'nothing'}", flush=True)
    return code == 0


def _run_here(options: argparse.Namespace) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if options.input:
        from tests.fuzz.target import check
        from tests.fuzz.targets import TARGETS

        check(TARGETS[options.run], Path(options.input).read_bytes())
        return 0
    return _run_by_chance(options.run, options.seconds) if options.unguided else _run_guided(options.run, options.seconds)


def _run_by_chance(name: str, seconds: float) -> int:
    from tests.fuzz.mutating import make_input
    from tests.fuzz.target import Finding, check
    from tests.fuzz.targets import TARGETS, list_corpus

    target, current = TARGETS[name], FOUND / name / "current"
    known = [*target.seeds, *list_corpus(name)]
    began, number, found = time.monotonic(), 0, 0
    while time.monotonic() - began < seconds:
        number += 1
        data = make_input(known, target.words, f"{began}/{number}")
        current.write_bytes(data)
        try:
            check(target, data)
        except Finding as exc:
            found += 1
            place = current.with_name(hashlib.sha256(str(exc)[:60].encode()).hexdigest()[:12])
            place.write_bytes(data)
            print(f"{place}: {str(exc)[:1_000]}", flush=True)
    print(f"{number} inputs in {time.monotonic() - began:.0f} s")
    return 1 if found else 0


def _run_guided(name: str, seconds: float) -> int:
    sys.path.append(str(PACKAGES))
    import atheris

    with atheris.instrument_imports(include=["feedmill"]):
        from tests.fuzz.target import check
        from tests.fuzz.targets import TARGETS, list_corpus
    target, folder = TARGETS[name], FOUND / name
    inputs, words = folder / "inputs", folder / "words"
    inputs.mkdir(exist_ok=True)
    for data in [*target.seeds, *list_corpus(name)]:
        (inputs / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in word[:60]) + '"\n' for word in target.words if word))
    flags = [f"-max_total_time={max(1, int(seconds))}", "-timeout=60", "-rss_limit_mb=4000", "-max_len=100000"]
    # an empty dictionary is refused
    flags += [f"-dict={words}"] if words.stat().st_size else []
    atheris.Setup([sys.argv[0], *flags, f"-artifact_prefix={folder}{os.sep}", str(inputs)], lambda data: check(target, data))
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
