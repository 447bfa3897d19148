"""Writes feeds of documents, piece by piece. ``FeedBuilder`` and the commands of the server that make feeds write with these functions.

Source: Feeds Protocol Developer's Guide, "Defining the XML Record for a Document".

Example::

    from feedmill_client import feedxml

    feed = feedxml.begin_feed("wiki", "incremental") + feedxml.render_delete("http://wiki.example.com/1") + feedxml.END_FEED
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Final

from feedmill_client.xmltext import clean_text, escape, is_clean, quote_attribute

END_FEED: Final = "</group>\n</gsafeed>\n"
END_CONTENT: Final = "</content>"
END_RECORD: Final = "</record>\n"


def begin_feed(datasource: str, feedtype: str) -> str:
    """Returns the beginning of a feed, up to its first record."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">\n'
        f"<gsafeed>\n<header><datasource>{escape(datasource)}</datasource><feedtype>{feedtype}</feedtype></header>\n<group>\n"
    )


def begin_record(url: str, mimetype: str, attributes: Mapping[str, str] | None = None) -> str:
    """Returns the beginning of a record. Empty attributes are left out."""
    return _open_tag("record", {"url": url, "mimetype": mimetype, **_given(attributes or {})})


def render_delete(url: str) -> str:
    """Returns a record that deletes a URL."""
    return begin_record(url, "text/plain", {"action": "delete"}) + END_RECORD


def render_metadata(pairs: Iterable[tuple[str, str]]) -> str:
    """Returns the metadata of a record, an empty text for none."""
    metas = "".join(_open_tag("meta", {"name": name, "content": value})[:-1] + "/>" for name, value in pairs)
    return f"<metadata>{metas}</metadata>" if metas else ""


def begin_content(encoding: str) -> str:
    """Returns the beginning of a content in an encoding: ``base64binary`` or ``base64compressed``."""
    return _open_tag("content", {"encoding": encoding})


def render_content(content: str | bytes) -> str:
    """Returns the content of a record. Bytes, and text that XML cannot hold unchanged, are written as base64."""
    if isinstance(content, str) and is_clean(content) and "\r" not in content:
        return f"<content>{escape(content)}{END_CONTENT}"
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    return begin_content("base64binary") + base64.b64encode(data).decode("ascii") + END_CONTENT


def render_acl(principals: Iterable[str], *, url: str = "", inherit_from: str = "", inheritance_type: str = "") -> str:
    """Returns an ACL of rendered principals; with a URL it belongs into a group, else into a record."""
    attributes = _given({"url": url, "inherit-from": inherit_from, "inheritance-type": inheritance_type})
    return _open_tag("acl", attributes) + "".join(principals) + "</acl>"


def render_principal(name: str, *, namespace: str, case_sensitive: bool, scope: str, access: str = "") -> str:
    """Returns a principal. ``scope`` is user or group; ``access`` is permit or deny, and empty in a groups feed."""
    sensitivity = "everything-case-sensitive" if case_sensitive else "everything-case-insensitive"
    attributes = {"namespace": namespace, "case-sensitivity-type": sensitivity, "scope": scope}
    if access:
        attributes["access"] = access
    return f"{_open_tag('principal', attributes)}{escape(clean_text(name))}</principal>"


def _given(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if value}


def _open_tag(name: str, attributes: Mapping[str, str]) -> str:
    return f"<{name}{''.join(f' {key}={quote_attribute(clean_text(value))}' for key, value in attributes.items())}>"
