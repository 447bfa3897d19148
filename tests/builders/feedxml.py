"""Feeds of documents as XML: records, groups and ACLs."""

from base64 import b64encode
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr
from zlib import compress

HEAD = '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">'


def make_record(
    url: str,
    content: str | bytes | None = None,
    metadata: Sequence[tuple[str, str]] = (),
    *,
    acl: str = "",
    mimetype: str | None = "text/html",
    encoding: str | None = None,
    **attributes: str | None,
) -> str:
    """Returns one ``<record>``.

    Content is text, which is escaped, or a file, which is coded; text with an encoding is coded already. None leaves an attribute out.
    """
    inside = [acl]
    if metadata:
        inside.append("<metadata>" + "".join(make_element("meta", name=name, content=value) for name, value in metadata) + "</metadata>")
    if isinstance(content, bytes):
        encoding = encoding or "base64binary"
        content = b64encode(compress(content) if encoding == "base64compressed" else content).decode()
    if content is not None:
        inside.append(make_element("content", escape(content), encoding=encoding))
    return make_element("record", *inside, url=url, mimetype=mimetype, **attributes)


def make_acl_element(*users: str, **attributes: str) -> str:
    """Returns an ``<acl>`` that permits users."""
    return make_element("acl", *(make_element("principal", name, scope="user", access="permit") for name in users), **attributes)


def make_group(*inside: str, **attributes: str) -> str:
    return make_element("group", *inside, **attributes)


def make_feed(*records: str, datasource: str = "ignored", feedtype: str = "full") -> bytes:
    """Returns a feed of one group of records. What its header says holds only where no request says it."""
    return make_grouped_feed(make_group(*records), datasource=datasource, feedtype=feedtype)


def make_grouped_feed(*groups: str, datasource: str = "ignored", feedtype: str = "full") -> bytes:
    """Returns a feed of whole groups."""
    header = make_element("header", make_element("datasource", datasource), make_element("feedtype", feedtype))
    return f"{HEAD}{make_element('gsafeed', header, *groups)}".encode()


def make_element(tag: str, *inside: str, **attributes: str | None) -> str:
    """Returns an element; what stands inside is XML. An underscore in the name of an attribute stands for a hyphen."""
    written = "".join(f" {name.replace('_', '-')}={quoteattr(value)}" for name, value in attributes.items() if value is not None)
    return f"<{tag}{written}>{''.join(inside)}</{tag}>"
