"""Profiles: what the settings say about a data source that a Thunderstone client loads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """``categories`` are those that a document may name. ``charset`` is that of text in base64 without a charset of its own."""

    name: str = ""
    categories: tuple[str, ...] = ()
    charset: str = "UTF-8"
