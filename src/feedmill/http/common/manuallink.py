"""``/manual/`` on the ports without a manual: leads to that of the search port, so that the ``type`` of an error opens on every port."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from feedmill.http.common.requirements import DeclaredRoute, Requirement
from feedmill.model.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlace:
    """Where browsers reach the search port: at ``public_url``, or else at ``port`` under the host name of a request."""

    port: int = 0
    speaks_tls: bool = False
    public_url: str = ""

    def write_address(self, hostname: str) -> str:
        """Returns the address of the search port for the host name of a request, without a slash at its end."""
        name = f"[{hostname}]" if ":" in hostname else hostname
        return self.public_url.rstrip("/") or f"{'https' if self.speaks_tls else 'http'}://{name}:{self.port}"


FindSearchPlace = Callable[[], SearchPlace | None]
"""Returns where the search port is, None where this machine has none."""


def manual_route(find_place: FindSearchPlace, requires: Requirement) -> DeclaredRoute:
    """Returns the route."""

    def redirect(request: Request) -> Response:
        place = find_place()
        if place is None:
            raise NotFound("the manual is on the search port, which does not run here")
        path = request.url.path.encode("ascii", "replace").decode()
        return RedirectResponse(f"{place.write_address(request.url.hostname or 'localhost')}{path}", 307)

    return DeclaredRoute("/manual/{path:path}", redirect, methods=["GET"], requires=requires)
