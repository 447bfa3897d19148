"""The owner's name on the pages: title, logo, colour, links and style sheet of a front end.

GET /frontends/{name}/logo         the logo
GET /frontends/{name}/style.css    the front end's colour, then the owner's style sheet

- A page shows the front end that ``client=`` names, else the one of ``proxystylesheet=``, else ``default_frontend``. Links keep the name.
- Nothing is loaded from another server: the files are those of the settings, and the policy of the pages (``securityheaders``) permits no
  others. An SVG may hold scripts, so it is shown as an image, in which none run, and has a sandbox if it is opened by itself.
- A file that cannot be read, or is no image, is left out, and the log says so. A page never fails for want of its branding.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import structlog
from cachetools import TTLCache
from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.common.requirements import ANYONE, DeclaredRoute
from feedmill.http.pages.colours import write_scheme
from feedmill.model.errors import Corrupt, FeedmillError, NotFound
from feedmill.model.messages import message
from feedmill.model.serving import DEFAULT_FRONTEND, Branding
from feedmill.ports.branding import BrandingFiles
from feedmill.wire.images import SVG, find_image_type

log = structlog.get_logger(__name__)

CLIENT: Final = "client"
CACHED_SECONDS: Final = 5.0
MAX_CACHED: Final = 100
STATIC_SECONDS: Final = 30 * 86_400
PRODUCT: Final = "Feedmill"
_LOGO: Final = "/frontends/{name}/logo"
_STYLE: Final = "/frontends/{name}/style.css"
_SANDBOX: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_LINKS: Final = ("https://", "http://", "mailto:")

FindBranding = Callable[[str], Branding | None]
"""Returns the branding of a front end, None if there is no front end of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrandFile:
    """A file of a front end, as it is sent."""

    data: bytes
    media_type: str

    @property
    def digest(self) -> str:
        """What stands in its address, so that browsers load a changed file at once."""
        return hashlib.sha256(self.data).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """What pages show of a front end's owner. Shape: ``logo`` and ``style`` are addresses, "" for none; ``footer`` is HTML.

    ``name`` is that of the front end. ``shows_title`` is False if a logo stands for the title. ``as_you_type``: results come while typing.
    """

    name: str = DEFAULT_FRONTEND
    title: str = PRODUCT
    shows_title: bool = True
    logo: str = ""
    style: str = ""
    help_url: str = ""
    footer: str = ""
    as_you_type: bool = True

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters that links repeat, so that the next page has the same front end."""
        return {} if self.name == DEFAULT_FRONTEND else {CLIENT: self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A front end with its files. Shape: ``brand`` is None if there is no such front end."""

    brand: Brand | None = None
    logo: BrandFile | None = None
    style: BrandFile | None = None


class Brands:
    """The brandings of the front ends. May be used from several threads. They are read again after ``CACHED_SECONDS``."""

    def __init__(
        self, find_branding: FindBranding | None = None, files: BrandingFiles | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._find_branding = find_branding
        self._files = files
        self._ready: TTLCache[str, _Ready] = TTLCache(MAX_CACHED, CACHED_SECONDS, timer=clock)
        self._lock = threading.Lock()

    def find(self, request: Request) -> Brand:
        """Returns what the pages of a request show."""
        name = request.query_params.get(CLIENT, "") or request.query_params.get("proxystylesheet", "")
        return self._find_ready(name or DEFAULT_FRONTEND).brand or self._find_ready(DEFAULT_FRONTEND).brand or Brand()

    def routes(self) -> list[DeclaredRoute]:
        """Returns the routes of the files. Everybody may load them, since the page to sign in shows them."""
        return [
            DeclaredRoute(_LOGO, self.send_logo, methods=["GET"], requires=ANYONE),
            DeclaredRoute(_STYLE, self.send_style, methods=["GET"], requires=ANYONE),
        ]

    def send_logo(self, request: Request) -> Response:
        """Returns the logo of a front end. Errors: NotFound."""
        return _send(request, self._find_ready(request.path_params["name"]).logo)

    def send_style(self, request: Request) -> Response:
        """Returns the style sheet of a front end. Errors: NotFound."""
        return _send(request, self._find_ready(request.path_params["name"]).style)

    def _find_ready(self, name: str) -> _Ready:
        with self._lock:
            ready = self._ready.get(name)
            if ready is None:
                ready = self._ready[name] = self._read(name)
            return ready

    def _read(self, name: str) -> _Ready:
        if self._find_branding is None:
            return _Ready()
        try:
            branding = self._find_branding(name)
        except FeedmillError as exc:
            # pages that report why the store is unavailable must not need it
            log.warning("branding_unavailable", frontend=name, reason=str(exc))
            return _Ready()
        return self._make_ready(name, branding) if branding is not None else _Ready()

    def _make_ready(self, name: str, branding: Branding) -> _Ready:
        logo = self._read_logo(name, branding.logo)
        style = self._make_style(name, branding)
        brand = Brand(
            name=name,
            title=branding.title or PRODUCT,
            shows_title=bool(branding.title) or logo is None,
            logo=f"{_LOGO.format(name=name)}?v={logo.digest}" if logo is not None else "",
            style=f"{_STYLE.format(name=name)}?v={style.digest}" if style is not None else "",
            help_url=branding.help_url,
            footer=render_footer(branding.footer),
            as_you_type=branding.as_you_type,
        )
        return _Ready(brand=brand, logo=logo, style=style)

    def _read_logo(self, name: str, path: str) -> BrandFile | None:
        data = self._read_file(name, path)
        if data is None:
            return None
        kind = find_image_type(data)
        if kind is None:
            log.warning("branding_left_out", frontend=name, reason=f"the file '{path}' is no image")
            return None
        return BrandFile(data=data, media_type=kind)

    def _make_style(self, name: str, branding: Branding) -> BrandFile | None:
        scheme = write_scheme(branding.accent).encode() if branding.accent else b""
        data = scheme + (self._read_file(name, branding.css) or b"")
        return BrandFile(data=data, media_type="text/css") if data else None

    def _read_file(self, name: str, path: str) -> bytes | None:
        if not path or self._files is None:
            return None
        try:
            return self._files.read_file(path)
        except Corrupt as exc:
            log.warning("branding_left_out", frontend=name, reason=str(exc))
            return None


def _send(request: Request, file: BrandFile | None) -> Response:
    if file is None:
        raise NotFound(message("there is no such file"))
    # An address without the digest of the file would stay valid for the next version too.
    is_fixed = request.query_params.get("v", "") == file.digest
    headers = {"Cache-Control": f"public, max-age={STATIC_SECONDS}, immutable" if is_fixed else "public, no-cache"}
    if file.media_type == SVG:
        headers["Content-Security-Policy"] = _SANDBOX
    return Response(file.data, media_type=file.media_type, headers=headers)


def render_footer(text: str) -> str:
    """Returns the HTML of a footer: text with links as Markdown writes them, to web pages and mail addresses."""
    markdown = MarkdownIt("zero").enable(["link", "escape"])
    markdown.validateLink = _is_safe_link  # type: ignore[method-assign]
    return str(markdown.renderInline(" ".join(text.split())))


def _is_safe_link(url: str) -> bool:
    return url.lower().startswith(_LINKS)
