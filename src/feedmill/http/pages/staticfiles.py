"""``/static``: the files that pages load, on each port that has pages."""

import re
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from feedmill.http.common.requirements import ANYONE, DeclaredMount
from feedmill.http.pages.branding import STATIC_SECONDS
from feedmill.http.pages.rendering import STATIC

# In a script a comment has lines of its own; an address in a text begins no line.
_COMMENTS = {".js": re.compile(r"^ *//.*\n", re.MULTILINE), ".css": re.compile(r"/\*.*?\*/\n?", re.DOTALL)}


class _CachedFiles(StaticFiles):
    """The files of the pages. The address of each holds a digest of it, so a browser may use its copy for a month without asking."""

    def file_response(self, full_path: Any, *arguments: Any, **options: Any) -> Response:
        """Returns a file; a script or a stylesheet without its comments, which are for those who read it here."""
        response = super().file_response(full_path, *arguments, **options)
        response.headers["cache-control"] = f"public, max-age={STATIC_SECONDS}, immutable"
        path = Path(full_path)
        if path.suffix not in _COMMENTS or response.status_code != HTTPStatus.OK:
            return response
        headers = {name: value for name, value in response.headers.items() if name not in ("content-length", "accept-ranges")}
        return Response(_read_without_comments(path), headers=headers)


@cache
def _read_without_comments(path: Path) -> bytes:
    """Returns a file of the program, which does not change while it runs."""
    return _COMMENTS[path.suffix].sub("", path.read_text("utf-8")).encode()


def static_mount() -> DeclaredMount:
    """Returns the route of the files."""
    return DeclaredMount("/static", _CachedFiles(directory=STATIC), name="static", requires=ANYONE)
