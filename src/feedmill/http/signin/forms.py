"""Protects the forms of signing in, so that no page of another site can post one.

Each form holds a code that derives from a cookie: the session's, or the form's own. Only pages of this server can contain that code.
A program that is no browser has no cookies of another user that a page of another site could use.
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
from feedmill.model.messages import message

CODE_FIELD = "code"
MAX_FORM_BYTES = 65_536
MAX_FIELDS = 500
_BROWSER_HEADERS = ("origin", "referer", "sec-fetch-site", "sec-fetch-mode")

Fields = Sequence[tuple[str, str]]


class FormGuard:
    """Makes and checks the codes of forms; ``key`` is the server's signing key."""

    def __init__(self, key: bytes, cookies: Cookies) -> None:
        self._key = key
        self._cookies = cookies

    def code_of_session(self, scope: Scope) -> str:
        """Returns the code for a form on a signed-in user's page, "" without a session."""
        text = self._cookies.read(scope, SESSION)
        return self._code(SESSION, text) if text else ""

    def begin(self, scope: Scope) -> tuple[str, str]:
        """Returns the code for a form on a public page, and the value of the form's cookie."""
        text = self._cookies.read(scope, FORM) or secrets.token_urlsafe(24)
        return self._code(FORM, text), text

    def put_cookie(self, response: Response, scope: Scope, text: str) -> None:
        """Sets the form's cookie."""
        self._cookies.put(response, scope, FORM, text)

    def is_ours(self, scope: Scope, fields: Fields) -> bool:
        """Returns whether a posted form came from a page of this server."""
        given = find_field(fields, CODE_FIELD).encode("utf-8", "replace")
        texts = ((name, self._cookies.read(scope, name)) for name in (SESSION, FORM))
        return any(hmac.compare_digest(self._code(name, text).encode(), given) for name, text in texts if text)

    def _code(self, name: str, text: str) -> str:
        return hmac.new(self._key, f"{name}={text}".encode(), sha256).hexdigest()


def is_browser(scope: Scope) -> bool:
    """Returns whether a POST carries any of the headers of which browsers send at least one."""
    headers = Headers(scope=scope)
    return any(name in headers for name in _BROWSER_HEADERS)


async def read_form(request: Request, max_bytes: int = MAX_FORM_BYTES) -> Fields:
    """Returns the fields of a posted form. Errors: TooLarge, BadRequest if the body is no form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise BadRequest(message("send the form as application/x-www-form-urlencoded"))
    body = await read_body(request, max_bytes, f"a form of signing in has at most {max_bytes} bytes")
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace")
    except ValueError as exc:
        raise BadRequest(f"the form cannot be read: it is not percent-encoded, or has more than {MAX_FIELDS} fields") from exc


def find_field(fields: Fields, name: str) -> str:
    """Returns a field's value, "" if it is missing; the last one of several."""
    return next((value for key, value in reversed(fields) if key == name), "")


def read_target(text: str) -> str:
    """Returns the page to show after signing in: a path of this server, ``/`` for any other text.

    Browsers take a backslash as a slash and drop tabs and line ends, so the path may contain none of these.
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return "/"
    is_path = text.startswith("/") and not text.startswith("//") and not parts.scheme and not parts.netloc
    is_plain = text.isascii() and text.isprintable() and "\\" not in text and " " not in text
    # A user who has signed in must not land on a page for signing in or out.
    return text if is_path and is_plain and not text.startswith(("/signin", "/signout", "/security-manager/")) else "/"
