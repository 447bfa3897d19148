"""Finds the browser of this machine."""

import os
import shutil
from typing import Final

from feedmill.model.errors import UpstreamFailure

_PROGRAMS: Final = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium/headless_shell",
    "chromium-headless-shell",
    "/usr/lib/chromium/chromium",
    "chromium",
    "/opt/google/chrome/chrome",
    "google-chrome",
)


def find_browser(configured: str = "") -> str:
    """Returns the path of the browser that is configured, or that is installed. Errors: UpstreamFailure if there is none."""
    for program in (configured,) if configured else _PROGRAMS:
        found = shutil.which(program)
        if found is not None:
            return os.path.abspath(found)
    if configured:
        raise UpstreamFailure(f"there is no browser '{configured}', as crawl.render.browser says")
    raise UpstreamFailure("there is no browser on this machine; install Debian's package chromium, or set crawl.render.browser")
