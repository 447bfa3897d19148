"""Reads the attributes of a record, and those that it inherits from its group."""

from datetime import datetime

from feedmill.core.text.dates import parse_date
from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.document import Attributes as DocumentAttributes
from feedmill.model.document import AuthMethod
from feedmill.wire.gsafeed.schema import Attributes
from feedmill.wire.tokens import read_switch, read_token, read_word, shorten

PAGERANKS = (68, 100)
FEEDRANKS = (1, 100)
_MAX_MIMETYPE_CHARACTERS = 255
_SCORINGS = ("content", "web")


def read_attributes(group: Attributes, own: Attributes) -> tuple[DocumentAttributes, list[str]]:
    """Returns the attributes, with warnings for ignored ones. Errors: Unreadable for an unknown authmethod."""
    warnings: list[str] = []
    pagerank = _read_rank("pagerank", PAGERANKS, group, own, warnings)
    feedrank = _read_rank("feedrank", FEEDRANKS, group, own, warnings)
    authmethod = own.get("authmethod", "")
    read = DocumentAttributes(
        display_url=_read_text("displayurl", MAX_URL_CHARACTERS, own, warnings),
        mimetype=_read_text("mimetype", _MAX_MIMETYPE_CHARACTERS, own, warnings),
        last_modified=_read_date(own, warnings),
        lock=_read_flag("lock", own, warnings),
        authmethod=read_word(authmethod, AuthMethod, "authmethod") if authmethod.strip() else None,
        pagerank=pagerank,
        feedrank=feedrank if pagerank is None else None,
        scoring=_read_scoring(own, warnings),
        crawl_immediately=_read_flag("crawl-immediately", own, warnings),
        crawl_once=_read_flag("crawl-once", own, warnings),
    )
    return read, warnings


def _read_text(name: str, max_characters: int, own: Attributes, warnings: list[str]) -> str | None:
    text = own.get(name, "").strip()
    if len(text) > max_characters:
        warnings.append(f"{name} is longer than {max_characters} characters and ignored")
        return None
    return text or None


def _read_date(own: Attributes, warnings: list[str]) -> datetime | None:
    text = own.get("last-modified", "").strip()
    if not text:
        return None
    date = parse_date(text)
    if date is None:
        warnings.append(f'last-modified="{shorten(text)}" is no date that can be read and ignored')
    return date


def _read_flag(name: str, own: Attributes, warnings: list[str]) -> bool:
    if name not in own:
        return False
    switch = read_switch(own[name])
    if switch == "unreadable":
        warnings.append(f'{name}="{shorten(own[name])}" is neither true nor false and ignored')
        return False
    return bool(switch)


def _read_rank(name: str, limits: tuple[int, int], group: Attributes, own: Attributes, warnings: list[str]) -> int | None:
    for attributes in (own, group):
        text = attributes.get(name, "").strip()
        if not text:
            continue
        # ``isdigit`` alone accepts superscripts, on which ``int`` fails.
        if text.isascii() and text.isdigit() and len(text) < 10 and limits[0] <= int(text) <= limits[1]:
            return int(text)
        warnings.append(f'{name}="{shorten(text)}" is no whole number from {limits[0]} to {limits[1]} and ignored')
    return None


def _read_scoring(own: Attributes, warnings: list[str]) -> str | None:
    token = read_token(own.get("scoring", ""))
    if token and token not in _SCORINGS:
        warnings.append(f'scoring="{shorten(token)}" is neither content nor web and ignored')
        return None
    return token or None
