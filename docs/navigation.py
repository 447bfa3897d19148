"""The navigation of the site, read from the lists of links on the home page.

``docs/index.md`` is the only place that lists the pages. Each list of links there becomes one group of the navigation. The title of a group
is the heading above the list, followed by the line that introduces the list, if there is one.
"""

import re
from dataclasses import dataclass
from posixpath import normpath

_HEADING = re.compile(r"^## (.+)$")
_INTRODUCTION = re.compile(r"^([^-#|\[!\s].*):$")
_ENTRY = re.compile(r"^- \[[^\]]+\]\(([^)#\s]+\.md)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group of the navigation."""

    title: str
    pages: tuple[str, ...]  #: paths from the root of the repository, without the suffix


def read_groups(text: str, folder: str = "docs") -> list[Group]:
    """Returns the groups of the navigation from the text of the home page, whose links start in ``folder``."""
    pages: dict[str, list[str]] = {}
    heading = title = ""
    for line in text.splitlines():
        if match := _HEADING.match(line):
            heading = title = match.group(1)
        elif match := _INTRODUCTION.match(line):
            title = f"{heading}: {match.group(1)}"
        elif match := _ENTRY.match(line):
            pages.setdefault(title, []).append(normpath(f"{folder}/{match.group(1)}").removesuffix(".md"))
    return [Group(title=title, pages=tuple(found)) for title, found in pages.items()]


def write_toctrees(groups: list[Group]) -> str:
    """Returns the directives that put the groups into Sphinx's navigation."""
    blocks = []
    for group in groups:
        lines = ["```{toctree}", ":hidden:", f":caption: {group.title}", "", *(f"/{page}" for page in group.pages), "```"]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"
