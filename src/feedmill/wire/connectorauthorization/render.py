"""Writes the request to a connector manager: one user, many documents, each with its connector.

Source: googlegsa/manager.v3, ``Authorization`` servlet.
"""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from feedmill.model.identity import Subject
from feedmill.wire.xmltext import is_clean

_CONNECTOR = re.compile(r"googleconnector://([^./]*)", re.IGNORECASE)
_IN_ATTRIBUTES = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def connector_of(url: str, default: str) -> str:
    """Returns the name of a document's connector: the one in its URL, otherwise the configured one."""
    found = _CONNECTOR.match(url)
    return found[1] if found is not None else default


def is_writable(text: str) -> bool:
    """Returns whether XML can hold a text and return it unchanged."""
    return is_clean(text) and "\r" not in text and text == text.strip()


def render_query(user: Subject, password: str | None, resources: Sequence[tuple[str, str]]) -> bytes:
    """Returns a request. Shape: UTF-8; ``resources`` are URLs with their connectors; all texts are ``is_writable``."""
    domain = f" domain={_attribute(user.domain)}" if user.domain else ""
    secret = f" password={_attribute(password)}" if password else ""
    listed = "".join(f"<Resource{_connector(name)}>{escape(url)}</Resource>" for url, name in resources)
    query = f"<ConnectorQuery><Identity{domain}{secret}>{escape(user.name)}</Identity>{listed}</ConnectorQuery>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<AuthorizationQuery>{query}</AuthorizationQuery>'.encode()


def _connector(name: str) -> str:
    return f" connectorname={_attribute(name)}" if name else ""


def _attribute(text: str) -> str:
    return quoteattr(text, _IN_ATTRIBUTES)
