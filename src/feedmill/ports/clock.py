"""The clock of the services."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
"""Returns the current time as an aware UTC time.

Example::

    clock = partial(datetime.now, UTC)
    now = clock()
"""
