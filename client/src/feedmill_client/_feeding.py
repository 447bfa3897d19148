"""What feed clients do on the feed port."""

from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from feedmill_client._addresses import make_query, quote_name
from feedmill_client._bodies import LinesBody, OnProgress, ignore_progress
from feedmill_client._endpoint import PATIENCE_SECONDS
from feedmill_client._exchange import Request
from feedmill_client._flows import Flow, Item, Stream
from feedmill_client._polling import poll
from feedmill_client._ports import ClientPorts
from feedmill_client.answers import DataSourceShown, DocumentDetails, Receipt
from feedmill_client.dataloads import DataloadBuilder
from feedmill_client.decoding import encode
from feedmill_client.documents import DocumentPush
from feedmill_client.errors import BadAnswer, BadRequest, Denied, Stuck
from feedmill_client.feeds import FeedBuilder, GroupsBuilder
from feedmill_client.replies import ItemReply, read_reply

RECEIVER: Final = "/texis/dowalk/recvdata.xml"
_DOCUMENTS: Final = "/api/v1/documents"
_FEEDS: Final = "/api/v1/feeds"
_DATASOURCES: Final = "/api/v1/datasources"
PAGE: Final = 100

Document = DocumentPush | Mapping[str, object]


def _ignore_receipt(_receipt: Receipt) -> None:
    return


# --- documents in ---


def push(
    ports: ClientPorts, feed: FeedBuilder | Path, *, datasource: str, feedtype: str = "", on_progress: OnProgress = ignore_progress
) -> Flow[str]:
    """Pushes a feed, from a builder or a file of any size, and returns its id.

    ``feedtype`` is by default that of the builder, for a file "incremental".
    """
    path = feed.finish() if isinstance(feed, FeedBuilder) else feed
    kind = feedtype or (feed.feedtype if isinstance(feed, FeedBuilder) else "incremental")
    return (yield from _push(ports, "/xmlfeed", {"datasource": datasource, "feedtype": kind}, path, on_progress))


def push_groups(
    ports: ClientPorts,
    feed: GroupsBuilder | Path,
    *,
    groupsource: str,
    feedtype: str = "incremental",
    on_progress: OnProgress = ignore_progress,
) -> Flow[str]:
    """Pushes a groups feed, from a builder or a file, and returns its id."""
    path = feed.finish() if isinstance(feed, GroupsBuilder) else feed
    return (yield from _push(ports, "/xmlgroups", {"groupsource": groupsource, "feedtype": feedtype}, path, on_progress))


def _push(ports: ClientPorts, path: str, fields: Mapping[str, str], file: Path, on_progress: OnProgress) -> Flow[str]:
    feed_id = yield from ports.feeds.push(path, fields, file, on_progress)
    if feed_id is None:
        raise BadRequest(f"{ports.feeds.address.shown} accepted the feed and returned no id; is it a feedmill server")
    return feed_id


def push_documents(
    ports: ClientPorts,
    documents: Iterable[Document] | AsyncIterable[Document],
    *,
    datasource: str,
    feedtype: str = "incremental",
    on_progress: OnProgress = ignore_progress,
) -> Flow[Receipt]:
    """Pushes documents as one feed, and returns its receipt. They are sent as they come, so their number does not matter.

    If the iterator fails, the server gets no feed. An ``AsyncClient`` takes asynchronous iterators too.

    Example::

        client.push_documents([{"url": "http://wiki.example.com/1", "content": "words"}], datasource="wiki")
    """
    path = _DOCUMENTS + make_query({"datasource": datasource, "feedtype": feedtype})
    response = yield from ports.feeds.ask(Request(method="POST", path=path, body=LinesBody(documents, on_progress)))
    return ports.feeds.read(Receipt, ports.feeds.read_json(response))


def put_document(ports: ClientPorts, url: str, document: Document, *, datasource: str) -> Flow[Receipt]:
    """Pushes one document, and returns the receipt."""
    members = {name: value for name, value in encode(document).items() if name != "url"}
    answer = yield from ports.feeds.send_json("PUT", _DOCUMENTS, members, {"url": url, "datasource": datasource})
    return ports.feeds.read(Receipt, answer)


def delete_document(ports: ClientPorts, url: str, *, datasource: str) -> Flow[Receipt]:
    """Deletes one document, and returns the receipt of the deletion."""
    return ports.feeds.read(Receipt, (yield from ports.feeds.delete(_DOCUMENTS, {"url": url, "datasource": datasource})))


