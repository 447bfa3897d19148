"""What answers say about being kept: by nobody, or by the browser alone, which asks each time whether they still hold."""

from typing import Final

NEVER_KEPT: Final = {"Cache-Control": "no-store"}
KEPT_IN_PRIVATE: Final = {"Cache-Control": "private, no-cache"}
