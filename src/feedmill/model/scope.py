"""What a principal can be."""

from enum import Enum


class Scope(Enum):
    """What a principal is."""

    USER = "user"
    GROUP = "group"
