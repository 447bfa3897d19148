"""What the next page says of a session that has ended: that the user signed out, or that it ended by itself.

A cookie remembers that a user signed out, so that the address of the page stays the same and a reload says nothing. The next page that
says so deletes the cookie. A page says that a session has ended as long as the browser sends the cookie of one that no longer exists.
"""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.common.currentuser import find_current_user
from feedmill.http.signin.cookies import SESSION, Cookies
from feedmill.model.messages import message

NOTICE: Final = "feedmill_notice"
_SIGNED_OUT: Final = "signed-out"
_SECONDS: Final = 300
"""A provider may ask whether it should end its session too before it sends the browser back."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice on a page. ``leads_to_sign_in``: the user did not want the session to end."""

    text: str
    leads_to_sign_in: bool = False


SIGNED_OUT: Final = Notice(message("You are signed out."))
ENDED: Final = Notice(message("Your session has ended."), leads_to_sign_in=True)


class Notices:
    """Remembers notices for the next page of a browser."""

    def __init__(self, cookies: Cookies) -> None:
        self._cookies = cookies

    def find(self, request: Request) -> Notice | None:
        """Returns what the page of a request says."""
        if find_current_user(request).is_signed_in:
            return None
        if self._cookies.read(request.scope, NOTICE) == _SIGNED_OUT:
            return SIGNED_OUT
        return ENDED if self._cookies.read(request.scope, SESSION) else None

    def remember_sign_out(self, request: Request, response: Response) -> None:
        """Makes the next page say that the user is signed out."""
        self._cookies.put(response, request.scope, NOTICE, _SIGNED_OUT, seconds=_SECONDS)

    def forget(self, request: Request, response: Response) -> None:
        """Forgets that a user signed out, once a page has said so or a user has signed in."""
        if self._cookies.read(request.scope, NOTICE):
            self._cookies.drop(response, request.scope, NOTICE)
