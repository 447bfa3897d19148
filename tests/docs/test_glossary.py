"""The glossary has every class of the ports and every noun of the metrics: code and pages use the same words."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
ROWS = [line.split("|")[1:5] for line in GLOSSARY.splitlines() if line.startswith("| ") and not line.startswith("| word ")]
WORDS = {word for row in ROWS for word in re.findall("[a-z]+", row[0].lower())}
CODE = {name for row in ROWS for name in re.findall("`([^`]+)`", row[2])}

COMMON = {"received", "fetched", "bytes", "seconds", "waiting", "oldest", "bounded", "restarts", "extract"}
"""Words of metrics that say what is measured of a thing."""


def list_ports() -> list[str]:
    return sorted(
        name for path in (ROOT / "src/feedmill/ports").glob("*.py") for name in re.findall(r"^class (\w+)", path.read_text(), re.M)
    )


def list_metrics() -> list[str]:
    return sorted(set(re.findall(r"feedmill_([a-z_]+)", (ROOT / "src/feedmill/telemetry/metrics.py").read_text())))


@pytest.mark.parametrize("name", list_ports())
def test_class_of_a_port_is_explained(name: str) -> None:
    assert name in CODE


@pytest.mark.parametrize("name", list_metrics())
def test_metric_uses_words_that_are_explained(name: str) -> None:
    known = WORDS | {f"{word}s" for word in WORDS} | {f"{word}es" for word in WORDS} | {f"{word[:-1]}ies" for word in WORDS} | COMMON
    assert [word for word in name.split("_") if word not in known] == []


def test_names_in_code_exist() -> None:
    folders = (ROOT / "src/feedmill", ROOT / "client/src/feedmill_client")
    source = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    missing = [name for name in CODE if not (ROOT / "src/feedmill" / name).exists() and not (ROOT / "src/feedmill" / f"{name}.py").exists()]
    words = set(re.findall(r"\w+", source))
    assert [name for name in missing if name not in words and not re.search(rf"\b{re.escape(name)}\b", source)] == []
