"""The time as the services are told it."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
"""Returns the time now as an aware UTC time."""
