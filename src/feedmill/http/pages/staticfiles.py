"""``/static``: the files that pages load, on each port that has pages."""

from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from feedmill.http.common.requirements import ANYONE, DeclaredMount
from feedmill.http.pages.branding import STATIC_SECONDS
from feedmill.http.pages.rendering import STATIC


class _CachedFiles(StaticFiles):
    """The files of the pages. The address of each holds a digest of it, so a browser may use its copy for a month without asking."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        """Returns a file."""
        response = super().file_response(*arguments, **options)
        response.headers["cache-control"] = f"public, max-age={STATIC_SECONDS}, immutable"
        return response


def static_mount() -> DeclaredMount:
    """Returns the route of the files."""
    return DeclaredMount("/static", _CachedFiles(directory=STATIC), name="static", requires=ANYONE)
