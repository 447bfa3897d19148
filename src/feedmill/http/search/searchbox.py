"""The search box for pages of other sites: ``/search-box.js``, and its texts in a language, ``/search-box.json``.

Both addresses stay, so browsers ask again after an hour. The script is in English; a box in another language reads the texts of that, which
come from the catalogues of the pages. Neither holds anything of a user. What a box searches for goes through ``/api/v1``, which other sites
read only if the settings name them, as they do the texts.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.common.entitytags import respond_tagged
from feedmill.http.pages.languages import DEFAULT, PARAMETER, PageLanguage, find_tag, get_language
from feedmill.model.messages import Message, counted, message

SEARCH_BOX_PATH: Final = "/search-box.js"
TEXTS_PATH: Final = "/search-box.json"
_FILE: Final = Path(__file__).parents[1] / "embedded" / "search-box.js"
_HEADERS: Final = {
    "Cache-Control": "public, max-age=3600",
    # pages of other sites load the script without CORS, as every script element does
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_COUNTS: Final = (*range(201), 1_000_000)
"""Counts that have all plural forms of every language between them. Source: CLDR, "Language Plural Rules"."""


class SearchBoxScript:
    """The routes of the script and of its texts."""

    def __init__(self) -> None:
        self._script = _FILE.read_bytes()

    def show(self, request: Request) -> Response:
        """Returns the script, or says that the browser has it."""
        return respond_tagged(request, self._script, "text/javascript; charset=utf-8", _HEADERS)

    def show_texts(self, request: Request) -> Response:
        """Returns the texts in the language that ``lang=`` names, in English if there is no such language."""
        tag = find_tag(request.query_params.get(PARAMETER, "")) or DEFAULT
        return respond_tagged(request, _render_texts(tag), "application/json", {**_HEADERS, "Content-Language": tag})


@cache
def _render_texts(tag: str) -> bytes:
    return json.dumps(dict(_iter_texts(get_language(tag))), ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _iter_texts(language: PageLanguage) -> Iterator[tuple[str, Any]]:
    """Yields the texts by the names that the script has for them. A text that depends on a count has one for each plural form."""
    for name, text in _list_texts().items():
        yield name, language.translate(text)
    yield "many", _find_forms(language, [counted("%(total)s result", "%(total)s results", count, total="{total}") for count in _COUNTS])
    offered = [counted("%(shown)s suggestion", "%(shown)s suggestions", count, shown="{count}") for count in _COUNTS]
    yield "offered", _find_forms(language, offered)


def _list_texts() -> dict[str, Message]:
    return {
        "label": message("Search"),
        "button": message("Search"),
        "suggestions": message("Suggestions"),
        "results": message("Search results"),
        "busy": message("Searching …"),
        "none": message("Nothing was found for %(query)s", query="{query}"),
        "about": message("Results %(first)s–%(last)s", first="{first}", last="{last}"),
        "more": message("More results"),
        "all": message("All results"),
        "meant": message("Did you mean %(query)s?", query="{query}"),
        "failed": message("The search does not answer now. Try again later."),
        "refused": message("You may not search here. Sign in and try again."),
        "opens": message("opens in a new window"),
        "without": message("Without: %(words)s", words="{words}"),
    }


def _find_forms(language: PageLanguage, texts: list[Message]) -> dict[str, str]:
    """Returns a text for each plural form by the name that CLDR, and so the browser, has for it."""
    forms = {language.locale.plural_form(count): language.translate(text) for count, text in zip(_COUNTS, texts, strict=True)}
    # where only fractions have this form, no count shows it
    return {**forms, "other": forms.get("other", language.translate(texts[0]))}
