"""Builds feeds as files, record by record, so that large feeds need little memory.

Bytes, and text that XML cannot hold, are written as base64. A builder writes to its own file, which is removed when the builder is
closed. Push it before that, inside of its ``with`` block.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from feedmill_client import feedxml, groupsxml
from feedmill_client.errors import BadRequest

FeedType = Literal["full", "incremental", "metadata-and-url"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclEntry:
    """One line of an ACL: a principal, and whether they may see the document or not."""

    name: str
    scope: Literal["user", "group"] = "user"
    access: Literal["permit", "deny"] = "permit"
    namespace: str = "Default"
    case_sensitive: bool = True


class FileBuilder:
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

    def _append(self, text: str) -> None:
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


class FeedBuilder(FileBuilder):
    """Builds a feed of documents. Push it with ``Client.push``, which names its data source.

    Example::

        with FeedBuilder("full") as feed:
            feed.add("http://intranet.example.com/board", "for the board", acl=[AclEntry(name="board", scope="group")])
            feed_id = client.push(feed, datasource="handbook")
    """

    def __init__(self, feedtype: FeedType = "incremental") -> None:
        super().__init__()
        self.feedtype: FeedType = feedtype
        # the push's form fields decide; the header is required anyway
        self._file.write(feedxml.begin_feed("feed", feedtype))

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
        pairs = [(name, value) for name, values in (metadata or {}).items() for value in ([values] if isinstance(values, str) else values)]
        parts = [feedxml.begin_record(url, mimetype, given)]
        if acl is not None or inherit_from:
            principals = (_render_entry(entry, with_access=True) for entry in acl or ())
            parts.append(feedxml.render_acl(principals, inherit_from=inherit_from))
        parts.append(feedxml.render_metadata(pairs))
        if content is not None:
            parts.append(feedxml.render_content(content))
        self._append("".join([*parts, feedxml.END_RECORD]))

    def delete(self, url: str) -> None:
        """Deletes a document."""
        self._append(feedxml.render_delete(url))

    def add_acl(self, url: str, entries: Iterable[AclEntry], *, inherit_from: str = "", inheritance_type: str = "") -> None:
        """Sets the ACL of a URL. The URL need not be a document; it can be a folder from which other documents inherit."""
        principals = (_render_entry(entry, with_access=True) for entry in entries)
        self._append(feedxml.render_acl(principals, url=url, inherit_from=inherit_from, inheritance_type=inheritance_type) + "\n")

    def finish(self) -> Path:
        """Ends the feed and returns its file, which stays until the builder is closed."""
        return self._end(feedxml.END_FEED)


class GroupsBuilder(FileBuilder):
    """Builds a groups feed: the members of groups. Push it with ``Client.push_groups``.

    Example::

        with GroupsBuilder() as groups:
            groups.add("board", [AclEntry(name="ann"), AclEntry(name="chairs", scope="group")])
            feed_id = client.push_groups(groups, groupsource="directory")
    """

    def __init__(self) -> None:
        super().__init__()
        self._file.write(groupsxml.BEGIN_FEED)

    def add(self, group: str, members: Iterable[AclEntry], *, namespace: str = "Default") -> None:
        """Defines a group; ``access`` of the members does not matter."""
        defined = _render_entry(AclEntry(name=group, scope="group", namespace=namespace), with_access=False)
        self._append(groupsxml.render_membership(defined, (_render_entry(member, with_access=False) for member in members)))

    def finish(self) -> Path:
        """Ends the feed and returns its file, which stays until the builder is closed."""
        return self._end(groupsxml.END_FEED)


def _render_entry(entry: AclEntry, *, with_access: bool) -> str:
    access = entry.access if with_access else ""
    return feedxml.render_principal(
        entry.name, namespace=entry.namespace, case_sensitive=entry.case_sensitive, scope=entry.scope, access=access
    )
