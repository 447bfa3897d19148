"""``/suggest``: completions of what the user types, in the formats of the old appliance and as JSON of this server.

- ``token=ab&max_matches=10`` returns a list of texts; ``q=ab&max=10&format=os`` an OpenSearch suggestion list, ``format=rich`` an object.
- ``callback=`` makes a script of it, which a page of any site may load with the cookies of its user. The script therefore holds titles of
  public documents only, for every user, and only a function's name is accepted.
Source: Search Protocol Reference, query suggestions; OpenSearch Suggestions.
"""

import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.common.currentuser import Identify
from feedmill.http.common.searchthreads import find_deadline
from feedmill.http.search.gsasearch import restrict
from feedmill.http.search.parameters import check_site, read_number
from feedmill.model.access import AccessFilter
from feedmill.model.errors import BadRequest
from feedmill.services.searching.searchservices import SearchServices
from feedmill.services.searching.suggesting import MAX_SUGGESTIONS, SuggestionRequest, suggest

DEFAULT_MAX = 10
JSONP_HEAD = "/* GSA Suggest Service JSONP Response. */ "
_CALLBACK = re.compile(r"[A-Za-z_$][\w$]{0,63}(?:\.[A-Za-z_$][\w$]{0,63}){0,5}", re.ASCII)
_FORMATS = ("os", "rich")
# Line separators end a string in old JavaScript, and ``<`` could end the script element of a page that contains the response.
_IN_SCRIPTS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


class Suggestions:
    """The routes for suggestions."""

    def __init__(self, services: SearchServices, identify: Identify) -> None:
        self._services = services
        self._identify = identify

    def answer(self, request: Request) -> Response:
        """Responds as the old appliance did. Errors: BadRequest for a callback that is no function's name."""
        values = request.query_params
        callback = values.get("callback", "")
        if callback and _CALLBACK.fullmatch(callback) is None:
            raise BadRequest("callback= is no name of a function; use letters, digits, _, $ and dots")
        typed = values.get("q", values.get("token", ""))
        access = "p" if callback else values.get("access", "").strip().lower()
        number = values.get("max", values.get("max_matches", ""))
        found = self._suggest(typed, number, request, restrict(self._identify(request), access))
        text = json.dumps(_shape(typed, found, values.get("format", "").lower(), is_legacy="q" not in values), ensure_ascii=False)
        if not callback:
            return Response(text.encode("utf-8", "replace"), media_type="application/json", headers=PRIVATE_NO_CACHE)
        script = f"{JSONP_HEAD}{callback}({''.join(_IN_SCRIPTS.get(character, character) for character in text)})"
        headers = {**PRIVATE_NO_CACHE, "Cross-Origin-Resource-Policy": "cross-origin"}
        return Response(script.encode("utf-8", "replace"), media_type="text/javascript; charset=utf-8", headers=headers)

    def answer_api(self, request: Request) -> Response:
        """Responds with JSON of this server."""
        values = request.query_params
        check_site(values)
        typed = values.get("q", "")
        found = self._suggest(typed, values.get("num", ""), request, self._identify(request), is_strict=True)
        body = json.dumps({"query": typed, "suggestions": list(found)}, ensure_ascii=False).encode("utf-8", "replace")
        return Response(body, media_type="application/json", headers=PRIVATE_NO_CACHE)

    def _suggest(self, typed: str, number: str, request: Request, access: AccessFilter, *, is_strict: bool = False) -> tuple[str, ...]:
        site, client = (request.query_params.get(name, "") for name in ("site", "client"))
        limit = read_number(number, default=DEFAULT_MAX, at_most=MAX_SUGGESTIONS)
        typing = SuggestionRequest(text=typed, limit=limit, site=site, client=client, is_strict=is_strict)
        services = self._services
        return suggest(services.states, services.documents, services.maker.read_text, typing, access, find_deadline(request))


def _shape(typed: str, found: tuple[str, ...], form: str, *, is_legacy: bool) -> Any:
    if form == "rich":
        return {"query": typed, "results": [{"name": text, "type": "suggest"} for text in found]}
    if is_legacy and form not in _FORMATS:
        return list(found)
    return [typed, list(found)]
