"""The values of ``Cache-Control``: no cache may store the response, or only the browser may, and it revalidates at each use."""

from typing import Final

NO_STORE: Final = {"Cache-Control": "no-store"}
PRIVATE_NO_CACHE: Final = {"Cache-Control": "private, no-cache"}
