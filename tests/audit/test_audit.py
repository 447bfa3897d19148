"""What ``make audit`` concludes of its tools' answers, and what they make of the locks where ``make test-full`` fetched them."""

from pathlib import Path

import pytest

from tests.audit.__main__ import RUNTIME, TOOLS, write_sbom
from tests.audit.locked import find_missing, read_lock, sort_findings

LOCK = """anyio==4.16.0 \\
    --hash=sha256:59bb
    # via starlette
Jinja2[i18n]==3.1.6 ; python_version > "3"
"""


def test_read_lock_returns_each_pinned_version(tmp_path: Path) -> None:
    (tmp_path / "lock.txt").write_text(LOCK)
    assert read_lock(tmp_path / "lock.txt") == {"anyio": "4.16.0", "jinja2": "3.1.6"}


def test_find_missing_names_what_lacks_and_what_is_another_version() -> None:
    components = [{"name": "AnyIO", "version": "4.16.0"}, {"name": "jinja2", "version": "3.1.5"}]
    assert find_missing({"anyio": "4.16.0", "jinja2": "3.1.6", "lxml": "6"}, components) == ["jinja2 3.1.6", "lxml 6"]


def test_sort_findings_package_passed_over_is_not_good() -> None:
    report = {
        "dependencies": [
            {"name": "anyio", "version": "4", "vulns": []},
            {"name": "jinja2", "version": "3", "vulns": [{"id": "PYSEC-1", "fix_versions": ["4"]}]},
            {"name": "lxml", "skip_reason": "not found"},
        ]
    }
    holes, unchecked = sort_findings(report, {"anyio": "4", "jinja2": "3", "lxml": "6", "numpy": "2"})
    assert holes == ["jinja2 3: PYSEC-1, mended in 4"]
    assert unchecked == ["lxml", "numpy"]


@pytest.mark.thorough
@pytest.mark.skipif(not (TOOLS / "cyclonedx_py").is_dir(), reason="the tools of make audit are not there; make test-full fetches them")
def test_sbom_of_the_runtime_lock_covers_every_package(tmp_path: Path) -> None:
    lock = read_lock(RUNTIME)
    assert len(lock) > 30
    assert find_missing(lock, write_sbom(RUNTIME, tmp_path / "sbom.json")) == []
