"""Collapses a result list, so that one folder or one repeated text does not fill the page.

- Of results with the same title and the same snippet, the first stays. A result with neither is never a repetition.
- Of a directory (the URL up to its last slash, without query and fragment), the two best results stay.
- The order is otherwise unchanged, but the second result of a directory moves directly below the first on its page.
- The last visible result of a directory that has more is flagged.
Source: Search Protocol Reference, "Automatic Filtering".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from feedmill.model.results import Collapsing, Result

PER_DIRECTORY = 2


@dataclass(slots=True)
class ResultCollapser:
    """Takes results best first and retains those that may be shown."""

    collapsing: Collapsing
    shown: list[Result] = field(default_factory=list)
    left_out: int = 0
    _texts: set[tuple[str, str]] = field(default_factory=set)
    _counts: dict[str, int] = field(default_factory=dict)

    def add_results(self, results: Iterable[Result]) -> None:
        """Takes the next results of the list."""
        for result in results:
            if self._may_stay(result):
                self.shown.append(result)
            else:
                self.left_out += 1

    def _may_stay(self, result: Result) -> bool:
        text = (result.title or "", result.snippet.text)
        if self.collapsing.snippets and any(text):
            if text in self._texts:
                return False
            self._texts.add(text)
        if not self.collapsing.directories:
            return True
        directory = directory_of(result.display_url)
        self._counts[directory] = self._counts.get(directory, 0) + 1
        return self._counts[directory] <= PER_DIRECTORY

    def page(self, start: int, num: int) -> tuple[Result, ...]:
        """Returns one page of the retained results."""
        shown = self.shown[start : start + num]
        if not self.collapsing.directories:
            return tuple(shown)
        return tuple(self._place(shown))

    def _place(self, shown: Sequence[Result]) -> Iterable[Result]:
        groups: dict[str, list[Result]] = {}
        for result in shown:
            groups.setdefault(directory_of(result.display_url), []).append(result)
        for directory, group in groups.items():
            for place, result in enumerate(group):
                more_in = directory if place == len(group) - 1 and self._ends(directory, result) else ""
                yield replace(result, is_second=place > 0, more_in=more_in) if place or more_in else result

    def _ends(self, directory: str, result: Result) -> bool:
        """Whether a directory has more results than are shown and this is the last one shown."""
        if self._counts[directory] <= PER_DIRECTORY:
            return False
        # The last shown one of the directory on all pages, not on this page alone.
        return next(shown for shown in reversed(self.shown) if directory_of(shown.display_url) == directory) is result

    def may_hide_more(self, start: int, num: int) -> bool:
        """Whether a page uses up a directory's share, so that results further down the list may reveal more of it."""
        full = (directory_of(result.display_url) for result in self.shown[start : start + num])
        return self.collapsing.directories and any(self._counts[directory] == PER_DIRECTORY for directory in full)


def directory_of(url: str) -> str:
    """Returns the URL up to the last slash of its path, with that slash."""
    path = url.partition("?")[0].partition("#")[0]
    scheme, separator, rest = path.partition("://")
    if not separator:
        return path[: path.rfind("/") + 1] or path
    return f"{scheme}://{rest[: rest.rfind('/') + 1] or rest + '/'}"
