"""What a posted form of signing in is held against, so that no other site's page can send one.

Each form holds a code made from a cookie that only this server's pages can have been shown with: the session's, or the form's own. A
program that is no browser has no cookies of somebody else that another's page could use.
"""

import hmac
import secrets
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from feedmill.http.common.bodies import read_body
from feedmill.http.signin.cookies import FORM, SESSION, Cookies
from feedmill.model.errors import BadRequest

CODE_FIELD = "code"
MAX_FORM_BYTES = 65_536
MAX_FIELDS = 500
_BROWSER_HEADERS = ("origin", "referer", "sec-fetch-site", "sec-fetch-mode")

Fields = Sequence[tuple[str, str]]


class FormGuard:
    """Makes and checks the codes of forms; ``key`` is the server's own."""

    def __init__(self, key: bytes, cookies: Cookies) -> None:
        self._key = key
        self._cookies = cookies

    def code_of_session(self, scope: Scope) -> str:
        """Returns the code for a form on a page of who is signed in, "" where nobody is."""
        text = self._cookies.read(scope, SESSION)
        return self._code(SESSION, text) if text else ""

    def begin(self, scope: Scope) -> tuple[str, str]:
        """Returns the code for a form on a page of anybody, and what the form's cookie is to hold."""
        text = self._cookies.read(scope, FORM) or secrets.token_urlsafe(24)
        return self._code(FORM, text), text

    def put_cookie(self, response: Response, scope: Scope, text: str) -> None:
        """Sets the form's cookie."""
        self._cookies.put(response, scope, FORM, text)

    def is_ours(self, scope: Scope, fields: Fields) -> bool:
        """Whether a posted form came from a page of ours."""
        given = find_field(fields, CODE_FIELD).encode("utf-8", "replace")
        texts = ((name, self._cookies.read(scope, name)) for name in (SESSION, FORM))
        return any(hmac.compare_digest(self._code(name, text).encode(), given) for name, text in texts if text)

    def _code(self, name: str, text: str) -> str:
        return hmac.new(self._key, f"{name}={text}".encode(), sha256).hexdigest()


def is_browser(scope: Scope) -> bool:
    """Whether a POST carries any of the headers of which browsers send at least one."""
    headers = Headers(scope=scope)
    return any(name in headers for name in _BROWSER_HEADERS)


async def read_form(request: Request, max_bytes: int = MAX_FORM_BYTES) -> Fields:
    """Reads a posted form. Errors: TooLarge, BadRequest for what is no form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise BadRequest("send the form as application/x-www-form-urlencoded")
    body = await read_body(request, max_bytes, f"a form of signing in has at most {max_bytes} bytes")
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace")
    except ValueError as exc:
        raise BadRequest(f"the form cannot be read: it is not percent-encoded, or has more than {MAX_FIELDS} fields") from exc


def find_field(fields: Fields, name: str) -> str:
    """Returns a field's value, "" where it is missing; of several the last."""
    return next((value for key, value in reversed(fields) if key == name), "")


def read_target(text: str) -> str:
    """Returns the page to go to after signing in: a path of this server, ``/`` for anything else.

    Browsers take a backslash for a slash and drop tabs and line ends, so neither may stand in it.
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return "/"
    is_path = text.startswith("/") and not text.startswith("//") and not parts.scheme and not parts.netloc
    is_plain = text.isascii() and text.isprintable() and "\\" not in text and " " not in text
    return text if is_path and is_plain and not text.startswith(("/signin", "/signout", "/security-manager/")) else "/"
