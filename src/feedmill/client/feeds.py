"""Builds feeds as files, record by record, so that large feeds need little memory.

Bytes, and text that XML cannot hold, are written as base64. A builder writes to its own file, which is removed when the builder is
closed. Push it before that, inside of its ``with`` block.
"""

import base64
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from xml.sax.saxutils import escape, quoteattr

from feedmill.model.errors import BadRequest

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">\n<gsafeed>\n'

FeedType = Literal["full", "incremental", "metadata-and-url"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclEntry:
    """One line of an ACL: a principal, and whether they may see the document or not."""

    name: str
    scope: Literal["user", "group"] = "user"
    access: Literal["permit", "deny"] = "permit"
    namespace: str = "Default"
    case_sensitive: bool = True


class _Builder:
    """A file that is written and then pushed."""

    def __init__(self) -> None:
        self._file = tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".xml", prefix="feedmill-")  # noqa: SIM115 - closed by close()
        self._is_finished = self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Removes the file."""
        self._file.close()
        self._is_closed = True

    def _write(self, text: str) -> None:
        self._check_open()
        if self._is_finished:
            raise BadRequest("this feed was pushed already; build another one")
        self._file.write(text)

    def _check_open(self) -> None:
        if self._is_closed:
            raise BadRequest("this feed was closed and its file is gone; add to it and push it inside of its with block")

    def _end(self, text: str) -> Path:
        self._check_open()
        if not self._is_finished:
            self._file.write(text)
            self._file.flush()
            self._is_finished = True
        return Path(self._file.name)


class FeedBuilder(_Builder):
    """Builds a feed of documents. Push it with ``Client.push``, which names its data source."""

    def __init__(self, feedtype: FeedType = "incremental") -> None:
        super().__init__()
        self.feedtype: FeedType = feedtype
        # the push's form fields decide; the header is required anyway
        self._file.write(f"{_HEAD}<header><datasource>feed</datasource><feedtype>{feedtype}</feedtype></header>\n<group>\n")

    def add(
        self,
        url: str,
        content: str | bytes | None = None,
        *,
        mimetype: str = "text/html",
        metadata: Mapping[str, str | Sequence[str]] | None = None,
        acl: Iterable[AclEntry] | None = None,
        inherit_from: str = "",
        display_url: str = "",
        last_modified: datetime | None = None,
        lock: bool = False,
        pagerank: int | None = None,
    ) -> None:
        """Adds or replaces a document. Without content it retains its present content. ``acl``: who may see it, everyone if None."""
        given = {
            "displayurl": display_url,
            "last-modified": format_datetime(last_modified) if last_modified is not None else "",
            "lock": "true" if lock else "",
            "pagerank": "" if pagerank is None else str(pagerank),
        }
        parts = [_open_tag("record", {"url": url, "mimetype": mimetype, **{name: value for name, value in given.items() if value}})]
        if acl is not None or inherit_from:
            parts.append(_acl_element(None, acl or (), inherit_from, ""))
        parts += [*_metadata_element(metadata or {}), *_content_element(content), "</record>\n"]
        self._write("".join(parts))

    def delete(self, url: str) -> None:
        """Deletes a document."""
        self._write(_open_tag("record", {"url": url, "mimetype": "text/plain", "action": "delete"}) + "</record>\n")

    def add_acl(self, url: str, entries: Iterable[AclEntry], *, inherit_from: str = "", inheritance_type: str = "") -> None:
        """Sets the ACL of a URL. The URL need not be a document; it can be a folder from which other documents inherit."""
        self._write(_acl_element(url, entries, inherit_from, inheritance_type) + "\n")

    def finish(self) -> Path:
        """Ends the feed and returns its file, which stays until the builder is closed."""
        return self._end("</group>\n</gsafeed>\n")


class GroupsBuilder(_Builder):
    """Builds a groups feed: the members of groups. Push it with ``Client.push_groups``."""

    def __init__(self) -> None:
        super().__init__()
        self._file.write('<?xml version="1.0" encoding="UTF-8"?>\n<xmlgroups>\n')

    def add(self, group: str, members: Iterable[AclEntry], *, namespace: str = "Default") -> None:
        """Defines a group; ``access`` of the members does not matter."""
        parts = [f"<membership>\n{_principal(AclEntry(name=group, scope='group', namespace=namespace), with_access=False)}\n<members>\n"]
        parts += [f"{_principal(member, with_access=False)}\n" for member in members]
        self._write("".join([*parts, "</members>\n</membership>\n"]))

    def finish(self) -> Path:
        """Ends the feed and returns its file, which stays until the builder is closed."""
        return self._end("</xmlgroups>\n")


def _open_tag(name: str, attributes: Mapping[str, str]) -> str:
    return f"<{name}{''.join(f' {key}={quoteattr(_clean(value))}' for key, value in attributes.items())}>"


def _metadata_element(metadata: Mapping[str, str | Sequence[str]]) -> list[str]:
    pairs = [(name, value) for name, values in metadata.items() for value in ([values] if isinstance(values, str) else values)]
    if not pairs:
        return []
    return [
        "<metadata>",
        *(f"<meta name={quoteattr(_clean(name))} content={quoteattr(_clean(value))}/>" for name, value in pairs),
        "</metadata>",
    ]


def _content_element(content: str | bytes | None) -> list[str]:
    if content is None:
        return []
    if isinstance(content, str) and _ILLEGAL.search(content) is None and "\r" not in content:
        return [f"<content>{escape(content)}</content>"]
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    return ['<content encoding="base64binary">', base64.b64encode(data).decode("ascii"), "</content>"]


def _acl_element(url: str | None, entries: Iterable[AclEntry], inherit_from: str, inheritance_type: str) -> str:
    given = {"url": url or "", "inherit-from": inherit_from, "inheritance-type": inheritance_type}
    body = "".join(_principal(entry, with_access=True) for entry in entries)
    return _open_tag("acl", {name: value for name, value in given.items() if value}) + body + "</acl>"


def _principal(entry: AclEntry, *, with_access: bool) -> str:
    sensitivity = "everything-case-sensitive" if entry.case_sensitive else "everything-case-insensitive"
    given = {"namespace": entry.namespace, "case-sensitivity-type": sensitivity, "scope": entry.scope}
    if with_access:
        given["access"] = entry.access
    return f"{_open_tag('principal', given)}{escape(_clean(entry.name))}</principal>"


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
