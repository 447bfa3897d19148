"""Texts and times as SAML writes them."""

from datetime import UTC, datetime

from lxml import etree

from feedmill.core.text.dates import parse_iso
from feedmill.model.errors import Denied

SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"


def text_of(element: etree._Element | None) -> str:
    """Returns all the text of an element: a comment within it must not cut it short."""
    return "".join(str(part) for part in element.itertext()).strip() if element is not None else ""


def time_of(text: str | None) -> datetime | None:
    """Returns the time in a text; None if there is no text. Errors: Denied."""
    if text is None:
        return None
    moment = parse_iso(text)
    if moment is None:
        raise Denied(f"there is a time that is none: {text[:50]!a}")
    return moment


def write_time(moment: datetime) -> str:
    """Returns a time as a text."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
