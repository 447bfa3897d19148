"""Makes the pages for people: of templates, in the language of each request.

A template writes its texts between ``{% trans %}`` and ``{% endtrans %}``, those that the program made with the filter ``text``, numbers
with ``number``, days with ``day`` and sizes in bytes with ``size``; ``sentence`` begins the text of an error as a sentence,
``remark`` that of a warning.
``language`` is the language of the page, ``brand`` the name of its owner, ``home`` the link to the search page, and ``repeated`` the
parameters that each link and form has. ``asset`` returns the address of a file of the pages.
"""

import hashlib
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from feedmill.http.common.problems import Problem
from feedmill.http.pages.branding import Brand, Brands
from feedmill.http.pages.languages import PARAMETER, Choice, PageLanguage, choose_language, get_language, show_parameter
from feedmill.model.messages import Message, message
from feedmill.telemetry.requestids import find_request_id

TEMPLATES = Path(__file__).parents[1] / "templates"
STATIC = Path(__file__).parents[1] / "static"
VARY = "Accept-Language"

_ERROR_TITLES: Final = {
    Problem.NOT_FOUND: message("This page does not exist"),
    Problem.UNAUTHORIZED: message("You have to sign in"),
    Problem.FORBIDDEN: message("You may not do this"),
    Problem.BUSY: message("The search is not available now"),
}
_WITH_QUERY: Final = ("/", "/cache")
"""The paths whose errors hold the query. One of ``/search`` may name a document: its answer is that to any other one."""

_PASSING: Final = frozenset({Problem.BUSY, Problem.INTERNAL, Problem.TOO_MANY_FAILURES})
"""Errors that may be over when the same request is sent again."""

_NOT_YOURS: Final = message(
    "This is no mistake of yours. If it happens again, tell the people who run this search, with the number of the request."
)
_ADVICE: Final = {
    Problem.NOT_FOUND: message("The address may be mistyped, or what was there may have been moved or removed."),
    Problem.INTERNAL: _NOT_YOURS,
    Problem.BUSY: _NOT_YOURS,
}
"""What people can do about an error, in plain words."""

_OTHER_NAME: Final = message("The server does not know this name")
_REFUSED: Final = message("The request cannot be answered as it is")
_FAILED: Final = message("Something went wrong on the server")

AnyResponse = TypeVar("AnyResponse", bound=Response)


class Pages:
    """Makes the pages of a port, with the names of their owners."""

    def __init__(self, brands: Brands | None = None) -> None:
        self.brands = brands or Brands()

    def respond(
        self, request: Request, name: str, status: int = 200, headers: Mapping[str, str] | None = None, /, **values: Any
    ) -> HTMLResponse:
        """Returns the page of a template, in the language of the request."""
        choice = find_choice(request)
        return mark_language(HTMLResponse(self.render(name, choice, self.brands.find(request), **values), status, headers), choice)

    def respond_error(self, request: Request, problem: Problem, text: str, headers: Mapping[str, str], /, **more: Any) -> HTMLResponse:
        """Returns the page of an error. Shape: ``text`` says more than the status does, "" for nothing.

        The page of a failed search has its query in the box, and a link to try it again if that may help. ``more`` are further values for
        the template.
        """
        has_query = request.url.path in _WITH_QUERY
        may_pass = has_query and request.method == "GET" and problem in _PASSING
        values = {
            **show_error(problem, text),
            "query": request.query_params.get("q", "") if has_query else "",
            "again": f"{request.url.path}?{request.url.query}" if may_pass else "",
        }
        return self.respond(request, "error.html", problem.status, headers, **values, **more)

    def render(self, name: str, choice: Choice, brand: Brand, /, **values: Any) -> str:
        """Returns a page as text."""
        repeated = {**brand.parameters, **show_parameter(choice)}
        home = add_parameters("/", repeated)
        return _make_environment(choice.language.tag).get_template(name).render(brand=brand, repeated=repeated, home=home, **values)

    def find_repeated(self, request: Request) -> Mapping[str, str]:
        """Returns the parameters that links to other pages repeat: those of the front end and of the language."""
        return {**self.brands.find(request).parameters, **show_parameter(find_choice(request))}


def show_error(problem: Problem, text: str) -> dict[str, Any]:
    """Returns what the page of an error shows of it. The manual explains it in a section that is named like its title."""
    is_failure = problem.status >= Problem.INTERNAL.status
    title = _ERROR_TITLES.get(problem) or (_FAILED if is_failure else _REFUSED)
    return {
        "status": problem.status,
        "section": title.lower().replace(" ", "-"),
        "title": title,
        "text": text,
        "advice": _ADVICE.get(problem, ""),
        "request_id": find_request_id() if is_failure else "",
    }


def render_refusal(text: str, accepted: str) -> str:
    """Returns the page of a request under a name that the port does not know. It loads nothing, because the port refuses that too.

    Shape: ``accepted`` is the header ``Accept-Language``.
    """
    return Pages().render("refusal.html", choose_language("", accepted), Brand(), title=_OTHER_NAME, text=text)


def find_choice(request: Request) -> Choice:
    """Returns the language of a request."""
    return choose_language(request.query_params.get(PARAMETER, ""), request.headers.get("accept-language", ""))


def mark_language(response: AnyResponse, choice: Choice) -> AnyResponse:
    """Returns a response with the headers that state its language, and whether the browser chose it."""
    response.headers["content-language"] = choice.language.tag
    if not choice.is_explicit:
        response.headers.add_vary_header(VARY)
    return response


def add_parameters(address: str, parameters: Mapping[str, str]) -> str:
    """Returns an address on this server with more parameters."""
    if not parameters:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"


@cache
def _make_environment(tag: str) -> jinja2.Environment:
    """Returns the environment of the templates in a language, which escapes every value."""
    language: PageLanguage = get_language(tag)
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.i18n"]
    )
    templates.policies["ext.i18n.trimmed"] = True
    translations = language.translations
    templates.install_gettext_callables(translations.gettext, translations.ngettext, newstyle=True)  # type: ignore[attr-defined]
    templates.globals |= {"language": language, "asset": find_asset}
    templates.filters |= {
        "text": language.translate,
        "sentence": begin_sentence,
        "remark": partial(write_remark, language),
        "number": language.write_number,
        "day": language.write_date,
        "size": language.write_size,
    }
    return templates


def begin_sentence(text: str) -> str:
    """Returns the text of an error for people, with a capital letter, unless it begins with a name such as ``callback=``."""
    return f"{text[:1].upper()}{text[1:]}" if text.partition(" ")[0].isalpha() else text


def write_remark(language: PageLanguage, warning: str) -> str:
    """Returns a warning as a sentence in a language. A text that it begins with, such as a word of the query, stays as it was written."""
    text = language.translate(warning)
    values = warning.values.values() if isinstance(warning, Message) else ()
    return text if text.startswith(tuple(str(value) for value in values if str(value))) else begin_sentence(text)


@cache
def find_asset(name: str) -> str:
    """Returns the address of a file that the pages load. It holds a digest of the file, so that browsers load a changed one at once."""
    return f"/static/{name}?v={hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"
