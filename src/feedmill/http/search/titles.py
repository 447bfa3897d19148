"""Titles for reading: without the name of the site that many programs write behind each title of it, and not too long.

Whether the end of a title is such a name is read off the results beside it, so it takes no state and reveals nothing that the page does not
show. An end with a word of the query stays, since it shows why the document was found.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from feedmill.core.text.snippets import SEPARATOR
from feedmill.model.results import Marks, Result, Snippet

MAX_SHOWN_TITLE: Final = 150
LEAST_ALIKE: Final = 3
"""So many results of a host must end alike."""
_SHARE: Final = 2 / 3
_SEPARATOR = re.compile(r"(?:\s[-\u2010-\u2015|·•»›]|:)\s")
"""What stands between a title and the name of its site; a hyphen inside of a word separates nothing."""

Ends = Mapping[str, frozenset[str]]
"""The ends of titles that name a site, by host."""


def find_site_ends(results: Sequence[Result]) -> Ends:
    """Finds the ends that most titles of a host have, if it has several results."""
    titles: dict[str, list[str]] = {}
    for result in results:
        if result.title:
            titles.setdefault(_find_host(result), []).append(result.title)
    return {host: frozenset(_list_ends(found)) for host, found in titles.items() if len(found) >= LEAST_ALIKE}


def _list_ends(titles: Sequence[str]) -> list[str]:
    counts = Counter(title[_find_end(title) :] for title in dict.fromkeys(titles))
    return [end for end, count in counts.items() if end and count >= max(LEAST_ALIKE, _SHARE * len(titles))]


def _find_end(title: str) -> int:
    """Returns where the last separator of a title begins, or the parenthesis in which it ends; its length if it has none."""
    places = [found.start() for found in _SEPARATOR.finditer(title)]
    if title.endswith(")") and not title.endswith("))"):
        places.append(title.rfind(" ("))
    place = max(places, default=-1)
    is_name = title[: max(place, 0)].strip() and any(map(str.isalpha, title[place:]))
    return place if is_name else len(title)


def is_named_by(title: str, heading: str) -> bool:
    """Whether a title is a heading, or a heading with the name of its site behind it."""
    return bool(heading) and title.startswith(heading) and (title == heading or _SEPARATOR.match(title, len(heading)) is not None)


def show_title(result: Result, ends: Ends) -> Snippet:
    """Returns the title of a result for reading, with its marks; "" if it has none."""
    text, marks = result.title or "", result.title_marks
    place = _find_end(text)
    if text[place:] in ends.get(_find_host(result), ()) and all(end <= place for _, end in marks):
        text = text[:place].rstrip()
    return shorten_title(text, marks)


def shorten_title(text: str, marks: Marks) -> Snippet:
    """Returns a title for reading: a long one is cut after a word."""
    if len(text) <= MAX_SHOWN_TITLE:
        return Snippet(text=text, marks=marks)
    end = text.rfind(" ", MAX_SHOWN_TITLE // 2, MAX_SHOWN_TITLE)
    end = MAX_SHOWN_TITLE if end < 0 else end
    return Snippet(text=f"{text[:end]} …", marks=tuple(mark for mark in marks if mark[1] <= end))


def skip_heading(snippet: Snippet, title: str) -> Snippet:
    """Returns a snippet for reading below a title: without the heading that it begins with, if that is the title and marks are left."""
    heading, separator, rest = snippet.text.partition(SEPARATOR)
    place = len(heading) + len(separator)
    marks = tuple((start - place, end - place) for start, end in snippet.marks if start >= place)
    if not rest or (snippet.marks and not marks) or not is_named_by(title, heading):
        return snippet
    return Snippet(text=rest, marks=marks)


def _find_host(result: Result) -> str:
    try:
        return urlsplit(result.display_url).netloc.lower()
    except ValueError:
        # a URL that no browser opens has no host
        return ""
