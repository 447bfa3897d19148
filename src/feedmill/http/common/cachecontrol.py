"""The values of ``Cache-Control``: no cache may store the response, or only the browser may, and it revalidates at each use."""

from typing import Final

NEVER_KEPT: Final = {"Cache-Control": "no-store"}
KEPT_IN_PRIVATE: Final = {"Cache-Control": "private, no-cache"}
