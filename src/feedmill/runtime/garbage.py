"""How often processes look for garbage."""

import gc
from typing import Final

_THRESHOLDS: Final = (50_000, 20, 20)


def collect_seldom() -> None:
    """Makes the collector run less often than Python's own thresholds do.

    Documents, requests and the code that a command loads leave few cycles: collection took a tenth of the time of roles, and ran several
    times for each page that was extracted.
    """
    gc.set_threshold(*_THRESHOLDS)
