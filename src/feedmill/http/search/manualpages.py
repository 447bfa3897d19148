"""``/manual/``: the manual of this version, as pages."""

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from feedmill.http.common.entitytags import respond_tagged
from feedmill.http.pages.branding import Brand
from feedmill.http.pages.languages import Choice, get_language
from feedmill.http.pages.rendering import Pages
from feedmill.model.errors import NotFound
from feedmill.model.messages import message
from feedmill.ports.manual import Manual, ManualPage

MANUAL_PATH = "/manual/{path:path}"
_ENGLISH = Choice(language=get_language("en"))
_HEADERS: Final = {"Cache-Control": "public, max-age=3600"}


class NoManual:
    """A manual without pages."""

    def find_page(self, name: str) -> ManualPage | None:
        """Returns None."""
        del name
        return None

    def find_picture(self, name: str) -> bytes | None:
        """Returns None."""
        del name
        return None


class ManualPages:
    """The routes of the manual."""

    def __init__(self, manual: Manual) -> None:
        self._manual = manual
        self._pages = Pages()

    def show(self, request: Request) -> Response:
        """Returns a page or a picture. Errors: NotFound."""
        path = request.path_params["path"]
        if path.endswith(".md"):
            return RedirectResponse(f"/manual/{path.removesuffix('.md')}.html", 308)
        if path.endswith(".svg"):
            picture = self._manual.find_picture(path)
            if picture is not None:
                return respond_tagged(request, picture, "image/svg+xml", _HEADERS)
        elif path == "" or path.endswith(".html"):
            page = self._manual.find_page(path.removesuffix(".html") or "index")
            if page is not None:
                sections = [heading for heading in page.headings if heading.level == 2]
                text = self._pages.render("manual.html", _ENGLISH, Brand(), page=page, sections=sections)
                return respond_tagged(request, text.encode(), "text/html", _HEADERS)
        raise NotFound(message("the manual has no such page; its contents are at /manual/"))


def redirect_to_manual(_request: Request) -> Response:
    """Redirects ``/manual`` to its first page, so that relative links hold."""
    return RedirectResponse("/manual/", 308)
