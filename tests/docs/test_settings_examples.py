"""The settings that the manual shows are settings that the program takes."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from feedmill.model.errors import BadSettings
from feedmill.settings import load_settings

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^ *```toml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
OF_THE_READER = re.compile(
    r"there is no (?:file|folder|bias) |cannot be read: No such file|the variable \w+ is not set"
    r"|commandline\.\w+\.cmd: this key must be given"
)
"""Faults of files, folders and variables that only a reader of the manual has, or that another block of the page makes."""


def list_settings(text: str) -> list[str]:
    """Returns the blocks of a page that are whole tables of the settings."""
    blocks = (dedent(block) for block in BLOCK.findall(text))
    return [block for block in blocks if re.match(r"\[+(?!sources\.|answers|entries)\w", block)]


def find_faults(file: Path) -> list[str]:
    try:
        load_settings(file, {})
    except BadSettings as exc:
        return list(exc.faults)
    return []


@pytest.mark.parametrize("path", [page for page in PAGES if list_settings(page.read_text())], ids=lambda path: path.name)
def test_settings_of_a_page_have_no_fault(path: Path, tmp_path: Path) -> None:
    for block in list_settings(path.read_text()):
        file = tmp_path / "f.toml"
        file.write_text(block)
        assert [fault for fault in find_faults(file) if not OF_THE_READER.search(fault)] == [], block


def test_manual_shows_settings() -> None:
    assert sum(len(list_settings(page.read_text())) for page in PAGES) >= 30
