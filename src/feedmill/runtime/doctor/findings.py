"""What the checks of ``feedmill doctor`` return."""

from enum import Enum
from typing import NamedTuple


class State(Enum):
    """How a check ended. Only a fault keeps a server from its work."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


class Finding(NamedTuple):
    """What one check found: its subject, how it ended, and what was found, with what to do about it."""

    check: str
    state: State
    text: str
