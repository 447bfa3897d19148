"""Writes a settings file to start from: the usual tables, each key in a comment with its default and its meaning.

Keys and defaults are those of the sections. Titles and meanings stand in the tables of docs/reference/settings.md: there is no second list.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import BaseModel

from feedmill.settings.sections import Settings, list_keys

USUAL: Final = ("gate", "search", "admin", "urls", "crawl", "limits", "store", "signin", "logs")
"""The tables of the file, in this order."""

_INTRODUCTION: Final = """\
# Settings of Feedmill. Each key stands in a comment, with its default: take the "#" in front of it away and change the value.
# All settings, also those that are not here: docs/reference/settings.md, and /manual/reference/settings.html on the search port.
# Check the file with: feedmill config check --config FILE
"""
_WIDTH: Final = 110
_HEADING: Final = re.compile(r"^## \[(?P<table>[a-z_.]+)\](?:: (?P<title>.+))?$")
_ROW: Final = re.compile(r"^\| (?P<keys>`[a-z_]+`(?:, `[a-z_]+`)*) \| [^|]* \| (?P<meaning>.+) \|$")
_LINK: Final = re.compile(r"\[([^\[\]]+)\]\([^()]+\)")

Meanings = Mapping[tuple[str, str], str]
"""Texts by table and key; the key "" is the title of the table."""


def write_starter(reference: str) -> str:
    """Returns the file. Shape: ``reference`` is the text of the page docs/reference/settings.md; from "" come no meanings."""
    meanings = dict(_find_meanings(reference))
    parts = [_write_table(name, getattr(Settings(), name), meanings) for name in USUAL]
    return "\n".join([_INTRODUCTION, *parts])


def _find_meanings(reference: str) -> Iterator[tuple[tuple[str, str], str]]:
    table = ""
    for line in reference.splitlines():
        if line.startswith("#"):
            heading = _HEADING.match(line)
            table = heading["table"] if heading else ""
            if heading and heading["title"]:
                yield (table, ""), heading["title"]
        elif table and (row := _ROW.match(line)):
            meaning = _LINK.sub(r"\1", row["meaning"]).replace("`", "")
            yield from (((table, key.strip("`")), meaning) for key in row["keys"].split(", "))


def _write_table(name: str, section: BaseModel, meanings: Meanings) -> str:
    title = meanings.get((name, ""), "")
    lines = [f"# {title[:1].upper()}{title[1:]}"] if title else []
    lines.append(f"[{name}]")
    for key in (path[1] for path, _ in list_keys() if path[0] == name and len(path) == 2):
        lines += ["", *_write_comment(meanings.get((name, key), "")), f"#{key} = {write_value(getattr(section, key))}"]
    return "\n".join(lines) + "\n"


def _write_comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)]


def write_value(value: object) -> str:
    """Returns a value as a settings file holds it. Shape: a text, a number, true or false, or a list of these."""
    # these are the same in JSON and TOML, without ``ensure_ascii``, which writes surrogates
    return json.dumps(value, ensure_ascii=False)
