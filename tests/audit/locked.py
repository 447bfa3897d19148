"""Compares lock files with what was made of them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def normalize(name: str) -> str:
    """Returns a package's name as the index of packages compares it. Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> dict[str, str]:
    """Returns the version of each package that a lock file pins."""
    return {normalize(name): version for name, version in _PINNED.findall(path.read_text())}


def find_missing(lock: Mapping[str, str], components: list[dict[str, Any]]) -> list[str]:
    """Returns the packages of a lock that the components of an SBOM lack, or hold in another version."""
    listed = {normalize(each["name"]): each.get("version") for each in components}
    return [f"{name} {version}" for name, version in sorted(lock.items()) if listed.get(name) != version]


def sort_findings(report: Mapping[str, Any], lock: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Returns the known holes of an audit, and the packages about which nothing could be learnt.

    Shape: ``report`` is pip-audit's JSON; a package that it passed over, or does not name, counts as unchecked, never as good.
    """
    holes, checked = [], set()
    for each in report["dependencies"]:
        if "vulns" in each:
            checked.add(normalize(each["name"]))
            holes += [
                f"{each['name']} {each['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions']) or 'no version'}"
                for hole in each["vulns"]
            ]
    return holes, sorted(lock.keys() - checked)
