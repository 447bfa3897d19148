"""The client object: one object for both ports. It returns typed answers and raises typed errors.

Errors, of every method: Denied (the user is unknown or lacks the permission), NotFound, BadRequest, Busy (no answer; try again).
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from feedmill.client.answers import (
    Answer,
    DataSourceShown,
    DocumentDetails,
    DocumentSummary,
    Receipt,
    ResultShown,
    SearchAnswer,
    StuckShown,
    Suggestions,
)
from feedmill.client.dataloads import DataloadBuilder
from feedmill.client.documents import DocumentPush
from feedmill.client.feeds import FeedBuilder, GroupsBuilder
from feedmill.client.replies import ItemReply, read_reply
from feedmill.client.transport import Transport, quote_name
from feedmill.model.errors import BadRequest, Busy, Denied, Stuck

PAGE = 500
RECEIVER = "/texis/dowalk/recvdata.xml"
POLL_SECONDS = (0.05, 1.0)

_DOCUMENTS = "/api/v1/documents"

A = TypeVar("A", bound=Answer)


class Client:
    """A server, by the addresses of its search port and its feed port.

    ``token``: a bearer token for searches as a user; ``push_token``: a token of scope ``push`` for the feed port.

    Example::

        client = Client(search="http://127.0.0.1:8080")
        answer = client.search("travel expenses", facets=["department"], getfields=["department"])
    """

    def __init__(
        self,
        search: str = "http://127.0.0.1:8080",
        feeds: str = "http://127.0.0.1:19900",
        *,
        token: str = "",
        push_token: str = "",
        certificate: str = "",
    ) -> None:
        self._search = Transport(base_url=search, token=token, certificate=certificate)
        self._feeds = Transport(base_url=feeds, token=push_token, certificate=certificate)

    # --- searching ---

    def search(
        self,
        query: str,
        *,
        start: int = 0,
        num: int = 10,
        facets: Sequence[str] = (),
        select: Sequence[str] = (),
        getfields: Sequence[str] = (),
        **parameters: str,
    ) -> SearchAnswer:
        """Searches. ``select`` is what results must have of facets, ``NAME:VALUE`` each.

        ``parameters`` are more parameters of the API: ``sort``, ``match``, ``site``, ``client``, ``requiredfields``.
        """
        fields = ".".join(name.replace("%", "%25").replace(".", "%2E") for name in getfields)
        sent: dict[str, str | list[str]] = {"q": query, "start": str(start), "num": str(num), "facet": list(facets), **parameters}
        if select:
            sent["select"] = list(select)
        if fields:
            sent["getfields"] = fields
        return self._ask(SearchAnswer, self._search, "/api/v1/search", sent)

    def iter_results(self, query: str, **parameters: str) -> Iterator[ResultShown]:
        """Yields every result, each document once, in the order in which documents came to the server.

        The order does not change while documents come and go. New documents come at the end.
        """
        cursor: str | None = "*"
        while cursor is not None:
            sent: dict[str, str | list[str]] = {"q": query, "num": str(PAGE), "cursor": cursor, **parameters}
            answer = self._ask(SearchAnswer, self._search, "/api/v1/search", sent)
            yield from answer.results
            cursor = answer.next_cursor

    def suggest(self, typed: str, *, num: int = 10) -> list[str]:
        """Returns suggestions that complete what the user typed."""
        return self._ask(Suggestions, self._search, "/api/v1/suggest", {"q": typed, "num": str(num)}).suggestions

    def get_document(self, url: str) -> DocumentSummary:
        """Returns what the user may know of a document."""
        return self._ask(DocumentSummary, self._search, "/api/v1/documents", {"url": url})

    # --- feeding ---

    def push(self, feed: FeedBuilder | Path, *, datasource: str, feedtype: str = "") -> str:
        """Pushes a feed, from a builder or a file, and returns its id. Default ``feedtype``: the builder's, for a file "incremental"."""
        path = feed.finish() if isinstance(feed, FeedBuilder) else feed
        kind = feedtype or (feed.feedtype if isinstance(feed, FeedBuilder) else "incremental")
        return self._push("/xmlfeed", {"datasource": datasource, "feedtype": kind}, path)

    def push_groups(self, feed: GroupsBuilder | Path, *, groupsource: str, feedtype: str = "incremental") -> str:
        """Pushes a groups feed, from a builder or a file, and returns its id."""
        path = feed.finish() if isinstance(feed, GroupsBuilder) else feed
        return self._push("/xmlgroups", {"groupsource": groupsource, "feedtype": feedtype}, path)

    def _push(self, path: str, fields: Mapping[str, str], file: Path) -> str:
        feed_id = self._feeds.push(path, fields, file, lambda _sent: None)
        if feed_id is None:
            raise BadRequest(f"{self._feeds.shown_url} accepted the feed and returned no id; is it a feedmill server")
        return feed_id

    def push_documents(
        self, documents: Iterable[DocumentPush | Mapping[str, object]], *, datasource: str, feedtype: str = "incremental"
    ) -> Receipt:
        """Pushes documents as one feed, and returns its receipt. They are sent as they come, so their number does not matter.

        Example::

            client.push_documents([{"url": "http://wiki.example.com/1", "content": "words"}], datasource="wiki")
        """
        answer = self._feeds.stream_lines(_DOCUMENTS, {"datasource": datasource, "feedtype": feedtype}, map(_write_line, documents))
        return _read_answer(Receipt, answer, self._feeds)

    def put_document(self, url: str, document: DocumentPush | Mapping[str, object], *, datasource: str) -> Receipt:
        """Pushes one document, and returns the receipt."""
        members = {name: value for name, value in _members_of(document).items() if name != "url"}
        answer = self._feeds.send_json("PUT", _DOCUMENTS, members, {"url": url, "datasource": datasource})
        return _read_answer(Receipt, answer, self._feeds)

    def delete_document(self, url: str, *, datasource: str) -> Receipt:
        """Deletes one document, and returns the receipt of the deletion."""
        answer = self._feeds.delete(_DOCUMENTS, {"url": url, "datasource": datasource})
        return _read_answer(Receipt, answer, self._feeds)

    def load(self, items: DataloadBuilder | Path, *, profile: str) -> list[ItemReply]:
        """Sends a dataload, from a builder or a file, and returns what became of each item once they are applied."""
        path = items.finish() if isinstance(items, DataloadBuilder) else items
        reply = self._feeds.post_file(RECEIVER, {"profile": profile}, path)
        if reply.status in (401, 403):
            raise Denied(f"{self._feeds.shown_url} refuses dataloads of this machine: status {reply.status}")
        return read_reply(reply.body)

    def get_receipt(self, feed_id: str) -> Receipt:
        """Returns the current receipt of a feed."""
        return self._ask(Receipt, self._feeds, f"/api/v1/feeds/{quote_name(feed_id)}", {})

    def wait(self, feed_id: str, *, timeout_seconds: float = 600.0, searchable: bool = True) -> Receipt:
        """Waits until a feed is final and, if ``searchable`` is set, searchable. Returns its receipt.

        Errors: Stuck where nothing moves in the queue that the feed waits in; Busy when the time is over.
        """
        deadline = time.monotonic() + timeout_seconds
        pause, longest = POLL_SECONDS
        while True:
            receipt = self.get_receipt(feed_id)
            if receipt.is_final and (receipt.searchable_at is not None or not searchable):
                return receipt
            if receipt.stuck is not None:
                raise Stuck(describe_stuck(feed_id, receipt.stuck))
            if time.monotonic() + pause > deadline:
                raise Busy(f"feed {feed_id} is not done after {timeout_seconds:g} seconds: {receipt.state}; it goes on, ask for it again")
            time.sleep(pause)
            pause = min(2 * pause, longest)

    def list_receipts(self, datasource: str = "", *, limit: int = 20) -> list[Receipt]:
        """Lists receipts, newest first, of one data source or of all."""
        parameters = {"limit": str(limit), **({"datasource": datasource} if datasource else {})}
        return self._ask_list(Receipt, "/api/v1/feeds", parameters)

    def inspect_document(self, url: str) -> DocumentDetails:
        """Returns everything that the server knows of a document, with its ACL and its history."""
        return self._ask(DocumentDetails, self._feeds, "/api/v1/documents", {"url": url})

    def list_datasources(self) -> list[DataSourceShown]:
        """Lists the data sources."""
        return self._ask_list(DataSourceShown, "/api/v1/datasources", {})

    def delete_datasource(self, name: str) -> None:
        """Deletes a data source's documents and waits until they are deleted."""
        self._feeds.delete(f"/api/v1/datasources/{quote_name(name)}")

    # --- answers ---

    def _ask(self, kind: type[A], where: Transport, path: str, parameters: Mapping[str, str | list[str]]) -> A:
        return _read_answer(kind, where.get_json(path, parameters), where)

    def _ask_list(self, kind: type[A], path: str, parameters: Mapping[str, str]) -> list[A]:
        answer = self._feeds.get_json(path, parameters)
        if not isinstance(answer, list):
            raise BadRequest(f"{self._feeds.shown_url} does not answer as documented; is it a feedmill server")
        return [_read_answer(kind, one, self._feeds) for one in answer]


def describe_stuck(feed_id: str, stuck: StuckShown) -> str:
    """Returns, as a sentence, why the feed cannot finish."""
    about = f" ({stuck.document})" if stuck.document else ""
    return f"feed {feed_id} waits in queue {stuck.queue}, which has not moved since {stuck.since.isoformat()}: {stuck.reason}{about}"


def _members_of(document: DocumentPush | Mapping[str, object]) -> Mapping[str, object]:
    return document.model_dump(exclude_none=True) if isinstance(document, DocumentPush) else document


def _write_line(document: DocumentPush | Mapping[str, object]) -> bytes:
    return json.dumps(_members_of(document)).encode("ascii") + b"\n"


def _read_answer(kind: type[A], answer: object, where: Transport) -> A:
    try:
        return kind.model_validate(answer)
    except ValidationError as exc:
        raise BadRequest(f"{where.shown_url} does not answer as documented: {exc.errors(include_url=False)[0]['msg']}") from exc
