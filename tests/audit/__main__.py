"""``make audit``: writes an SBOM of what a server runs with, and asks for known holes of the packages of all locks.

Exit codes: 0 no known hole, 1 holes or an incomplete SBOM, 3 the databases of holes could not be queried about every package.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.audit.locked import find_missing, read_lock, sort_findings

TOOLS = Path(".tools/audit-packages")
RUNTIME = Path("locks/runtime.txt")
LOCKS = (RUNTIME, Path("locks/dev.txt"), Path("locks/kerberos.txt"))
SBOM = Path("build/sbom.json")
SERVICES = ("pypi", "osv")
ANSWER_SECONDS = 300
HOLES, UNCHECKED = 1, 3


def main() -> int:
    """Returns the exit code."""
    if not (TOOLS / "cyclonedx_py").is_dir() or not (TOOLS / "pip_audit").is_dir():
        print(f"the tools are not there and could not be fetched: {TOOLS}; nothing was audited, try again with a network")
        return UNCHECKED
    codes = [_write_checked_sbom(), *(_audit(lock) for lock in LOCKS)]
    return HOLES if HOLES in codes else max(codes)


def write_sbom(lock: Path, target: Path) -> list[dict[str, Any]]:
    """Writes the SBOM of a lock, the same for the same lock, and returns its components."""
    target.parent.mkdir(parents=True, exist_ok=True)
    words = ["cyclonedx_py", "requirements", str(lock), "--pyproject", "pyproject.toml", "--output-reproducible", "--of", "JSON"]
    _run([*words, "-o", str(target)], check=True)
    components: list[dict[str, Any]] = json.loads(target.read_text())["components"]
    return components


def _write_checked_sbom() -> int:
    components = write_sbom(RUNTIME, SBOM)
    missing = find_missing(read_lock(RUNTIME), components)
    print(f"{SBOM}: CycloneDX, {len(components)} packages of {RUNTIME}")
    for each in missing:
        print(f"  the SBOM lacks {each}")
    return HOLES if missing else 0


def _audit(lock: Path) -> int:
    packages, holes, unchecked = read_lock(lock), list[str](), list[str]()
    for service in SERVICES:
        report = _ask(lock, service)
        holes, unchecked = sort_findings(report, packages) if report is not None else ([], sorted(packages))
        if holes or not unchecked:
            break
    for hole in holes:
        print(f"{lock}: {hole}")
    if unchecked:
        services = " nor ".join(SERVICES)
        print(f"{lock}: nothing could be learnt of {len(unchecked)} of {len(packages)} packages, neither from {services}: no good news")
        return HOLES if holes else UNCHECKED
    print(f"{lock}: {len(packages)} packages, {len(holes)} known holes")
    return HOLES if holes else 0


def _ask(lock: Path, service: str) -> dict[str, Any] | None:
    """Returns pip-audit's report, None where the service does not answer."""
    words = ["pip_audit", "-r", str(lock), "--require-hashes", "--disable-pip", "--progress-spinner", "off", "-f", "json", "-s", service]
    try:
        # without holes 0, with holes 1, and 1 as well where the service cannot be reached: then there is no report
        answer = _run(words, check=False)
        report: dict[str, Any] = json.loads(answer.stdout)
    except (ValueError, subprocess.TimeoutExpired):
        return None
    return report


def _run(words: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(TOOLS)}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=check, timeout=ANSWER_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