def load(
    ports: ClientPorts, items: DataloadBuilder | Path, *, profile: str, on_progress: OnProgress = ignore_progress
) -> Flow[list[ItemReply]]:
    """Sends a dataload, from a builder or a file, and returns what became of each item once they are applied."""
    path = items.finish() if isinstance(items, DataloadBuilder) else items
    reply = yield from ports.feeds.post_file(RECEIVER, {"profile": profile}, path, on_progress, patience_seconds=PATIENCE_SECONDS)
    if reply.status in (401, 403):
        raise Denied(f"{ports.feeds.address.shown} refuses dataloads of this machine: status {reply.status}", status=reply.status)
    return read_reply(reply.body)


# --- receipts ---


def get_receipt(ports: ClientPorts, feed_id: str) -> Flow[Receipt]:
    """Returns the current receipt of a feed."""
    return ports.feeds.read(Receipt, (yield from ports.feeds.get_json(f"{_FEEDS}/{quote_name(feed_id)}")))


def wait(
    ports: ClientPorts,
    feed_id: str,
    *,
    timeout_seconds: float = 600.0,
    searchable: bool = True,
    on_progress: Callable[[Receipt], object] = _ignore_receipt,
) -> Flow[Receipt]:
    """Waits until a feed is final and, if ``searchable`` is set, searchable. Returns its receipt.

    ``on_progress`` is called with each receipt that was read. Errors: Stuck where nothing moves in the queue that the feed waits in;
    NotDone when the time is over.
    """

    def is_over(receipt: Receipt) -> bool:
        on_progress(receipt)
        if receipt.is_final and (receipt.searchable_at is not None or not searchable):
            return True
        if receipt.stuck is not None:
            raise Stuck(receipt.stuck.describe(feed_id))
        return False

    def describe(receipt: Receipt) -> str:
        return f"feed {feed_id} is not done after {timeout_seconds:g} seconds: {receipt.state}; it goes on, ask for it again"

    return (yield from poll(ports.feeds, lambda: get_receipt(ports, feed_id), is_over, timeout_seconds, describe))


def list_receipts(ports: ClientPorts, datasource: str = "", *, limit: int = 20) -> Flow[list[Receipt]]:
    """Lists the newest receipts, newest first, of one data source or of all."""
    return ports.feeds.read_list(Receipt, (yield from ports.feeds.get_json(_FEEDS, _limit(limit, datasource))))


def iter_receipts(ports: ClientPorts, datasource: str = "") -> Stream[Receipt]:
    """Yields all receipts, newest first, of one data source or of all."""
    page = make_query(_limit(PAGE, datasource))
    while page:
        answer, page = yield from ports.feeds.read_page(_FEEDS, page)
        for receipt in ports.feeds.read_list(Receipt, answer):
            yield Item(receipt)


def download_feed(ports: ClientPorts, feed_id: str, file: BinaryIO) -> Flow[None]:
    """Writes the bytes of a feed, as the server received them, into a file that is open for writing. They may be of any size."""
    path = f"{_FEEDS}/{quote_name(feed_id)}/content"
    ports.feeds.check((yield from ports.feeds.ask(Request(method="GET", path=path, accept="*/*", sink=file.write))))


def resend_feed(ports: ClientPorts, feed_id: str) -> Flow[Receipt]:
    """Has the server accept the bytes of a feed again, as a new feed, and returns its receipt."""
    return ports.feeds.read(Receipt, (yield from ports.feeds.post_json(f"{_FEEDS}/{quote_name(feed_id)}/resend")))


# --- what the server has ---


def count_backlog(ports: ClientPorts) -> Flow[int]:
    """Returns how many feeds are not completely applied. A client that pushes much waits while there are many."""
    text = yield from ports.feeds.get_bytes("/getbacklogcount")
    if not text.strip().isdigit():
        raise BadAnswer(f"{ports.feeds.address.shown} does not answer as documented; is it the feed port of a feedmill server")
    return int(text)


def inspect_document(ports: ClientPorts, url: str) -> Flow[DocumentDetails]:
    """Returns everything that the server knows of a document, with its ACL and its history."""
    return ports.feeds.read(DocumentDetails, (yield from ports.feeds.get_json(_DOCUMENTS, {"url": url})))


def list_datasources(ports: ClientPorts) -> Flow[list[DataSourceShown]]:
    """Lists the data sources."""
    return ports.feeds.read_list(DataSourceShown, (yield from ports.feeds.get_json(_DATASOURCES)))


def delete_datasource(ports: ClientPorts, name: str, *, destroy: bool = False) -> Flow[None]:
    """Deletes a data source's documents and waits until they are deleted. ``destroy`` deletes its name and its feeds too."""
    yield from ports.feeds.delete(f"{_DATASOURCES}/{quote_name(name)}", {"destroy": "true"} if destroy else None)


def _limit(limit: int, datasource: str) -> dict[str, str | list[str]]:
    return {"limit": str(limit), **({"datasource": datasource} if datasource else {})}
