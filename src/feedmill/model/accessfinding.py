"""What a review of access looks for."""

from enum import Enum


class Finding(Enum):
    """The lists of the review."""

    NOBODY = "nobody"
    UNRESOLVED = "unresolved"
    PUBLIC = "public"
